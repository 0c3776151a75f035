// A store made of an engine at the other end of a connection. An engine writes a `WireSource`; this is the store.
//
// Invariants:
//   1. A reader's snapshot begins with its first fetch. Its body runs once: what a body has seen cannot be taken back,
//      so a snapshot that was lost after its first answer ends with `snapshotEnded`.
//   2. Bodies of transactions run until one attempt is committed. `WireLanes` says how.
//   3. `close` refuses new calls, and returns when the accepted ones have.
// Versions are this store's own: they count its commits since it was opened, and say nothing of other processes'.

/// A store over a source of sessions.
package final class WireStore: OrderedStore {
    private let source: any WireSource
    private let options: WireOptions
    private let ledger = WireLedger()
    private let gate = WireGate()
    private let lanes: WireLanes
    package let isShared: Bool
    package let contents: (any StoreContents)?

    /// `makeContents` gets a function that says whether the calling thread is inside a read or a transaction of the
    /// store. If it is, access to contents must not wait for that call to end.
    package init(
        _ source: any WireSource, isShared: Bool = true,
        contents makeContents: (_ isNested: @escaping @Sendable () -> Bool) -> (any StoreContents)? = { _ in nil },
        options: WireOptions = WireOptions()
    ) {
        self.source = source
        self.isShared = isShared
        contents = makeContents { [gate] in gate.isEntered }
        self.options = options
        lanes = WireLanes(source, ledger, options)
    }

    package func read<Result>(_ scope: ReadScope, _ body: (any StoreReader) throws -> Result) throws -> Result {
        let isNested = try gate.enter()
        defer { gate.leave() }
        let attempts = WireAttempts(
            source: source, caller: WireCaller(deadline: source.now() + options.deadlineSeconds, isNested: isNested))
        let snapshot = WireSnapshot(.reading(attempts, scope), ledger, options)
        let reader = WireReader(snapshot, version: ledger.version, options)
        defer {
            ledger.add(reader.end())
            snapshot.end()
        }
        return try body(reader)
    }

    @discardableResult
    package func transact<Result>(
        lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result
    ) throws -> Result {
        let isNested = try gate.enterTransaction()
        defer { gate.leaveTransaction() }
        guard let lane else { return try lanes.transactAlone(isNested: isNested, body) }
        return try lanes.transact(in: lane, isNested: isNested, body)
    }

    package func watch(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch {
        ledger.watches.add(range, onChange)
    }

    package var statistics: StoreStatistics { ledger.statistics }

    /// Always false: the engine does its own background work. Background work of callers rests between batches instead.
    package var isUnderWritePressure: Bool { false }

    package func close() { gate.close() }
}

/// What the store counts, and who hears of its commits.
final class WireLedger: Sendable {
    private struct State: Sendable {
        var statistics = StoreStatistics()
        var version: StoreVersion = 0
    }

    private let state = Locked(State())
    let watches = WatchList()

    var statistics: StoreStatistics { state.withLock { $0.statistics } }
    var version: StoreVersion { state.withLock { $0.version } }

    func note(_ change: (inout StoreStatistics) -> Void) {
        state.withLock { change(&$0.statistics) }
    }

    func add(_ cost: StoreCost) {
        note { $0.cost = $0.cost + cost }
    }

    /// Makes a committed group known: its version, then its publish actions, then its watches.
    func publish(_ runs: [WireBodyRun], of overlay: WireOverlay, isEmpty: Bool) {
        let version = state.withLock { state in
            for run in runs {
                state.statistics.cost = state.statistics.cost + run.cost
                if run.hasWritten { state.statistics.transactionsCommitted += 1 }
            }
            if !isEmpty {
                state.version += 1
                state.statistics.groupsCommitted += 1
                state.statistics.syncs += 1
            }
            return state.version
        }
        for run in runs {
            for action in run.publishActions { action(version) }
        }
        if !isEmpty { watches.note(overlay.holdsWrite(in:)) }
    }
}

/// Counts the calls that run, and refuses calls after closing.
final class WireGate: @unchecked Sendable {  // because the monitor guards all state
    private let monitor = Monitor()
    private let callsEnded = Condition()
    private var isClosed = false
    /// How many calls each thread is in.
    private var calls: [ThreadIdentity: Int] = [:]
    /// Threads that run transactions.
    private var writers: Set<ThreadIdentity> = []

    /// Whether the thread is in a call.
    var isEntered: Bool { monitor.withLock { calls[.current] != nil } }

    /// Returns whether the thread is in another call. Throws `.closed`. Pair it with `leave`.
    func enter() throws -> Bool {
        try monitor.withLock { try admit() }
    }

    func leave() {
        monitor.withLock { depart() }
    }

    /// The same for a transaction. A transaction inside another one on the same thread could wait for itself.
    func enterTransaction() throws -> Bool {
        try monitor.withLock {
            precondition(
                !writers.contains(.current), "A store must not be written inside one of its own transactions.")
            let isNested = try admit()
            writers.insert(.current)
            return isNested
        }
    }

    func leaveTransaction() {
        monitor.withLock {
            writers.remove(.current)
            depart()
        }
    }

    /// Refuses new calls and waits for the others.
    func close() {
        monitor.withLock {
            precondition(
                !writers.contains(.current), "A store must not be closed inside one of its own transactions.")
            isClosed = true
            while !calls.isEmpty { callsEnded.wait(monitor) }
        }
    }

    private func admit() throws -> Bool {
        if isClosed { throw StoreError(.closed, "The store was closed: open it again.") }
        let count = calls[.current, default: 0]
        calls[.current] = count + 1
        return count > 0
    }

    private func depart() {
        let left = calls[.current, default: 1] - 1
        calls[.current] = left > 0 ? left : nil
        if calls.isEmpty { callsEnded.broadcast() }
    }
}
