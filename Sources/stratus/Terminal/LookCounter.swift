// How many records or databases were looked at, told now and then.

import StratusLayout
import StratusRecords

extension ZoneReader {
    /// How many records the zone has, as it counts them, which is what may be looked at. 0 where its header is damaged:
    /// that is for those to tell who read it for more than showing how long something takes.
    func recordBound() throws -> Int {
        do {
            return Int(clamping: try header().recordCount)
        } catch let error as LayoutError where error.isCorruption {
            return 0
        } catch let error as RecordsError where error.code == .corruption {
            return 0
        }
    }
}

/// Counts records as they are looked at.
final class LookCounter {
    /// Looking at a record takes little longer than asking a clock, which is what is done where it is told.
    private static let countBetweenTellings = 256

    private let tell: (_ count: Int) -> Void
    private var count = 0

    init(_ tell: @escaping (_ count: Int) -> Void) { self.tell = tell }

    /// Tells how many of a zone's records were looked at.
    convenience init(_ progress: Progress, of zone: ZoneReader) throws {
        let bound = try zone.recordBound()
        self.init { progress.update($0, ofAtMost: bound) }
    }

    /// Counts one more.
    func add() {
        count += 1
        if count.isMultiple(of: Self.countBetweenTellings) { tell(count) }
    }
}

/// Counts the databases of a store as they are looked at.
final class DatabaseProgress {
    private let progress: Progress
    private var count = 0

    init(_ reader: RecordReader, _ console: Console) throws {
        let total = try reader.entryCount(in: GlobalKeys.databases)
        progress = Progress("looking at databases", total: total, on: console)
    }

    /// Counts one more.
    func add() {
        count += 1
        progress.update(count)
    }

    func finish() { progress.finish() }
}
