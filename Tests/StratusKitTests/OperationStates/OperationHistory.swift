// The judge of the exhaustive tests: it sees the incoming events and the resulting actions, and knows the rules, but
// not the machine.

import StratusKit

/// The history of one operation so far, and whether it obeyed the rules.
struct OperationHistory {
    private(set) var unfinishedDependencyCount = 0
    private var enqueueCount = 0
    private var wasCancelled = false
    private var wasAskedToStop = false
    private(set) var hasStarted = false
    private(set) var hasWorkStarted = false
    private(set) var hasWorkEnded = false
    private var expectedOutcome: OperationOutcome?
    private var deliveredOutcome: OperationOutcome?
    private(set) var isFinished = false
    private var isExecuting = false
    private var isReady = true

    /// Takes in one step. Returns the first rule it breaks; nil when it breaks none.
    mutating func violation(_ event: OperationEvent, _ actions: [OperationAction]) -> String? {
        let wasFinished = isFinished
        let isRefused = actions.contains { if case .refuse = $0 { true } else { false } }
        if isRefused && actions.count != 1 { return "a refusal must be the only action" }
        if wasFinished && !isRefused && !actions.isEmpty { return "something happened after the finish" }
        if isRefused != isRefusalDue(event) { return isRefused ? "refused an allowed event" : "allowed a wrong event" }
        if isRefused { return nil }
        note(event)
        for action in actions {
            if let violation = violation(event, action) { return violation }
        }
        return missing(event, actions)
    }

    private func isRefusalDue(_ event: OperationEvent) -> Bool {
        switch event {
        case .dependencyAdded: hasStarted
        case .dependencyFinished: !hasStarted && unfinishedDependencyCount == 0
        case .enqueued: hasStarted || enqueueCount > 0
        case .startRequested: hasStarted || (unfinishedDependencyCount > 0 && !wasCancelled)
        case .cancelRequested, .timeOutReached: false
        case .workFinished: !hasWorkStarted || hasWorkEnded
        case .callbacksDelivered: deliveredOutcome == nil || isFinished
        }
    }

    private mutating func note(_ event: OperationEvent) {
        switch event {
        case .dependencyAdded: unfinishedDependencyCount += 1
        case .dependencyFinished: unfinishedDependencyCount = max(0, unfinishedDependencyCount - 1)
        case .enqueued: enqueueCount += 1
        case .startRequested:
            hasStarted = true
            if wasCancelled { expectedOutcome = .cancelled }
        case .cancelRequested:
            if !isFinished { wasCancelled = true }
            if hasWorkStarted { expectedOutcome = expectedOutcome ?? .cancelled }
        case .timeOutReached: if hasWorkStarted { expectedOutcome = expectedOutcome ?? .timedOut }
        case .workFinished:
            hasWorkEnded = true
            expectedOutcome = expectedOutcome ?? .workEnded
        case .callbacksDelivered: break
        }
    }

    private mutating func violation(_ event: OperationEvent, _ action: OperationAction) -> String? {
        switch action {
        case .startWork:
            if event != .startRequested || wasCancelled || hasWorkStarted { return "the work must not start here" }
            hasWorkStarted = true
        case .stopWork:
            if !hasWorkStarted || hasWorkEnded || wasAskedToStop { return "there is no work to stop" }
            wasAskedToStop = true
        case .deliverCallbacks(let outcome):
            if deliveredOutcome != nil { return "the callbacks are delivered twice" }
            if hasWorkStarted && !hasWorkEnded { return "the callbacks overtake the work" }
            if outcome != expectedOutcome {
                return "\(outcome) delivered instead of \(String(describing: expectedOutcome))"
            }
            deliveredOutcome = outcome
        case .isReadyChanged(let value):
            if value == isReady { return "isReady did not change" }
            isReady = value
        case .isExecutingChanged(let value):
            if value == isExecuting || value != (event == .startRequested) { return "isExecuting is wrong" }
            isExecuting = value
        case .isFinishedChanged:
            if isFinished || isExecuting || event != .callbacksDelivered { return "the operation must not finish here" }
            isFinished = true
        case .isCancelledChanged:
            if event != .cancelRequested { return "the operation was not cancelled" }
        case .refuse: break
        }
        return nil
    }

    /// The required results of the event that did not occur.
    private func missing(_ event: OperationEvent, _ actions: [OperationAction]) -> String? {
        switch event {
        case .startRequested where !isExecuting: "a started operation must execute"
        case .startRequested where hasWorkStarted == wasCancelled: "the start must begin the work unless cancelled"
        case .startRequested where wasCancelled && deliveredOutcome == nil: "a cancelled start must deliver callbacks"
        case .workFinished where deliveredOutcome == nil: "the end of the work must deliver callbacks"
        case .callbacksDelivered where !isFinished: "the operation must finish once its callbacks are delivered"
        case .cancelRequested where hasWorkStarted && !hasWorkEnded && !wasAskedToStop: "the work must be asked to stop"
        case _ where !hasStarted && isReady != (unfinishedDependencyCount == 0 || wasCancelled): "isReady is wrong"
        default: nil
        }
    }

    /// Whether the state matches the history.
    func violation(of state: OperationState) -> String? {
        if state.isFinished != isFinished { return "isFinished is wrong" }
        if state.isExecuting != isExecuting { return "isExecuting is wrong" }
        if state.isCancelled != wasCancelled { return "isCancelled is wrong" }
        if state.acceptsConfiguration == hasStarted { return "configuration must be closed exactly from the start on" }
        if !hasStarted && state.isReady != isReady { return "isReady is wrong" }
        return nil
    }
}
