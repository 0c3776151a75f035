// The stores on which suites run. Each suite has a store of its own choice; one setting replaces it in all of them:
//
//     STRATUS_TEST_STORE=wire make test FILTER=Sharing      memory, leveldb, wire or postgres

internal import Foundation
internal import StratusLevelDB
internal import StratusModel
internal import StratusPostgres
package import StratusStore

/// New, empty stores.
package enum TestStores {
    package enum Kind: String, Sendable, CaseIterable {
        case memory
        case leveldb
        /// At the other end of a wire: `TripStore`.
        case wire
        /// On the server that `scripts/postgres run` starts, each store in a schema of its own.
        case postgres
    }

    /// The kind that all suites use; nil if each chooses.
    @TaskLocal package static var chosen: Kind? = named

    private static let named = ProcessInfo.processInfo.environment["STRATUS_TEST_STORE"].map { name in
        guard let kind = Kind(rawValue: name) else {
            preconditionFailure("STRATUS_TEST_STORE is unknown: set it to memory, leveldb, wire or postgres.")
        }
        return kind
    }

    /// Whether the store that a suite gets lets caches answer. Where others may write to it they only guess, and costs
    /// are others.
    package static var letCachesAnswer: Bool { chosen != .wire && chosen != .postgres }

    /// A store of the chosen kind, or the suite's own. A directory is removed with its store.
    package static func make(
        runsBodiesTwice: Bool = false, otherwise own: () throws -> any OrderedStore = { MemoryStore() }
    ) throws -> any OrderedStore {
        switch chosen {
        case nil: return try own()
        case .memory: return MemoryStore(runsBodiesTwice: runsBodiesTwice)
        case .wire:
            var options = TripStore.Options()
            options.wire.runsBodiesTwice = runsBodiesTwice
            return TripStore(options: options)
        case .leveldb:
            let store = try ScratchLevelDBStore()
            return runsBodiesTwice ? TwiceRunningStore(store) : store
        case .postgres: return try ScratchPostgresStore(runsBodiesTwice: runsBodiesTwice)
        }
    }
}

/// A store on LevelDB whose directory is removed with it.
private final class ScratchLevelDBStore: StoreWrapper {
    private let directory: URL
    let wrapped: any OrderedStore

    init() throws {
        var generator = SystemRandomNumberGenerator()
        directory = FileManager.default.temporaryDirectory
            .appending(path: "stratus-chosen-\(UUID.drawn(from: &generator).uuidString)")
        var options = LevelDBOptions()
        options.syncsCommits = false
        wrapped = try LevelDBStore.open(at: directory.path, options: options)
    }

    deinit {
        wrapped.close()
        try? FileManager.default.removeItem(at: directory)
    }
}

/// A store on the test server whose schema is removed with it.
private final class ScratchPostgresStore: StoreWrapper {
    private let place: PostgresTestStore
    let wrapped: any OrderedStore

    init(runsBodiesTwice: Bool) throws {
        place = try PostgresTestStore(reusesTables: true) { $0.wire.runsBodiesTwice = runsBodiesTwice }
        wrapped = try place.open()
    }

    deinit { wrapped.close() }
}
