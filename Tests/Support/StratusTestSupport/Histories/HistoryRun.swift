// What a history answered and what it left, to compare two engines: equal histories leave equal stores.

package import StratusModel
package import StratusStore

/// The answer to a commit of a history. What is read in between is compared with the oracle, and so equal everywhere.
package enum HistoryAnswer: Equatable, Sendable {
    case done(saved: [[StoredRecord]], deleted: [[RecordName]])
    case refused([RecordName: OracleRefusal])
    case failed(StoreError.Code)
}

/// One run of a history.
package struct HistoryRun: Equatable, Sendable {
    package var answers: [HistoryAnswer]
    package var entries: NamedEntries

    /// What is not the same in both, the first answer or the first entry; nil if all is.
    package func difference(to other: HistoryRun) -> String? {
        guard answers != other.answers else { return entries.difference(to: other.entries) }
        let index = zip(answers, other.answers).enumerated().first { $1.0 != $1.1 }?.offset
        guard let index else { return "\(answers.count) answers, and \(other.answers.count)" }
        return "answer \(index + 1) is \(answers[index]), and \(other.answers[index])"
    }
}
