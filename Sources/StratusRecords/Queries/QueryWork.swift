// How far a query has come, for whoever shows it: no record counts twice, however many pages look at it.
//
// A page may look at a record that a later one looks at again: behind its last row, to see whether there is more; in a group
// of equal elements, out of which every page picks; everywhere, where the first rows are picked out of all. Such records
// count when no page looks at them any more. Until then their results count.

/// What a page of a query has done, or all pages up to a place.
package struct QueryWork: Hashable, Codable, Sendable {
    /// Records that were looked at for the last time; names that were asked for and that no record has count as well.
    package var settledCount: Int
    /// Results among the records that the next page looks at again.
    package var openCount: Int
    /// Of a page whose results were picked out of all records that could be some: how many those are. The next page looks
    /// at them again.
    package var pickedFromCount: Int?

    package init(settledCount: Int = 0, openCount: Int = 0, pickedFromCount: Int? = nil) {
        self.settledCount = settledCount
        self.openCount = openCount
        self.pickedFromCount = pickedFromCount
    }

    /// Records of which nothing more is to be told.
    package var doneCount: Int { settledCount + openCount }

    /// This and what came after it. What settles anything has looked again at what was open.
    package func adding(_ next: QueryWork) -> QueryWork {
        QueryWork(
            settledCount: settledCount + next.settledCount,
            openCount: next.openCount + (next.settledCount > 0 ? 0 : openCount), pickedFromCount: next.pickedFromCount)
    }
}
