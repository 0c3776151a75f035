// How many records, databases or zones were looked at, told now and then.

import StratusLayout
import StratusRecords
import StratusStore

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

/// Counts the databases of a store, or its zones, as they are looked at.
final class PlaceProgress {
    private let progress: Progress
    private var count = 0

    init(_ verb: String, total: Int, _ console: Console) {
        progress = Progress(verb, total: total, on: console)
    }

    convenience init(databasesOf reader: RecordReader, _ console: Console) throws {
        try self.init("looking at databases", total: reader.entryCount(in: GlobalKeys.databases), console)
    }

    /// `verb` says what is done with zones.
    convenience init(zonesOf reader: RecordReader, _ verb: String, _ console: Console) throws {
        var total = 0
        try reader.visitZones { _, _ in
            total += 1
            return .next
        }
        self.init(verb, total: total, console)
    }

    /// Counts one more.
    func add() {
        count += 1
        progress.update(count)
    }

    func finish() { progress.finish() }
}
