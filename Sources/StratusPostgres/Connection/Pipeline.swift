// What was sent to the server and not answered yet, and the state machine that matches results with it. Pure: results
// go in, in their order, and outcomes come out.
//
// Results arrive in the order of the statements. Each is followed by an end; a sync has none. After a failed statement
// the server skips all others up to the next sync. The statements between two syncs are a segment: outside of BEGIN and
// COMMIT it is one transaction, which the sync commits. So an error can also arrive for the sync itself, and then
// nothing of its segment has happened.

/// What the client sent.
enum PipelineStep: Hashable, Sendable {
    case statement(StatementLabel)
    case sync
}

/// What arrives.
enum PipelineEvent<Answer> {
    case answer(Answer)
    case failure(ServerError)
    /// The statement was skipped.
    case skipped
    /// No further result of the statement: libpq's null.
    case end
    case sync
    /// A result that nothing here causes.
    case other(UInt32)
}

/// What became of a statement.
enum StatementOutcome<Answer> {
    case answer(Answer)
    case failure(ServerError)
    /// An earlier statement of its segment had failed.
    case skipped
}

/// The queue of expected results.
struct Pipeline<Answer> {
    private struct Item {
        let step: PipelineStep
        /// Whether a caller waits for its outcome.
        var isKept = true
    }

    private var items: [Item] = []
    private var position = 0
    /// Whether the statement at `position` has its result and misses its end. An error of a sync has an end, too.
    private var awaitsEnd = false
    private var isSkipping = false
    /// Outcomes of the statements whose results arrived, in their order.
    private var outcomes: [StatementOutcome<Answer>] = []
    /// Where the outcomes of the segment begin that is being answered.
    private var segmentStart = 0

    init() {}

    /// Whether results are missing.
    var isWaiting: Bool { position < items.count }

    /// Whether what was sent ends with a sync, without which the server does not answer.
    var isComplete: Bool { items.last.map { $0.step == .sync } ?? true }

    /// Whether nothing was sent whose outcome a caller waits for.
    var isIdle: Bool { !items[position...].contains { $0.isKept } && outcomes.isEmpty }

    mutating func expect(_ step: PipelineStep) {
        if position == items.count {
            items.removeAll(keepingCapacity: true)
            position = 0
        }
        items.append(Item(step: step))
    }

    /// Forgets the callers of everything that was sent so far: its outcomes are dropped when they arrive.
    mutating func dropOutcomes() {
        outcomes = []
        segmentStart = 0
        for index in position..<items.count { items[index].isKept = false }
    }

    /// The outcomes since the last call.
    mutating func takeOutcomes() -> [StatementOutcome<Answer>] {
        defer {
            outcomes = []
            segmentStart = 0
        }
        return outcomes
    }

    /// Takes one result. Throws an error that ends the connection if it does not fit what was sent.
    mutating func receive(_ event: PipelineEvent<Answer>) throws(ServerError) {
        guard isWaiting else { throw .misplacedAnswer("a result for nothing that was sent") }
        if awaitsEnd {
            guard case .end = event else { throw .misplacedAnswer("a second result of one statement") }
            awaitsEnd = false
            // The sync of a failed segment still comes.
            if items[position].step != .sync { position += 1 }
            return
        }
        switch (items[position].step, event) {
        case (.statement, .answer(let answer)) where !isSkipping: note(.answer(answer))
        case (.statement, .skipped) where isSkipping: note(.skipped)
        case (.statement(let label), .failure(let error)) where !isSkipping:
            isSkipping = true
            note(.failure(error.in(label)))
        case (.sync, .failure(let error)) where !isSkipping:
            isSkipping = true
            awaitsEnd = true
            for index in segmentStart..<outcomes.count { outcomes[index] = .failure(error) }
        case (.sync, .sync):
            isSkipping = false
            position += 1
            segmentStart = outcomes.count
        case (_, .end): throw .misplacedAnswer("an end without a result")
        case (_, .other(let status)): throw .misplacedAnswer("a result of status \(status)")
        default: throw .misplacedAnswer("a result of another statement")
        }
    }

    private mutating func note(_ outcome: StatementOutcome<Answer>) {
        awaitsEnd = true
        if items[position].isKept { outcomes.append(outcome) }
    }
}

extension PipelineEvent: Sendable where Answer: Sendable {}
