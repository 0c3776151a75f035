// Which entries outside its zone exist because of a share: one rule, which saving, removing and verifying all ask.
//
//   * For everybody who has accepted, but for the owner: an acceptance, which is all that access asks.
//   * For the share's URL, and for every one-time URL: an entry under the digest of its secret. One that was used still
//     leads whoever has used it to the share, so that an answer that got lost can be asked for again; for others it is
//     dead (`JoinVerdict`).
//
// A change of a share writes entries(new) ⊖ entries(old). What an acceptance says of the past, since when and when it was
// accepted, does not follow from the content: it is kept where the person went on seeing the share, and begins anew
// otherwise.

package import FoundationEssentials
package import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// Where a share lies: what its entries outside the zone say of it.
package struct SharePlace: Hashable, Sendable {
    package var container: ContainerName
    package var owner: UserName
    package var zone: ZoneName
    package var zoneIdentity: UUID
    package var share: RecordName

    package init(container: ContainerName, owner: UserName, zone: ZoneName, zoneIdentity: UUID, share: RecordName) {
        self.container = container
        self.owner = owner
        self.zone = zone
        self.zoneIdentity = zoneIdentity
        self.share = share
    }

    /// Nil for a zone outside the private databases, where nothing is shared.
    package init?(_ zone: ZoneID, identity: UUID, share: RecordName) {
        guard zone.database.scope == .private, let owner = zone.database.owner else { return nil }
        self.init(
            container: zone.database.container, owner: owner, zone: zone.name, zoneIdentity: identity, share: share)
    }

    /// The zone it lies in, by name.
    package var zoneID: ZoneID {
        ZoneID(database: DatabaseID(container: container, owner: owner, scope: .private), name: zone)
    }

    /// The key of a person's acceptance of it.
    package func acceptanceKey(of user: UserName) -> [UInt8] {
        GlobalKeys.acceptance(user: user, zone: zoneIdentity, share: share)
    }
}

extension AcceptedPart {
    func entry(at place: SharePlace, since: UInt64, date: Date) -> AcceptanceEntry {
        AcceptanceEntry(
            container: place.container, owner: place.owner, zone: place.zone, role: access.role,
            permission: access.permission, participant: participant, since: since, date: date)
    }
}

/// Somebody who saw a share up to a change, and does not from then on.
package struct EndedAcceptance: Hashable, Sendable {
    package var user: UserName
    /// The change since which they saw it.
    package var began: UInt64

    package init(user: UserName, began: UInt64) {
        self.user = user
        self.began = began
    }
}

/// What turns the entries of a share's old content into those of the new.
package struct ShareEntriesDifference: Hashable, Sendable {
    package var set: [IndexEntry] = []
    package var deleted: [[UInt8]] = []
    /// The keys of URLs that the share did not have: nothing may lie there yet.
    package var newURLs: [[UInt8]] = []
    /// Whoever does not see the share any more, in the order of their names: to be noted in the zone.
    package var ended: [EndedAcceptance] = []

    package init() {}
}

/// The rule.
package enum ShareEntries {
    /// The digest under which the entry of a URL lies.
    package static func digest(of token: ShareToken) -> [UInt8] { ContentDigest.sha256(token.bytes) }

    /// The entries of a share's URLs: its own and those of its participants.
    package static func urlEntries(of content: ShareContent, at place: SharePlace) -> [IndexEntry] {
        var entries = [urlEntry(content.token, nil, place)]
        for participant in content.participants {
            if case .oneTime(let token) = participant.invitation {
                entries.append(urlEntry(token, participant.id, place))
            }
        }
        return entries
    }

    /// Every key outside the zone that exists because of a share.
    package static func keys(of content: ShareContent, at place: SharePlace) -> [[UInt8]] {
        content.accepted.keys.sorted().map { place.acceptanceKey(of: $0) }
            + urlEntries(of: content, at: place).map(\.key)
    }

    /// What turns the entries of `old` into those of `new`; nil is a share that is not there.
    ///
    /// `sequence` is the change of the zone that does so, `date` its date. `stored` reads an acceptance that is there: it
    /// is asked for those alone that change.
    ///
    /// Throws what `stored` throws, `RecordsError` with `corruption` where an acceptance is missing, and `CloudError` where
    /// one of another zone lies in the place of a new one.
    package static func difference(
        from old: ShareContent?, to new: ShareContent?, at place: SharePlace, sequence: UInt64, date: Date,
        stored: (UserName) throws -> AcceptanceEntry?
    ) throws -> ShareEntriesDifference {
        var difference = ShareEntriesDifference()
        appendURLs(from: old, to: new, at: place, &difference)
        let before = old?.accepted ?? [:]
        let after = new?.accepted ?? [:]
        for user in Set(before.keys).union(after.keys).sorted() where before[user] != after[user] {
            let key = place.acceptanceKey(of: user)
            var entry = after[user]?.entry(at: place, since: sequence, date: date)
            if let past = before[user] {
                guard let kept = try stored(user) else { throw missing(key) }
                let (saw, sees) = (past.access.isAdmitted, after[user]?.access.isAdmitted ?? false)
                if saw, !sees { difference.ended.append(EndedAcceptance(user: user, began: kept.since)) }
                if saw == sees { entry?.since = kept.since }
                entry?.date = kept.date
            } else if let other = try stored(user), !other.isOf(place.zoneID) {
                throw CloudError.repeatedIdentity
            }
            if let entry {
                difference.set.append(IndexEntry(key: key, value: entry.encoded()))
            } else {
                difference.deleted.append(key)
            }
        }
        return difference
    }

    private static func appendURLs(
        from old: ShareContent?, to new: ShareContent?, at place: SharePlace,
        _ difference: inout ShareEntriesDifference
    ) {
        let added = new.map { urlEntries(of: $0, at: place) } ?? []
        var stale: [[UInt8]: [UInt8]] = [:]
        for entry in old.map({ urlEntries(of: $0, at: place) }) ?? [] { stale[entry.key] = entry.value }
        for entry in added {
            let known = stale.removeValue(forKey: entry.key)
            if known != entry.value { difference.set.append(entry) }
            if known == nil { difference.newURLs.append(entry.key) }
        }
        difference.deleted += stale.keys.sorted { $0.lexicographicallyPrecedes($1) }
    }

    private static func urlEntry(_ token: ShareToken, _ participant: ParticipantID?, _ place: SharePlace) -> IndexEntry
    {
        let entry = ShareURLEntry(
            container: place.container, owner: place.owner, zone: place.zone, zoneIdentity: place.zoneIdentity,
            share: place.share, participant: participant)
        return IndexEntry(key: GlobalKeys.shareURL(digest(of: token)), value: entry.encoded())
    }

    private static func missing(_ key: [UInt8]) -> RecordsError {
        RecordsError(
            .corruption, "Somebody has accepted a share and has no acceptance: verify the store, or restore a backup.",
            ["key": "\(KeyDescription(key))"])
    }
}

// Takes back what lies outside a deleted zone because of its shares: acceptances, and the entries of URLs.
//
// Deleting a zone costs the same whatever it holds, so these entries stay for a while. They are dead, for they name the
// zone by its identity, but must not stay for ever. The zone's own keys are there until its release entry becomes a purge
// entry, which nobody makes of it before this is done. It is begun anew after a crash, and deletes only what is there, so
// that everything goes once.

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
