// The judge of the exhaustive tests. It sees the events that went in and the actions that came out. It knows the rules,
// but not the machine.

@testable import StratusKit

/// What has happened to one operation so far, and whether it obeyed the rules.
struct OperationHistory: Hashable {
    /// What the shell was asked to do and has not reported. Once an operation has started, it is always one thing.
    enum Due: Hashable {
        case nothing, thread, request, answer, pause, page, lastPage, callbacks
    }

    private(set) var unfinishedDependencyCount = 0
    private var queueCount = 0
    private var isEnqueued = false
    private var isMainCalled = false
    private var isStartDue = false
    private var rules: OperationRules?
    private var wasCancelled = false
    private(set) var hasStarted = false
    private(set) var due = Due.nothing
    private var isAnswerHere = false
    private var failureCount = 0
    private var stopReason: OperationOutcome?
    private var isRequestTimed = false
    private var isResourceTimed = false
    private var hasDelivered = false
    private(set) var isFinished = false
    private var isExecuting = false
    private var isReady = true

    private var isWorking: Bool { hasStarted && !hasDelivered }

    /// Notes one step. Returns the first rule it breaks; nil when it breaks none.
    mutating func violation(_ event: OperationEvent, _ actions: [OperationAction]) -> String? {
        let isRefused = actions.contains { if case .refuse = $0 { true } else { false } }
        if isRefused && actions.count != 1 { return "a refusal must be the only action" }
        if isFinished && !isRefused && !actions.isEmpty { return "something happened after the finish" }
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
        case .enqueued: hasStarted || queueCount > 0
        case .enteredOwnQueue: hasStarted || isMainCalled || queueCount > 0
        case .startCalled: hasStarted || isMainCalled
        case .inputsFixed: hasStarted || rules != nil
        case .startRequested: hasStarted || (unfinishedDependencyCount > 0 && !wasCancelled)
        case .cancelRequested, .timeOutReached, .requestQueued, .pauseBegan, .answerArrived: false
        case .requestBegan: due != .thread
        case .requestWithdrawn: due != .thread || stopReason == nil
        case .requestAnswered, .answerAwaited: due != .request
        case .requestFailed: due != .thread && due != .request
        case .pauseEnded: due != .pause
        case .pageDelivered: due != .page && due != .lastPage
        case .callbacksDelivered: due != .callbacks
        }
    }

    private mutating func note(_ event: OperationEvent) {
        switch event {
        case .dependencyAdded: unfinishedDependencyCount += 1
        case .dependencyFinished: unfinishedDependencyCount = max(0, unfinishedDependencyCount - 1)
        case .enqueued: (queueCount, isEnqueued) = (queueCount + 1, true)
        case .enteredOwnQueue: queueCount += 1
        case .startCalled(let isAllowed, let byQueue):
            if isAllowed {
                isMainCalled = true
            } else {
                isStartDue = byQueue && unfinishedDependencyCount > 0 && !wasCancelled
            }
        case .inputsFixed(let fixed): rules = fixed
        case .startRequested:
            hasStarted = true
            if wasCancelled { stopReason = .cancelled }
        case .cancelRequested:
            if isWorking { stopReason = stopReason ?? .cancelled }
            if !isFinished { wasCancelled = true }
        case .timeOutReached: if isWorking, due != .lastPage { stopReason = stopReason ?? .timedOut }
        case .requestFailed: (due, failureCount) = (.nothing, failureCount + 1)
        case .answerAwaited: (due, isAnswerHere) = (isAnswerHere ? .nothing : .answer, false)
        case .answerArrived:
            if due == .request { isAnswerHere = true }
            if due == .answer { due = .nothing }
        case .pageDelivered: (due, failureCount) = (.nothing, 0)
        case .requestBegan, .requestWithdrawn, .requestAnswered, .pauseEnded, .callbacksDelivered: due = .nothing
        case .requestQueued, .pauseBegan: break
        }
        if due != .request { isAnswerHere = false }
        if stopReason != nil, due == .answer { due = .nothing }
    }

    private mutating func violation(_ event: OperationEvent, _ action: OperationAction) -> String? {
        switch action {
        case .work(let work): return violation(event, work)
        case .callStart:
            if !isStartDue || !isReady { return "nobody has to call start again" }
            isStartDue = false
        case .callMain, .begin:
            guard case .startCalled = event, wasCancelled == (action == .begin) else { return "wrong way to begin" }
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

    private mutating func violation(_ event: OperationEvent, _ work: WorkAction) -> String? {
        switch work {
        case .startResourceTimer(let seconds):
            if isResourceTimed || seconds != rules?.resourceSeconds { return "wrong resource timer" }
            isResourceTimed = true
        case .startRequestTimer(let seconds):
            if rules?.retriesNetworkErrors == true || seconds != rules?.requestSeconds { return "wrong request timer" }
            isRequestTimed = true
        case .cancelRequestTimer: isRequestTimed = false
        case .cancelTimers: (isRequestTimed, isResourceTimed) = (false, false)
        case .submitRequest:
            if due != .nothing || stopReason != nil || rules?.isRefused == true { return "no request may begin" }
            due = .thread
        case .withdrawRequest: if due != .thread || stopReason == nil { return "there is no request to withdraw" }
        case .sendRequest:
            if due != .nothing || stopReason != nil { return "no request may be sent" }
            due = .request
        case .pause(let seconds):
            guard case .requestFailed(let failure) = event, rules?.retries(failure) == true, stopReason == nil else {
                return "nothing may be tried again"
            }
            let growing = (1..<failureCount).reduce(1.0) { seconds, _ in min(seconds * 2, 60) }
            if seconds != failure.retryAfterSeconds ?? growing { return "the pause is not as long as it must be" }
            due = .pause
        case .endPause: if due != .pause || stopReason == nil { return "there is no pause to end" }
        case .deliverPage:
            guard case .requestAnswered(let isMoreToSend) = event else { return "there is no answer" }
            due = isMoreToSend ? .page : .lastPage
        case .deliverCallbacks(let outcome):
            if hasDelivered { return "the callbacks are delivered twice" }
            if due != .nothing { return "the callbacks overtake the work" }
            if isRequestTimed || isResourceTimed { return "a timer outlives the work" }
            if outcome != stopReason ?? .workEnded { return "\(outcome) delivered" }
            (due, hasDelivered) = (.callbacks, true)
        }
        return nil
    }

    /// What had to follow from the event and did not.
    private func missing(_ event: OperationEvent, _ actions: [OperationAction]) -> String? {
        if hasStarted, !isFinished, !isExecuting { return "a started operation must execute" }
        if hasStarted, !isFinished, due == .nothing { return "nothing is done, and nothing will be" }
        if event == .callbacksDelivered, !isFinished { return "the operation must finish after its callbacks" }
        if !hasStarted, isReady != (unfinishedDependencyCount == 0 || wasCancelled) { return "isReady is wrong" }
        if !hasStarted, isReady, isStartDue { return "start must be called again" }
        if case .startCalled(true, _) = event, actions.isEmpty { return "the start must call main" }
        if stopReason != nil, due == .answer { return "an answer is waited for that is not wanted" }
        let isTold = [.cancelRequested, .timeOutReached, .requestQueued, .pauseBegan].contains(event)
        let isNew = actions != [] || event == .requestQueued || event == .pauseBegan
        if stopReason != nil, isTold, isNew {
            if due == .thread, !isStopAsked(event, .requestQueued, actions, .withdrawRequest) { return "not withdrawn" }
            if due == .pause, !isStopAsked(event, .pauseBegan, actions, .endPause) { return "the pause is not ended" }
        }
        guard isWorking, let rules else { return nil }
        let isAnswered = due == .lastPage
        let isLimited = rules.resourceSeconds != nil && !isAnswered
        if isResourceTimed != isLimited { return "the time of the operation is not counted" }
        let isTimed = rules.requestSeconds != nil && !rules.retriesNetworkErrors && due != .page && !isAnswered
        return isRequestTimed == isTimed ? nil : "the time of the request is not counted"
    }

    /// Whether the work is asked to stop where it must be: by the event that sets the reason, and by the one that says
    /// that there is now something to stop.
    private func isStopAsked(
        _ event: OperationEvent, _ late: OperationEvent, _ actions: [OperationAction], _ work: WorkAction
    ) -> Bool {
        switch event {
        case .requestQueued, .pauseBegan: event != late || actions == [.work(work)]
        case .cancelRequested: stopReason != .cancelled || actions.contains(.work(work))
        default: actions.contains(.work(work))
        }
    }

    /// Whether the state matches the history.
    func violation(of state: OperationState) -> String? {
        if state.isFinished != isFinished { return "isFinished is wrong" }
        if state.isExecuting != isExecuting { return "isExecuting is wrong" }
        if state.isCancelled != wasCancelled { return "isCancelled is wrong" }
        if state.isEnqueued != isEnqueued { return "isEnqueued is wrong" }
        if state.isStopping != (stopReason != nil) { return "isStopping is wrong" }
        if state.acceptsConfiguration == (hasStarted || rules != nil) {
            return "configuration must be closed exactly from the start on"
        }
        if !hasStarted && state.isReady != isReady { return "isReady is wrong" }
        return nil
    }
}
