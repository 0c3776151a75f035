// The machine that matches results with what was sent, with scripted results.

import Testing

@testable import StratusPostgres

@Suite struct PipelineTests {
    private typealias Machine = Pipeline<String>

    private static let conflict = ServerError(origin: .server, severity: .error, state: SQLState("40001"))

    private func machine(_ steps: PipelineStep...) -> Machine {
        var machine = Machine()
        for step in steps { machine.expect(step) }
        return machine
    }

    /// Outcomes as short texts.
    private func texts(_ outcomes: [StatementOutcome<String>]) -> [String] {
        outcomes.map { outcome in
            switch outcome {
            case .answer(let answer): answer
            case .failure(let error): "\(error.state?.description ?? "-") of \(error.statement?.description ?? "-")"
            case .skipped: "skipped"
            }
        }
    }

    private func receive(_ events: [PipelineEvent<String>], _ machine: inout Machine) throws {
        for event in events { try machine.receive(event) }
    }

    private let lock = PipelineStep.statement(.run(.lock))
    private let begin = PipelineStep.statement(.run(.beginWrite))
    private let commit = PipelineStep.statement(.run(.commit))

    @Test("each statement has one result and an end; a sync has no end")
    func order() throws {
        var machine = machine(lock, .sync, begin, commit, .sync)
        try receive([.answer("1"), .end, .sync, .answer("2"), .end, .answer("3"), .end], &machine)
        #expect(machine.isWaiting)
        try machine.receive(.sync)
        #expect(!machine.isWaiting)
        #expect(texts(machine.takeOutcomes()) == ["1", "2", "3"])
        #expect(machine.isIdle)
    }

    @Test("after an error the rest of its segment is skipped, and the next segment is not")
    func skipping() throws {
        var machine = machine(begin, commit, .sync, lock, .sync)
        try receive(
            [.failure(Self.conflict), .end, .skipped, .end, .sync, .answer("unlocked"), .end, .sync], &machine)
        #expect(texts(machine.takeOutcomes()) == ["40001 of begin_write", "skipped", "unlocked"])
    }

    @Test("an error of a sync takes back the whole segment and no earlier one")
    func failedSync() throws {
        var machine = machine(lock, .sync, lock, lock, .sync, lock, .sync)
        try receive(
            [
                .answer("1"), .end, .sync, .answer("2"), .end, .answer("3"), .end, .failure(Self.conflict), .end, .sync,
                .answer("4"), .end, .sync,
            ], &machine)
        #expect(texts(machine.takeOutcomes()) == ["1", "40001 of -", "40001 of -", "4"])
    }

    @Test("outcomes that no caller waits for are read and dropped")
    func dropped() throws {
        var machine = machine(begin, .sync, commit, .sync)
        try receive([.answer("1"), .end], &machine)
        machine.dropOutcomes()
        #expect(machine.isWaiting)
        #expect(machine.isIdle)
        machine.expect(lock)
        machine.expect(.sync)
        try receive([.sync, .failure(Self.conflict), .end, .sync, .answer("mine"), .end, .sync], &machine)
        #expect(texts(machine.takeOutcomes()) == ["mine"])
    }

    @Test("a flush must end with a sync")
    func completeness() {
        #expect(Machine().isComplete)
        #expect(!machine(lock).isComplete)
        #expect(machine(lock, .sync).isComplete)
    }

    /// What cannot follow `lock, sync`.
    static let impossible: [(name: String, events: [PipelineEvent<String>])] = [
        ("an end first", [.end]), ("two ends", [.answer("1"), .end, .end]),
        ("two results", [.answer("1"), .answer("2")]),
        ("a sync before the result", [.sync]), ("a sync before the end", [.answer("1"), .sync]),
        ("a skipped statement without an error", [.skipped]), ("a copy", [.other(3)]),
        ("an answer for a sync", [.answer("1"), .end, .answer("2")]),
        ("a second error of a sync", [.answer("1"), .end, .failure(conflict), .end, .failure(conflict)]),
        ("more than was asked", [.answer("1"), .end, .sync, .answer("2")]),
    ]

    @Test("a result that does not fit ends the connection", arguments: impossible.indices)
    func impossibleResults(index: Int) {
        var machine = machine(lock, .sync)
        let error = #expect(throws: ServerError.self) { try receive(Self.impossible[index].events, &machine) }
        #expect(error?.origin == .protocolMismatch, "\(Self.impossible[index].name)")
        #expect(error?.endsConnection == true)
    }
}
