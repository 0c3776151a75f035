// How many records were looked at, told now and then.

import StratusLayout
import StratusRecords

/// Counts records as they are looked at.
final class LookCounter {
    /// Looking at a record takes little longer than asking a clock, which is what is done where it is told.
    private static let countBetweenTellings = 256

    private let tell: (_ count: Int) -> Void
    private var count = 0

    init(_ tell: @escaping (_ count: Int) -> Void) { self.tell = tell }

    /// Tells how many of a zone's records were looked at.
    convenience init(_ progress: Progress, of zone: ZoneReader) throws {
        let recordCount = Int(clamping: try zone.header().recordCount)
        self.init { progress.update($0, ofAtMost: recordCount) }
    }

    /// Counts one more.
    func add() {
        count += 1
        if count.isMultiple(of: Self.countBetweenTellings) { tell(count) }
    }
}
