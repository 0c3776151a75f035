// Who takes part in a group of transactions: a caller that waits, and the group's session, snapshot and writes.

/// One caller of `transact`.
final class WireMember: @unchecked Sendable {  // because the lanes' monitor guards the turn, and the turn the rest
    /// What the caller's thread does next.
    enum Turn {
        /// Waits in its lane's queue.
        case queued
        /// Waits for the token of its group, or for the group's end.
        case grouped
        /// Runs its body in this group, and gives the token back.
        case running(WireGroup)
        /// Leads this group, whose first member it is.
        case leading([WireMember])
        /// Returns its body's result, or throws this error of the store.
        case ended((any Error)?)
    }

    /// Nil for a caller that runs alone.
    let lane: StoreLane?
    let attempts: WireAttempts
    var turn = Turn.queued
    let turnChanged = Condition()
    let turnGivenBack = Condition()

    /// What its body will fetch first, and whether that is known.
    var plan = ReadPlan()
    var hasRehearsed = false
    /// Whether no other caller may join it.
    var runsAlone = false
    /// The last run of its body.
    var lastRun = WireBodyRun()
    /// Attempts that failed, and why the last one did.
    private(set) var attemptCount = 0
    private(set) var lastFailure: WireFailure?

    init(_ lane: StoreLane?, _ attempts: WireAttempts) {
        self.lane = lane
        self.attempts = attempts
    }

    func note(_ failure: WireFailure) {
        attemptCount += 1
        lastFailure = failure
    }
}

/// What a run of a body leaves behind besides its result.
struct WireBodyRun {
    var cost = StoreCost()
    var countedByteCount = 0
    var hasWritten = false
    var publishActions: [@Sendable (StoreVersion) -> Void] = []
}

/// One attempt of a group: one transaction of the engine. Used by one thread at a time, which has the token.
final class WireGroup {
    let session: any WireSession
    let snapshot: WireSnapshot
    let overlay = WireOverlay()
    private let version: StoreVersion

    init(_ session: any WireSession, _ ledger: WireLedger, _ options: WireOptions) {
        self.session = session
        snapshot = WireSnapshot(.session(session), ledger, options)
        version = ledger.version
    }

    /// Why the attempt cannot be committed.
    var failure: WireFailure? { snapshot.failure ?? session.failure }

    func makeTransaction(_ options: WireOptions) -> WireTransaction {
        WireTransaction(snapshot, overlay, version: version, options)
    }
}
