// A store with assets in memory or on the disk, a clock that is moved by hand, and one record's life in two calls.

import Foundation
@testable import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport

/// A clock that stands still until a test moves it.
final class HandClock: CloudClock {
    private let uptime = Locked(1_000.0)

    var now: Date { Date(timeIntervalSinceReferenceDate: 800_000_000 + uptimeSeconds) }
    var uptimeSeconds: Double { uptime.value }

    func advance(seconds: Double) { uptime.withLock { $0 += seconds } }
}

/// Owns a fresh directory of the disk.
final class AssetScratch: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("stratus-assets-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ content: [UInt8], to name: String) throws -> String {
        let file = path + "/" + name
        try Data(content).write(to: URL(filePath: file))
        return file
    }
}

/// An engine with assets.
struct AssetFixture {
    static let owner: UserName = "_alice"
    static let session = UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    let engine: RecordEngine
    let store: AssetStore
    let ledger: AssetLedger
    let collector: AssetCollector
    let verifier: AssetVerifier
    let clock: HandClock

    init(
        on given: (any OrderedStore)? = nil, directory: String, files: any AssetFiles = SystemAssetFiles(),
        clock: HandClock = HandClock(), session: UUID = Self.session, byteCountLimit: Int64? = nil
    ) throws {
        engine = try RecordEngine(
            store: ContentPlace.store(over: given ?? TestStores.make(), clock), incarnation: UUID())
        store = AssetStore(
            directory: directory, session: session, clock: clock, byteCountLimit: byteCountLimit, leaseSeconds: 60,
            files: files, engine: engine)
        ledger = AssetLedger(store: store)
        collector = AssetCollector(engine: engine, store: store)
        verifier = AssetVerifier(engine: engine, store: store)
        self.clock = clock
    }

    /// One commit that begins and ends holding contents.
    func settle(
        adding added: [AssetDescriptor] = [], removing removed: [AssetDescriptor] = [], owner: UserName = Self.owner
    ) throws {
        func counts(_ assets: [AssetDescriptor]) -> [AssetDescriptor: Int] {
            assets.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        let uptimeSeconds = clock.uptimeSeconds
        try engine.transact { transaction in
            try ledger.settle(
                adding: counts(added), removing: counts(removed), owner: owner, atUptimeSeconds: uptimeSeconds,
                in: transaction)
        }
    }

    /// What a save with one asset does.
    @discardableResult
    func save(_ path: String, owner: UserName = Self.owner) throws -> AssetDescriptor {
        let asset = try store.takeIn(path: path, owner: owner)
        try settle(adding: [asset], owner: owner)
        store.release([asset], owner: owner)
        return asset
    }

    /// The number of stored contents. `directory` is that of the assets, on the disk.
    func contentCount(in directory: String) throws -> Int {
        if let contents = engine.store.contents { return try contents.names(after: nil, limit: .max).count }
        let top = directory + "/content"
        guard FileManager.default.fileExists(atPath: top) else { return 0 }
        return try FileManager.default.subpathsOfDirectory(atPath: top).count { $0.utf8.count > 64 }
    }

    func count(of asset: AssetDescriptor, owner: UserName = Self.owner) throws -> UInt64? {
        try engine.read { reader in
            try AssetLedger.entry(of: AssetKey(owner: owner, digest: asset.digest), in: reader)?.count
        }
    }
}

/// The error's code, or nil if nothing is thrown.
func cloudErrorCode(_ body: () throws -> some Any) -> CloudError.Code? {
    do {
        _ = try body()
        return nil
    } catch { return (error as? CloudError)?.code ?? CloudError.Code(rawValue: -1) }
}
