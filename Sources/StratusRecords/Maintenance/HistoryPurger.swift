// Deletes the history of a zone up to a sequence: links, share marks and acceptances that ended, and tombstones.
//
// The horizon is raised first, in a separate commit, so that no reader relies on entries that are then deleted in
// batches. A crash between two batches leaves entries older than the horizon. No reader uses them, and the next purge
// removes them. A tombstone is deleted only if it is still one: the record may have been created again.

import FoundationEssentials
import StratusLayout
package import StratusModel
import StratusStore

extension RecordEngine {
    /// Raises the purge horizon of a zone to `sequence` and deletes what only older tokens needed.
    ///
    /// Throws `unknownZone`, also if the zone is deleted meanwhile, and `invalidRequest` for a sequence the zone has
    /// not reached.
    package func purgeHistory(
        of id: ZoneID, upTo sequence: UInt64, shouldContinue: (PurgeProgress) -> Bool = { _ in true }
    ) throws -> PurgeProgress {
        let identity = try transact(in: id.database) { try $0.raiseHorizon(of: id, to: sequence) }
        var progress = PurgeProgress()
        for keyspace in ZoneReader.historyKeyspaces {
            var position: [UInt8]?
            while shouldContinue(progress) {
                let limit = options.limits.purgeBatchCount
                let batch = try read {
                    try $0.existingZone(id, identity: identity).history(keyspace, after: position, limit: limit)
                }
                if !batch.expired.isEmpty {
                    progress.entriesDeleted += try transact(in: id.database) { transaction in
                        try transaction.deleteHistory(
                            batch.expired, keyspace, in: transaction.existingZone(id, identity: identity))
                    }
                    progress.commits += 1
                }
                guard let last = batch.last else { break }
                position = last
            }
        }
        return progress
    }
}

extension ZoneReader {
    /// The keyspaces that hold history. That of the changes holds it in the entries of tombstones.
    fileprivate static let historyKeyspaces: [ZoneKeyspace] = [
        .changes, .endedParents, .endedChildren, .endedShares, .endedAcceptances,
    ]

    /// One batch of a keyspace of history. `last` is the last key read; nil at the end of the keyspace.
    fileprivate func history(
        _ keyspace: ZoneKeyspace, after last: [UInt8]?, limit: Int
    ) throws -> (expired: [[UInt8]], last: [UInt8]?) {
        let horizon = try header().horizon
        var range = keyspace == .changes ? keys.changes(after: 0, upTo: horizon) : keys.keyspace(keyspace)
        if let last { range.lower = last + [0] }
        let entries = try store.collect(range, limit: limit) { key, value in
            (key: [UInt8](copying: key), isExpired: try isExpired(keyspace, key, value, horizon))
        }
        return (entries.filter(\.isExpired).map(\.key), entries.count == limit ? entries.last?.key : nil)
    }

    private func isExpired(
        _ keyspace: ZoneKeyspace, _ key: Span<UInt8>, _ value: Span<UInt8>, _ horizon: UInt64
    ) throws -> Bool {
        switch keyspace {
        case .changes: try ChangeEntry(withoutPlace: value).kind.isDeletion
        case .endedParents: try keys.readEndedParentKey(key).ended <= horizon
        case .endedChildren: try keys.readEndedChildKey(key).ended <= horizon
        case .endedShares: try keys.readEndedShareKey(key).ended <= horizon
        case .endedAcceptances: try keys.readEndedAcceptanceKey(key).ended <= horizon
        default: false
        }
    }
}

extension RecordTransaction {
    /// Returns the identity of the zone whose history may now be deleted.
    fileprivate func raiseHorizon(of id: ZoneID, to sequence: UInt64) throws -> UUID {
        let zone = try existingZone(id)
        var header = try zone.header()
        guard sequence <= header.sequence else {
            throw StoreError(
                .invalidRequest, "The zone has not reached this sequence: purge up to an earlier one.",
                ["sequence": "\(sequence)", "reached": "\(header.sequence)", "zone": id.name.text])
        }
        if sequence > header.horizon {
            header.horizon = sequence
            try set(zone.keys.header(), to: header.encoded())
        }
        return header.identity
    }

    fileprivate func deleteHistory(_ keys: [[UInt8]], _ keyspace: ZoneKeyspace, in zone: ZoneReader) throws -> Int {
        var count = 0
        for key in keys {
            if keyspace == .changes {
                guard let entry = try store.withValue(forKey: key, { try ChangeEntry(decoding: $0) }),
                    case .deleted(let tombstone) = try zone.state(of: entry.name),
                    zone.keys.change(sequence: tombstone.sequence) == key
                else { continue }
                try delete(zone.keys.record(entry.name))
                count += 1
            }
            try delete(key)
            count += 1
        }
        return count
    }
}
