// Takes back what lies outside a deleted zone because of its shares: acceptances, and the entries of URLs.
//
// Deleting a zone costs the same whatever it holds, so these entries stay for a while. They are dead, for they name the
// zone by its identity, but must not stay for ever. The zone's own keys are there until its release entry becomes a purge
// entry, which nobody makes of it before this is done. It is begun anew after a crash, and deletes only what is there, so
// that everything goes once.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// Lets go of the shares of deleted zones.
struct ShareReleaser {
    let engine: RecordEngine

    /// Whether a zone holds a share: one seek.
    static func holdsShares(_ zone: ZoneReader) throws -> Bool {
        var holdsShares = false
        try zone.store.scan(zone.keys.types(of: ShareContent.recordType).keyRange, .forward, limit: 1) { _, _ in
            holdsShares = true
            return .stop
        }
        return holdsShares
    }

    /// How many shares of a zone `releaseShares` will look at.
    static func shareCount(
        of release: ReleaseEntry, in reader: RecordReader, _ counter: WorkCounter? = nil
    ) throws -> Int {
        guard release.last == nil else { return 0 }
        return try reader.entryCount(in: reader.zone(of: release).keys.types(of: ShareContent.recordType), counter)
    }

    /// Takes back all that lies outside the zone because of its shares. `mayCommit` is asked before each transaction: when
    /// it says no, the rest is left to another call. `didCommit` is told how many entries went, `didLook` for how many
    /// shares all is done.
    ///
    /// Returns false when it was told to stop. Throws the store's errors, and `corruption` where a share cannot be read:
    /// what exists because of it is then not known.
    @discardableResult
    func releaseShares(
        of release: ReleaseEntry, mayCommit: () -> Bool = { true }, didCommit: (_ entryCount: Int) -> Void = { _ in },
        didLook: (_ shareCount: Int) -> Void = { _ in }
    ) throws -> Bool {
        // The assets of a zone are released after its shares.
        guard release.last == nil else { return true }
        var position: RecordName?
        repeat {
            let batch = try engine.read { try nextBatch(of: release, after: position, in: $0) }
            if !batch.keys.isEmpty {
                guard mayCommit() else { return false }
                try engine.transact { transaction in
                    for key in batch.keys { try transaction.delete(key) }
                }
                didCommit(batch.keys.count)
            }
            if batch.shareCount > 0 { didLook(batch.shareCount) }
            position = batch.last
        } while position != nil
        return true
    }

    private struct Batch {
        var keys: [[UInt8]] = []
        var shareCount = 0
        /// The last share looked at; nil when there are no more.
        var last: RecordName?
    }

    private func nextBatch(
        of release: ReleaseEntry, after position: RecordName?, in reader: RecordReader
    ) throws -> Batch {
        let zone = reader.zone(of: release)
        let limit = engine.options.limits.purgeBatchCount
        let type = ShareContent.recordType
        let range = position.map { zone.keys.types(of: type, after: $0) } ?? zone.keys.types(of: type)
        var batch = Batch()
        try zone.store.scan(range.keyRange) { key, _ in
            let name = try zone.keys.readTypeKey(key).name
            batch.shareCount += 1
            guard let record = try zone.record(name)?.record else { return .next }
            let place = SharePlace(release, share: name)
            for key in ShareEntries.keys(of: try ShareContentEntry(of: record).content, at: place)
            where try reader.store.contains(key) {
                batch.keys.append(key)
            }
            guard batch.keys.count >= limit else { return .next }
            batch.last = name
            return .stop
        }
        return batch
    }
}

extension SharePlace {
    /// A share of a deleted zone, as its keys outside the zone say. The names of container and zone are not known any
    /// more; no key holds them.
    fileprivate init(_ release: ReleaseEntry, share: RecordName) {
        self.init(container: "", owner: release.owner, zone: "", zoneIdentity: release.identity, share: share)
    }
}

extension ShareContentEntry {
    /// What a share's record holds.
    ///
    /// Throws `RecordsError` with `corruption` where it holds none, and the layout's where it cannot be read.
    init(of record: Record) throws {
        guard case .bytes(let bytes)? = record.fields[ShareContent.fieldKey]?.value else {
            throw RecordsError(
                .corruption, "A share does not say who takes part in it: restore the store from a backup.",
                ["share": record.name.text])
        }
        try self.init(decoding: bytes.span)
    }
}
