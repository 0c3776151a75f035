// The leases of the hosts that write a store.
//
// How it works: a store has a generation. Any number of hosts share it, each with a row and a number in it that its
// thread raises each second, its beat. A host that needs the store for itself waits until the others have given their
// rows back, or until their beats stand still (`LeaseView`). Then it names itself the holder, raises the generation and
// passes the fence: each writing connection holds a shared advisory lock of its session, so the new holder ends the
// sessions that still have it and then gets the lock for itself alone, once. From then on no session of an earlier host
// exists, and a new one reads the other generation right after it got the lock. While there is a holder, no host joins.
//
// Invariants:
//   1. Between the fence and giving the lease back nothing of another host commits.
//   2. Every transaction reads the generation. A host that finds another one stops, and does not start again by itself.
//   3. A host neither writes nor, where its server can be replaced, reads when no beat was confirmed for four seconds.
//   4. Beats are in a table of their own and in READ COMMITTED, so they never meet a transaction of records.

internal import StratusStore

/// A held lease.
final class HostLease: @unchecked Sendable {  // because the monitor guards all state, and the thread has its connection
    private static let lookSeconds = 0.5
    private static let beatSeconds = 1.0
    private static let upkeepSeconds = 60.0

    let generation: Int64
    /// Whether other hosts may write, too.
    let isShared: Bool
    private let holder: [UInt8]
    private let info: ConnectionInfo
    private let library: Libpq
    private let options: PostgresOptions
    private let monitor = Monitor()
    private let changed = Condition()
    private var health: LeaseHealth
    private var isStopping = false
    private var isRunning = false
    private var hasReported = false
    /// Used by the thread alone while it runs.
    private var connection: PostgresConnection?

    private init(
        _ info: ConnectionInfo, _ library: Libpq, _ options: PostgresOptions, _ connection: PostgresConnection,
        generation: Int64, holder: [UInt8], isShared: Bool, takenAt: Double
    ) {
        self.isShared = isShared
        self.info = info
        self.library = library
        self.options = options
        self.connection = connection
        self.generation = generation
        self.holder = holder
        health = LeaseHealth(generation: generation, holder: holder, isShared: isShared, takenAt: takenAt)
    }

    private static var now: Double {
        Double(MonotonicTime.now.nanoseconds) / Double(MonotonicTime.nanosecondsPerSecond)
    }

    // MARK: Taking

    /// What a host does before others may join.
    struct Preparation {
        let isNeeded: (PostgresConnection) throws -> Bool
        let run: () throws -> Void
    }

    /// Takes a lease as the options say, and waits as long as they say for hosts that exclude it. It blocks its thread.
    /// A connection that is given becomes the lease's. If a preparation is needed it first takes the store for itself.
    ///
    /// Throws `.held`, which names a host that is there.
    static func take(
        _ info: ConnectionInfo, _ library: Libpq, _ options: PostgresOptions, on connection: PostgresConnection? = nil,
        preparing preparation: Preparation? = nil
    ) throws -> HostLease {
        let end = MonotonicTime.now + options.leaseWaitSeconds
        // A slow server is no other holder.
        let openingEnd = max(end, .now + options.openingSeconds)
        let holder = options.randomIdentity()
        var opened = connection
        var views: [[UInt8]: LeaseView] = [:]
        var preparation = preparation
        while true {
            let began = now
            do {
                let connection =
                    try opened ?? PostgresConnection.openWaiting(info, as: .plain, until: openingEnd, library: library)
                opened = connection
                // A row is this host's own if the answer to an earlier attempt was lost. It then takes the store again:
                // it has not passed the fence.
                let look = try HostRows.look(on: connection, without: holder)
                let alive = living(look, &views, began: began)
                // Another host may have done it.
                if let wanted = preparation, try !wanted.isNeeded(connection) { preparation = nil }
                if options.use == .hosting, look.isShared, preparation == nil {
                    if try HostRows.join(look, as: holder, options, on: connection) {
                        return HostLease(
                            info, library, options, connection, generation: look.generation, holder: holder,
                            isShared: true, takenAt: began)
                    }
                } else if alive.isEmpty,
                    let generation = try HostRows.replace(look, by: holder, options, on: connection)
                {
                    try HostRows.passFence(of: holder, options, on: connection)
                    let lease = HostLease(
                        info, library, options, connection, generation: generation, holder: holder, isShared: false,
                        takenAt: began)
                    return try lease.prepared(by: preparation, isShared: options.use == .hosting)
                }
                guard end > .now else { throw held(by: alive.first ?? look.hosts.first ?? LeaseLook(look)) }
            } catch let error as ServerError where error.isWorthRetrying || error.errorClass == .code(.unavailable) {
                guard openingEnd > .now else { throw error == .unconfirmed ? noStandby : error }
                for holder in views.keys { views[holder]?.noteFailure() }
            }
            if opened?.isBroken == true { opened = nil }
            MonotonicTime.pause(seconds: lookSeconds)
        }
    }

    private static let noStandby = StoreError(
        .unavailable, "PostgreSQL waits for a standby that does not confirm: bring one back, then try again.")

    /// Prepares the store while this host has it for itself. Then, if the lease is to be shared, lets other hosts join.
    /// Gives the lease back if that fails.
    private func prepared(by preparation: Preparation?, isShared: Bool) throws -> HostLease {
        do {
            try preparation?.run()
            guard isShared else { return self }
            let connection = try usableConnection()
            let began = Self.now
            try HostRows.sendShare(by: holder, options, on: connection)
            _ = try connection.answers(until: .now + HostRows.requestSeconds)
            guard !connection.wasWarned else { throw ServerError.unconfirmed }
            self.connection = nil
            return HostLease(
                info, library, options, connection, generation: generation, holder: holder, isShared: true,
                takenAt: began)
        } catch {
            giveBack()
            throw error
        }
    }

    /// The hosts that were not found dead.
    private static func living(
        _ look: HostsLook, _ views: inout [[UInt8]: LeaseView], began: Double
    ) -> [LeaseLook] {
        let ended = now
        return look.hosts.filter {
            views[$0.holder ?? [], default: LeaseView()].note($0, began: began, ended: ended) == .held
        }
    }

    /// Runs `body` while this host, which shares the store, is its only one and no other can join. Hosts that are
    /// found dead do not count: they stop by themselves if they find what `body` has changed.
    ///
    /// Throws `.held`, which names a host that is there.
    func withoutOthers<Result>(_ body: () throws -> Result) throws -> Result {
        guard isShared else { return try body() }
        try excludeOthers()
        defer { includeOthers() }
        return try body()
    }

    private func excludeOthers() throws {
        let end = MonotonicTime.now + options.leaseWaitSeconds
        let openingEnd = max(end, .now + options.openingSeconds)
        var opened: PostgresConnection?
        defer { opened?.close() }
        var views: [[UInt8]: LeaseView] = [:]
        while true {
            let began = Self.now
            do {
                let connection =
                    try opened ?? PostgresConnection.openWaiting(info, as: .plain, until: openingEnd, library: library)
                opened = connection
                let look = try HostRows.look(on: connection, without: holder)
                let alive = Self.living(look, &views, began: began)
                if alive.isEmpty,
                    try HostRows.exclude(
                        look.hosts, by: holder, options, generation: generation, on: connection)
                {
                    return
                }
                guard end > .now else { throw Self.held(by: alive.first ?? LeaseLook(look)) }
            } catch let error as ServerError where error.isWorthRetrying {
                guard openingEnd > .now else {
                    // Whether others are excluded is unknown.
                    includeOthers()
                    throw error == .unconfirmed ? Self.noStandby : error
                }
                for holder in views.keys { views[holder]?.noteFailure() }
            }
            if opened?.isBroken == true { opened = nil }
            MonotonicTime.pause(seconds: Self.lookSeconds)
        }
    }

    /// Without an answer other hosts wait until this one has closed the store.
    private func includeOthers() {
        do {
            let connection = try PostgresConnection.open(
                info, as: .plain, until: .now + HostRows.requestSeconds, library: library)
            defer { connection.close() }
            try HostRows.sendEndOfHolding(by: holder, on: connection)
            _ = try connection.answers(until: .now + HostRows.requestSeconds)
        } catch {
            options.onEvent(
                StoreError(
                    .unavailable, "No host can join until this one has closed the store: the server did not answer.",
                    cause: "\(error)"))
        }
    }

    private static func held(by look: LeaseLook) -> StoreError {
        var fields = ["generation": "\(look.generation)"]
        if !look.name.isEmpty { fields["holderName"] = look.name }
        if look.processID != 0 { fields["holderProcessID"] = "\(look.processID)" }
        return StoreError(
            .held, "Another host has the store open: close it, or wait until it is done, then try again.", fields)
    }

    // MARK: Holding

    /// Starts the thread that beats. Before each beat it calls `whenBeating`, and once a minute `upkeep`, which returns
    /// whether there is more to do now.
    ///
    /// Throws, and gives the lease back, if the system has no thread.
    func start(
        whenBeating: @escaping @Sendable () -> Void, upkeep: @escaping @Sendable (PostgresConnection) throws -> Bool
    ) throws {
        monitor.withLock { isRunning = true }
        let hasThread = BackgroundThread.start { [self] in
            beat(whenBeating, upkeep)
            monitor.withLock {
                isRunning = false
                changed.broadcast()
            }
        }
        guard !hasThread else { return }
        monitor.withLock { isRunning = false }
        giveBack()
        throw StoreError(.unavailable, "The system has no thread for the host's lease: raise the limit of threads.")
    }

    /// Throws `.held` when another host has taken the store over.
    func checkIsHeld() throws {
        if case .lost(let look) = monitor.withLock({ health.state(at: Self.now) }) { throw Self.held(by: look) }
    }

    /// The same; and a failure that may pass while no beat was confirmed for long: another server may have replaced
    /// this one, so that what is read here is old.
    func checkIsConfirmed() throws {
        switch monitor.withLock({ health.state(at: Self.now) }) {
        case .held: return
        case .lost(let look): throw Self.held(by: look)
        case .unsure:
            throw WireFailure.lost(
                StoreError(
                    .unavailable,
                    "PostgreSQL has confirmed nothing for four seconds: see whether it lacks a standby."))
        }
    }

    /// The same; and a failure that passes within seconds while another host may still read from a server that this one
    /// has replaced.
    func checkMayWrite() throws {
        try checkIsConfirmed()
        guard info.route.value.readElsewhereUntil != nil else { return }
        throw WireFailure.lost(
            StoreError(.unavailable, "PostgreSQL has moved to another server: writing waits for four seconds."))
    }

    /// Compares the generation that a transaction has read. Throws `.held` if it is another host's.
    func check(_ look: LeaseLook) throws {
        guard look.generation != generation else { return }
        noteLoss(to: look)
        try checkIsHeld()
    }

    /// The error of a connection that was opened for another host's generation; nil if it is ours.
    func refusal(of connection: PostgresConnection) -> StoreError? {
        guard connection.generation != generation else { return nil }
        let look = LeaseLook(generation: connection.generation ?? 0)
        noteLoss(to: look)
        return Self.held(by: look)
    }

    private func noteLoss(to look: LeaseLook) {
        let isFirst = monitor.withLock {
            health.noteLoss(to: look)
            defer { hasReported = true }
            return !hasReported
        }
        if isFirst { options.onEvent(Self.held(by: look)) }
    }

    private func beat(_ whenBeating: () -> Void, _ upkeep: (PostgresConnection) throws -> Bool) {
        let upkeepSeconds = options.testHooks.upkeepSeconds ?? Self.upkeepSeconds
        var nextUpkeep = MonotonicTime.now + upkeepSeconds
        while wait(seconds: Self.beatSeconds) {
            guard options.testHooks.holdsBeats?() != true else { continue }
            whenBeating()
            let began = Self.now
            do {
                let connection = try usableConnection()
                try sendBeat(on: connection)
                try connection.sync()
                try connection.send(text: HostRows.lookQuery, named: "look at the lease")
                let look = try HostRows.readLook(try connection.answers(until: .now + HostRows.requestSeconds)[1])
                // A server that was replaced has no standby that confirms a beat.
                guard !connection.wasWarned else { throw ServerError.unconfirmed }
                monitor.withLock { health.note(look, beatBegan: began) }
                if look.generation != generation { noteLoss(to: look) }
                if nextUpkeep <= .now {
                    nextUpkeep = .now + upkeepSeconds
                    _ = try connection.run(
                        [SetUp.Query(name: "remove dead hosts", sql: HostRows.removalOfDeadSQL)],
                        until: .now + HostRows.requestSeconds)
                    if try upkeep(connection) { nextUpkeep = .now }
                }
            } catch {
                // The next beat tries again. Whether writing may go on follows from the time.
            }
        }
    }

    private func sendBeat(on connection: PostgresConnection) throws {
        if isShared {
            try connection.send(
                text: HostRows.sharedBeatSQL, named: "beat", HostRows.row(holder, options, generation))
        } else {
            var parameters = StatementParameters()
            parameters.add(holder)
            try connection.send(text: HostRows.beatSQL, named: "beat", parameters)
        }
    }

    private func usableConnection() throws -> PostgresConnection {
        if let connection, connection.checkIsUsable() { return connection }
        connection?.close()
        let new = try PostgresConnection.open(
            info, as: .plain, until: .now + HostRows.requestSeconds, library: library)
        connection = new
        return new
    }

    /// Returns false when the lease is given back.
    private func wait(seconds: Double) -> Bool {
        let end = MonotonicTime.now + seconds
        return monitor.withLock {
            while !isStopping, end > .now { _ = changed.wait(monitor, until: end) }
            return !isStopping
        }
    }

    // MARK: Giving back

    /// Ends the thread without waiting for it, and leaves the lease to expire.
    func stop() {
        monitor.withLock {
            isStopping = true
            changed.broadcast()
        }
    }

    /// Gives the lease back, if the server can be reached. No connection of the pool is left.
    func giveBack() {
        monitor.withLock {
            isStopping = true
            changed.broadcast()
            while isRunning { changed.wait(monitor) }
        }
        // Without an answer the lease expires.
        do {
            let connection = try usableConnection()
            try HostRows.sendEnd(of: holder, on: connection)
            _ = try connection.answers(until: .now + HostRows.requestSeconds)
        } catch {
            options.onEvent(
                StoreError(
                    .unavailable, "The host's lease could not be given back: the next host waits until it expires.",
                    cause: "\(error)"))
        }
        connection?.close()
        connection = nil
    }
}
