// What looking for expired history reads, announced: the headers of many zones with the ends of their trails of shares,
// and, for a binary search among the changes of one zone, the next steps of it whichever way they go. See `ZoneReads`.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// Events of a trail of shares that are read at once: most zones have fewer.
    private static let eventCount = 32

    /// Announces what says whether zones have expired history.
    func announceHistories(of zones: some Collection<ZoneID>, in reader: RecordReader) {
        guard reader.store.gainsFromPrefetching else { return }
        for id in zones {
            guard let reads = reader.willRead(zone: id)?.reads, id.database.scope == .private else { continue }
            reads.announce(reads.keys.keyspace(.shareEvents), .backward, limit: Self.eventCount)
        }
    }
}

/// Announces the steps of a search for the newest expired change of a zone. There is none where a store gains nothing.
struct ExpiryReads {
    /// The steps that are announced at once: 31 changes with their records.
    private static let stepCount = 5

    private let reads: ZoneReads
    private var announced: Set<UInt64> = []

    init?(in zone: ZoneReader) {
        guard let reads = zone.reads else { return nil }
        self.reads = reads
    }

    /// Call it before the change in the middle is read. Most sequences have a change, so the search most likely goes on
    /// directly after it, or before it.
    mutating func willLook(between low: UInt64, and high: UInt64) {
        guard !announced.contains(low + (high - low) / 2) else { return }
        let keys = reads.keys
        let chunks = reads.chunks
        var plan = ReadPlan()
        var spans = [(low: low, high: high)]
        for _ in 0..<Self.stepCount {
            var next: [(low: UInt64, high: UInt64)] = []
            for span in spans where span.low < span.high {
                let middle = span.low + (span.high - span.low) / 2
                next += [(middle + 1, span.high), (span.low, middle)]
                guard announced.insert(middle).inserted else { continue }
                plan.add(keys.changes(after: middle), limit: 1) { _, value, reads in
                    guard let name = try? ChangeEntry(decoding: value.span).name else { return }
                    reads.add(keys.record(name), following: chunks)
                }
            }
            spans = next
        }
        reads.announce(plan)
    }
}
