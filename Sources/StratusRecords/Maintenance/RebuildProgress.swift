// How far a rebuild of one zone has come.

package import StratusModel

/// How far one step of a zone's rebuild has come.
package struct RebuildProgress: Hashable, Sendable {
    /// What is gone over; one comes after the other, but for `counting`, which comes before several.
    package enum Step: String, CaseIterable, Sendable {
        /// Those that tell how far they have come, in their order.
        static let measured: [Step] = [.entries, .records, .places, .shares]

        /// What there is to do.
        case counting
        /// Every entry, for its record.
        case entries
        /// Every record, for its entries.
        case records
        /// Every record, for its place in the hierarchy.
        case places
        /// Counts of share roots, which are removed, and every share root, which is counted anew.
        case shares
    }

    package var zone: ZoneName
    package var step: Step
    package var doneCount: Int
    /// Nil while it is counted.
    package var totalCount: Int?
}

extension ZoneMeter {
    /// Begins the rebuild of a zone.
    package func beginRebuild(recordCount: Int) {
        begin(recordCount: recordCount, weights: RebuildProgress.Step.measured.map { _ in 1 })
    }

    /// Tells how far the rebuild of the zone has come.
    package func update(_ progress: RebuildProgress) {
        guard let total = progress.totalCount, let step = RebuildProgress.Step.measured.firstIndex(of: progress.step)
        else { return tellAgain() }
        update(step: step, progress.doneCount, of: total)
    }
}
