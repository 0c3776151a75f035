// A file that changes during its import: the answer to the request, and that nothing of it stays.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("files that change while a request takes them in", .inBothPlaces)
struct AssetChangeTests {
    private static let notes = ZoneAddress(zoneName: "Notes")
    private static let other = ZoneAddress(zoneName: "Other")
    private static let old = RecordAddress(recordName: "old", zone: notes)

    private let scratch: AssetScratch
    private let store: any OrderedStore
    private let service: CloudService
    private let account: StoredAccount
    private let caller: Caller
    /// A file that grows by one byte at every read, for all files, while `isChanging` is set.
    private let changing: String
    private let isChanging: Locked<Bool>

    init() throws {
        let scratch = try AssetScratch()
        let path = try scratch.write([UInt8](repeating: 7, count: 600_000), to: "changing")
        let isChanging = Locked(true)
        let files = MeddlingFiles { _ in
            guard isChanging.value, let handle = FileHandle(forWritingAtPath: path) else { return }
            _ = try? handle.seekToEnd()
            try? handle.write(contentsOf: Data([1]))
        }
        let clock = BenchClock()
        let identifiers = BenchIdentifiers(seed: 11)
        let store = ContentPlace.store(over: MemoryStore(), clock)
        let engine = try RecordEngine(store: store, incarnation: identifiers.makeUUID())
        let service = CloudService(
            engine: engine, environment: CloudEnvironment(clock: clock, identifiers: identifiers),
            assets: AssetStore(
                directory: scratch.path + "/assets", session: identifiers.makeUUID(), clock: clock, files: files,
                engine: engine))
        let account = try service.createAccount(AccountDraft(externalID: "alice"))
        let caller = Caller(container: "iCloud.com.example", account: account.id)
        let zones = ModifyZonesRequest(saves: [Self.notes, Self.other].map { ClientZone(address: $0) })
        for result in try service.modifyZones(zones, as: caller, in: .private).saves { _ = try result.get() }
        self.scratch = scratch
        self.store = store
        self.service = service
        self.account = account
        self.caller = caller
        changing = path
        self.isChanging = isChanging
        _ = try modify([.new("old", in: Self.notes)]).saves[0].get()
    }

    private func modify(
        _ saves: [RecordSave], deleting deletes: [RecordAddress] = [], atomic: Bool = true
    ) throws -> ModifyRecordsResponse {
        let request = ModifyRecordsRequest(saves: saves, deletes: deletes, isAtomic: atomic)
        return try service.modifyRecords(request, as: caller, in: .private)
    }

    /// A record with a file.
    private func save(_ name: String, _ path: String, in zone: ZoneAddress = Self.notes) -> RecordSave {
        .new(name, in: zone, ["file": .asset(.file(path: path))])
    }

    /// What fetching these records of Notes fails with; nil for those that are there.
    private func fetchCodes(_ names: [String]) throws -> [CloudError.Code?] {
        let addresses = names.map { RecordAddress(recordName: $0, zone: Self.notes) }
        let request = FetchRecordsRequest(addresses: addresses)
        return try service.fetchRecords(request, as: caller, in: .private).records.map(\.code)
    }

    /// The number of contents after unreferenced ones have been collected.
    private func contentCount() throws -> Int {
        try service.collectAssets()
        #expect(try service.verifyAssets().isEmpty)
        #expect(try service.verifyUsage(of: account.userName).isExact)
        if let contents = store.contents { return try contents.names(after: nil, limit: .max).count }
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path + "/assets/incoming").isEmpty)
        let content = scratch.path + "/assets/content"
        return try FileManager.default.subpathsOfDirectory(atPath: content).count { $0.utf8.count > 64 }
    }

    @Test(
        "[C-10][A-02] a file that changes while it is read fails its record and its atomic zone, of which nothing is written"
    )
    func atomic() throws {
        let steady = try scratch.write([1], to: "steady")
        let notes = [save("changing", changing), save("steady", steady), .new("plain", in: Self.notes)]
        let elsewhere = save("elsewhere", try scratch.write([2], to: "elsewhere"), in: Self.other)
        let commitCount = store.statistics.transactionsCommitted
        let answer = try modify(notes + [elsewhere], deleting: [Self.old])
        #expect(answer.saves.map(\.code) == [.assetFileModified, .batchRequestFailed, .batchRequestFailed, nil])
        #expect(answer.deletes.map(\.code) == [.batchRequestFailed])
        #expect(answer.saves[0].error?.fields["path"] == changing)
        #expect(answer.saves[1].error?.innerCode == 2024)
        // The other zone's commit is the only one, and its content the only one that stays. In the store, a transaction
        // before it leases the contents.
        let leasing = ContentPlace.current == .store ? 1 : 0
        #expect(store.statistics.transactionsCommitted == commitCount + 1 + leasing)
        #expect(
            try fetchCodes(["changing", "steady", "plain", "old"]) == [.unknownItem, .unknownItem, .unknownItem, nil])
        #expect(try contentCount() == 1)
        // Saved again when it is complete, as the error advises.
        isChanging.withLock { $0 = false }
        let again = try modify(notes, deleting: [Self.old])
        #expect(again.saves.allSatisfy { $0.error == nil })
        #expect(again.deletes.allSatisfy { $0.error == nil })
        #expect(try fetchCodes(["changing", "steady", "plain", "old"]) == [nil, nil, nil, .unknownItem])
        #expect(try contentCount() == 3)
    }

    @Test("[C-10][A-05] without atomicity, a record whose file changes while it is read fails alone")
    func standingAlone() throws {
        let steady = try scratch.write([1], to: "steady")
        let answer = try modify(
            [save("changing", changing), save("steady", steady)], deleting: [Self.old], atomic: false)
        #expect(answer.saves.map(\.code) == [.assetFileModified, nil])
        #expect(answer.deletes.map(\.code) == [nil])
        #expect(try fetchCodes(["changing", "steady", "old"]) == [.unknownItem, nil, .unknownItem])
        #expect(try contentCount() == 1)
    }
}
