// How far long work has come: counted by whoever does it, foretold from what zones count and from their keys.

package import StratusLayout
package import StratusModel
package import StratusStore

/// Adds up what long work has done, and tells of it.
package final class WorkMeter {
    /// Is told how much is done, and of how much.
    package typealias Listener = (_ done: Int, _ total: Int) -> Void

    private let tell: Listener
    private var total: Int
    package private(set) var done = 0

    package init(total: Int, _ tell: @escaping Listener) {
        self.total = total
        self.tell = tell
        tell(0, total)
    }

    /// Tells that more was done.
    package func add(_ count: Int = 1) {
        done += count
        tell(done, total)
    }

    /// Takes in work that has turned out to be necessary.
    package func expect(_ count: Int) { total += count }
}

/// Adds up work that goes over zones one after the other, in several steps each. A zone counts as much as it has records, as
/// it counts them, and one: steps are parts of that, so that the end is known before any of them is begun.
package final class ZoneMeter {
    private let meter: WorkMeter
    /// What was done before the zone that is being gone over, what that one counts, and what each of its steps weighs.
    private var doneBefore = 0
    private var zoneCount = 0
    private var weights: [Int] = []

    package init(_ meter: WorkMeter) { self.meter = meter }

    /// Begins a zone. Its steps take shares of the work as their weights say.
    package func begin(recordCount: Int = 0, weights: [Int] = []) {
        (doneBefore, zoneCount, self.weights) = (meter.done, 1 + recordCount, weights)
    }

    /// Tells how far a step of the zone has come.
    package func update(step: Int, _ done: Int, of total: Int) {
        let sum = Double(max(1, weights.reduce(0, +)))
        let part = total > 0 ? min(1, Double(done) / Double(total)) : 1
        let behind = Double(weights[..<step].reduce(0, +)) + part * Double(weights[step])
        advance(to: Int(Double(zoneCount) * behind / sum))
    }

    /// Tells once more what was told last, after time has passed.
    package func tellAgain() { meter.add(0) }

    /// The zone is done, however much of it there was.
    package func end() { advance(to: zoneCount) }

    private func advance(to count: Int) { meter.add(max(0, doneBefore + count - meter.done)) }
}

/// Counts what there is to do before it is begun, which takes its time too: tells of it, and ends where nobody waits for it.
package final class WorkCounter {
    /// Entries that are counted between two tellings.
    package static let tellingInterval = 4_096

    private let tell: (_ count: Int) -> ScanStep
    /// Whether to go on, as it was told last.
    package private(set) var step = ScanStep.next
    package private(set) var count = 0

    /// `tell` is told how much was counted, and says whether to go on.
    package init(_ tell: @escaping (_ count: Int) -> ScanStep) { self.tell = tell }

    /// Counts one more. Whoever is told to stop has counted too little, and is to do nothing of what it counted.
    package func add() -> ScanStep {
        count += 1
        if step == .next, count.isMultiple(of: Self.tellingInterval) { step = tell(count) }
        return step
    }
}

extension Int {
    /// A number of records or bytes from disk, of which tens of thousands can be summed up: from 0 to 2^48, as only damage
    /// says otherwise.
    package init(summable count: some BinaryInteger) { self = Swift.max(0, Swift.min(Int(clamping: count), 1 << 48)) }
}

extension RecordReader {
    /// How many databases and zones there are, and live records, as zones count them; in all databases, or in those that
    /// are wanted.
    ///
    /// A zone whose header is damaged counts no records: whoever reads it tells.
    package func placeAndRecordCount(
        where isWanted: (DatabaseID) throws -> Bool = { _ in true }
    ) throws -> (databases: Int, zones: Int, records: Int) {
        var (databases, zones, records) = (0, 0, 0)
        try visitDatabases { database, _ in
            guard try isWanted(database) else { return .next }
            databases += 1
            try visitZones(in: database) { listing in
                zones += 1
                records += try existingZone(ZoneID(database: database, name: listing.name)).recordBound()
                return .next
            }
            return .next
        }
        return (databases, zones, records)
    }

    /// How many entries lie in a range. It goes over all of them, unless the `counter` stops.
    package func entryCount(in range: LayoutRange, _ counter: WorkCounter? = nil) throws -> Int {
        var count = 0
        try store.scan(range.keyRange) { _, _ in
            count += 1
            return counter?.add() ?? .next
        }
        return count
    }
}

extension ZoneReader {
    /// How many records the zone has, as it counts them, which is what may be looked at. 0 where its header is damaged:
    /// that is for those to tell who read it for more than showing how long something takes.
    package func recordBound() throws -> Int {
        do {
            return Int(summable: try header().recordCount)
        } catch let error as LayoutError where error.isCorruption {
            return 0
        } catch let error as RecordsError where error.code == .corruption {
            return 0
        }
    }
}

// How far the verification of one zone has come, told to whoever counts zones.

/// Tells of the steps of one zone's verification.
package struct ZoneVerifierProgress {
    /// It is told behind so many records or entries.
    package static let toldCount = 10_000

    /// What is gone over, in this order.
    enum Step: Int {
        case records, places, entries, history
    }

    private let meter: ZoneMeter
    private let toldCount: Int
    /// Entries of the history, where they were counted, and how many of them were looked at.
    private var historyCount = 0
    private var historyDone = 0
    /// What was looked at in all: a million tombstones are no records, and take their time.
    private var lookCount = 0

    init(meter: ZoneMeter, toldCount: Int) {
        self.meter = meter
        self.toldCount = toldCount
    }

    /// Says how much there is of each step. Of a history it takes counting, which is worth while where much is told.
    mutating func foretell(_ zone: ZoneReader, recordCount count: Int) throws {
        if count >= toldCount {
            for range in [zone.keys.endedParents, zone.keys.endedChildren, zone.keys.endedShares] {
                try zone.store.scan(range.keyRange) { _, _ in
                    historyCount += 1
                    tellOfLook()
                    return .next
                }
            }
        }
        meter.begin(recordCount: count, weights: [count, count, count, historyCount])
    }

    /// Something was looked at: tells now and then how far its step has come.
    mutating func tell(_ step: Step, _ done: Int, of total: Int) {
        lookCount += 1
        if lookCount.isMultiple(of: toldCount) { meter.update(step: step.rawValue, done, of: total) }
    }

    /// Something was looked at that no step counts: tells now and then that it goes on.
    mutating func tellOfLook() {
        lookCount += 1
        if lookCount.isMultiple(of: toldCount) { meter.tellAgain() }
    }

    /// Tells now and then of one more entry of the history.
    mutating func tellOfHistory() {
        historyDone += 1
        tell(.history, historyDone, of: historyCount)
    }
}
