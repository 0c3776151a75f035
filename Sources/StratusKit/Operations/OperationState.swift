// The state machine of one operation. It takes events and returns actions. It holds no lock, starts no timer and calls
// no block: `CKOperation` passes the events in under its lock, and it and `OperationRunner` execute the actions.
//
//            startRequested                                                  callbacksDelivered
//   waiting ────────────────▶ working ─────────────────────────▶ delivering ───────────────────▶ finished
//      │                                                             ▲
//      └── startRequested after cancelRequested, or refused ─────────┘
//
// Steps while the operation works:
//
//             requestBegan               answerAwaited
//   queued ────────────────▶ requesting ───────────────▶ awaitingAnswer ── answerArrived ─▶ queued
//     ▲                        │  │  │
//     │ pauseEnded             │  │  └── requestFailed: not to be tried again ────────────▶ delivering
//     ├──── pausing ◀──────────┘  │
//     │       requestFailed       │ requestAnswered
//     └──── deliveringPage ◀──────┘
//             │       pageDelivered: more pages follow
//             └── pageDelivered: the last page ─────────────────────────────────────────▶ delivering
//
// A cancellation and a time-out set the reason to stop. They withdraw a request that waits for a thread, and end a
// pause or a wait for another object's answer. If a thread has begun the request, or a page is being delivered, the
// machine waits: the event that ends that step then leads to `delivering`. A program that has what it looked for
// cancels in a block for an item, also of the last page. Nothing times out then: the server has answered.
//
// Invariants:
// - An operation starts at most once (O-07), and only when every dependency finished or it was cancelled (O-09).
// - No request begins after a cancellation or a time-out.
// - The work ends before the callbacks that end the operation are delivered: no dependent starts while the work of a
//   cancelled operation still changes the store. Timers are cancelled when the work ends.
// - The last callbacks are delivered exactly once, also after a cancellation (O-08), and the operation finishes exactly
//   once, after them. Cancelling does not finish an operation: one that was never started never finishes.
// - The first of the work's end, a cancellation and a time-out decides the outcome.
// - After the finish nothing changes.
//
// Threads report some events late. `requestQueued` and `pauseBegan` mean that there is now something to withdraw or to
// end; they may arrive after that step has ended, and then change nothing.

/// An event in the life of an operation.
package enum OperationEvent: Hashable, Sendable {
    /// The operation has to wait for one more operation.
    case dependencyAdded
    /// An operation it waits for succeeded, failed or was cancelled (O-09).
    case dependencyFinished
    /// The operation was added to a container or database.
    case enqueued
    /// The program added it to one of its own queues.
    case enteredOwnQueue
    /// A queue or the program called `start`. `isAllowed` is false if the operation, or a subclass, is not ready.
    case startCalled(isAllowed: Bool, byQueue: Bool)
    /// Inputs, blocks and configuration were read for the last time.
    case inputsFixed(OperationRules)
    /// `main` of the base class was called.
    case startRequested
    /// The program cancelled it (O-08).
    case cancelRequested
    /// A timer fired. One that fires before the start or too late changes nothing.
    case timeOutReached
    /// The request of `submitRequest` is in the pool's queue.
    case requestQueued
    /// A thread of the pool took the request.
    case requestBegan
    /// The request was withdrawn before a thread began it.
    case requestWithdrawn
    /// The server answered. `isMoreToSend` is true if another page follows.
    case requestAnswered(isMoreToSend: Bool)
    /// The request failed, or the pool did not accept it.
    case requestFailed(RequestFailure)
    /// Another object sent the same long-lived request; the operation waits for its answer (O-14).
    case answerAwaited
    /// That answer has arrived.
    case answerArrived
    /// The pause of `pause` has begun.
    case pauseBegan
    /// The pause is over, or was ended early.
    case pauseEnded
    /// The blocks for the items of an answer have returned.
    case pageDelivered
    /// The blocks of `deliverCallbacks` have returned.
    case callbacksDelivered
}

/// The part of an operation's configuration that the machine needs (O-12).
package struct OperationRules: Hashable, Sendable {
    /// The time limit of one request; nil for no limit.
    package var requestSeconds: Double?
    /// The time limit of the operation, with pauses and repetitions; nil for no limit.
    package var resourceSeconds: Double?
    /// Whether the quality of service allows network errors to be tried again until the time is over (O-10).
    package var retriesNetworkErrors = false
    /// Whether the operation fails without a request.
    package var isRefused = false

    /// Whether the request is tried again after this failure.
    package func retries(_ failure: RequestFailure) -> Bool {
        retriesNetworkErrors && failure.isOfNetwork && !failure.isSessionClosed
    }
}

/// The part of a request's error that the machine needs.
package struct RequestFailure: Hashable, Sendable {
    /// Whether the network failed, and not the server.
    package var isOfNetwork: Bool
    /// How long the server asked the client to wait; nil if it did not.
    package var retryAfterSeconds: Double?
    /// Whether the session accepts no more requests.
    package var isSessionClosed = false
}

/// How an operation ended. Its result callback gets it.
package enum OperationOutcome: Hashable, Sendable {
    /// The work ended without interruption. The result of the operation, success or error, is the work's.
    case workEnded
    /// The operation was cancelled before its work ended: `operationCancelled` (O-08).
    case cancelled
    /// Its time was over before its work ended (O-10).
    case timedOut
}

/// An action of `CKOperation`. It executes actions in the order of the list.
package enum OperationAction: Hashable, Sendable {
    /// Call `start` again: a queue called it too early, and will not repeat the call.
    case callStart
    /// Call `main`, which a subclass may override.
    case callMain
    /// Fix the inputs and report `startRequested`: `main` of a cancelled operation is not called, as in Foundation.
    case begin
    /// Let the runner execute a work action.
    case work(WorkAction)
    /// `isReady`, `isExecuting`, `isFinished` or `isCancelled` changed: notify the observers.
    case isReadyChanged(Bool)
    case isExecutingChanged(Bool)
    case isFinishedChanged
    case isCancelledChanged
    /// The event was not allowed, and nothing changed.
    case refuse(OperationRefusal)
}

/// An action of `OperationRunner`.
package enum WorkAction: Hashable, Sendable {
    /// Report `timeOutReached` after this time. A new request timer replaces the last one.
    case startResourceTimer(seconds: Double)
    case startRequestTimer(seconds: Double)
    case cancelRequestTimer
    case cancelTimers
    /// Queue the request for a thread that may block; report `requestQueued`, and `requestBegan` on that thread.
    case submitRequest
    /// Withdraw the request. Report `requestWithdrawn` if no thread has begun it.
    case withdrawRequest
    /// Send the request, and report how it ended.
    case sendRequest
    /// Report `pauseBegan`, and `pauseEnded` after this time.
    case pause(seconds: Double)
    /// End the pause early. Report `pauseEnded` unless the timer has fired.
    case endPause
    /// Call the blocks for the items of an answer, then report `pageDelivered`.
    case deliverPage
    /// Call the blocks that end the operation, then report `callbacksDelivered`.
    case deliverCallbacks(OperationOutcome)
}

/// Why an event was not allowed.
package enum OperationRefusal: Hashable, Sendable {
    /// Operations are single use (O-07): create a new one.
    case alreadyStarted
    /// An operation can be added to one queue, once.
    case alreadyEnqueued
    /// Operations it depends on have not finished: wait until it is ready.
    case notReady
    /// Every dependency had finished: the shell reported one twice.
    case noDependencyLeft
    /// No such step was under way: the shell reported its end twice, or too early.
    case noSuchWork
    /// No callbacks were due: the shell reported their delivery twice, or too early.
    case noCallbacksDue
}

/// The state of one operation.
package struct OperationState: Hashable, Sendable {
    private enum Phase: Hashable {
        case waiting
        case working(Step)
        case delivering
        case finished
    }

    private enum Step: Hashable {
        case queued
        /// `isAnswerHere` is true if the answer of another object arrived before the wait for it.
        case requesting(isAnswerHere: Bool)
        case awaitingAnswer
        case pausing
        case deliveringPage(isLast: Bool)
    }

    private var phase = Phase.waiting
    private var unfinishedDependencyCount = 0
    /// Whether the operation was added to a container or database.
    package private(set) var isEnqueued = false
    private var isInOwnQueue = false
    /// Whether `start` has called `main`, which may call that of the base class much later.
    private var isMainCalled = false
    /// Whether a queue called `start` while the operation waited for others.
    private var isStartDue = false
    /// Nil until the inputs are fixed.
    private var rules: OperationRules?
    /// Why the work must stop; nil if it need not.
    private var stopReason: OperationOutcome?
    /// How many times in a row the request has failed.
    private var failureCount = 0
    /// Whether the operation was cancelled before it finished.
    package private(set) var isCancelled = false

    package init() {}

    /// Whether the operation may start: no dependency is unfinished, or none matters because it was cancelled (O-09).
    package var isReady: Bool { unfinishedDependencyCount == 0 || isCancelled }

    /// Whether the operation has started and not finished; the delivery of its callbacks is part of it.
    package var isExecuting: Bool { phase != .waiting && phase != .finished }

    package var isFinished: Bool { phase == .finished }

    /// Whether the operation has not started. It can still enter a queue and get dependencies, even if its inputs are
    /// fixed already: a direct call of `main` fixes them, and does not start an operation that is not ready.
    package var isWaiting: Bool { phase == .waiting }

    /// Whether callbacks and settings may still be assigned; later changes are ignored (O-07).
    package var acceptsConfiguration: Bool { phase == .waiting && rules == nil }

    /// Whether the answer of the request is no longer needed.
    package var isStopping: Bool { stopReason != nil }

    /// Changes the state as the event requires. Returns the actions to execute, in this order.
    package mutating func receive(_ event: OperationEvent) -> [OperationAction] {
        switch event {
        case .dependencyAdded:
            guard phase == .waiting else { return [.refuse(.alreadyStarted)] }
            return changingReadiness { $0.unfinishedDependencyCount += 1 }
        case .dependencyFinished:
            // A cancelled operation may have started, and even finished, before its dependencies did.
            guard phase == .waiting else { return [] }
            guard unfinishedDependencyCount > 0 else { return [.refuse(.noDependencyLeft)] }
            return changingReadiness { $0.unfinishedDependencyCount -= 1 }
        case .enqueued:
            guard phase == .waiting else { return [.refuse(.alreadyStarted)] }
            guard !isEnqueued, !isInOwnQueue else { return [.refuse(.alreadyEnqueued)] }
            isEnqueued = true
            return []
        case .enteredOwnQueue:
            guard isWaiting, !isMainCalled else { return [.refuse(.alreadyStarted)] }
            guard !isEnqueued, !isInOwnQueue else { return [.refuse(.alreadyEnqueued)] }
            isInOwnQueue = true
            return []
        case .startCalled(let isAllowed, let byQueue): return startCalled(isAllowed: isAllowed, byQueue: byQueue)
        case .inputsFixed(let fixed):
            guard acceptsConfiguration else { return [.refuse(.alreadyStarted)] }
            rules = fixed
            return []
        case .startRequested: return startRequested()
        case .cancelRequested: return cancelRequested()
        case .timeOutReached: return stop(.timedOut)
        case .requestQueued: return isStopping && phase == .working(.queued) ? [.work(.withdrawRequest)] : []
        case .requestBegan: return requestBegan()
        case .requestWithdrawn:
            guard phase == .working(.queued), isStopping else { return [.refuse(.noSuchWork)] }
            return endWork()
        case .requestAnswered(let isMoreToSend): return requestAnswered(isMoreToSend: isMoreToSend)
        case .requestFailed(let failure): return requestFailed(failure)
        case .answerAwaited: return answerAwaited()
        case .answerArrived: return answerArrived()
        case .pauseBegan: return isStopping && phase == .working(.pausing) ? [.work(.endPause)] : []
        case .pauseEnded: return submitAgain(after: .pausing)
        case .pageDelivered:
            if phase == .working(.deliveringPage(isLast: true)) { return endWork() }
            if phase == .working(.deliveringPage(isLast: false)) { failureCount = 0 }
            return submitAgain(after: .deliveringPage(isLast: false))
        case .callbacksDelivered:
            guard phase == .delivering else { return [.refuse(.noCallbacksDue)] }
            phase = .finished
            return [.isExecutingChanged(false), .isFinishedChanged]
        }
    }

    // MARK: Before the start

    private mutating func startCalled(isAllowed: Bool, byQueue: Bool) -> [OperationAction] {
        guard phase == .waiting, !isMainCalled else { return [.refuse(.alreadyStarted)] }
        guard isAllowed else {
            // The queue called `start` while a late dependency was unfinished; it will not call again.
            isStartDue = byQueue && !isReady
            return []
        }
        isMainCalled = true
        return [isCancelled ? .begin : .callMain]
    }

    private mutating func startRequested() -> [OperationAction] {
        guard phase == .waiting else { return [.refuse(.alreadyStarted)] }
        guard isReady else { return [.refuse(.notReady)] }
        let rules = rules ?? OperationRules()
        if isCancelled { stopReason = .cancelled }
        guard !isCancelled, !rules.isRefused else { return [.isExecutingChanged(true)] + endWork() }
        let timer = rules.resourceSeconds.map { [OperationAction.work(.startResourceTimer(seconds: $0))] } ?? []
        return [.isExecutingChanged(true)] + timer + submit()
    }

    /// Makes a change, and returns the actions to execute if it makes the operation ready or not ready.
    private mutating func changingReadiness(_ change: (inout OperationState) -> Void) -> [OperationAction] {
        let wasReady = isReady
        change(&self)
        guard isReady != wasReady else { return [] }
        guard isReady, isStartDue else { return [.isReadyChanged(isReady)] }
        isStartDue = false
        return [.isReadyChanged(true), .callStart]
    }

    // MARK: Stopping

    private mutating func cancelRequested() -> [OperationAction] {
        guard phase != .finished, !isCancelled else { return [] }
        let readiness = changingReadiness { $0.isCancelled = true }
        return [.isCancelledChanged] + readiness + stop(.cancelled)
    }

    private mutating func stop(_ reason: OperationOutcome) -> [OperationAction] {
        guard case .working(let step) = phase, !isStopping else { return [] }
        guard step != .deliveringPage(isLast: true) || reason == .cancelled else { return [] }
        stopReason = reason
        switch step {
        case .queued: return [.work(.withdrawRequest)]
        case .pausing: return [.work(.endPause)]
        case .awaitingAnswer: return endWork()
        case .requesting, .deliveringPage: return []
        }
    }

    // MARK: Working

    private mutating func submit() -> [OperationAction] {
        phase = .working(.queued)
        // An operation that tries again waits for a slow request until its whole time is over (O-10).
        guard let rules, !rules.retriesNetworkErrors, let seconds = rules.requestSeconds else {
            return [.work(.submitRequest)]
        }
        return [.work(.startRequestTimer(seconds: seconds)), .work(.submitRequest)]
    }

    private mutating func submitAgain(after step: Step) -> [OperationAction] {
        guard phase == .working(step) else { return [.refuse(.noSuchWork)] }
        return isStopping ? endWork() : submit()
    }

    private mutating func requestBegan() -> [OperationAction] {
        guard phase == .working(.queued) else { return [.refuse(.noSuchWork)] }
        guard !isStopping else { return endWork() }
        phase = .working(.requesting(isAnswerHere: false))
        return [.work(.sendRequest)]
    }

    private mutating func requestAnswered(isMoreToSend: Bool) -> [OperationAction] {
        guard case .working(.requesting) = phase else { return [.refuse(.noSuchWork)] }
        phase = .working(.deliveringPage(isLast: !isMoreToSend))
        // The next page is a separate request, and the time of the blocks does not count towards its limit.
        return [.work(isMoreToSend ? .cancelRequestTimer : .cancelTimers), .work(.deliverPage)]
    }

    private mutating func requestFailed(_ failure: RequestFailure) -> [OperationAction] {
        switch phase {
        case .working(.queued), .working(.requesting): break
        default: return [.refuse(.noSuchWork)]
        }
        guard !isStopping, let rules, rules.retries(failure) else { return endWork() }
        failureCount += 1
        phase = .working(.pausing)
        return [.work(.pause(seconds: failure.retryAfterSeconds ?? backOffSeconds))]
    }

    /// The pause if the server specified none: it doubles from a second to a minute.
    private var backOffSeconds: Double { failureCount > 6 ? 60 : Double(1 << (failureCount - 1)) }

    private mutating func answerAwaited() -> [OperationAction] {
        guard case .working(.requesting(let isAnswerHere)) = phase else { return [.refuse(.noSuchWork)] }
        guard !isStopping else { return endWork() }
        phase = .working(isAnswerHere ? .requesting(isAnswerHere: false) : .awaitingAnswer)
        return isAnswerHere ? [.work(.sendRequest)] : []
    }

    private mutating func answerArrived() -> [OperationAction] {
        switch phase {
        case .working(.awaitingAnswer): return submit()
        case .working(.requesting): phase = .working(.requesting(isAnswerHere: true))
        default: break
        }
        return []
    }

    private mutating func endWork() -> [OperationAction] {
        phase = .delivering
        return [.work(.cancelTimers), .work(.deliverCallbacks(stopReason ?? .workEnded))]
    }
}
