// A host of this process on a store of its own on the server, whose monotonic clock a test moves, and work of one kind
// that waits there: more than one transaction does.

import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

/// A host, and work for it or for another one.
final class WorkBench: Sendable {
    private static let container: ContainerName = "iCloud.com.example.work"
    private static let notes = ZoneAddress(zoneName: "Notes")
    /// As many devices as a person may have, and as many notes as notifications wait for one: delivering them takes
    /// more than one transaction.
    private static let deviceNames = (0..<20).map { "device\($0)" }
    private static let toldNames = (0..<100).map { "told\($0)" }
    /// Records that are deleted before the work, in the same order.
    private static let goneNames = (0..<6).map { "gone\($0)" }
    private static let lateName = "late"

    private let work: BackgroundWork
    private let directory: TestDirectory
    private let place: PostgresTestStore
    /// The host's monotonic clock.
    private let time = Locked(MonotonicTime.now)
    private let service: CloudService
    private let person: StoredAccount

    private var store: any OrderedStore { service.engine.store }

    init(_ work: BackgroundWork) throws {
        self.work = work
        directory = try TestDirectory()
        place = try PostgresTestStore()
        let time = time
        var options = RecordEngineOptions()
        options.monotonicNow = { time.value }
        let engine = try RecordEngine(store: place.open(), options: options, incarnation: UUID())
        let assets = AssetStore(
            directory: directory.path + "/assets", session: UUID(), clock: SystemClock(), engine: engine)
        service = CloudService(
            engine: engine, environment: CloudEnvironment(clock: SystemClock(), identifiers: RandomIdentifiers()),
            assets: assets)
        person = try service.createAccount(AccountDraft(externalID: "person"))
        try fill()
        // What every store needs once, so that only the work remains.
        try service.performUpkeep(historySeconds: nil, UpkeepPace(pause: {}))
        // The other process must have seen this host. Otherwise it takes the removal of its beat for a lost commit.
        try engine.beat()
        try addWork()
        try engine.giveBack(BackgroundWork.allCases)
    }

    /// Closes the store. Other processes must have ended.
    func close() {
        service.engine.leave()
        store.close()
    }

    // MARK: Preparing work

    /// Makes what the work is about.
    private func fill() throws {
        switch work {
        case .deliveries:
            try makeZone()
            try save(["first"])
            for name in Self.deviceNames { try service.registerDevice(DeviceAddress(account: person.id, name: name)) }
            try subscribe()
        case .indexes:
            try service.importSchema(Self.schema(marks: ""), into: Self.container)
            try makeZone()
            try save((0..<5).map { "n\($0)" }, ["age": .int64(1)])
        case .purges:
            try makeZone()
            // Each content is held twice.
            for number in 0..<3 { try save(["a\(number)", "b\(number)"], ["file": try file(number)]) }
        case .departures:
            let other = try service.createAccount(AccountDraft(externalID: "other"))
            try service.registerDevice(DeviceAddress(account: other.id, name: "phone"))
            try makeZone(by: other)
            try save(["a", "b"], ["file": try file(0)], by: other)
        case .assets: break
        case .history:
            try makeZone()
            try save(Self.goneNames + [Self.lateName, "kept"])
            try delete(Self.goneNames)
        }
    }

    /// Makes the work itself.
    private func addWork() throws {
        switch work {
        case .deliveries: try save(Self.toldNames)
        case .indexes: try service.importSchema(Self.schema(marks: "QUERYABLE"), into: Self.container)
        case .purges:
            let request = ModifyZonesRequest(deletes: [Self.notes])
            for result in try service.modifyZones(request, as: caller(), in: .private).deletes { _ = try result.get() }
        case .departures:
            // As a host leaves it that is killed when it begins to delete the account.
            let other = try #require(try service.account(externalID: "other"))
            let departure = try service.engine.transact { try service.accountDirectory.depart(other.id, in: $0) }
            #expect(departure != nil)
        case .assets: try leaveUploads()
        case .history: break
        }
    }

    private func caller(_ account: StoredAccount? = nil) -> Caller {
        Caller(container: Self.container, account: (account ?? person).id)
    }

    private func makeZone(by account: StoredAccount? = nil) throws {
        let request = ModifyZonesRequest(saves: [ClientZone(address: Self.notes)])
        for result in try service.modifyZones(request, as: caller(account), in: .private).saves { _ = try result.get() }
    }

    /// Saves records in one commit.
    private func save(
        _ names: [String], _ values: [String: ClientValue] = [:], by account: StoredAccount? = nil
    ) throws {
        let saves = names.map { name in
            RecordSave(
                address: RecordAddress(recordName: name, zone: Self.notes), type: "Note",
                fields: values.mapValues { ClientField($0) }, changedKeys: Set(values.keys))
        }
        let request = ModifyRecordsRequest(saves: saves)
        for result in try service.modifyRecords(request, as: caller(account), in: .private).saves {
            _ = try result.get()
        }
    }

    private func delete(_ names: [String]) throws {
        let addresses = names.map { RecordAddress(recordName: $0, zone: Self.notes) }
        let request = ModifyRecordsRequest(deletes: addresses)
        for result in try service.modifyRecords(request, as: caller(), in: .private).deletes { _ = try result.get() }
    }

    private func subscribe() throws {
        let subject = SubscriptionSubject.query(
            ClientQuery(recordType: "Note"), zone: nil, triggers: .creation, predicateArchive: [1])
        let request = ModifySubscriptionsRequest(saves: [ClientSubscription(id: "created", subject: subject)])
        for result in try service.modifySubscriptions(request, as: caller(), in: .private).saves {
            _ = try result.get()
        }
    }

    /// A file whose content has this number.
    private func file(_ number: Int) throws -> ClientValue {
        let path = "\(directory.path)/\(number)"
        try Data([UInt8(number)]).write(to: URL(fileURLWithPath: path))
        return .asset(.file(path: path))
    }

    private static func schema(marks: String) -> String {
        """
        DEFINE SCHEMA RECORD TYPE Note ( age INT64 \(marks),
            GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world" );
        """
    }

    /// Leaves the uploads of a host that has died long ago: a few more than one transaction removes. Most had not yet
    /// sent a part.
    private func leaveUploads() throws {
        let contents = try #require(store.contents)
        let uploads = (0..<260).map { number in
            let digest = [UInt8(number & 0xFF), UInt8(number >> 8)] + [UInt8](repeating: 0, count: 30)
            return ContentKeyParts(owner: person.userName, digest: digest, upload: UUID())
        }
        for upload in [uploads[0], uploads[1], uploads[259]] {
            try contents.append([[1, 2, 3]], from: 0, to: GlobalKeys.content(upload))
        }
        try service.engine.transact { transaction in
            for upload in uploads {
                let key = GlobalKeys.upload(owner: upload.owner, digest: upload.digest, lease: upload.upload)
                try transaction.set(key, to: UploadEntry(upload: upload.upload, endMilliseconds: 1).encoded())
            }
        }
    }

    // MARK: The other process

    /// Starts another process, and waits until it has committed a part of the work. It has more to do.
    func startOther() throws -> HaltingHost {
        let other = try HaltingHost(place.url, on: work)
        let line = try other.nextLine()
        try #require(line == "working", "\(line)")
        return other
    }

    /// Takes the work over from the other process, which stands still, as soon as it counts as gone and not before; and
    /// does it all.
    func takeOver() throws {
        // A process that ends between two commits leaves history whose removal it has announced. The next removal in
        // the zone removes it, too.
        if work == .history { try delete([Self.lateName]) }
        let held = try #require(try workEntry())
        #expect(held.holder != nil)
        let before = try entries()
        // The first look at the other's beat begins the ten seconds.
        for seconds in [3, 3, 3, 3, 0.5] {
            try pass(seconds)
            try doWork()
        }
        let changes = try changes(since: before)
        #expect(changes == [])
        try pass(0.5)
        try doWork()
        #expect(try workEntry()?.generation == held.generation + 1)
        // Then the other process is forgotten, and with it contents that it may be copying.
        try pass(61)
        try doWork()
    }

    /// Lets time pass, by the clock of this host alone.
    private func pass(_ seconds: Double) throws {
        time.withLock { $0 = $0 + seconds }
        try service.engine.beat()
    }

    /// What a host does in the background from time to time. History expires at once.
    private func doWork() throws {
        if work == .deliveries {
            _ = try service.deliverNotifications()
        } else {
            try service.performUpkeep(historySeconds: work == .history ? 0 : nil, UpkeepPace(pause: {}))
        }
    }

    // MARK: What is there

    private func workEntry() throws -> WorkEntry? {
        try store.read { reader in
            try reader.withValue(forKey: GlobalKeys.work(work)) { try WorkEntry(decoding: $0) }
        }
    }

    /// All entries, except those that say which processes there are, and which has other work.
    func entries() throws -> [[UInt8]: [UInt8]] {
        let leftOut = [GlobalKeyspace.receipts, .work, .hosts].map { GlobalKeys.keyspace($0) }
        let own = GlobalKeys.work(work)
        return try store.read(.wholeStore) { reader in
            var entries: [[UInt8]: [UInt8]] = [:]
            try reader.scan(.everything) { key, value in
                let key = [UInt8](copying: key)
                guard key == own || !leftOut.contains(where: { $0.contains(key) }) else { return .next }
                entries[key] = [UInt8](copying: value)
                return .next
            }
            return entries
        }
    }

    /// The keys of the entries that are not what they were.
    func changes(since before: [[UInt8]: [UInt8]]) throws -> [String] {
        let now = try entries()
        return Set(before.keys).union(now.keys).filter { before[$0] != now[$0] }
            .map { KeyDescription.text(of: $0) }.sorted()
    }

    /// Checks that all work is done, each part once, and that the store agrees with itself.
    func checkIsFinished() throws {
        #expect(try findings() == [])
        #expect(try #require(store.contents).names(after: nil, limit: 10).isEmpty)
        let left: [GlobalKeyspace] = [
            .outbox, .indexReviews, .indexBuilds, .purges, .releases, .departures, .assets, .uploads, .collecting,
        ]
        for keyspace in left { #expect(try keyCount(keyspace) == 0, "\(keyspace)") }
        switch work {
        case .deliveries: try checkQueues()
        case .indexes:
            let index = try service.engine.read { try $0.existingZone(zone).queryIndexes(of: "Note").fields["age"] }
            #expect(index?.phase == .ready)
        case .history: try checkHistory()
        case .purges, .departures, .assets: break
        }
    }

    private var zone: ZoneID {
        let database = DatabaseID(container: Self.container, owner: person.userName, scope: .private)
        return ZoneID(database: database, name: ZoneName(Self.notes.zoneName))
    }

    private func keyCount(_ keyspace: GlobalKeyspace) throws -> Int {
        try store.read { try $0.keys(in: GlobalKeys.keyspace(keyspace)).count }
    }

    /// Each device has one notification of each record: no more would wait.
    private func checkQueues() throws {
        for name in Self.deviceNames {
            let waiting = try service.takeNotifications(for: DeviceAddress(account: person.id, name: name))
            #expect(waiting.compactMap(\.recordName).sorted() == Self.toldNames.sorted(), "\(name)")
        }
    }

    /// Nothing of the deleted records is left.
    private func checkHistory() throws {
        for name in Self.goneNames + [Self.lateName] {
            let state = try service.engine.read { try $0.existingZone(zone).state(of: RecordName(name)) }
            guard case .absent = state else {
                Issue.record("\(name) is there")
                continue
            }
        }
    }

    /// What the verifiers find.
    private func findings() throws -> [String] {
        let engine = service.engine
        var lines = try engine.verify().findings.map { "\($0)" }
        lines += try AccountVerifier(engine: engine).verify().findings.map { "\($0)" }
        lines += try ShareVerifier(engine: engine).verify().findings.map { "\($0)" }
        lines += try SubscriptionVerifier(engine: engine).verify().findings.map { "\($0)" }
        lines += try service.verifyAssets().map { "\($0)" }
        return lines
    }
}

extension ClientNotification {
    /// The record that a query's notification is about.
    fileprivate var recordName: String? {
        guard case .query(_, let record, _)? = subject else { return nil }
        return record.recordName
    }
}
