// What clients ask about people whom they want to invite, and what all requests for shares by their URLs have in common.

import FoundationEssentials
import StratusLayout
package import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// People as participants of a share that they are not in yet (P-01), in the order of `lookups`. Each has an
    /// identifier of their own; nothing is written.
    ///
    /// Throws as `resolveInvited`.
    package func shareParticipants(
        for lookups: [IdentityLookup], as caller: Caller
    ) throws(CloudError) -> [Result<ClientParticipant, CloudError>] {
        let people = try resolveInvited(lookups, as: caller, reporting: .shareParticipants)
        let own = try requireAccount(caller).userName
        return people.map { person in
            person.map { person in
                ClientParticipant(
                    id: makeParticipantID().text,
                    identity: ClientIdentity(
                        lookup: person.lookup,
                        userName: person.userName.map { $0 == own ? ZoneAddress.currentUser : $0.text },
                        name: person.name, hasAccount: person.hasAccount))
            }
        }
    }

    /// What a caller may know of the share that a record is; nil for every other record, and where the record was
    /// read without the field that holds it. `own` is the caller's own entry where their user name does not tell.
    func sharing(
        of stored: StoredRecord, zone: ZoneAddress, viewer: UserName?, own: ParticipantID? = nil,
        in reader: RecordReader
    ) throws -> ClientShare? {
        guard let content = try stored.record.shareContent() else { return nil }
        let view = ShareView(content, zone: zone, viewer: viewer, own: own, urlBase: options.shareURLBase)
        return view.share(try SharePeople(in: view, accountDirectory, reader))
    }

    /// A share's record as a caller may know it.
    func shownShare(
        _ stored: StoredRecord, zone: ZoneAddress, viewer: UserName?, own: ParticipantID? = nil,
        in reader: RecordReader
    ) throws -> ClientRecord {
        var record = ClientRecord(stored, zone: zone, viewer: viewer)
        record.sharing = try sharing(of: stored, zone: zone, viewer: viewer, own: own, in: reader)
        return record
    }

    /// The name of somebody new in a share; drawn before the transaction.
    func makeParticipantID() -> ParticipantID { ParticipantID(environment.identifiers.makeUUID().uuidString) }

    /// Throws where nothing of the container can be shared (P-19).
    func requireSharing(in container: ContainerName) throws(CloudError) {
        guard !options.isSharingEnabled(in: container) else { return }
        throw CloudError(
            .permissionFailure, inner: CloudError.InnerCode.permission,
            "Shared zone update is not enabled for container"
        ).ofSharing(rule: "P-19")
    }

    /// An item that may fail by itself; the store's failures are those of the request.
    func item<Value>(_ body: () throws -> Value) throws -> Result<Value, CloudError> {
        do { return .success(try body()) } catch let error as CloudError { return .failure(error) }
    }
}

// What somebody is told of a share by its URL, before they accept it and after.

extension CloudService {
    /// Shares by their URLs, as the caller may know them, in the order of the request (M-01 … M-05).
    ///
    /// Throws, for the request as a whole: `notAuthenticated` and the like, `limitExceeded` (L-01), `permissionFailure`
    /// where nothing is shared (P-19), a planned fault, and the store's failures. A share that the caller may not know of
    /// is its item's `unknownItem`, with requests for access `permissionFailure` or `participantMayNeedVerification`
    /// (P-18); `participantAlreadyInvited` is the answer to another's one-time URL (P-17).
    package func shareMetadata(
        _ request: ShareMetadataRequest, as caller: Caller
    ) throws(CloudError) -> [Result<ClientShareMetadata, CloudError>] {
        try reporting(.shareMetadata, caller, itemCount: request.urls.count) { event in
            try RequestLimits.checkItemCount(request.urls.count, options)
            try requireSharing(in: caller.container)
            try requireAccount(caller)
            let answers = try engine.read { reader in
                let account = try accountDirectory.requireAccount(of: caller, in: reader)
                let finder = ShareFinder(accounts: accountDirectory, reader: reader)
                return try request.urls.map { url in
                    try item { try metadata(of: finder.share(url, for: account), url, request, in: reader) }
                }
            }
            event.count(answers)
            return answers
        }
    }

    private func metadata(
        of found: FoundShare, _ url: String, _ request: ShareMetadataRequest, in reader: RecordReader
    ) throws -> ClientShareMetadata {
        if case .invitedOtherwise = found.verdict { throw found.refusal(JoinVerdict.alreadyInvited, rule: "P-17") }
        // Nobody keeps the entry of somebody who may join: its name is never told.
        let nobody = ParticipantID("")
        guard
            let participant = found.verdict.participant(
                in: found.content, guest: found.guest, id: nobody, date: found.stored.system.modified.date)
        else { throw JoinVerdict.notFound }
        let viewer = found.guest.user
        let own = participant.id == nobody ? nil : participant.id
        let view = ShareView(
            found.content, zone: found.zone, viewer: viewer, own: own, urlBase: options.shareURLBase)
        let people = try SharePeople(in: view, accountDirectory, reader)
        var share = ClientRecord(found.stored, zone: found.zone, viewer: viewer)
        share.sharing = view.share(people)
        let access = SharedAccess(role: participant.role, permission: found.content.permission(of: participant))
        return ClientShareMetadata(
            url: url, container: found.place.container, share: share,
            rootRecord: request.wantsRootRecord && access.isAdmitted
                ? try root(of: found, keys: request.rootDesiredKeys, in: reader) : nil,
            role: access.role, status: participant.status, permission: access.permission, owner: view.owner(people))
    }

    /// The root, which can be read before the share is accepted (M-02); nil for a share of a whole zone.
    private func root(
        of found: FoundShare, keys: Set<String>?, in reader: RecordReader
    ) throws -> ClientRecord? {
        guard let name = found.content.root else { return nil }
        let fields = keys.map { FieldSelection.only(Set($0.map { FieldKey($0) })) } ?? .all
        guard let stored = try reader.existingZone(found.place.zoneID).record(name, fields: fields) else {
            throw RecordsError(
                .corruption, "A share's root is not there: verify the store, then restore it from a backup.",
                ["root": name.text, "share": found.place.share.text])
        }
        var record = ClientRecord(stored, zone: found.zone, viewer: found.guest.user)
        // What lies above is not shared.
        if found.place.owner != found.guest.user { record.parent = nil }
        return record
    }
}

// What somebody may do with records, for a host that asks before it shows or serves them.

extension CloudService {
    /// What somebody may do with the records of a zone, in the order of their names: nothing with one that is not there or
    /// that they do not see, and nothing for somebody whose account may not be used. `explainAccess` says why.
    ///
    /// One walk up a record's parents, which is memory where the hierarchy is known, and one look-up of what the person has
    /// accepted; only records of a public database are read.
    ///
    /// Throws the store's failures.
    package func permissions(
        for records: [RecordName], in zone: ZoneID, of user: UserName
    ) throws(CloudError) -> [RecordPermissions] {
        try reading { reader in
            let account = try accountDirectory.account(userName: user, in: reader)
            let isUsable = AccountVerdict.status(of: account) == .available
            guard isUsable || zone.database.scope == .public else { return records.map { _ in [] } }
            let resolved = ResolvedZone(id: zone, as: user)
            let access = try ZoneAccess(self, to: resolved, caller: isUsable ? user : nil, in: reader)
            return try records.map { try access.permissions(at: $0) }
        }
    }
}

// What happened to the shares of a zone, for its owner and the host to look up.

/// Where in a zone's trail something stands.
package struct ShareEventPosition: Hashable, Sendable {
    /// The change of the zone with which it happened.
    package var sequence: UInt64
    /// What happened with the same change is numbered from 0.
    package var index: UInt64

    package init(sequence: UInt64, index: UInt64) {
        self.sequence = sequence
        self.index = index
    }
}

/// Some events in the order in which they happened.
package struct ShareEventPage: Hashable, Sendable {
    package var events: [ShareEvent]
    /// Where the next page begins; nil after the last one.
    package var next: ShareEventPosition?

    package init(events: [ShareEvent], next: ShareEventPosition?) {
        self.events = events
        self.next = next
    }
}

extension CloudService {
    /// What happened to the shares of a zone after `position`, at most `limit` events (1,000 at most). The trail stays with
    /// the zone, and goes with it; of a long one upkeep keeps the newest `CloudOptions.shareEventCount` events.
    ///
    /// Throws `zoneNotFound`, and the store's failures.
    package func shareEvents(
        of zone: ZoneID, after position: ShareEventPosition? = nil, limit: Int = 200
    ) throws(CloudError) -> ShareEventPage {
        let limit = min(max(limit, 1), Self.maximumEventCount)
        return try reading { reader in
            let keys = try reader.existingZone(zone).keys
            let range =
                position.map {
                    keys.shareEvents(after: ShareEventKeyParts(sequence: $0.sequence, index: $0.index))
                } ?? keys.shareEvents
            var page = ShareEventPage(events: [], next: nil)
            var last: ShareEventPosition?
            try reader.store.scan(range.keyRange, .forward, limit: limit + 1) { key, value in
                guard page.events.count < limit else {
                    page.next = last
                    return .stop
                }
                let parts = try keys.readShareEventKey(key)
                last = ShareEventPosition(sequence: parts.sequence, index: parts.index)
                page.events.append(try ShareEventEntry(decoding: value).event)
                return .next
            }
            return page
        }
    }

    private static let maximumEventCount = 1_000

    /// Removes what a zone's trail holds beyond the newest `shareEventCount` events: whoever joins and leaves a public share
    /// again and again writes into the zone of another, who is not charged for it.
    ///
    /// Returns how many went. Throws the store's failures; a zone that is gone has none.
    @discardableResult
    func trimShareTrail(of zone: ZoneID, shouldContinue: () -> Bool = { true }) throws -> Int {
        guard let newest = try newestDispensableEvent(of: zone) else { return 0 }
        var count = 0
        while shouldContinue() {
            let deleted = try engine.transact { transaction in
                guard let keys = try transaction.zone(zone)?.keys else { return 0 }
                var range = keys.shareEvents.keyRange
                range.upper = newest + [0]
                var expired: [[UInt8]] = []
                try transaction.store.scan(range, .forward, limit: engine.options.limits.purgeBatchCount) { key, _ in
                    expired.append([UInt8](copying: key))
                    return .next
                }
                for key in expired { try transaction.delete(key) }
                return expired.count
            }
            guard deleted > 0 else { break }
            count += deleted
        }
        return count
    }

    /// The key of the newest event that need not be kept.
    private func newestDispensableEvent(of zone: ZoneID) throws -> [UInt8]? {
        try engine.read { reader in
            guard let keys = try reader.zone(zone)?.keys else { return nil }
            var count = 0
            var found: [UInt8]?
            try reader.store.scan(keys.shareEvents.keyRange, .backward, limit: options.shareEventCount + 1) { key, _ in
                count += 1
                if count > options.shareEventCount { found = [UInt8](copying: key) }
                return .next
            }
            return found
        }
    }
}
