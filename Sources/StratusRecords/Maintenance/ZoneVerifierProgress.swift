// How far the verification of one zone has come, told to whoever counts zones.

import StratusLayout
import StratusStore

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
