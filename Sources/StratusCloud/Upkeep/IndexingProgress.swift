// How far bringing indexes to what schemas want has come: part by part, each with a total of its own.

/// How far one part of the work on indexes has come.
package struct IndexingProgress: Hashable, Sendable {
    /// What is gone over, one after the other.
    package enum Part: String, Sendable {
        /// Zones, each as often as there are types whose indexes have changed: they are told what is wanted.
        case zones
        /// Records that are to be looked at: what there is to do. It has no total.
        case counting
        /// Those records.
        case records
    }

    package typealias Listener = (IndexingProgress) -> Void

    package var part: Part
    package var doneCount: Int
    /// Nil while it is counted.
    package var totalCount: Int?
}

extension IndexingProgress.Part {
    /// What tells of this part alone.
    func telling(_ tell: @escaping IndexingProgress.Listener) -> (_ done: Int, _ total: Int?) -> Void {
        { tell(IndexingProgress(part: self, doneCount: $0, totalCount: $1)) }
    }
}
