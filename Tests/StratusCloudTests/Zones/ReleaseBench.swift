// A server with its assets in memory, with one person whose zones are full of them; it can be reopened over its
// leftovers, as after a crash.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport

/// A server, its files, and Alice.
struct ReleaseBench {
    static let container: ContainerName = "iCloud.com.example"
    static let notes = ZoneAddress(zoneName: "Notes")
    static let photos = ZoneAddress(zoneName: "Photos")

    let files: MemoryFiles
    let clock: HandClock
    let service: CloudService
    let account: StoredAccount

    var caller: Caller { Caller(container: Self.container, account: account.id) }

    /// Over a new store, or with `files` over an existing one.
    init(
        on given: (any OrderedStore)? = nil, files: MemoryFiles? = nil, clock: HandClock = HandClock(),
        batchCount: Int = 1_000, orphanCount: Int = 100_000
    ) throws {
        let store = try given ?? TestStores.make()
        self.files = files ?? MemoryFiles()
        if files == nil { self.files.put([], at: "/store/marker") }
        self.clock = clock
        var options = RecordEngineOptions()
        options.limits.purgeBatchCount = batchCount
        // Another process draws others.
        let identifiers = BenchIdentifiers(seed: 7 + UInt64(self.files.callCount))
        service = CloudService(
            engine: try RecordEngine(store: store, options: options, incarnation: identifiers.makeUUID()),
            environment: CloudEnvironment(clock: clock, identifiers: identifiers),
            assets: AssetStore(
                directory: "/store/assets", session: identifiers.makeUUID(), clock: clock, orphanCount: orphanCount,
                files: self.files))
        account = try service.account(externalID: "alice", createIfMissing: AccountDraft())
    }

    /// The server of the next process over the same store and files; what this one had in memory is lost.
    func next(on store: any OrderedStore, batchCount: Int = 1_000) throws -> ReleaseBench {
        try ReleaseBench(on: store, files: files, clock: clock, batchCount: batchCount)
    }

    /// A file with this content. Numbers below 1,000,000 give contents of one length.
    func file(_ number: Int) -> ClientAsset {
        let path = "/in/\(number)"
        if files.content(at: path) == nil { files.put(Array("content \(number + 1_000_000)".utf8), at: path) }
        return .file(path: path)
    }

    func makeZone(_ zone: ZoneAddress) throws {
        let request = ModifyZonesRequest(saves: [ClientZone(address: zone)])
        _ = try service.modifyZones(request, as: caller, in: .private).saves[0].get()
    }

    func deleteZone(_ zone: ZoneAddress) throws {
        _ = try service.modifyZones(ModifyZonesRequest(deletes: [zone]), as: caller, in: .private).deletes[0].get()
    }

    /// Saves a record for each number, holding that file.
    func save(_ numbers: some Sequence<Int>, in zone: ZoneAddress) throws {
        let saves = numbers.map { RecordSave.new("r\($0)", in: zone, ["a": .asset(file($0))]) }
        for start in stride(from: 0, to: saves.count, by: 400) {
            let page = Array(saves[start..<min(start + 400, saves.count)])
            let request = ModifyRecordsRequest(saves: page, policy: .allKeys)
            for result in try service.modifyRecords(request, as: caller, in: .private).saves { _ = try result.get() }
        }
    }

    /// One round of upkeep, which ends when `shouldContinue` returns false.
    func upkeep(shouldContinue: @escaping () -> Bool = { true }) throws {
        try service.performUpkeep(
            historySeconds: nil, UpkeepPace(pause: {}, shouldContinue: shouldContinue))
    }

    /// Releases assets; after each batch `rest` is called.
    @discardableResult
    func release(
        rest: @escaping () -> Void = {}, shouldContinue: @escaping () -> Bool = { true }
    ) throws -> AssetReleaseProgress {
        try service.releaseAssets(UpkeepPace(pause: {}, rest: { _ in rest() }, shouldContinue: shouldContinue))
    }

    /// How many files of contents there are.
    func contentCount() throws -> Int {
        let top = "/store/assets/content"
        var count = 0
        for owner in (try? files.names(in: top)) ?? [] {
            for folder in try files.names(in: "\(top)/\(owner)") {
                count += try files.names(in: "\(top)/\(owner)/\(folder)").count
            }
        }
        return count
    }

    /// How often the ledger counts contents, all together.
    func heldCount() throws -> UInt64 {
        try service.engine.read { reader in
            var sum: UInt64 = 0
            try reader.store.scan(GlobalKeys.keyspace(.assets)) { _, value in
                sum += try AssetEntry(decoding: value).count
                return .next
            }
            return sum
        }
    }

    /// The findings of all verifiers, except uncounted files, which a crash leaves to the next sweep.
    func problems() throws -> [String] {
        let engine = service.engine
        let assets = try service.verifyAssets().filter { $0.kind != .orphaned }
        return try assets.map { "\($0)" } + AccountVerifier(engine: engine).verify().findings.map { "\($0)" }
            + engine.verify().findings.map { "\($0)" }
    }

    /// Entries of the whole store.
    func entryCount() throws -> Int {
        try service.engine.read { reader in
            var count = 0
            try reader.store.scan(KeyRange(from: [], upTo: [UInt8](repeating: 0xFF, count: 32))) { _, _ in
                count += 1
                return .next
            }
            return count
        }
    }
}
