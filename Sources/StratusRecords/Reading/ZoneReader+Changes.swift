// The change feed of a zone: what was written since a sequence, and where a record stood at a sequence.

package import StratusLayout
package import StratusModel
import StratusStore

/// One record's latest write.
package struct RecordChange: Hashable, Sendable {
    package var sequence: UInt64
    package var name: RecordName
    package var kind: ChangeEntry.Kind

    package init(sequence: UInt64, name: RecordName, kind: ChangeEntry.Kind) {
        self.sequence = sequence
        self.name = name
        self.kind = kind
    }
}

/// Where a record stood in the hierarchy at some sequence.
package struct PastNode: Hashable, Sendable {
    package var parent: RecordName?
    package var share: RecordName?

    package init(parent: RecordName?, share: RecordName?) {
        self.parent = parent
        self.share = share
    }
}

extension ZoneReader {
    /// The latest write of every record written after `sequence`, oldest first, at most `limit` of them (T-06).
    ///
    /// Throws `expired` when the sequence is older than the purge horizon: then start from nothing (T-09).
    package func changes(after sequence: UInt64, limit: Int = .max) throws -> [RecordChange] {
        try checkHorizon(sequence)
        var changes: [RecordChange] = []
        try store.scan(keys.changes(after: sequence).keyRange, .forward, limit: limit) { key, value in
            let entry = try ChangeEntry(decoding: value)
            let sequence = try keys.readChangeKey(key)
            changes.append(RecordChange(sequence: sequence, name: entry.name, kind: entry.kind))
            return .next
        }
        return changes
    }

    /// The latest writes after `sequence`, up to and including `last`, oldest first, at most `limit` of them. Whether the
    /// history goes back so far is the caller's to ask.
    package func changes(after sequence: UInt64, upTo last: UInt64, limit: Int) throws -> [RecordChange] {
        var changes: [RecordChange] = []
        try store.scan(keys.changes(after: sequence, upTo: last).keyRange, .forward, limit: limit) { key, value in
            let entry = try ChangeEntry(decoding: value)
            changes.append(RecordChange(sequence: try keys.readChangeKey(key), name: entry.name, kind: entry.kind))
            return .next
        }
        return changes
    }

    /// Where a record stood right after the write with this sequence; nil when it did not exist then.
    ///
    /// Throws `expired` when the sequence is older than the purge horizon.
    package func pastNode(_ name: RecordName, asOf sequence: UInt64) throws -> PastNode? {
        try checkHorizon(sequence)
        return try ZoneHistory(self, now: header().sequence).node(name, at: sequence)
    }

    private func checkHorizon(_ sequence: UInt64) throws {
        let horizon = try header().horizon
        guard sequence == 0 || sequence >= horizon else {
            throw RecordsError(
                .expired, "The changes since then are no longer known: read the zone anew.",
                ["sequence": "\(sequence)", "horizon": "\(horizon)", "zone": id.name.text])
        }
    }
}
