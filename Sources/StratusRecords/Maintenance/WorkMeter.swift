// The progress of long work. The work counts what it has done; the total is known before from the zones' counts and
// keys.

import StratusLayout
package import StratusModel
package import StratusStore

/// Adds up what long work has done, and reports it.
package final class WorkMeter {
    /// Receives how much is done, and of how much.
    package typealias Listener = (_ done: Int, _ total: Int) -> Void

    private let tell: Listener
    private var total: Int
    package private(set) var done = 0

    package init(total: Int, _ tell: @escaping Listener) {
        self.total = total
        self.tell = tell
        tell(0, total)
    }

    /// Adds work that is done, and reports it.
    package func add(_ count: Int = 1) {
        done += count
        tell(done, total)
    }

    /// Adds work that has turned out to be necessary.
    package func expect(_ count: Int) { total += count }
}

/// Adds up work over zones, one after the other, in several steps each. A zone counts as its number of records plus
/// one. Its steps are parts of that, so the total is known before any of them starts.
package final class ZoneMeter {
    private let meter: WorkMeter
    /// The work before the current zone, the work of that zone, and the weights of its steps.
    private var doneBefore = 0
    private var zoneCount = 0
    private var weights: [Int] = []

    package init(_ meter: WorkMeter) { self.meter = meter }

    /// Starts a zone. Each step is a part of its work, by its weight.
    package func begin(recordCount: Int = 0, weights: [Int] = []) {
        (doneBefore, zoneCount, self.weights) = (meter.done, 1 + recordCount, weights)
    }

    /// Reports the progress of a step of the zone.
    package func update(step: Int, _ done: Int, of total: Int) {
        let sum = Double(max(1, weights.reduce(0, +)))
        let part = total > 0 ? min(1, Double(done) / Double(total)) : 1
        let behind = Double(weights[..<step].reduce(0, +)) + part * Double(weights[step])
        advance(to: Int(Double(zoneCount) * behind / sum))
    }

    /// Reports the same progress again, after some time.
    package func tellAgain() { meter.add(0) }

    /// Ends the zone, which counts as done.
    package func end() { advance(to: zoneCount) }

    private func advance(to count: Int) { meter.add(max(0, doneBefore + count - meter.done)) }
}

/// Counts work before it starts. Counting takes time too, so it reports how far it is, and can be stopped.
package final class WorkCounter {
    /// Entries between two reports.
    package static let tellingInterval = 4_096

    private let tell: (_ count: Int) -> ScanStep
    /// Whether to continue, as the last report returned.
    package private(set) var step = ScanStep.next
    package private(set) var count = 0

    /// `tell` gets the count and returns whether to continue.
    package init(_ tell: @escaping (_ count: Int) -> ScanStep) { self.tell = tell }

    /// Counts one more. If it returns `stop`, the count is too small and must not be used.
    package func add() -> ScanStep {
        count += 1
        if step == .next, count.isMultiple(of: Self.tellingInterval) { step = tell(count) }
        return step
    }
}

extension Int {
    /// A number of records or bytes from disk, limited to 0 to 2^48, which only damage exceeds. Tens of thousands of
    /// them can be added.
    package init(summable count: some BinaryInteger) { self = Swift.max(0, Swift.min(Int(clamping: count), 1 << 48)) }
}

extension RecordReader {
    /// The number of databases and zones, and of live records as zones count them, in all databases or in those that
    /// are wanted.
    ///
    /// A zone whose header is damaged counts no records. The work itself reports the damage.
    package func placeAndRecordCount(
        where isWanted: (DatabaseID) throws -> Bool = { _ in true }
    ) throws -> (databases: Int, zones: Int, records: Int) {
        var (databases, zones, records) = (0, 0, 0)
        try visitDatabases { database, _ in
            guard try isWanted(database) else { return .next }
            databases += 1
            try visitZones(in: database) { listing in
                zones += 1
                records += try zone(ZoneID(database: database, name: listing.name))?.recordBound() ?? 0
                return .next
            }
            return .next
        }
        return (databases, zones, records)
    }

    /// The number of entries in a range. Scans all of them, until the `counter` stops.
    package func entryCount(in range: KeyRange, _ counter: WorkCounter? = nil) throws -> Int {
        var count = 0
        try store.scan(range) { _, _ in
            count += 1
            return counter?.add() ?? .next
        }
        return count
    }
}

extension ZoneReader {
    /// The number of records, as the zone counts them; 0 if its header is damaged. Use it only to estimate how long
    /// work takes: this reports no damage.
    package func recordBound() throws -> Int {
        Int(summable: try StoreError.unlessDamaged { try header().recordCount } ?? 0)
    }
}

/// The progress of the steps of one zone's verification.
package struct ZoneVerifierProgress {
    /// Records or entries between two reports.
    package static let toldCount = 10_000

    /// The steps, in this order.
    enum Step: Int {
        case records, places, entries, history
    }

    private let meter: ZoneMeter
    private let toldCount: Int
    /// Entries of the history, if they were counted, and how many of them were verified.
    private var historyCount = 0
    private var historyDone = 0
    /// All reads. A million tombstones are no records, but take time too.
    private var lookCount = 0

    init(meter: ZoneMeter, toldCount: Int) {
        self.meter = meter
        self.toldCount = toldCount
    }

    /// Sets the amount of each step. The history must be counted, which is done only for large zones.
    mutating func foretell(_ zone: ZoneReader, recordCount count: Int) throws {
        if count >= toldCount {
            for keyspace in [ZoneKeyspace.endedParents, .endedChildren, .endedShares] {
                try zone.store.forEach(in: zone.keys.keyspace(keyspace)) { _, _ in
                    historyCount += 1
                    tellOfLook()
                }
            }
        }
        meter.begin(recordCount: count, weights: [count, count, count, historyCount])
    }

    /// Counts a read, and reports the progress of its step now and then.
    mutating func tell(_ step: Step, _ done: Int, of total: Int) {
        lookCount += 1
        if lookCount.isMultiple(of: toldCount) { meter.update(step: step.rawValue, done, of: total) }
    }

    /// Counts a read outside the steps, and reports the same progress again now and then.
    mutating func tellOfLook() {
        lookCount += 1
        if lookCount.isMultiple(of: toldCount) { meter.tellAgain() }
    }

    /// Counts one more entry of the history.
    mutating func tellOfHistory() {
        historyDone += 1
        tell(.history, historyDone, of: historyCount)
    }
}
