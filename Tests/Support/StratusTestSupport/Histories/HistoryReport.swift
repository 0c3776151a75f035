// A failing history as a reader of a test's output needs it: the seed, the wrong answer, and the shortest history found
// that shows it, to save to a file and run again.

/// Runs a history and describes its failure.
package enum HistoryReport {
    /// Runs a history; nil when every answer is the oracle's, else the report.
    package static func failure(
        of history: History, seed: UInt64?, on subject: HistorySubject, oracleFault: OracleFault? = nil
    ) -> String? {
        guard let failure = HistoryRunner.failure(of: history, on: subject, oracleFault: oracleFault) else {
            return nil
        }
        let shortest = HistoryShrinker.shortest(history) { candidate in
            HistoryRunner.failure(of: candidate, on: subject, oracleFault: oracleFault) != nil
        }
        let last = HistoryRunner.failure(of: shortest, on: subject, oracleFault: oracleFault)
        return """
            \(seed.map { "STRATUS_SEED=\($0): " } ?? "")\(failure)
            Shortest history found, to be run again from a file with STRATUS_HISTORY=FILE:
            # \(last.map { "\($0)" } ?? "fails now and then only")
            \(shortest)
            """
    }
}
