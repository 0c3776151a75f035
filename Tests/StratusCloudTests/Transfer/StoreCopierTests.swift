// Copies of whole stores from one engine to another: equal entries and contents, interrupted and resumed, and never
// taken for a store before they are whole.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("copies of stores")
struct StoreCopierTests {
    private let source: any OrderedStore
    private let town: AssetTown

    /// Some hundred records in two people's zones, with assets.
    init() throws {
        source = MemoryStore()
        town = try AssetTown(over: source)
        try town.makeZones(AssetTown.notes, AssetTown.other)
        try town.makeZones(AssetTown.notes, by: town.bob)
        for number in 0..<60 {
            let text = String(repeating: "t", count: number * 40)
            try save("r\(number)", ["text": .string(text)], by: number % 3 == 0 ? town.bob : town.alice)
        }
        for number in 0..<4 { try save("a\(number)", ["image": .file(number)], by: town.alice) }
        try save("a4", ["image": .file(0)], by: town.bob)
    }

    private func save(_ name: String, _ values: [String: ClientValue], by account: StoredAccount) throws {
        let answer = try town.modify([.new(name, values)], by: account)
        for result in answer.saves { _ = try result.get() }
    }

    /// The contents of a store, which are files in a directory unless the store has a place for them.
    private func assets(_ name: String, _ engine: RecordEngine? = nil) -> AssetStore {
        AssetStore(
            directory: "/\(name)/assets", session: UUID(), clock: town.clock, leaseSeconds: 60, files: town.files,
            engine: engine)
    }

    /// A copier into a store whose asset files are in a directory.
    private func copier(
        into target: any OrderedStore, _ name: String = "copy",
        progress: @escaping (StoreCopyProgress) -> Void = { _ in }
    ) throws -> StoreCopier {
        try makeDirectory(name)
        return StoreCopier(
            from: try RecordEngine(store: source, incarnation: UUID()), to: target,
            assets: (try #require(town.service.assets), { [self] in assets(name, $0) }), draw: UUID.init,
            pageEntryCount: 100,
            progress: progress)
    }

    private func makeDirectory(_ name: String) throws {
        if (try? town.files.names(in: "/\(name)")) == nil { town.files.put([], at: "/\(name)/marker") }
    }

    /// The entries without what a copy changes: incarnations, and with them the headers of zones.
    private func entries(_ store: any OrderedStore) throws -> [[UInt8]: [UInt8]] {
        let engine = try RecordEngine(store: store, incarnation: UUID())
        return try engine.read { reader in
            var headers: Set<[UInt8]> = [GlobalKeys.format()]
            try reader.visitZones { _, listing in
                headers.insert(listing.keys.header())
                return .next
            }
            var entries: [[UInt8]: [UInt8]] = [:]
            try reader.store.forEach(in: .everything) { key, value in
                entries[[UInt8](copying: key)] = [UInt8](copying: value)
            }
            return entries.filter { !headers.contains($0.key) }
        }
    }

    private func incarnations(_ store: any OrderedStore) throws -> [UUID] {
        let engine = try RecordEngine(store: store, incarnation: UUID())
        return try engine.read { reader in
            var found = [engine.openedIncarnation]
            try reader.visitZones { id, _ in
                found.append(try reader.existingZone(id).header().incarnation)
                return .next
            }
            return found
        }
    }

    private func code(_ body: () throws -> Void) -> StoreError.Code? {
        do { try body() } catch { return (error as? StoreError)?.code }
        return nil
    }

    // MARK: Whole copies

    @Test("a copy holds every entry and every content, and has incarnations of its own")
    func whole() throws {
        let target = MemoryStore()
        var copier = try copier(into: target)
        let report = try copier.run()
        #expect(try entries(target) == entries(source))
        #expect(report.entryCount == (try entries(source).count) + 3)
        #expect(report.contentCount == 5)
        #expect(report.findings == [])
        let all = try incarnations(source) + incarnations(target)
        #expect(Set(all).count == all.count)
        let engine = try RecordEngine(store: target, incarnation: UUID())
        let found = try AssetVerifier(engine: engine, store: assets("copy")).verify()
        #expect(found.findings.isEmpty, "\(found.findings)")
    }

    @Test("a copy goes from one kind of store to another, and back")
    func kinds() throws {
        let wire = TripStore(MemoryStore())
        var copier = try copier(into: wire)
        let there = try copier.run()
        let databases = GlobalKeys.keyspace(.databases)
        let bounds = try entries(source).filter { databases.contains($0.key) }
            .map { DatabaseKeys(try DatabaseEntry(decoding: $0.value.span).number).all.lower }
        try #require(!bounds.isEmpty)
        #expect(Set(wire.divisions) == Set(bounds))
        let again = MemoryStore()
        try makeDirectory("again")
        var back = StoreCopier(
            from: try RecordEngine(store: wire, incarnation: UUID()), to: again,
            assets: (assets("copy"), { [self] in assets("again", $0) }), draw: UUID.init)
        #expect(try back.run().entryCount == there.entryCount)
        #expect(try entries(again) == entries(source))
    }

    @Test("a store whose snapshots end early can be copied to, and from while nobody writes")
    func short() throws {
        let target = ShortSnapshotStore(MemoryStore(), endingAfter: 40)
        var copier = StoreCopier(
            from: try RecordEngine(store: ShortSnapshotStore(source, endingAfter: 40), incarnation: UUID()),
            to: target, assets: (try #require(town.service.assets), { [self] in assets("copy", $0) }), draw: UUID.init)
        try makeDirectory("copy")
        _ = try copier.run()
        #expect(try entries(target.wrapped) == entries(source))
    }

    @Test("a store that was created and never used takes a copy; one with data does not")
    func used() throws {
        let fresh = MemoryStore()
        _ = try RecordEngine(store: fresh, incarnation: UUID())
        var copier = try copier(into: fresh)
        _ = try copier.run()
        #expect(try entries(fresh) == entries(source))
        #expect(code { _ = try copier.run() } == .invalidRequest)
        let foreign = MemoryStore()
        try foreign.transact { try $0.set([1], to: [1]) }
        var other = try self.copier(into: foreign)
        #expect(code { _ = try other.run() } == .invalidRequest)
        #expect(try foreign.read { try $0.value(forKey: GlobalKeys.format()) } == nil)
    }

    @Test("the long-lived operations are copied before the copy counts as a store")
    func operations() throws {
        let target = MemoryStore()
        try makeDirectory("copy")
        var wasStore: Bool?
        var copier = StoreCopier(
            from: try RecordEngine(store: source, incarnation: UUID()), to: target,
            assets: (try #require(town.service.assets), { [self] in assets("copy", $0) }), draw: UUID.init,
            copyOperations: { _, _ in
                wasStore = (try? RecordEngine(store: target, incarnation: UUID())) != nil
                return 7
            })
        #expect(try copier.run().operationCount == 7)
        #expect(wasStore == false)
    }

    // MARK: Interrupted copies

    /// A store that fails all transactions after some of them.
    private func interrupted(after count: Int) throws -> MemoryStore {
        let memory = MemoryStore()
        let failing = EndingStore(memory, transactionCount: count)
        var copier = try copier(into: failing)
        #expect(throws: (any Error).self) { _ = try copier.run() }
        return memory
    }

    @Test("wherever a copy is interrupted, it is no store, and resumed it is the whole one", arguments: 1..<8)
    func resumed(count: Int) throws {
        let target = try interrupted(after: count)
        let error = #expect(throws: StoreError.self) { try RecordEngine(store: target, incarnation: UUID()) }
        #expect(error?.code == .notAStore)
        #expect(error?.message.contains("--resume") == true)
        var copier = try copier(into: target)
        #expect(code { _ = try copier.run() } == .invalidRequest)
        _ = try copier.run(resuming: true)
        #expect(try entries(target) == entries(source))
    }

    @Test("a resumed copy writes only what is missing")
    func missing() throws {
        let target = MemoryStore()
        var whole = try copier(into: target)
        let first = try whole.run()
        #expect(first.changedEntryCount == first.entryCount)
        // As if the process had ended before the mark went.
        try target.transact { writer in
            let format = try #require(
                try writer.withValue(forKey: GlobalKeys.format()) { try FormatEntry(decoding: $0) })
            let source = try RecordEngine(store: source, incarnation: UUID()).openedIncarnation
            let mark = FormatEntry(incarnation: format.incarnation, copied: source)
            try writer.set(GlobalKeys.format(), to: mark.encoded())
        }
        var copier = try copier(into: target)
        // The headers of the zones, which had their new incarnations.
        #expect(try copier.run(resuming: true).changedEntryCount == 3)
    }

    @Test("what was committed before a copy is resumed is in it, and what was deleted is not")
    func changed() throws {
        let target = try interrupted(after: 2)
        let answer = try town.modify([], deleting: [.note("r1"), .note("a0"), .note("r2")])
        for result in answer.deletes { _ = try result.get() }
        try save("new", ["image": .file(4)], by: town.alice)
        var copier = try copier(into: target)
        _ = try copier.run(resuming: true)
        #expect(try entries(target) == entries(source))
    }

    @Test("a copy that was begun before its source was migrated is resumed in the new format", arguments: 1..<8)
    func migratedSince(count: Int) throws {
        let target = try interrupted(after: count)
        try target.transact { writer in
            var mark = try #require(
                try writer.withValue(forKey: GlobalKeys.format()) { try FormatEntry(decoding: $0) })
            mark.version = FormatEntry.currentVersion - 1
            try writer.set(GlobalKeys.format(), to: mark.encoded())
        }
        var copier = try copier(into: target)
        _ = try copier.run(resuming: true)
        #expect(try entries(target) == entries(source))
    }

    @Test("an unfinished copy of another store is refused")
    func another() throws {
        let target = try interrupted(after: 1)
        try RecordEngine(store: source, incarnation: UUID()).renewOwnIncarnation(to: UUID())
        var copier = try copier(into: target)
        #expect(code { _ = try copier.run(resuming: true) } == .invalidRequest)
    }

    @Test("part of a content that a killed process has left is replaced")
    func partialContent() throws {
        let target = try interrupted(after: 2)
        let key = try source.read { reader in
            try #require(try reader.keys(in: GlobalKeys.keyspace(.assets), limit: 1).first)
        }
        let (owner, digest) = try GlobalKeys.readAssetKey(key.span)
        let path = assets("copy").directory.file(of: AssetKey(owner: owner, digest: digest))
        town.files.put([1], at: path)
        var copier = try copier(into: target)
        #expect(try copier.run(resuming: true).contentCount == 5)
    }

    // MARK: Damage

    @Test("a missing content fails the copy, and so does a damaged one")
    func contents() throws {
        let key = try source.read { reader in
            try #require(try reader.keys(in: GlobalKeys.keyspace(.assets), limit: 1).first)
        }
        let (owner, digest) = try GlobalKeys.readAssetKey(key.span)
        let path = try #require(town.service.assets).directory.file(of: AssetKey(owner: owner, digest: digest))
        town.files.put([0], at: path)
        var damaged = try copier(into: MemoryStore())
        #expect(code { _ = try damaged.run() } == .corruption)
        try town.files.removeFile(path)
        let target = MemoryStore()
        var missing = try copier(into: target, "other")
        #expect(code { _ = try missing.run() } == .corruption)
        #expect(code { _ = try RecordEngine(store: target, incarnation: UUID()) } == .notAStore)
    }

    @Test("faults of the source that lose nothing are reported, and copied")
    func findings() throws {
        let keys = try town.service.engine.read { reader in
            let zone = ZoneID(
                database: DatabaseID(
                    container: AssetTown.container, owner: town.alice.userName, scope: .private), name: "Notes")
            return try reader.existingZone(zone).keys
        }
        try source.transact { try $0.delete(keys.type("Note", name: "r1")) }
        let target = MemoryStore()
        var copier = try copier(into: target)
        let report = try copier.run()
        #expect(report.findings.contains { $0.hasPrefix("missing: ") }, "\(report.findings)")
        #expect(try entries(target) == entries(source))
    }

    @Test("an entry that the target has lost or changed is found", arguments: [nil, [9]] as [[UInt8]?])
    func lost(planted: [UInt8]?) throws {
        var copier = try copier(into: DistortingStore(MemoryStore(), planted))
        #expect(code { _ = try copier.run() } == .corruption)
    }

    @Test("a source of an older format is refused before anything is written")
    func older() throws {
        let format = try source.read { try $0.withValue(forKey: GlobalKeys.format()) { try FormatEntry(decoding: $0) } }
        let old = FormatEntry(version: 1, incarnation: try #require(format).incarnation)
        try source.transact { try $0.set(GlobalKeys.format(), to: old.encoded()) }
        var options = RecordEngineOptions()
        options.olderFormat = .kept
        let target = MemoryStore()
        var copier = StoreCopier(
            from: try RecordEngine(store: source, options: options, incarnation: UUID()), to: target,
            assets: (try #require(town.service.assets), { [self] in assets("copy", $0) }), draw: UUID.init)
        #expect(code { _ = try copier.run() } == .olderFormat)
        #expect(target.entryCount == 0)
    }
}

/// Fails every transaction after some, as a process that ends.
private final class EndingStore: StoreWrapper {
    let wrapped: any OrderedStore
    private let left: Locked<Int>

    init(_ wrapped: any OrderedStore, transactionCount: Int) {
        (self.wrapped, left) = (wrapped, Locked(transactionCount))
    }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        let isOver = left.withLock { left in
            left -= 1
            return left < 0
        }
        guard !isOver else { throw StoreError(.unavailable, "The process has ended.") }
        return try wrapped.transact(lane: lane, body)
    }
}

/// Changes one entry of the second transaction, or loses it.
private final class DistortingStore: StoreWrapper {
    let wrapped: any OrderedStore
    private let planted: [UInt8]?
    private let count = Locked(0)

    init(_ wrapped: any OrderedStore, _ planted: [UInt8]?) { (self.wrapped, self.planted) = (wrapped, planted) }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        let number = count.withLock { count in
            count += 1
            return count
        }
        return try wrapped.transact(lane: lane) { transaction in
            let result = try body(transaction)
            guard number == 2, let key = try transaction.keys(in: .everything, limit: 8).last else { return result }
            if let planted { try transaction.set(key, to: planted) } else { try transaction.delete(key) }
            return result
        }
    }
}
