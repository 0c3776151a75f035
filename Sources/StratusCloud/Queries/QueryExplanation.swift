// What a host is told of how a query is answered.

import StratusModel
package import StratusRecords
package import StratusStore

/// What a page of a query did in one zone.
package struct ZonePlan: Sendable, CustomStringConvertible {
    package var zone: ZoneAddress
    package var plan: QueryPlan
    package var rowCount: Int
    /// Records looked at.
    package var examinedCount: Int
    package var cost: StoreCost

    /// The plan in words.
    package var planText: String { plan.description }
    /// Point reads and seeks.
    package var readCount: Int { cost.reads }
    /// Entries that a cursor came to.
    package var cursorStepCount: Int { cost.cursorSteps }

    package var description: String {
        "\(zone.zoneName): \(plan); \(examinedCount.counting("record")) looked at, \(rowCount) found, "
            + "\(cost.reads.counting("read")), \(cost.cursorSteps.counting("entry", "entries"))"
    }
}

/// How a page of a query was answered.
package struct QueryExplanation: Sendable, CustomStringConvertible {
    package var zones: [ZonePlan]
    package var resultCount: Int
    /// Whether there are further pages.
    package var isMoreComing: Bool

    package var description: String {
        let end = resultCount.counting("result") + (isMoreComing ? ", more to come" : "")
        return (zones.map(\.description) + [end]).joined(separator: "\n")
    }
}
