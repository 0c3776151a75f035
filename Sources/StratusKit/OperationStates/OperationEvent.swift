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
