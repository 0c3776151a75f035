// The usual lives of an operation, one by one: the part of O-07, O-08 and O-09 that this layer decides. Tests of the
// public API prove the rules themselves.

import StratusKit
import Testing

@Suite("the life of an operation")
struct OperationStateTests {
    private func actions(_ events: [OperationEvent]) -> [[OperationAction]] {
        var state = OperationState()
        return events.map { state.handle($0) }
    }

    @Test("it starts, works, delivers its callbacks and finishes")
    func ordinary() {
        #expect(
            actions([.enqueued, .startRequested, .workFinished, .callbacksDelivered]) == [
                [], [.isExecutingChanged(true), .startWork], [.deliverCallbacks(.workEnded)],
                [.isExecutingChanged(false), .isFinishedChanged],
            ])
    }

    @Test("a second start is refused, during and after the run, and the first one locks the settings")
    func singleUse() {
        var state = OperationState()
        #expect(state.acceptsConfiguration)
        #expect(state.handle(.enqueued) == [])
        #expect(state.handle(.enqueued) == [.refuse(.alreadyEnqueued)])
        _ = state.handle(.startRequested)
        #expect(!state.acceptsConfiguration)
        #expect(state.handle(.startRequested) == [.refuse(.alreadyStarted)])
        _ = state.handle(.workFinished)
        _ = state.handle(.callbacksDelivered)
        #expect(state.isFinished)
        #expect(state.handle(.startRequested) == [.refuse(.alreadyStarted)])
        #expect(state.handle(.enqueued) == [.refuse(.alreadyStarted)])
        #expect(!state.acceptsConfiguration)
    }

    @Test("cancelled before the start, it delivers its callbacks as cancelled and never works")
    func cancelledBeforeStart() {
        #expect(
            actions([.cancelRequested, .startRequested, .callbacksDelivered]) == [
                [.isCancelledChanged], [.isExecutingChanged(true), .deliverCallbacks(.cancelled)],
                [.isExecutingChanged(false), .isFinishedChanged],
            ])
    }

    @Test("cancelled while it works, it stops the work, waits for its end and delivers as cancelled")
    func cancelledWhileWorking() {
        #expect(
            actions([.startRequested, .cancelRequested, .workFinished, .callbacksDelivered]) == [
                [.isExecutingChanged(true), .startWork], [.isCancelledChanged, .stopWork],
                [.deliverCallbacks(.cancelled)], [.isExecutingChanged(false), .isFinishedChanged],
            ])
    }

    @Test("cancelled after its work ended, it keeps the work's outcome")
    func cancelledAfterWork() {
        #expect(
            actions([.startRequested, .workFinished, .cancelRequested, .callbacksDelivered]).dropFirst() == [
                [.deliverCallbacks(.workEnded)], [.isCancelledChanged],
                [.isExecutingChanged(false), .isFinishedChanged],
            ])
    }

    @Test("cancelled after the finish, or a second time, it does nothing")
    func cancelledTooLate() {
        var state = OperationState()
        _ = state.handle(.startRequested)
        _ = state.handle(.workFinished)
        _ = state.handle(.callbacksDelivered)
        #expect(state.handle(.cancelRequested) == [])
        #expect(!state.isCancelled)
        #expect(actions([.cancelRequested, .cancelRequested]) == [[.isCancelledChanged], []])
    }

    @Test("a time-out stops the work; a later cancellation does not change the outcome, nor vice versa")
    func timeOut() {
        #expect(
            actions([.startRequested, .timeOutReached, .cancelRequested, .workFinished]).dropFirst() == [
                [.stopWork], [.isCancelledChanged], [.deliverCallbacks(.timedOut)],
            ])
        #expect(
            actions([.startRequested, .cancelRequested, .timeOutReached, .workFinished]).last
                == [.deliverCallbacks(.cancelled)])
        #expect(actions([.timeOutReached]) == [[]])
    }

    @Test("it becomes ready when the last dependency finishes, and can start only then")
    func dependencies() {
        #expect(
            actions([
                .dependencyAdded, .dependencyAdded, .dependencyFinished, .startRequested, .dependencyFinished,
                .startRequested,
            ]) == [
                [.isReadyChanged(false)], [], [], [.refuse(.notReady)], [.isReadyChanged(true)],
                [.isExecutingChanged(true), .startWork],
            ])
    }

    @Test("cancelled while it waits for a dependency, it is ready at once and finishes without it")
    func cancelledWhileWaiting() {
        #expect(
            actions([.dependencyAdded, .cancelRequested, .startRequested, .callbacksDelivered, .dependencyFinished])
                == [
                    [.isReadyChanged(false)], [.isCancelledChanged, .isReadyChanged(true)],
                    [.isExecutingChanged(true), .deliverCallbacks(.cancelled)],
                    [.isExecutingChanged(false), .isFinishedChanged], [],
                ])
    }

    @Test("a cancelled operation finishes only after its work, so that its dependents never overlap it")
    func dependentsWaitForWork() {
        var state = OperationState()
        _ = state.handle(.startRequested)
        _ = state.handle(.cancelRequested)
        #expect(state.handle(.callbacksDelivered) == [.refuse(.noCallbacksDue)])
        #expect(state.isExecuting)
        #expect(!state.isFinished)
    }
}
