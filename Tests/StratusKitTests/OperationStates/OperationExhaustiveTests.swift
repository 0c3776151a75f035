// All sequences of up to six events, judged step by step, and the proof that the judge finds faults.

import StratusKit
import Testing

@Suite("every sequence of up to six events")
struct OperationExhaustiveTests {
    /// A machine, or one with a planted fault: the same calls, the actions tampered with.
    private typealias Step = (inout OperationState, OperationEvent) -> [OperationAction]

    /// Walks all sequences; returns the first that breaks a rule, and counts the steps.
    private func firstViolation(maximumCount: Int = 6, stepCount: inout Int, _ step: Step) -> String? {
        var pending: [(OperationState, OperationHistory, [OperationEvent])] = [
            (OperationState(), OperationHistory(), [])
        ]
        while let (state, history, events) = pending.popLast() {
            for event in OperationEvent.allCases {
                stepCount += 1
                var state = state
                var history = history
                let before = state
                let actions = step(&state, event)
                let refused = actions.contains { if case .refuse = $0 { true } else { false } }
                let sequence = events + [event]
                if (refused || before.isFinished) && state != before { return "\(sequence): the state changed" }
                if let broken = history.violation(event, actions) ?? history.violation(of: state) {
                    return "\(sequence): \(broken) (\(actions))"
                }
                if let stuck = violationOfProgress(state, history) { return "\(sequence): \(stuck)" }
                if sequence.count < maximumCount { pending.append((state, history, sequence)) }
            }
        }
        return nil
    }

    /// From every state on, the ordinary course of things must lead to the finish.
    private func violationOfProgress(_ state: OperationState, _ history: OperationHistory) -> String? {
        var state = state
        for _ in 0..<history.unfinishedDependencyCount { _ = state.handle(.dependencyFinished) }
        for event in [OperationEvent.startRequested, .workFinished, .callbacksDelivered] { _ = state.handle(event) }
        return state.isFinished ? nil : "the operation can no longer finish"
    }

    private func firstViolation(_ step: Step) -> String? {
        var stepCount = 0
        return firstViolation(maximumCount: 4, stepCount: &stepCount, step)
    }

    @Test("every sequence obeys the rules and can still finish")
    func everySequence() {
        var stepCount = 0
        #expect(firstViolation(stepCount: &stepCount) { $0.handle($1) } == nil)
        #expect(stepCount == (1...6).reduce(0) { sum, count in sum + (0..<count).reduce(1) { power, _ in power * 8 } })
    }

    @Test("the judge detects a machine that delivers callbacks twice")
    func doubleDelivery() {
        #expect(
            firstViolation { state, event in
                state.handle(event).flatMap { action -> [OperationAction] in
                    if case .deliverCallbacks = action { return [action, action] }
                    return [action]
                }
            } != nil)
    }

    @Test("the judge detects a machine that forgets to deliver after a cancellation")
    func lostCancellation() {
        #expect(
            firstViolation { state, event in
                state.handle(event).filter { $0 != .deliverCallbacks(.cancelled) }
            } != nil)
    }

    @Test("the judge detects a machine that reports the work's outcome after a cancellation")
    func wrongOutcome() {
        #expect(
            firstViolation { state, event in
                state.handle(event).map { $0 == .deliverCallbacks(.cancelled) ? .deliverCallbacks(.workEnded) : $0 }
            } != nil)
    }

    @Test("the judge detects a machine that finishes while it executes")
    func finishesWhileExecuting() {
        #expect(
            firstViolation { state, event in
                state.handle(event).filter { $0 != .isExecutingChanged(false) }
            } != nil)
    }

    @Test("the judge detects a machine that starts twice")
    func startsTwice() {
        #expect(
            firstViolation { state, event in
                let actions = state.handle(event)
                return actions == [.refuse(.alreadyStarted)] && event == .startRequested ? [.startWork] : actions
            } != nil)
    }

    @Test("the judge detects a machine that starts before its dependencies finished")
    func startsTooEarly() {
        #expect(
            firstViolation { state, event in
                let actions = state.handle(event)
                return actions == [.refuse(.notReady)] ? [.isExecutingChanged(true), .startWork] : actions
            } != nil)
    }

    @Test("the judge detects a machine that does not report its readiness")
    func silentReadiness() {
        #expect(
            firstViolation { state, event in
                state.handle(event).filter { $0 != .isReadyChanged(true) }
            } != nil)
    }

    @Test("the judge detects a machine that finishes a second time")
    func finishesTwice() {
        #expect(
            firstViolation { state, event in
                let actions = state.handle(event)
                return actions == [.refuse(.noCallbacksDue)] && state.isFinished ? [.isFinishedChanged] : actions
            } != nil)
    }

    @Test("the judge detects a machine that can no longer finish")
    func stuck() {
        #expect(
            firstViolation { state, event in
                let before = state
                let actions = state.handle(event)
                // Forgets the end of the work: the callbacks are delivered, the state stays.
                if event == .timeOutReached, before.isExecuting { state = before }
                return actions
            } != nil)
    }
}
