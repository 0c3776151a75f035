// What a pass of a workload costs, counted: the same on every machine.

package import StratusStore

/// The counted costs of one pass of a workload.
package struct CountedCost: Hashable, Codable, Sendable {
    /// Workload and subject: "W2 fetch 500 records, again".
    package var label: String
    package var reads: Int
    /// Reads that the store's caches did not answer.
    package var lookups: Int
    package var cursorSteps: Int
    package var entriesWritten: Int
    package var bytesWritten: Int
    package var commits: Int
    package var syncs: Int
    /// Nil if they are not counted: under a sanitizer, or without the optimiser.
    package var allocations: Int?

    package init(_ label: String, _ before: StoreStatistics, _ after: StoreStatistics, allocations: Int?) {
        let cost = after.cost - before.cost
        self.label = label
        reads = cost.reads
        lookups = after.engineLookups - before.engineLookups
        cursorSteps = cost.cursorSteps
        entriesWritten = cost.entriesWritten
        bytesWritten = cost.bytesWritten
        commits = after.transactionsCommitted - before.transactionsCommitted
        syncs = after.syncs - before.syncs
        self.allocations = allocations
    }
}

extension CountedCost {
    private static let columns = ["reads", "lookups", "steps", "entries", "bytes", "commits", "fsyncs"]

    private var counts: [Int] { [reads, lookups, cursorSteps, entriesWritten, bytesWritten, commits, syncs] }

    /// Everything but allocations: a line for each, in columns.
    package static func table(_ costs: [CountedCost]) -> String {
        table([["pass"] + columns] + costs.map { [$0.label] + $0.counts.map { "\($0)" } })
    }

    /// Lines whose first column is text and whose others are numbers.
    package static func table(_ lines: [[String]]) -> String {
        let width = lines.map { $0[0].count }.max() ?? 0
        return lines.map { line in
            let label = line[0] + String(repeating: " ", count: width - line[0].count)
            return line.dropFirst().reduce(label) { text, number in
                text + String(repeating: " ", count: max(1, 9 - number.count)) + number
            }
        }
        .joined(separator: "\n")
    }
}
