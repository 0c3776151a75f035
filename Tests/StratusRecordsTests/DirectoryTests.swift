// Traversing databases and zones in their stored order, and the reports on zones that are listed and something else
// too.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("the directory")
struct DirectoryTests {
    private let sample: SampleZone
    /// Every zone, in the order of the directory. A database between two others has none.
    private let all: [ZoneID]

    private static func database(_ container: ContainerName, _ owner: UserName?) -> DatabaseID {
        DatabaseID(container: container, owner: owner, scope: owner == nil ? .public : .private)
    }

    init() throws {
        let places: [(DatabaseID, [ZoneName])] = [
            (Self.database("c", nil), ["_defaultZone"]), (Self.database("c", "alice"), ["a", "b", "sample"]),
            (Self.database("c", "bob"), []), (Self.database("c", "carol"), ["b", "ä"]),
            (Self.database("d", "alice"), ["a"]),
        ]
        let sample = try SampleZone()
        // Numbers are not in the order of names.
        for (database, names) in places.reversed() {
            for name in names.isEmpty ? ["gone"] : names.reversed() {
                let id = ZoneID(database: database, name: name)
                if id != sample.id { try Self.create(id, sample.engine) }
                if names.isEmpty { try sample.engine.transact { try $0.deleteZone(id) } }
            }
        }
        self.sample = sample
        all = places.flatMap { database, names in names.map { ZoneID(database: database, name: $0) } }
    }

    private static func create(_ id: ZoneID, _ engine: RecordEngine) throws {
        let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: SampleZone.stamp, databaseIdentity: UUID())
        try engine.transact { try $0.createZone(id, birth) }
    }

    /// What pages of a length name behind a position.
    private func pages(behind position: ZoneID? = nil, of limit: Int) throws -> [ZoneID] {
        var found: [ZoneID] = []
        var last = position
        repeat {
            let page = try sample.engine.read { try $0.zones(after: last, limit: limit) }
            #expect(page.count <= limit)
            found += page
            last = page.last
        } while last != nil
        return found
    }

    @Test("every zone is visited once, in the order of databases and names, until the visitor stops")
    func visits() throws {
        for count in 1...all.count + 1 {
            var visited: [ZoneID] = []
            try sample.engine.read { reader in
                try reader.visitZones { id, listing in
                    let known = try reader.listing(of: id)
                    #expect(known == listing)
                    visited.append(id)
                    return visited.count < count ? .next : .stop
                }
            }
            #expect(visited == Array(all.prefix(count)))
        }
        var databases: [DatabaseID] = []
        try sample.engine.read { reader in
            try reader.visitDatabases { id, _ in
                databases.append(id)
                return databases.count < 4 ? .next : .stop
            }
        }
        let people: [UserName?] = [nil, "alice", "bob", "carol"]
        #expect(databases == people.map { Self.database("c", $0) })
    }

    @Test("pages of any length name every zone once, from any zone on")
    func pagesOfZones() throws {
        for limit in 1...all.count + 1 {
            #expect(try pages(of: limit) == all)
            for (index, zone) in all.enumerated() {
                #expect(try pages(behind: zone, of: limit) == Array(all[(index + 1)...]))
            }
        }
        let carol = Self.database("c", "carol")
        for limit in 0...3 {
            let names = try sample.engine.read { try $0.zones(in: carol, limit: limit).map(\.name) }
            #expect(names == Array((["b", "ä"] as [ZoneName]).prefix(limit)))
        }
        #expect(try sample.engine.read { try $0.zones(after: nil, limit: 0) }.isEmpty)
    }

    @Test("a page continues after a deleted zone and a deleted database")
    func pagesBehindWhatIsGone() throws {
        let gone = ZoneID(database: Self.database("c", "alice"), name: "b")
        try sample.engine.transact { try $0.deleteZone(gone) }
        #expect(try pages(behind: gone, of: 1) == Array(all[3...]))
        let nobody = ZoneID(database: Self.database("c", "bobby"), name: "zone")
        #expect(try pages(behind: nobody, of: 2) == Array(all[4...]))
    }

    @Test("a transaction sees the zones that it creates and deletes, whatever readers know of them")
    func ownChanges() throws {
        let (id, engine) = (all[1], sample.engine)
        let known = try engine.read { try $0.existingZone(id).header().identity }
        let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: SampleZone.stamp, databaseIdentity: UUID())
        try engine.transact { transaction in
            let before = try transaction.listing(of: id)
            #expect(before?.entry.identity == known)
            try transaction.deleteZone(id)
            let gone = try transaction.listing(of: id)
            #expect(gone == nil)
            try transaction.createZone(id, birth)
            let created = try transaction.listing(of: id)
            #expect(created?.entry.identity == birth.identity)
        }
        #expect(try engine.read { try $0.listing(of: id)?.entry.identity } == birth.identity)
    }

    @Test("a transaction that fails leaves nothing of its zones with later readers")
    func failedChanges() throws {
        let (id, engine) = (all[1], sample.engine)
        let new = ZoneID(database: id.database, name: "new")
        let known = try engine.transact { try $0.existingZone(id).header().identity }
        let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: SampleZone.stamp, databaseIdentity: UUID())
        let error = #expect(throws: StoreError.self) {
            try engine.transact { transaction in
                for zone in [id, new] {
                    try transaction.deleteZone(zone)
                    try transaction.createZone(zone, birth)
                    _ = try transaction.listing(of: zone)
                }
                _ = try transaction.existingZone(ZoneID(database: id.database, name: "none"))
            }
        }
        #expect(error?.code == .unknownZone)
        #expect(try engine.read { try $0.listing(of: id)?.entry.identity } == known)
        #expect(try engine.read { try $0.listing(of: new) } == nil)
    }

    @Test("a database that was removed and created again has another number for readers and transactions")
    func anotherNumber() throws {
        let (id, engine) = (try #require(all.last), sample.engine)
        let old = try engine.transact { try $0.listing(of: id) }
        #expect(try engine.read { try $0.listing(of: id) } == old)
        try engine.transact { try $0.deleteZone(id) }
        _ = try engine.purgeDeletedZones(pause: {})
        while try !engine.transact({ try $0.removeDatabase(id.database, limit: 100) }) {}
        try Self.create(id, engine)
        let new = try engine.transact { try $0.listing(of: id) }
        #expect(new?.database != nil)
        #expect(new?.database != old?.database)
        #expect(try engine.read { try $0.listing(of: id) } == new)
    }

    @Test("renewing incarnations and verifying visit the zones of all databases")
    func everyZone() throws {
        func incarnations() throws -> Set<UUID> {
            try sample.engine.read { reader in Set(try all.map { try reader.existingZone($0).header().incarnation }) }
        }
        let before = try incarnations()
        var told: [[Int]] = []
        let count = try sample.engine.renewIncarnations(draw: { UUID() }, progress: { told.append([$0, $1]) })
        #expect(count == all.count)
        #expect(told.last == [all.count, all.count])
        let after = try incarnations()
        #expect(after.count == all.count)
        #expect(after.isDisjoint(with: before))
        let report = try sample.engine.verify()
        #expect(report.isClean, "\(report.findings)")
        #expect(report.zonesChecked == all.count, "\(report.findings)")
        #expect(try sample.engine.read { try $0.placeAndRecordCount().zones } == all.count)
    }

    @Test("a listed zone that waits for purge or release is reported, and so is a rebuild of an unlisted one")
    func contradictions() throws {
        let keys = try sample.keys()
        let (database, zone) = (keys.database, keys.zone)
        let purge = PurgeEntry(database: database, zone: zone, identity: UUID())
        let release = ReleaseEntry(database: database, zone: zone, identity: UUID(), owner: "alice")
        let marks = [
            GlobalKeys.zone(database, ZoneNumber(99), in: .rebuilds),
            GlobalKeys.zone(DatabaseNumber(99), zone, in: .rebuilds),
        ]
        let mark = ZoneIdentityEntry(identity: UUID()).encoded()
        try sample.store.transact { writer in
            try writer.set(GlobalKeys.zone(database, zone, in: .purges), to: purge.encoded())
            try writer.set(GlobalKeys.zone(database, zone, in: .releases), to: release.encoded())
            for key in marks { try writer.set(key, to: mark) }
            try writer.set(GlobalKeys.zone(database, zone, in: .rebuilds), to: mark)
        }
        let report = try sample.engine.verify()
        let told = report.findings.map { "\($0.kind) \($0.place): \($0.detail)" }
        for text in [
            "wrong \(database) / \(zone): is listed and waits to be purged",
            "wrong \(database) / \(zone): is listed or purged and waits to be released",
            "wrong \(KeyDescription.text(of: keys.listed(in: .rebuilds))): a rebuild of the zone's indexes runs or was "
                + "interrupted: rebuild them again",
        ] + marks.map({ "dangling \(KeyDescription.text(of: $0)): a rebuild of a zone that does not exist" }) {
            #expect(told.count { $0 == text } == 1, "\(text) is not among \(told)")
        }
        #expect(told.count == 5)
    }

    @Test("a purge or release of an unknown database, or under another zone's key, is reported")
    func strayWork() throws {
        let keys = try sample.keys()
        let (unknown, zone) = (DatabaseNumber(99), ZoneNumber(98))
        let purge = PurgeEntry(database: unknown, zone: zone, identity: UUID())
        let release = ReleaseEntry(database: unknown, zone: zone, identity: UUID(), owner: "alice")
        let stray = [GlobalKeys.zone(unknown, zone, in: .purges), GlobalKeys.zone(unknown, zone, in: .releases)]
        // The values name a zone of another database.
        let mistaken = [
            GlobalKeys.zone(keys.database, zone, in: .purges),
            GlobalKeys.zone(keys.database, ZoneNumber(97), in: .releases),
        ]
        try sample.store.transact { writer in
            for (index, key) in (stray + mistaken).enumerated() {
                try writer.set(key, to: index % 2 == 0 ? purge.encoded() : release.encoded())
            }
        }
        let told = Set(try sample.engine.verify().findings.map { "\($0.kind) \($0.place): \($0.detail)" })
        let expected =
            stray.map { "dangling \(KeyDescription.text(of: $0)): a deleted zone of no known database" }
            + mistaken.map { "wrong \(KeyDescription.text(of: $0)): the entry names another zone than its key" }
        #expect(told.isSuperset(of: expected), "\(told)")
    }

    // MARK: Numbers

    private static func createDatabases(_ range: Range<Int>, in engine: RecordEngine) throws {
        for number in range {
            let database = DatabaseID(container: "c", owner: UserName("owner\(number)"), scope: .private)
            let birth = ZoneBirth(
                identity: UUID(), incarnation: UUID(), stamp: SampleZone.stamp, databaseIdentity: UUID())
            try engine.transact { try $0.createZone(ZoneID(database: database, name: "zone"), birth) }
        }
    }

    private static func numbers(in engine: RecordEngine) throws -> [UInt64] {
        try engine.read { reader in
            var numbers: [UInt64] = []
            try reader.visitDatabases { _, entry in
                numbers.append(entry.number.rawValue)
                return .next
            }
            return numbers
        }
    }

    @Test("a store of one process numbers its databases one after another, and a shared one scatters them")
    func scattered() throws {
        let memory = MemoryStore()
        let alone = try RecordEngine(store: memory, incarnation: UUID())
        try Self.createDatabases(0..<4, in: alone)
        #expect(try Self.numbers(in: alone) == [1, 2, 3, 4])
        // The same entries in a shared store, as after a copy.
        let shared = try RecordEngine(store: TripStore(memory), incarnation: UUID())
        try Self.createDatabases(4..<8, in: shared)
        let all = try Self.numbers(in: shared)
        #expect(all.prefix(4) == [1, 2, 3, 4])
        #expect(all.dropFirst(4).allSatisfy { $0 >> 46 == 2 })
        #expect(all.compactMap { DatabaseNumber($0).count } == Array(1...8))
        #expect(try shared.verify().isClean)
        // And back.
        let again = try RecordEngine(store: memory, incarnation: UUID())
        try Self.createDatabases(8..<9, in: again)
        #expect(try Self.numbers(in: again).last == 9)
        #expect(try again.verify().isClean)
    }

    @Test("a new database of a shared store is divided from what is below it, and a removed one no longer")
    func divided() throws {
        let store = TripStore()
        let engine = try RecordEngine(store: store, incarnation: UUID())
        try Self.createDatabases(0..<2, in: engine)
        let bounds = try Self.numbers(in: engine).map { DatabaseKeys(DatabaseNumber($0)).all.lower }
        #expect(store.divisions == Set(bounds))
        let first = DatabaseID(container: "c", owner: "owner0", scope: .private)
        try engine.transact { try $0.deleteZone(ZoneID(database: first, name: "zone")) }
        _ = try engine.purgeDeletedZones(pause: {})
        while try !engine.transact({ try $0.removeDatabase(first, limit: 100) }) {}
        #expect(store.divisions == [bounds[1]])
    }

    @Test("a scattered number beyond the counter, and one that no count gives, are reported")
    func unscattered() throws {
        for number in [DatabaseNumber.scattered(77), DatabaseNumber(1 << 41)] {
            let memory = MemoryStore()
            let engine = try RecordEngine(store: TripStore(memory), incarnation: UUID())
            try Self.createDatabases(0..<2, in: engine)
            let database = DatabaseID(container: "c", owner: "planted", scope: .private)
            try memory.transact { writer in
                let entry = DatabaseEntry(number: number, identity: UUID())
                try writer.set(GlobalKeys.database(database), to: entry.encoded())
                try writer.set(DatabaseKeys(number).header(), to: DatabaseHeader().encoded())
            }
            let told = try engine.verify().findings.map(\.detail)
            #expect(told == ["\(number) is in use, but not yet given out"])
        }
    }
}
