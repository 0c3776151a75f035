// Every state that a number of events can lead to, judged step by step, and the proof that the judge finds faults.

import Testing

@testable import StratusKit

@Suite("every state that seven events lead to")
struct OperationExhaustiveTests {
    /// A machine, or one with a planted fault: the same calls, the actions tampered with.
    private typealias Step = @Sendable (inout OperationState, OperationEvent) -> [OperationAction]

    private struct Place: Hashable {
        var state = OperationState()
        var history = OperationHistory()
    }

    /// Every event, with every kind of rules and failures.
    static let events: [OperationEvent] = [
        .dependencyAdded, .dependencyFinished, .enqueued, .enteredOwnQueue,
        .startCalled(isAllowed: true, byQueue: false), .startCalled(isAllowed: false, byQueue: true),
        .startCalled(isAllowed: false, byQueue: false),
        .inputsFixed(OperationRules()), .inputsFixed(OperationRules(requestSeconds: 60, resourceSeconds: 600)),
        .inputsFixed(OperationRules(requestSeconds: 60, resourceSeconds: 600, retriesNetworkErrors: true)),
        .inputsFixed(OperationRules(resourceSeconds: 600, isRefused: true)),
        .startRequested, .cancelRequested, .timeOutReached, .requestQueued, .requestBegan, .requestWithdrawn,
        .requestAnswered(isMoreToSend: false), .requestAnswered(isMoreToSend: true),
        .requestFailed(RequestFailure(isOfNetwork: false)), .requestFailed(RequestFailure(isOfNetwork: true)),
        .requestFailed(RequestFailure(isOfNetwork: true, retryAfterSeconds: 7)),
        .requestFailed(RequestFailure(isOfNetwork: true, isSessionClosed: true)),
        .answerAwaited, .answerArrived, .pauseBegan, .pauseEnded, .pageDelivered, .callbacksDelivered,
    ]

    /// Walks all sequences of events, and every state once. Returns the first sequence that breaks a rule.
    private func firstViolation(
        from start: [OperationEvent] = [], maximumCount: Int = 7, _ step: Step
    ) -> String? {
        var pending: [(place: Place, events: [OperationEvent])] = [(Place(), [])]
        for event in start {
            if let broken = violation(&pending[0].place, event, step) { return "\(start): \(broken)" }
        }
        var known: Set<Place> = []
        for _ in 0..<maximumCount {
            var next: [(place: Place, events: [OperationEvent])] = []
            for (place, events) in pending {
                for event in Self.events {
                    var after = place
                    if let broken = violation(&after, event, step) { return "\(start + events + [event]): \(broken)" }
                    if known.insert(after).inserted { next.append((after, events + [event])) }
                }
            }
            pending = next
        }
        return nil
    }

    private func violation(_ place: inout Place, _ event: OperationEvent, _ step: Step) -> String? {
        let before = place.state
        let actions = step(&place.state, event)
        let refused = actions.contains { if case .refuse = $0 { true } else { false } }
        if (refused || before.isFinished) && place.state != before { return "the state changed" }
        if let broken = place.history.violation(event, actions) ?? place.history.violation(of: place.state) {
            return "\(broken) (\(actions))"
        }
        return violationOfProgress(place, step)
    }

    /// From every state the ordinary course of events must lead to the finish.
    private func violationOfProgress(_ place: Place, _ step: Step) -> String? {
        var place = place
        if !place.history.hasStarted {
            for _ in 0..<place.history.unfinishedDependencyCount {
                _ = place.history.violation(.dependencyFinished, step(&place.state, .dependencyFinished))
            }
            _ = place.history.violation(.startRequested, step(&place.state, .startRequested))
        }
        for _ in 0..<6 {
            let event: OperationEvent
            switch place.history.due {
            case .nothing: return place.state.isFinished ? nil : "the operation can no longer finish"
            case .thread: event = .requestBegan
            case .request: event = .requestAnswered(isMoreToSend: false)
            case .answer: event = .answerArrived
            case .pause: event = .pauseEnded
            case .page, .lastPage: event = .pageDelivered
            case .callbacks: event = .callbacksDelivered
            }
            _ = place.history.violation(event, step(&place.state, event))
        }
        return place.state.isFinished ? nil : "the operation can no longer finish"
    }

    /// Sequences that begin with a start, so that few more events reach every step of the work.
    private func firstViolationOfWork(_ step: Step) -> String? {
        for rules in Self.events {
            guard case .inputsFixed = rules else { continue }
            if let broken = firstViolation(from: [rules, .startRequested], maximumCount: 4, step) { return broken }
        }
        return nil
    }

    @Test("every sequence obeys the rules and can still finish")
    func everySequence() {
        #expect(firstViolation { $0.receive($1) } == nil)
    }

    @Test("every sequence of nine events of the work obeys the rules and can still come to its end")
    func everySequenceOfWork() {
        for rules in Self.events {
            guard case .inputsFixed = rules else { continue }
            #expect(firstViolation(from: [rules, .startRequested], maximumCount: 9) { $0.receive($1) } == nil)
        }
    }

    /// Machines with a planted fault, by what the fault is.
    private static let faults: [(name: String, step: Step)] = [
        (
            "delivers callbacks twice",
            { state, event in
                state.receive(event).flatMap { $0.isDelivery ? [$0, $0] : [$0] }
            }
        ),
        (
            "forgets to deliver after a cancellation",
            { state, event in
                state.receive(event).filter { $0 != .work(.deliverCallbacks(.cancelled)) }
            }
        ),
        (
            "reports the work's outcome after a cancellation",
            { state, event in
                state.receive(event).map {
                    $0 == .work(.deliverCallbacks(.cancelled)) ? .work(.deliverCallbacks(.workEnded)) : $0
                }
            }
        ),
        (
            "finishes while it executes",
            { state, event in state.receive(event).filter { $0 != .isExecutingChanged(false) } }
        ),
        (
            "starts twice",
            { state, event in
                let actions = state.receive(event)
                return actions == [.refuse(.alreadyStarted)] && event == .startRequested
                    ? [.work(.submitRequest)] : actions
            }
        ),
        (
            "starts before its dependencies finished",
            { state, event in
                let actions = state.receive(event)
                return actions == [.refuse(.notReady)]
                    ? [.isExecutingChanged(true), .work(.submitRequest)] : actions
            }
        ),
        (
            "does not report its readiness",
            { state, event in state.receive(event).filter { $0 != .isReadyChanged(true) } }
        ),
        (
            "does not call start again",
            { state, event in state.receive(event).filter { $0 != .callStart } }
        ),
        (
            "finishes a second time",
            { state, event in
                let actions = state.receive(event)
                return actions == [.refuse(.noCallbacksDue)] && state.isFinished ? [.isFinishedChanged] : actions
            }
        ),
        (
            "leaves its timers running",
            { state, event in state.receive(event).filter { $0 != .work(.cancelTimers) } }
        ),
        (
            "counts the time of the last blocks",
            { state, event in
                let actions = state.receive(event)
                return actions.contains(.work(.deliverPage))
                    ? actions.filter { $0 != .work(.cancelTimers) } : actions
            }
        ),
        (
            "does not withdraw a request that is queued after the cancellation",
            { state, event in event == .requestQueued ? [] : state.receive(event) }
        ),
        (
            "does not end a pause",
            { state, event in state.receive(event).filter { $0 != .work(.endPause) } }
        ),
        (
            "pauses for another time than the server has named",
            { state, event in
                state.receive(event).map { $0 == .work(.pause(seconds: 7)) ? .work(.pause(seconds: 1)) : $0 }
            }
        ),
        (
            "sends a request after a cancellation",
            { state, event in
                let wasStopping = state.isStopping
                let actions = state.receive(event)
                return wasStopping && event == .requestBegan && actions.count > 1
                    ? [.work(.sendRequest)] : actions
            }
        ),
        (
            "can no longer finish",
            { state, event in
                let before = state
                let actions = state.receive(event)
                // Forgets that the request has begun: the request is sent, the state stays.
                if event == .requestBegan, actions == [.work(.sendRequest)] { state = before }
                return actions
            }
        ),
    ]

    @Test("the judge finds a machine that", arguments: faults.map(\.name))
    func judge(_ name: String) throws {
        let step = try #require(Self.faults.first { $0.name == name }).step
        #expect((firstViolation(maximumCount: 4, step) ?? firstViolationOfWork(step)) != nil)
    }
}

extension OperationAction {
    fileprivate var isDelivery: Bool { if case .work(.deliverCallbacks) = self { true } else { false } }
}
