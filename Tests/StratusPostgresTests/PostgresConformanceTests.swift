// Stores on a PostgreSQL server against the suite that every store must pass.

import StratusPostgres
import StratusStore
import StratusTestSupport
import Testing

@Suite("a store on PostgreSQL conforms", .enabled(if: PostgresTestStore.isServerThere))
struct PostgresConformanceTests {
    static let plainFixture = PostgresFixture("PostgreSQL")
    static let cutFixture = PostgresFixture("PostgreSQL, cut connections", cutsConnections: true)
    static let twiceFixture = PostgresFixture("PostgreSQL, bodies twice") { $0.wire.runsBodiesTwice = true }

    @Test("to every check", arguments: StoreConformance.checks(for: plainFixture))
    func plain(check: StoreConformance.Check) async throws {
        try await TestThreads.offPool { try check.run(Self.plainFixture) }
    }

    @Test(
        "when every fifth commit is cut before, after, or instead of its answer",
        .enabled(if: PostgresTestStore.runsLongTests),
        arguments: StoreConformance.checks(for: cutFixture).filter { !$0.plansFaults })
    func cut(check: StoreConformance.Check) async throws {
        try await TestThreads.offPool { try check.run(Self.cutFixture) }
    }

    @Test(
        "when it runs every body twice", .enabled(if: PostgresTestStore.runsLongTests),
        arguments: StoreConformance.checks(for: twiceFixture).filter { !$0.plansFaults })
    func bodiesTwice(check: StoreConformance.Check) async throws {
        try await TestThreads.offPool { try check.run(Self.twiceFixture) }
    }
}

/// Gives stores on the test server, each in a schema of its own.
struct PostgresFixture: StoreFixture {
    let name: String
    let isShared = true
    let injectsConflicts = true
    private let configure: @Sendable (inout PostgresOptions) -> Void

    private let cutsConnections: Bool

    init(
        _ name: String, cutsConnections: Bool = false,
        configure: @escaping @Sendable (inout PostgresOptions) -> Void = { _ in }
    ) {
        self.name = name
        self.cutsConnections = cutsConnections
        self.configure = configure
    }

    func makePlace() throws -> any StorePlace { try PostgresPlace(configure, cutsConnections: cutsConnections) }
}

private final class PostgresPlace: StorePlace {
    private let place: PostgresTestStore
    private let failsNextFetch: Locked<Bool>

    private let proxy: WireProxy?

    init(_ configure: @escaping @Sendable (inout PostgresOptions) -> Void, cutsConnections: Bool) throws {
        let fails = Locked(false)
        failsNextFetch = fails
        place = try PostgresTestStore(reusesTables: true) { options in
            configure(&options)
            options.testHooks.failsNextFetch = {
                fails.withLock { fails in
                    defer { fails = false }
                    return fails
                }
            }
        }
        proxy = cutsConnections ? try WireProxy(place.url) : nil
        proxy?.plan(each: [.cutBefore, .cutAfterForwarding, .cutAfterAnswer, .doubled], every: 5)
    }

    func open() throws -> any OrderedStore {
        guard let proxy else { return try place.open() }
        return try PostgresStore.open(url: proxy.url, options: place.options()).store
    }

    func failNextRead() { failsNextFetch.withLock { $0 = true } }

    func remove() {
        proxy?.stop()
        place.remove()
    }
}
