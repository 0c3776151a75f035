// The ordinary lives of an operation, one by one: the part of O-07 to O-10 and O-14 that the machine decides. The rules
// themselves are proved by the tests of the operations.

import Testing

@testable import StratusKit

@Suite("the life of an operation")
struct OperationStateTests {
    private static let end: [OperationAction] = [.isExecutingChanged(false), .isFinishedChanged]

    private static func delivery(_ outcome: OperationOutcome) -> [OperationAction] {
        [.work(.cancelTimers), .work(.deliverCallbacks(outcome))]
    }

    private static let lastPage: [OperationAction] = [.work(.cancelTimers), .work(.deliverPage)]

    private func actions(_ events: [OperationEvent]) -> [[OperationAction]] {
        var state = OperationState()
        return events.map { state.receive($0) }
    }

    /// What an operation with these rules does after its request began.
    private func workActions(_ rules: OperationRules, _ events: [OperationEvent]) -> [[OperationAction]] {
        let begin: [OperationEvent] = [.inputsFixed(rules), .startRequested, .requestBegan]
        return Array(actions(begin + events).dropFirst(begin.count))
    }

    private static let networkFailure = OperationEvent.requestFailed(RequestFailure(isOfNetwork: true))

    @Test("it starts, works, delivers its callbacks and finishes")
    func ordinary() {
        #expect(
            actions([
                .enqueued, .startCalled(isAllowed: true, byQueue: true), .inputsFixed(OperationRules()),
                .startRequested, .requestQueued, .requestBegan, .requestAnswered(isMoreToSend: false), .pageDelivered,
                .callbacksDelivered,
            ]) == [
                [], [.callMain], [], [.isExecutingChanged(true), .work(.submitRequest)], [], [.work(.sendRequest)],
                Self.lastPage, Self.delivery(.workEnded), Self.end,
            ])
    }

    @Test("a second start is refused, during and after the run, and the first one locks the settings")
    func singleUse() {
        var state = OperationState()
        #expect(state.acceptsConfiguration)
        #expect(state.receive(.enqueued) == [])
        #expect(state.receive(.enqueued) == [.refuse(.alreadyEnqueued)])
        _ = state.receive(.startRequested)
        #expect(!state.acceptsConfiguration)
        #expect(state.receive(.startRequested) == [.refuse(.alreadyStarted)])
        _ = state.receive(.requestFailed(RequestFailure(isOfNetwork: false)))
        _ = state.receive(.callbacksDelivered)
        #expect(state.isFinished)
        #expect(state.receive(.startRequested) == [.refuse(.alreadyStarted)])
        #expect(state.receive(.enqueued) == [.refuse(.alreadyStarted)])
        #expect(!state.acceptsConfiguration)
    }

    @Test("cancelled before the start, it delivers its callbacks as cancelled and never works")
    func cancelledBeforeStart() {
        #expect(
            actions([
                .cancelRequested, .startCalled(isAllowed: true, byQueue: true), .startRequested, .callbacksDelivered,
            ]) == [
                [.isCancelledChanged], [.begin], [.isExecutingChanged(true)] + Self.delivery(.cancelled), Self.end,
            ])
    }

    @Test("cancelled while its request is under way, it waits for its end and delivers as cancelled")
    func cancelledWhileWorking() {
        #expect(
            workActions(
                OperationRules(),
                [.cancelRequested, .requestAnswered(isMoreToSend: false), .pageDelivered, .callbacksDelivered]) == [
                    [.isCancelledChanged], Self.lastPage, Self.delivery(.cancelled), Self.end,
                ])
    }

    @Test("cancelled while its request waits for a thread, it takes the request back, also when it was not there yet")
    func cancelledWhileQueued() {
        let start: [OperationEvent] = [.startRequested, .cancelRequested]
        #expect(
            actions(start + [.requestWithdrawn]).dropFirst() == [
                [.isCancelledChanged, .work(.withdrawRequest)], Self.delivery(.cancelled),
            ])
        #expect(actions(start + [.requestQueued]).last == [.work(.withdrawRequest)])
        #expect(actions(start + [.requestBegan]).last == Self.delivery(.cancelled))
    }

    @Test("cancelled after its work ended, it keeps the work's outcome")
    func cancelledAfterWork() {
        #expect(
            workActions(
                OperationRules(),
                [.requestAnswered(isMoreToSend: false), .pageDelivered, .cancelRequested, .callbacksDelivered]) == [
                    Self.lastPage, Self.delivery(.workEnded), [.isCancelledChanged], Self.end,
                ])
    }

    @Test("[O-08] cancelled in a block for an item of the last page, it delivers as cancelled; no time is over then")
    func cancelledInItem() {
        let answer = OperationEvent.requestAnswered(isMoreToSend: false)
        #expect(
            workActions(OperationRules(), [answer, .timeOutReached, .cancelRequested, .pageDelivered]) == [
                Self.lastPage, [], [.isCancelledChanged], Self.delivery(.cancelled),
            ])
        #expect(
            workActions(OperationRules(), [answer, .timeOutReached, .pageDelivered]).last == Self.delivery(.workEnded))
    }

    @Test("cancelled after the finish, or a second time, it does nothing")
    func cancelledTooLate() {
        var state = OperationState()
        _ = state.receive(.startRequested)
        _ = state.receive(.requestFailed(RequestFailure(isOfNetwork: false)))
        _ = state.receive(.callbacksDelivered)
        #expect(state.receive(.cancelRequested) == [])
        #expect(!state.isCancelled)
        #expect(actions([.cancelRequested, .cancelRequested]) == [[.isCancelledChanged], []])
    }

    @Test("a time-out stops the work; a later cancellation does not change the outcome, nor vice versa")
    func timeOut() {
        let answer = OperationEvent.requestAnswered(isMoreToSend: false)
        #expect(
            workActions(OperationRules(), [.timeOutReached, .cancelRequested, answer, .pageDelivered]) == [
                [], [.isCancelledChanged], Self.lastPage, Self.delivery(.timedOut),
            ])
        #expect(
            workActions(OperationRules(), [.cancelRequested, .timeOutReached, answer, .pageDelivered]).last
                == Self.delivery(.cancelled))
        #expect(actions([.timeOutReached]) == [[]])
    }

    @Test("it counts its own time and that of each request, but not that of a request it may repeat (O-10)")
    func timers() {
        var rules = OperationRules(requestSeconds: 60, resourceSeconds: 600)
        #expect(
            actions([.inputsFixed(rules), .startRequested]).last == [
                .isExecutingChanged(true), .work(.startResourceTimer(seconds: 600)),
                .work(.startRequestTimer(seconds: 60)), .work(.submitRequest),
            ])
        #expect(
            workActions(rules, [.requestAnswered(isMoreToSend: true), .pageDelivered]) == [
                [.work(.cancelRequestTimer), .work(.deliverPage)],
                [.work(.startRequestTimer(seconds: 60)), .work(.submitRequest)],
            ])
        rules.retriesNetworkErrors = true
        #expect(
            actions([.inputsFixed(rules), .startRequested]).last == [
                .isExecutingChanged(true), .work(.startResourceTimer(seconds: 600)), .work(.submitRequest),
            ])
    }

    @Test("it tries a failed network again after pauses that double, or as long as the server says (O-10)")
    func retries() {
        let rules = OperationRules(retriesNetworkErrors: true)
        let round: [OperationEvent] = [Self.networkFailure, .pauseEnded, .requestBegan]
        let pauses = workActions(rules, Array(repeating: round, count: 8).flatMap { $0 }).flatMap { $0 }
            .compactMap { if case .work(.pause(let seconds)) = $0 { seconds } else { nil } }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60])
        let asked = OperationEvent.requestFailed(RequestFailure(isOfNetwork: true, retryAfterSeconds: 7))
        #expect(workActions(rules, [asked]) == [[.work(.pause(seconds: 7))]])
        let closed = OperationEvent.requestFailed(RequestFailure(isOfNetwork: true, isSessionClosed: true))
        #expect(workActions(rules, [closed]) == [Self.delivery(.workEnded)])
        #expect(
            workActions(rules, [.requestFailed(RequestFailure(isOfNetwork: false))]) == [Self.delivery(.workEnded)])
        #expect(workActions(OperationRules(), [Self.networkFailure]) == [Self.delivery(.workEnded)])
    }

    @Test("a page that was delivered begins the pauses from the first again")
    func retriesAfterPage() {
        let page: [OperationEvent] = [.requestAnswered(isMoreToSend: true), .pageDelivered, .requestBegan]
        let events = [Self.networkFailure, .pauseEnded, .requestBegan] + page + [Self.networkFailure]
        #expect(
            workActions(OperationRules(retriesNetworkErrors: true), events).last == [.work(.pause(seconds: 1))])
    }

    @Test("cancelled in a pause, it ends the pause, also when it was not there yet")
    func cancelledInPause() {
        let rules = OperationRules(retriesNetworkErrors: true)
        #expect(
            workActions(rules, [Self.networkFailure, .cancelRequested, .pauseBegan, .pauseEnded]).dropFirst() == [
                [.isCancelledChanged, .work(.endPause)], [.work(.endPause)], Self.delivery(.cancelled),
            ])
        #expect(workActions(rules, [.cancelRequested, Self.networkFailure]).last == Self.delivery(.cancelled))
    }

    @Test("it waits for the answer to another object's request, and asks again when it is there (O-14)")
    func otherAnswer() {
        #expect(
            workActions(OperationRules(), [.answerAwaited, .answerArrived, .requestBegan]) == [
                [], [.work(.submitRequest)], [.work(.sendRequest)],
            ])
        #expect(workActions(OperationRules(), [.answerArrived, .answerAwaited]) == [[], [.work(.sendRequest)]])
        #expect(
            workActions(OperationRules(), [.answerAwaited, .cancelRequested]).last
                == [.isCancelledChanged] + Self.delivery(.cancelled))
    }

    @Test("refused, it delivers its callbacks without a request")
    func refused() {
        #expect(
            actions([.inputsFixed(OperationRules(resourceSeconds: 600, isRefused: true)), .startRequested]).last
                == [.isExecutingChanged(true)] + Self.delivery(.workEnded))
    }

    @Test("it is ready when the last dependency finished, and only then may it start")
    func dependencies() {
        #expect(
            actions([
                .dependencyAdded, .dependencyAdded, .dependencyFinished, .startRequested, .dependencyFinished,
                .startRequested,
            ]) == [
                [.isReadyChanged(false)], [], [], [.refuse(.notReady)], [.isReadyChanged(true)],
                [.isExecutingChanged(true), .work(.submitRequest)],
            ])
    }

    @Test("a queue that calls start too early has it called again when the operation is ready")
    func dueStart() {
        #expect(
            actions([
                .dependencyAdded, .startCalled(isAllowed: false, byQueue: true), .dependencyFinished,
                .startCalled(isAllowed: true, byQueue: true), .startCalled(isAllowed: true, byQueue: true),
            ]) == [
                [.isReadyChanged(false)], [], [.isReadyChanged(true), .callStart], [.callMain],
                [.refuse(.alreadyStarted)],
            ])
    }

    @Test("an operation in a queue of the program's own enters no other")
    func ownQueue() {
        #expect(
            actions([.enteredOwnQueue, .enqueued, .enteredOwnQueue]).dropFirst() == [
                [.refuse(.alreadyEnqueued)], [.refuse(.alreadyEnqueued)],
            ])
        #expect(
            actions([.startCalled(isAllowed: true, byQueue: false), .enteredOwnQueue]).last == [
                .refuse(.alreadyStarted)
            ])
    }

    @Test("cancelled while it waits for a dependency, it is ready at once and finishes without it")
    func cancelledWhileWaiting() {
        #expect(
            actions([.dependencyAdded, .cancelRequested, .startRequested, .callbacksDelivered, .dependencyFinished])
                == [
                    [.isReadyChanged(false)], [.isCancelledChanged, .isReadyChanged(true)],
                    [.isExecutingChanged(true)] + Self.delivery(.cancelled),
                    Self.end, [],
                ])
    }

    @Test("a cancelled operation finishes only after its work, so that its dependents never overlap it")
    func dependentsWaitForWork() {
        var state = OperationState()
        _ = state.receive(.startRequested)
        _ = state.receive(.cancelRequested)
        #expect(state.receive(.callbacksDelivered) == [.refuse(.noCallbacksDue)])
        #expect(state.isExecuting)
        #expect(!state.isFinished)
    }
}
