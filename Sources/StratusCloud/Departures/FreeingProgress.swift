// How far freeing what was deleted has come: part by part, each with a total of its own.

import StratusRecords
import StratusStore

/// How far one part of freeing what was deleted has come.
package struct FreeingProgress: Hashable, Sendable {
    /// What is gone over. `departures` and `entries` may come twice, and go on where they were left.
    package enum Part: String, Sendable {
        /// What there is to do, before each of the others.
        case counting
        /// Records and shares of deleted zones: assets and acceptances count because of them.
        case holders
        /// What deleted accounts had outside their zones, with the files of their assets.
        case departures
        /// The entries of deleted zones.
        case entries
    }

    package typealias Listener = (FreeingProgress) -> Void

    package var part: Part
    package var doneCount: Int
    /// Nil while it is counted.
    package var totalCount: Int?

    package init(part: Part, doneCount: Int, totalCount: Int?) {
        (self.part, self.doneCount, self.totalCount) = (part, doneCount, totalCount)
    }
}

extension FreeingProgress.Part {
    /// What tells of this part alone.
    func telling(_ tell: @escaping FreeingProgress.Listener) -> WorkMeter.Listener {
        { tell(FreeingProgress(part: self, doneCount: $0, totalCount: $1)) }
    }
}

extension WorkCounter {
    /// A counter that tells of the part `counting`.
    convenience init(_ tell: @escaping FreeingProgress.Listener, shouldContinue: @escaping () -> Bool) {
        self.init { count in
            tell(FreeingProgress(part: .counting, doneCount: count, totalCount: nil))
            return shouldContinue() ? .next : .stop
        }
    }
}
