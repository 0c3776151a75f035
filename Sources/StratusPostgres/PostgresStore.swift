// The ordered store on PostgreSQL: one database, or one schema of it, for each store.
//
// How it works: `WireStore` has everything that is not PostgreSQL's: buffers, lanes, retries, counted costs. This type
// opens a store, which means checking the server, creating the tables and taking the lease, and closes it.
//
// Invariants:
//   1. A host's pool opens connections only while the host has a lease, which others may share.
//   2. Closing waits for accepted calls, then closes the pool, then gives the lease back: a program that has the store
//      for itself does not write before.

package import StratusStore

/// A store on a PostgreSQL server.
package final class PostgresStore: OrderedStore {
    private let wire: WireStore
    private let source: PostgresSource
    private let pool: ConnectionPool<PostgresConnection>
    private let counter: TripCounter
    private let notices: ChangeNotices?
    private let followed: [StoreWatch]
    private let standbys: StandbyUpkeep
    /// The address without secrets.
    package let address: String
    /// What makes two addresses the same store.
    package let identity: ConnectionInfo.Identity

    private init(
        _ info: ConnectionInfo, _ pool: ConnectionPool<PostgresConnection>, _ options: PostgresOptions,
        counter: TripCounter, lost: LostSessions, check: FormatCheck?, lease: HostLease?, confirmsReads: Bool,
        standbys: StandbyUpkeep, library: Libpq
    ) {
        self.pool = pool
        self.standbys = standbys
        self.counter = counter
        let source = PostgresSource(
            info, pool, options, lost: lost, check: check, lease: lease, confirmsReads: confirmsReads,
            library: library)
        self.source = source
        wire = WireStore(
            source, contents: { PostgresContents(pool, source, isNested: $0) }, options: options.wire)
        address = info.description
        identity = info.identity
        // Without it, what other processes change is found when it is looked for.
        let notices = ChangeNotices(
            of: options.announcedRanges, info, library, randomFraction: { options.randomFraction() })
        self.notices = notices?.start() == true ? notices : nil
        followed = self.notices?.follow(wire.watch) ?? []
    }

    /// Opens the store at an address, and creates it if there is none and the options allow it. The notices are for the
    /// operator: nothing has failed. It blocks its thread.
    ///
    /// Throws `.notAStore` where there is none, `.held` while another host excludes this one, `.newerFormat` if a newer
    /// version has created the tables, `.notPermitted`, `.invalidRequest` for a wrong address or a connection pooler,
    /// and `.unavailable` without libpq or without a server.
    package static func open(
        url: String, options: PostgresOptions, check: FormatCheck? = nil
    ) throws -> (store: PostgresStore, notices: [StoreError]) {
        let info = try ConnectionInfo(parsing: url)
        let library = try Libpq.shared()
        let deadline = MonotonicTime.now + options.openingSeconds
        let connection = try explainingErrors(info) {
            try PostgresConnection.openWaiting(info, as: .plain, until: deadline, library: library)
        }
        let (settings, state) = try explainingErrors(info) {
            let settings = try ServerSettings.read(from: connection, until: deadline)
            try settings.checkVersion()
            return (settings, try prepareTables(on: connection, options, until: deadline))
        }
        let lease =
            try options.use != .reading
            ? explainingErrors(info) { try takeLease(info, options, state, on: connection) } : nil
        if lease == nil { connection.close() }
        let counter = TripCounter()
        let lost = LostSessions()
        let pool = ConnectionPool(
            to: info, as: lease == nil ? .reader : .writer, limits: options.pool, library: library, counter: counter,
            lost: lost, jitter: options.randomFraction, refusal: { lease?.refusal(of: $0) })
        let receipts = ReceiptUpkeep(onEvent: options.onEvent)
        let standbys = StandbyUpkeep(settings, onEvent: options.onEvent)
        try lease?.start(
            whenBeating: { pool.closeSurplus() },
            upkeep: { connection in
                // A look that fails is repeated in a minute.
                try? standbys.run(on: connection, until: .now + HostRows.requestSeconds)
                return try receipts.run(on: connection)
            })
        let store = PostgresStore(
            info, pool, options, counter: counter, lost: lost, check: check, lease: lease,
            confirmsReads: settings.mayBeReplaced, standbys: standbys, library: library)
        return (store, settings.warnings(connectionCount: options.pool.connectionCount))
    }

    /// Creates the tables of a store, for an operator whose hosts have another role, which gets what a host needs.
    /// Returns false if the store was there already: then its tables stay as they are, also those of an older layout,
    /// which opening changes.
    package static func create(
        url: String, grantingTo role: String? = nil, openingSeconds: Double = 30
    ) throws -> Bool {
        let info = try ConnectionInfo(parsing: url)
        let library = try Libpq.shared()
        let deadline = MonotonicTime.now + openingSeconds
        return try explainingErrors(info) {
            let connection = try PostgresConnection.openWaiting(info, as: .plain, until: deadline, library: library)
            defer { connection.close() }
            try ServerSettings.read(from: connection, until: deadline).checkVersion()
            return try Schema.create(on: connection, grantingTo: role, until: deadline)
        }
    }

    /// Takes the lease, and changes tables of an older layout: not before, because another host may be using them.
    private static func takeLease(
        _ info: ConnectionInfo, _ options: PostgresOptions, _ state: Schema.State, on connection: PostgresConnection
    ) throws -> HostLease {
        let library = try Libpq.shared()
        guard state.isOlder else { return try HostLease.take(info, library, options, on: connection) }
        let preparation = HostLease.Preparation { connection in
            try Schema.look(on: connection, until: .now + options.openingSeconds).isOlder
        } run: {
            let deadline = MonotonicTime.now + options.openingSeconds
            let connection = try PostgresConnection.openWaiting(info, as: .plain, until: deadline, library: library)
            defer { connection.close() }
            try Schema.upgrade(on: connection, until: deadline)
        }
        return try HostLease.take(info, library, options, on: connection, preparing: preparation)
    }

    /// Creates the tables if there are none and the options allow it. Returns what is there.
    private static func prepareTables(
        on connection: PostgresConnection, _ options: PostgresOptions, until deadline: MonotonicTime
    ) throws -> Schema.State {
        var state = try Schema.look(on: connection, until: deadline)
        if options.use != .reading, options.createsTables, state == .absent {
            _ = try Schema.create(on: connection, grantingTo: nil, until: deadline)
            state = try Schema.look(on: connection, until: deadline)
        }
        guard case .present(let version, let unreadable, let unwritable) = state else {
            throw StoreError(
                .notAStore, "There is no store in this database. Create it with stratus init --store URL.")
        }
        if let table = unreadable ?? (options.use != .reading ? unwritable : nil) {
            throw StoreError(
                .notPermitted,
                "The role may not use a table of the store: as its owner run stratus init --store URL --host-role NAME.",
                ["table": table])
        }
        try Schema.check(version)
        return state
    }

    /// Turns errors of a connection into errors of the store, which name its address.
    private static func explainingErrors<Result>(_ info: ConnectionInfo, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as ServerError {
            throw error.storeError(["server": info.description])
        } catch let error as StoreError {
            throw error.adding(["server": info.description])
        }
    }

    // MARK: The store

    package var isShared: Bool { true }

    package var timeline: ServerTimeline? { source.timeline }

    package var isReplicated: Bool { standbys.isReplicated }

    package func read<Result>(_ scope: ReadScope, _ body: (any StoreReader) throws -> Result) throws -> Result {
        try wire.read(scope, body)
    }

    @discardableResult
    package func transact<Result>(
        lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result
    ) throws -> Result {
        try wire.transact(lane: lane, body)
    }

    package func watch(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch {
        let own = wire.watch(range, onChange)
        let others = watchOthers(range, onChange)
        return StoreWatch {
            own.end()
            others.end()
        }
    }

    package func watchOthers(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch {
        notices?.watch(range, onChange) ?? StoreWatch {}
    }

    package var contents: (any StoreContents)? { wire.contents }

    package var statistics: StoreStatistics {
        var statistics = wire.statistics
        let counts = source.currentCounts
        statistics.trips += counts.extraTrips
        statistics.unknownOutcomes += counts.unknownOutcomes
        statistics.connectionsOpened += source.connectionsOpened
        return statistics
    }

    /// The flushes of its connections that waited for an answer, as the connections counted them: everything that was
    /// sent is in them, and `statistics.trips` should be the same number.
    package var waitedFlushes: Int { counter.count }

    /// What the server's catalogue says of the store. It blocks its thread.
    package func figures() throws -> ServerFigures {
        let deadline = source.requestDeadline
        let connection = try pool.lend(until: deadline)
        defer { pool.giveBack(connection) }
        do {
            return try ServerFigures.read(from: connection, until: deadline)
        } catch {
            connection.close()
            throw (error as? ServerError)?.storeError() ?? error
        }
    }

    /// Why the store answers nothing until it is opened again: another host has taken it over. Nil while it answers.
    package var failure: StoreError? {
        do {
            try source.lease?.checkIsHeld()
            return nil
        } catch { return error as? StoreError }
    }

    /// Removes all entries and contents in one transaction. The lease and the tables stay. It waits for snapshots that
    /// are being read, and fails with `.unavailable` if they do not end before its deadline.
    ///
    /// Throws `.held` while another host shares the store, and `.notPermitted` if the role may not empty tables.
    package func removeEverything() throws {
        do {
            try source.requireHosting().withoutOthers { try removeAll() }
        } catch let error as ServerError { throw error.storeError() }
    }

    private func removeAll() throws {
        let caller = WireCaller(
            deadline: source.now() + source.options.wire.deadlineSeconds, isNested: false)
        var attempt = 0
        while true {
            do {
                let session = try source.beginTransaction(lane: nil, for: caller)
                defer { session.abandon() }
                return try session.commitRemoval()
            } catch let failure as WireFailure {
                if case .fatal(let error) = failure { throw error }
                attempt += 1
                guard source.now() < caller.deadline else { throw failure.error }
                try source.pause(attempt: attempt)
            }
        }
    }

    package var isUnderWritePressure: Bool { wire.isUnderWritePressure }

    deinit {
        // A store that nobody has closed does not keep its lease.
        source.lease?.stop()
        notices?.abandon()
    }

    package func close() {
        source.closing.begin()
        wire.close()
        notices?.stop()
        pool.close()
        source.lease?.giveBack()
    }
}

extension PostgresTestHooks {
    /// Removes the schema that an address names, with all that is in it.
    package static func removeSchema(of url: String) throws {
        try run(url) { ["DROP SCHEMA IF EXISTS \"\($0)\" CASCADE"] }
    }

    /// Empties the tables in the schema that an address names, as those of a new store. No store is open.
    package static func emptyTables(of url: String) throws {
        try run(url) { _ in
            Schema.tableNames.filter { $0 != "stratus_host" }.map { "DELETE FROM \($0)" }
                + ["UPDATE stratus_host SET generation = generation + 1, holder = NULL, name = '', pid = 0"]
        }
    }

    private static func run(_ url: String, _ makeSteps: (_ schema: String) -> [String]) throws {
        let info = try ConnectionInfo(parsing: url)
        guard let schema = info.schema else { preconditionFailure("A test's store has a schema of its own.") }
        let deadline = MonotonicTime.now + 30
        let connection = try PostgresConnection.open(info, as: .plain, until: deadline, library: .shared())
        defer { connection.close() }
        let steps = makeSteps(schema).map { SetUp.Query(name: "tidy up after a test", sql: $0) }
        _ = try connection.run(steps, until: deadline)
    }
}
