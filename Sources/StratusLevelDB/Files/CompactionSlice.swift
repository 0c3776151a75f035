// A store's keys in slices that take about the same room, so that long work on all of them can tell how far it has come and
// stop between two.

package import StratusStore

/// Keys that lie together, and the bytes of the tables that begin among them.
package struct CompactionSlice: Hashable, Sendable {
    package var range: KeyRange
    package var byteCount: Int

    /// Slices that cover `range` without gaps, each of `byteCount` or a table more. Where there are no tables it is one.
    ///
    /// They begin where tables begin, so that few tables lie in two of them.
    static func slices(_ range: KeyRange, of tables: [ManifestTable], byteCount: Int) -> [CompactionSlice] {
        var slices: [CompactionSlice] = []
        var slice = CompactionSlice(range: range, byteCount: 0)
        let inside = tables.filter { $0.overlaps(range.lower, through: range.upper) }
        for table in inside.sorted(by: { $0.smallestKey.lexicographicallyPrecedes($1.smallestKey) }) {
            let begin = table.smallestKey
            if slice.byteCount >= byteCount, slice.range.lower.lexicographicallyPrecedes(begin) {
                slices.append(
                    CompactionSlice(range: KeyRange(from: slice.range.lower, upTo: begin), byteCount: slice.byteCount))
                slice = CompactionSlice(range: KeyRange(from: begin, upTo: range.upper), byteCount: 0)
            }
            slice.byteCount += Int(clamping: table.byteCount)
        }
        return slices + [slice]
    }
}
