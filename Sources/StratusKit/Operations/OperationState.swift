// When an operation may start, finish, cancel. The machine decides; the shell around it holds a lock, passes events in
// and carries the actions out. It knows no records, no queues and no threads.
//
//            startRequested              workFinished               callbacksDelivered
//   waiting ────────────────▶ working ───────────────▶ delivering ───────────────────▶ finished
//      │                         │ cancel, time-out        ▲ ▲
//      │                         └───────▶ stopping ───────┘ │
//      └── startRequested after cancelRequested ─────────────┘
//
// Invariants:
// - An operation starts at most once (O-07), and only when every dependency finished or it was cancelled (O-09).
// - The work starts at most once, never after a cancellation, and is over before the callbacks that end the operation
//   are delivered: no dependent starts while the work of a cancelled operation is still changing the store.
// - The last callbacks are delivered exactly once, also after a cancellation (O-08), and the operation finishes exactly
//   once, after them. Cancelling does not finish by itself: what was never started never finishes.
// - The first of work's end, cancellation and time-out decides the outcome; later ones do not change it.
// - After the finish nothing changes any more.

/// The state of one operation.
package struct OperationState: Hashable, Sendable {
    private enum Phase: Hashable {
        case waiting
        case working
        /// The work was asked to stop, for this reason, and has not ended.
        case stopping(OperationOutcome)
        case delivering
        case finished
    }

    private var phase = Phase.waiting
    private var unfinishedDependencyCount = 0
    /// Whether the operation was put into a queue.
    package private(set) var isEnqueued = false
    /// Whether the operation was cancelled before it finished.
    package private(set) var isCancelled = false

    package init() {}

    /// Whether the operation may start: no dependency is unfinished, or none matters because it was cancelled (O-09).
    package var isReady: Bool { unfinishedDependencyCount == 0 || isCancelled }

    /// Whether the operation has started and not finished; the delivery of its callbacks is part of it.
    package var isExecuting: Bool { phase != .waiting && phase != .finished }

    package var isFinished: Bool { phase == .finished }

    /// Whether callbacks and settings may still be assigned; from the start on, changes are ignored (O-07).
    package var acceptsConfiguration: Bool { phase == .waiting }

    /// Takes in what happened and answers with what is to be done, in this order; an empty list means nothing.
    package mutating func handle(_ event: OperationEvent) -> [OperationAction] {
        switch event {
        case .dependencyAdded: dependencyAdded()
        case .dependencyFinished: dependencyFinished()
        case .enqueued: enqueued()
        case .startRequested: startRequested()
        case .cancelRequested: cancelRequested()
        case .timeOutReached: phase == .working ? stop(.timedOut) : []
        case .workFinished: workFinished()
        case .callbacksDelivered: callbacksDelivered()
        }
    }
}

extension OperationState {
    private mutating func dependencyAdded() -> [OperationAction] {
        guard phase == .waiting else { return [.refuse(.alreadyStarted)] }
        return changingReadiness { $0.unfinishedDependencyCount += 1 }
    }

    private mutating func dependencyFinished() -> [OperationAction] {
        // A cancelled operation may have started, and even finished, before its dependencies did.
        guard phase == .waiting else { return [] }
        guard unfinishedDependencyCount > 0 else { return [.refuse(.noDependencyLeft)] }
        return changingReadiness { $0.unfinishedDependencyCount -= 1 }
    }

    private mutating func enqueued() -> [OperationAction] {
        guard phase == .waiting else { return [.refuse(.alreadyStarted)] }
        guard !isEnqueued else { return [.refuse(.alreadyEnqueued)] }
        isEnqueued = true
        return []
    }

    private mutating func startRequested() -> [OperationAction] {
        guard phase == .waiting else { return [.refuse(.alreadyStarted)] }
        guard isReady else { return [.refuse(.notReady)] }
        if isCancelled {
            phase = .delivering
            return [.isExecutingChanged(true), .deliverCallbacks(.cancelled)]
        }
        phase = .working
        return [.isExecutingChanged(true), .startWork]
    }

    private mutating func cancelRequested() -> [OperationAction] {
        guard phase != .finished, !isCancelled else { return [] }
        let readiness = changingReadiness { $0.isCancelled = true }
        let stopping = phase == .working ? stop(.cancelled) : []
        return [.isCancelledChanged] + readiness + stopping
    }

    private mutating func stop(_ outcome: OperationOutcome) -> [OperationAction] {
        phase = .stopping(outcome)
        return [.stopWork]
    }

    private mutating func workFinished() -> [OperationAction] {
        let outcome: OperationOutcome
        switch phase {
        case .working: outcome = .workEnded
        case .stopping(let reason): outcome = reason
        case .waiting, .delivering, .finished: return [.refuse(.noWorkRunning)]
        }
        phase = .delivering
        return [.deliverCallbacks(outcome)]
    }

    private mutating func callbacksDelivered() -> [OperationAction] {
        guard phase == .delivering else { return [.refuse(.noCallbacksDue)] }
        phase = .finished
        return [.isExecutingChanged(false), .isFinishedChanged]
    }

    /// Makes a change and reports whether the operation became ready, or no longer is.
    private mutating func changingReadiness(_ change: (inout OperationState) -> Void) -> [OperationAction] {
        let wasReady = isReady
        change(&self)
        return isReady == wasReady ? [] : [.isReadyChanged(isReady)]
    }
}

// The words of the state machine: what happens to an operation, and what is then to be done.

/// What happens to an operation.
package enum OperationEvent: Hashable, Sendable, CaseIterable {
    /// The operation has to wait for the finish of one more operation.
    case dependencyAdded
    /// An operation it waits for finished, whether it succeeded, failed or was cancelled (O-09).
    case dependencyFinished
    /// The operation was put into a queue.
    case enqueued
    /// A queue, or the caller itself, wants it to start.
    case startRequested
    /// The caller wants it to stop (O-08).
    case cancelRequested
    /// Its time is over. Time is counted from the start: a timer that fires before it, or too late, changes nothing.
    case timeOutReached
    /// The work that `startWork` began is over: done, failed, or given up because of `stopWork`.
    case workFinished
    /// The callbacks that `deliverCallbacks` asked for have all returned.
    case callbacksDelivered
}

/// How an operation came to its end: what its result callback is told.
package enum OperationOutcome: Hashable, Sendable {
    /// The work ran to its own end. Its result, success or error, is the work's.
    case workEnded
    /// The operation was cancelled before its work ended: `operationCancelled` (O-08).
    case cancelled
    /// Its time was over before its work ended.
    case timedOut
}

/// What the shell around the machine has to do, in the order of the list.
package enum OperationAction: Hashable, Sendable {
    /// Begin the work, and report its end with `workFinished`.
    case startWork
    /// Ask the work to stop early; it still reports `workFinished`. What it has done on the server stays (O-08).
    case stopWork
    /// Run the callbacks that are still due, then report `callbacksDelivered`.
    case deliverCallbacks(OperationOutcome)
    /// `isReady`, `isExecuting`, `isFinished` or `isCancelled` changed to this value: tell the observers.
    case isReadyChanged(Bool)
    case isExecutingChanged(Bool)
    case isFinishedChanged
    case isCancelledChanged
    /// The event was not allowed, and nothing changed.
    case refuse(OperationRefusal)
}

/// Why an event was not allowed.
package enum OperationRefusal: Hashable, Sendable {
    /// Operations are single use (O-07): make a new one.
    case alreadyStarted
    /// An operation goes into one queue, once.
    case alreadyEnqueued
    /// Operations it depends on have not finished: wait until it is ready.
    case notReady
    /// No dependency was left to finish: the shell reported one twice.
    case noDependencyLeft
    /// No work was running: the shell reported its end twice, or before the start.
    case noWorkRunning
    /// No callbacks were due: the shell reported their delivery twice, or too early.
    case noCallbacksDue
}
