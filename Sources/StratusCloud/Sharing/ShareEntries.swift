// The entries outside its zone that exist because of a share. One rule, for saving, removing and verifying shares:
//
//   * For everyone who has accepted, except the owner: an acceptance, which access checks read.
//   * For the share's URL and every one-time URL: an entry under the digest of its secret. A used one-time URL still
//     leads its user to the share, so that they can repeat a request whose answer was lost; for others it is dead
//     (`JoinVerdict`).
//
// A change of a share writes entries(new) ⊖ entries(old). The past in an acceptance (since when the person sees the
// share, and when they accepted) does not follow from the content: it is kept while the person keeps seeing the share.
//
// Deleting a zone is O(1), so these entries stay for a while. They are dead, because they name the zone by its
// identity. `ShareReleaser` removes them later. The zone's own keys exist until its release entry becomes a purge
// entry, which happens only after that. After a crash it starts again, and deletes only what exists, so each entry is
// counted once.

package import FoundationEssentials
package import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// The place of a share, as its entries outside the zone have it.
package struct SharePlace: Hashable, Sendable {
    package var container: ContainerName
    package var owner: UserName
    package var zone: ZoneName
    package var zoneIdentity: UUID
    package var share: RecordName
}

extension SharePlace {
    /// Nil for a zone outside the private databases, which has no shares.
    package init?(_ zone: ZoneID, identity: UUID, share: RecordName) {
        guard zone.database.scope == .private, let owner = zone.database.owner else { return nil }
        self.init(
            container: zone.database.container, owner: owner, zone: zone.name, zoneIdentity: identity, share: share)
    }

    /// The zone it is in, by name.
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

/// A person who stopped seeing a share with a change.
package struct EndedAcceptance: Hashable, Sendable {
    package var user: UserName
    /// The change since which they saw it.
    package var began: UInt64
}

/// The difference between the entries of a share's old and new content.
package struct ShareEntriesDifference: Hashable, Sendable {
    package var set: [IndexEntry] = []
    package var deleted: [[UInt8]] = []
    /// The keys of new URLs: no entry of another share may exist there.
    package var newURLs: [[UInt8]] = []
    /// The people who no longer see the share, in the order of their names. They are noted in the zone.
    package var ended: [EndedAcceptance] = []
}

/// The rule for the entries.
package enum ShareEntries {
    /// The digest in the key of a URL's entry.
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

    /// The difference between the entries of `old` and `new`; nil means that the share does not exist.
    ///
    /// `sequence` is the zone's change that does this, `date` its date. `stored` reads a stored acceptance; it is
    /// called only for those that change.
    ///
    /// Throws what `stored` throws, `StoreError` with `corruption` if an acceptance is missing, and `CloudError` if
    /// there is an acceptance of another zone under the key of a new one.
    package static func difference(
        from old: ShareContent?, to new: ShareContent?, at place: SharePlace, sequence: UInt64, date: Date,
        stored: (UserName) throws -> AcceptanceEntry?
    ) throws -> ShareEntriesDifference {
        var difference = ShareEntriesDifference()
        var stale: [[UInt8]: [UInt8]] = [:]
        for entry in old.map({ urlEntries(of: $0, at: place) }) ?? [] { stale[entry.key] = entry.value }
        for entry in new.map({ urlEntries(of: $0, at: place) }) ?? [] {
            let known = stale.removeValue(forKey: entry.key)
            if known != entry.value { difference.set.append(entry) }
            if known == nil { difference.newURLs.append(entry.key) }
        }
        difference.deleted += stale.keys.sorted { $0.lexicographicallyPrecedes($1) }
        let before = old?.accepted ?? [:]
        let after = new?.accepted ?? [:]
        for user in Set(before.keys).union(after.keys).sorted() where before[user] != after[user] {
            let key = place.acceptanceKey(of: user)
            var entry = after[user]?.entry(at: place, since: sequence, date: date)
            if let past = before[user] {
                guard let kept = try stored(user) else {
                    throw StoreError(
                        .corruption,
                        "A participant has accepted a share, but the acceptance is missing. Restore a backup.",
                        ["key": KeyDescription.text(of: key)])
                }
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

    private static func urlEntry(_ token: ShareToken, _ participant: ParticipantID?, _ place: SharePlace) -> IndexEntry
    {
        let entry = ShareURLEntry(
            container: place.container, owner: place.owner, zone: place.zone, zoneIdentity: place.zoneIdentity,
            share: place.share, participant: participant)
        return IndexEntry(key: GlobalKeys.shareURL(digest(of: token)), value: entry.encoded())
    }
}

/// Removes the entries outside deleted zones that existed because of their shares.
struct ShareReleaser {
    let engine: RecordEngine

    /// Whether a zone holds a share: one seek.
    static func holdsShares(_ zone: ZoneReader) throws -> Bool {
        try zone.store.hasEntries(in: zone.keys.types(of: ShareContent.recordType))
    }

    /// How many shares of a zone `releaseShares` will read.
    static func shareCount(
        of release: ReleaseEntry, in reader: RecordReader, _ counter: WorkCounter? = nil
    ) throws -> Int {
        guard release.last == nil else { return 0 }
        return try reader.entryCount(in: reader.zone(of: release).keys.types(of: ShareContent.recordType), counter)
    }

    /// Removes all entries outside the zone that exist because of its shares. `mayCommit` is called before each
    /// transaction; after it returns false, call this again for the rest. `didCommit` gets the number of deleted
    /// entries, `didLook` the number of finished shares.
    ///
    /// Returns false if `mayCommit` stopped it. Throws the store's errors, and `corruption` if a share cannot be read,
    /// so that its entries are not known.
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
        /// The last share that was read; nil if there are no more.
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
        let follow: EntryFollower = { key, _, reads in
            let share = try zone.keys.readTypeKey(key).name
            reads.add(zone.keys.record(share), following: Self.entries(of: release, zone.keys))
        }
        try zone.store.scan(range, .forward, limit: .max, following: follow) { key, _ in
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

    /// What follows from the record of a share: the entries that exist because of it.
    private static func entries(of release: ReleaseEntry, _ zone: ZoneKeys) -> FetchFollower {
        { key, value, reads in
            guard let name = try? zone.readRecordKey(key.span).name,
                let record = try? RecordCodec.decode(name, value.span).record,
                let content = try? ShareContentEntry(of: record).content
            else { return }
            for key in ShareEntries.keys(of: content, at: SharePlace(release, share: name)) { reads.add(key) }
        }
    }
}

extension SharePlace {
    /// A share of a deleted zone. The names of container and zone are no longer known, and no key contains them.
    fileprivate init(_ release: ReleaseEntry, share: RecordName) {
        self.init(container: "", owner: release.owner, zone: "", zoneIdentity: release.identity, share: share)
    }
}

extension ShareContentEntry {
    /// The content in a share's record.
    ///
    /// Throws `StoreError` with `corruption` if there is none, and the layout's error if it cannot be read.
    init(of record: Record) throws {
        guard case .bytes(let bytes)? = record.fields[ShareContent.fieldKey]?.value else {
            throw StoreError(
                .corruption, "A share has no content. Restore the store from a backup.",
                ["share": record.name.text])
        }
        try self.init(decoding: bytes.span)
    }
}
