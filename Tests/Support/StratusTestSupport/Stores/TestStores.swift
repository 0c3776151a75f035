// The stores on which suites run. Each suite has a store of its own choice; one setting replaces it in all of them:
//
//     STRATUS_TEST_STORE=wire make test FILTER=Sharing      memory, leveldb, wire, postgres,
//                                                           hosts or postgres-hosts

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
        /// At the other end of a wire, with several hosts where a suite has people: each person uses one of them.
        case hosts
        case postgresHosts = "postgres-hosts"

        /// Whether it is on the server.
        package var isOnServer: Bool { self == .postgres || self == .postgresHosts }
    }

    /// How many hosts share a store: `STRATUS_HOST_COUNT`.
    @TaskLocal package static var hostCount =
        ProcessInfo.processInfo.environment["STRATUS_HOST_COUNT"].flatMap { Int($0) }.map { max(1, $0) } ?? 2

    /// The kind that all suites use; nil if each chooses.
    @TaskLocal package static var chosen: Kind? = named

    private static let named = ProcessInfo.processInfo.environment["STRATUS_TEST_STORE"].map { name in
        guard let kind = Kind(rawValue: name) else {
            preconditionFailure(
                "STRATUS_TEST_STORE is unknown: set it to memory, leveldb, wire, postgres, hosts or postgres-hosts.")
        }
        return kind
    }

    /// Whether the store that a suite gets lets caches answer. Where others may write to it they only guess, and costs
    /// are others.
    package static var letCachesAnswer: Bool { chosen == nil || chosen == .memory || chosen == .leveldb }

    /// A store of the chosen kind, or the suite's own. A directory is removed with its store.
    package static func make(
        runsBodiesTwice: Bool = false, otherwise own: () throws -> any OrderedStore = { MemoryStore() }
    ) throws -> any OrderedStore {
        switch chosen {
        case nil: return try own()
        case .memory: return MemoryStore(runsBodiesTwice: runsBodiesTwice)
        case .wire, .hosts:
            var options = TripStore.Options()
            options.wire.runsBodiesTwice = runsBodiesTwice
            return TripStore(options: options)
        case .leveldb:
            let store = try ScratchLevelDBStore()
            return runsBodiesTwice ? TwiceRunningStore(store) : store
        case .postgres, .postgresHosts: return try ScratchPostgresStore(runsBodiesTwice: runsBodiesTwice)
        }
    }

    /// The stores of several hosts with the same content, if that is the chosen kind; nil if it is another.
    package static func makeShared() throws -> [any OrderedStore]? {
        switch chosen {
        case .hosts:
            let memory = MemoryStore()
            return (0..<hostCount).map { _ in TripStore(memory) }
        case .postgresHosts:
            let place = try PostgresTestStore(reusesTables: true)
            return try (0..<hostCount).map { _ in try ScratchPostgresStore(in: place) }
        default: return nil
        }
    }

    /// Runs a test whose stores are shared by so many hosts: on the server if all suites with several hosts are there.
    package static func withHosts(_ count: Int, _ body: () async throws -> Void) async throws {
        try await $hostCount.withValue(count) {
            try await $chosen.withValue(chosen == .postgresHosts ? .postgresHosts : .hosts) { try await body() }
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

    convenience init(runsBodiesTwice: Bool) throws {
        try self.init(in: PostgresTestStore(reusesTables: true) { $0.wire.runsBodiesTwice = runsBodiesTwice })
    }

    init(in place: PostgresTestStore) throws {
        self.place = place
        wrapped = try place.open()
    }

    deinit { wrapped.close() }
}
