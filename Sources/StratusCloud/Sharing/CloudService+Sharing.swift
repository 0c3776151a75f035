// Requests about shares that change nothing: shares by their URLs, permissions for the host, and the
// trail of what happened to a zone's shares.

import FoundationEssentials
package import StratusLayout
package import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// What a caller may know of a share's record; nil for every other record, and if the record was read
    /// without the field that holds the content.
    func sharing(
        of stored: StoredRecord, zone: ZoneAddress, viewer: UserName?, in reader: RecordReader
    ) throws -> ClientShare? {
        guard let content = try stored.record.shareContent() else { return nil }
        let view = ShareView(content, zone: zone, viewer: viewer, urlBase: options.shareURLBase)
        return view.share(try SharePeople(in: view, accountDirectory, reader))
    }

    /// The identifier of a new participant; drawn before the transaction.
    func makeParticipantID() -> ParticipantID { ParticipantID(environment.identifiers.makeUUID().uuidString) }

    /// A new secret for the URL of a share; drawn before the transaction.
    package func makeShareToken() -> ShareToken? {
        ShareToken(bytes: environment.identifiers.makeSecret(byteCount: ShareToken.byteCount))
    }

    /// Answers a request about shares by their URLs, each of them with its own answer. Throws for too many of them
    /// (L-01), without a usable account, and if sharing is switched off for the container (P-19).
    func reportingShares<Answer>(
        _ kind: RequestKind, _ caller: Caller, _ urls: [String],
        _ answer: (inout CloudEvent) throws -> [Result<Answer, CloudError>]
    ) throws(CloudError) -> [Result<Answer, CloudError>] {
        try reporting(kind, caller, itemCount: urls.count) { event in
            try requestLimits().check(itemCount: urls.count)
            guard options.isSharingEnabled(in: caller.container) else {
                throw CloudError.notPermitted("Shared zone update is not enabled for container").ofSharing(rule: "P-19")
            }
            try requireAccount(caller)
            let answers = try answer(&event)
            event.count(answers)
            return answers
        }
    }
}

// MARK: Metadata

extension CloudService {
    /// Shares by their URLs, before and after accepting them, as the caller may know them, in the order of the request
    /// (M-01 … M-05).
    ///
    /// Throws for the request as a whole: `notAuthenticated` and similar errors, `limitExceeded` (L-01),
    /// `permissionFailure` if sharing is switched off (P-19), a planned fault, and the store's failures. The item of a
    /// share that the caller may not know of fails with `unknownItem`; if the share allows requests for access, with
    /// `permissionFailure` or `participantMayNeedVerification` (P-18). Another person's one-time URL fails with
    /// `participantAlreadyInvited` (P-17).
    package func shareMetadata(
        _ request: ShareMetadataRequest, as caller: Caller
    ) throws(CloudError) -> [Result<ClientShareMetadata, CloudError>] {
        try reportingShares(.shareMetadata, caller, request.urls) { _ in
            try engine.read { reader in
                let account = try accountDirectory.requireAccount(of: caller, in: reader)
                let finder = ShareFinder(accounts: accountDirectory, reader: reader)
                return try request.urls.map { url in
                    try Result.item { try metadata(of: finder.share(url, for: account), url, request, in: reader) }
                }
            }
        }
    }

    private func metadata(
        of found: FoundShare, _ url: String, _ request: ShareMetadataRequest, in reader: RecordReader
    ) throws -> ClientShareMetadata {
        if case .invitedOtherwise = found.verdict { throw found.refusal(JoinVerdict.alreadyInvited, rule: "P-17") }
        // The entry of a person who may join is not stored, and its identifier is never returned.
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
            throw StoreError(
                .corruption, "A share's root is missing. Verify the store, then restore it from a backup.",
                ["root": name.text, "share": found.place.share.text])
        }
        var record = ClientRecord(stored, zone: found.zone, viewer: found.guest.user)
        // The parent of a root is not shared.
        if found.place.owner != found.guest.user { record.parent = nil }
        return record
    }
}

// MARK: Permissions

extension CloudService {
    /// A person's permissions for records of a zone, in the order of `records`. There are none for records that do not
    /// exist or that the person does not see, and for a person whose account may not be used. `explainAccess` says why.
    ///
    /// Costs a walk up each record's parents, in memory if the hierarchy is cached, and a look-up of the acceptance;
    /// only records of a public database are read.
    ///
    /// Throws the store's failures.
    package func permissions(
        for records: [RecordName], in zone: ZoneID, of user: UserName
    ) throws(CloudError) -> [TypePermissions] {
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

// MARK: Trail

/// The position of an event in a zone's trail.
package typealias ShareEventPosition = ShareEventKeyParts

/// Some events in the order in which they happened.
package struct ShareTrailPage: Hashable, Sendable {
    package var events: [ShareTrailEvent]
    /// Where the next page starts; nil after the last one.
    package var next: ShareEventPosition?
}

extension CloudService {
    /// The events of a zone's shares after `position`, at most `limit` (up to 1,000). The trail is deleted with the
    /// zone; upkeep keeps the newest `CloudOptions.shareEventCount` events of a long one.
    ///
    /// Throws `zoneNotFound`, and the store's failures.
    package func shareEvents(
        of zone: ZoneID, after position: ShareEventPosition? = nil, limit: Int = 200
    ) throws(CloudError) -> ShareTrailPage {
        let limit = min(max(limit, 1), Self.maximumEventCount)
        return try reading { reader in
            let keys = try reader.existingZone(zone).keys
            let range = position.map { keys.shareEvents(after: $0) } ?? keys.keyspace(.shareEvents)
            var page = ShareTrailPage(events: [], next: nil)
            var last: ShareEventPosition?
            // One more entry shows whether there are more. It is not decoded: a damaged one belongs to the next page.
            try reader.store.forEach(in: range, limit: limit + 1) { key, value in
                if page.events.count == limit {
                    page.next = last
                } else {
                    last = try keys.readShareEventKey(key)
                    page.events.append(try ShareEventEntry(decoding: value).event)
                }
            }
            return page
        }
    }

    private static let maximumEventCount = 1_000

    /// Removes the events of a zone's trail up to the one that `newestDispensableEvent` returned, so that the newest
    /// `shareEventCount` stay. A person who repeatedly joins and leaves a public share writes into another person's
    /// zone, and is not charged for it.
    ///
    /// Throws the store's failures. A deleted zone has no trail.
    func trimShareTrail(of zone: ZoneID, upTo newest: [UInt8], shouldContinue: () -> Bool) throws {
        while shouldContinue() {
            let deleted = try engine.transact(in: zone.database) { transaction in
                guard let keys = try transaction.zone(zone)?.keys else { return 0 }
                var range = keys.keyspace(.shareEvents)
                range.upper = newest + [0]
                let expired = try transaction.store.keys(in: range, limit: engine.options.limits.purgeBatchCount)
                for key in expired { try transaction.delete(key) }
                return expired.count
            }
            guard deleted > 0 else { return }
        }
    }

    /// The key of the newest event of a zone's trail to remove; nil if it has no more than `shareEventCount`.
    func newestDispensableEvent(of zone: ZoneReader) throws -> [UInt8]? {
        var count = 0
        var found: [UInt8]?
        try zone.store.scan(zone.keys.keyspace(.shareEvents), .backward, limit: options.shareEventCount + 1) { key, _ in
            count += 1
            if count > options.shareEventCount { found = [UInt8](copying: key) }
            return .next
        }
        return found
    }
}
