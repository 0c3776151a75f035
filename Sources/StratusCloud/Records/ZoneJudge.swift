// Judges each item of a zone alone, in a transaction or in a snapshot. The verdict on one item does not depend on the
// others. A save passes these steps:
//
//   1. Access: may the caller create or change the record (`AccessVerdict`)?
//   2. Policy and tag: does the save conflict with the stored record (`SaveVerdict`)?
//   3. Parent: may the caller put the record there?
//   4. Merge: references, assets and sizes of the fields (`FieldClaims`).
//   5. For a share: whether it may be in this zone, whom it names, and its new content (`ShareRevision`).

import StratusLayout
import StratusModel
import StratusRecords

struct ZoneJudge {
    let service: CloudService
    let request: ZoneRequest
    let account: StoredAccount
    let reader: RecordReader
    /// Nil if the first record creates the zone.
    let zone: ZoneReader?
    let intake: AssetIntake
    let access: ZoneAccess
    private let savedNames: Set<RecordName>
    private let view: RecordPresenter

    /// What a deletion does.
    enum Removal {
        case delete
        /// There is no record that the caller may know of.
        case nothing
        /// A participant who deletes a share leaves it (P-13).
        case leave(JudgedSave)
    }

    init(
        _ service: CloudService, _ request: ZoneRequest, _ account: StoredAccount, _ reader: RecordReader,
        zone: ZoneReader?, intake: AssetIntake
    ) throws {
        self.service = service
        self.request = request
        self.account = account
        self.reader = reader
        self.zone = zone
        self.intake = intake
        access = try ZoneAccess(service, to: request.zone, caller: account.userName, in: reader)
        view = RecordPresenter(service: service, zone: request.zone, viewer: account, reader: reader)
        savedNames = request.zone.isShared ? Set(request.saves.map(\.name)) : []
    }

    /// Whether the caller may know of the zone. A participant without any permission sees nothing of it, and may still
    /// leave the shares that they have accepted, by a request that does nothing else there (P-13).
    func maySeeZone() throws -> Bool {
        try access.isZoneVisible()
            || request.saves.isEmpty && request.deletes.allSatisfy { try access.mayLeave($0.name) }
    }

    /// The record as the save would store it. Throws the item's error as `CloudError`.
    func judged(_ item: ItemSave) throws -> JudgedSave {
        if let error = item.error { throw error }
        let save = item.save
        let found = try zone?.record(item.name)
        let known = try found.map { try access.permissions(for: $0) }
        // In another person's zone, a record that the caller may not read does not exist for them.
        let isHidden = request.zone.isShared && known?.contains(.read) == false
        let stored = isHidden ? nil : found
        let owner = try userRecordOwner(of: item.name)
        let permissions = isHidden ? nil : known
        let refusal = AccessVerdict.saveRefusal(
            type: RecordType(save.type), name: item.name, existing: stored,
            permissions: try permissions ?? access.permissions(toCreate: RecordType(save.type)),
            caller: account.userName, userRecordOwner: owner?.userName)
        if let refusal { throw try ruled(refusal, save, stored) }
        let before = stored ?? owner.map { UserRecords.unsaved(of: $0) }
        switch SaveVerdict(save, policy: request.policy, storedTag: before?.system.changeTag) {
        case .refused(let reason):
            let server = try before.flatMap { try shown($0) }
            if reason == .exists, item.name == ShareContent.zoneWideName {
                throw SharingConflict(rule: "SH-09", record: nil, root: nil, share: item.name).error(server)
            }
            throw reason.error(item.name, serverRecord: server)
        case .write(let keys, let wantsParent):
            // A record that the caller may not know of has this name.
            if isHidden { throw creationDenied(item.name) }
            let claims = FieldClaims(
                zone: request.zone, caller: account.userName, intake: intake.contents(for: item, of: request))
            let setsParent = try wantsParent && maySetParent(of: item, stored?.record, claims)
            var record = try save.merged(
                into: before?.record, keys: keys, setsParent: setsParent, claims, service.options)
            let share = try shareDraft(of: item, stored: stored?.record, &record)
            return JudgedSave(
                name: item.name, record: record, old: stored, created: stored == nil ? before?.system.created : nil,
                quotaError: item.quotaError, share: share)
        }
    }

    /// What the deletion does. Throws the item's error as `CloudError`.
    func judged(_ item: ItemDelete) throws -> Removal {
        if let error = item.error { throw error }
        if request.zone.isShared { return try sharedRemoval(of: item) }
        let owner = try userRecordOwner(of: item.name)
        guard request.zone.isPublic || owner != nil || service.options.unknownRecordDeletionFails else {
            return .delete
        }
        let stored = try zone?.record(item.name)
        let refusal = AccessVerdict.deleteRefusal(
            name: item.name, existing: stored,
            permissions: try stored.map { try access.permissions(for: $0) } ?? .all,
            userRecordOwner: owner?.userName)
        if let refusal { throw refusal }
        if stored == nil, service.options.unknownRecordDeletionFails {
            throw SaveVerdict.Reason.deleted.error(item.name, serverRecord: nil)
        }
        return .delete
    }

    /// The answer to a save that was written. If the caller may not read the record, it contains only the sent fields.
    func answer(_ stored: StoredRecord, to save: RecordSave) throws -> ClientRecord {
        if let record = try shown(stored) { return record }
        let sentKeys = save.sentKeys(request.policy)
        var record = ClientRecord(stored, zone: request.zone.address, viewer: account.userName)
        record.fields = record.fields.only(sentKeys)
        // A caller who left the share in the same request must not learn the parent of its root.
        if request.zone.isShared, stored.record.share != nil { record.parent = nil }
        return record
    }

    /// A stored record as the caller may see it; nil for one that may not be read.
    func shown(_ stored: StoredRecord) throws -> ClientRecord? {
        guard try access.permissions(for: stored).contains(.read) else { return nil }
        return try view.shown(DecodedRecord(stored))
    }

    /// The error when a participant may not create a record, or not in this place (P-11).
    func creationDenied(_ name: RecordName) -> CloudError {
        AccessVerdict.denied("CREATE operation not permitted", name, rule: "P-11")
    }

    // MARK: Another person's zone

    /// Whether a save sets the parent. A participant cannot move a root, whose parent they do not see, and
    /// cannot distinguish a hidden parent from a missing one.
    private func maySetParent(of item: ItemSave, _ stored: Record?, _ claims: FieldClaims) throws -> Bool {
        guard request.zone.isShared else { return true }
        let parent = try item.save.parentName(claims)
        if stored?.share != nil {
            guard parent == nil else {
                throw AccessVerdict.denied(
                    "WRITE operation not permitted", item.name, rule: "X-06", root: item.name, share: stored?.share)
            }
            return false
        }
        if let parent, !savedNames.contains(parent), try !access.mayPlace(in: nil), try !access.sees(parent) {
            throw creationDenied(item.name)
        }
        return true
    }

    private func sharedRemoval(of item: ItemDelete) throws -> Removal {
        let stored = try zone?.record(item.name)
        if let stored, try access.mayDelete(stored) {
            return stored.record.type == ShareContent.recordType ? .leave(try leaving(stored)) : .delete
        }
        guard let stored, try access.permissions(for: stored).contains(.read) else {
            guard service.options.unknownRecordDeletionFails else { return .nothing }
            throw SaveVerdict.Reason.deleted.error(item.name, serverRecord: nil)
        }
        guard stored.record.share == nil else {
            throw AccessVerdict.denied(
                "DELETE operation not permitted", item.name, rule: "P-12", root: item.name, share: stored.record.share)
        }
        throw try ruled(AccessVerdict.denied("DELETE operation not permitted", item.name), rule: "P-10", stored)
    }

    private func ruled(_ refusal: CloudError, _ save: RecordSave, _ stored: StoredRecord?) throws -> CloudError {
        guard request.zone.isShared, refusal.code == .permissionFailure else { return refusal }
        return try ruled(refusal, rule: save.isShare ? "X-13" : "P-10", stored)
    }

    /// A refusal with its rule of sharing and the share in which the caller sees the record.
    private func ruled(_ refusal: CloudError, rule: String, _ stored: StoredRecord?) throws -> CloudError {
        guard let zone, let stored else { return refusal.ofSharing(rule: rule) }
        let record = stored.record
        if record.type == ShareContent.recordType {
            return refusal.ofSharing(rule: rule, root: try record.shareContent()?.root?.text, share: record.name.text)
        }
        let membership = try zone.shareMembership(of: record.name)
        return refusal.ofSharing(
            rule: rule, root: membership?.root.text, share: (membership?.share ?? ShareContent.zoneWideName).text)
    }

    private func userRecordOwner(of name: RecordName) throws -> StoredAccount? {
        try UserRecords.owner(
            of: name, in: request.zone, caller: account, service.accountDirectory, reader: reader)
    }
}

// MARK: Shares

extension ZoneJudge {
    /// The new content of the share that this item saves, written into its record; nil for every other record.
    private func shareDraft(of item: ItemSave, stored: Record?, _ record: inout Record) throws -> ShareDraft? {
        guard record.type == ShareContent.recordType else { return nil }
        let old = try stored?.shareContent()
        if old == nil { try checkPlace(of: item) }
        let draft: ShareDraft
        if let claim = item.save.sharing, let secrets = item.secrets {
            do { draft = try revised(old, claim, secrets) } catch let refusal as CloudError {
                let root = old?.root?.text ?? claim.root?.recordName
                throw refusal.ofSharing(rule: "X-22", record: item.name.text, root: root, share: item.name.text)
            }
        } else if let old {
            draft = ShareDraft(old: old, ShareRevision(content: old))
        } else {
            throw CloudError(.invalidArguments, "A new share needs a list of participants.")
                .ofSharing(rule: "SH-04", record: item.name.text)
        }
        record = record.with(draft.new)
        try record.checkSize(service.options)
        return draft
    }

    /// The share's record without the caller, who leaves it.
    private func leaving(_ stored: StoredRecord) throws -> JudgedSave {
        let record = stored.record
        guard let old = try record.shareContent(), let left = ShareRevision(leaving: account.userName, old) else {
            throw AccessVerdict.denied(
                "DELETE operation not permitted", record.name, rule: "P-13", root: try record.shareContent()?.root,
                share: record.name)
        }
        return JudgedSave(
            name: record.name, record: record.with(left.content), old: stored,
            share: ShareDraft(old: old, left))
    }

    /// Checks that the zone can hold such a share, and that the root can be a root.
    private func checkPlace(of item: ItemSave) throws {
        if let root = item.save.sharing?.root.map({ RecordName($0.recordName) }),
            request.saves.contains(where: { $0.name == root && $0.save.isShare })
        {
            throw CloudError(.invalidArguments, "A share cannot be the root of another share. Share a record.")
                .ofSharing(rule: "SH-02", record: item.name.text, root: root.text, share: item.name.text)
        }
        let isZoneWide = item.name == ShareContent.zoneWideName
        var capabilities: ZoneCapabilities = []
        if request.zone.isTransactional, let zone {
            let scope = try ZoneFacts.encryptionScope(
                of: request.zone.id.name, DatabaseKeys(zone.keys.database), in: reader)
            capabilities = ZoneVerdict.capabilities(of: request.zone, scope)
        }
        guard !capabilities.contains(isZoneWide ? .zoneWideSharing : .sharing) else { return }
        throw CloudError(
            .invalidArguments, "The zone cannot be shared in this way. Save the records in another zone.",
            ["zone": request.zone.address.description]
        ).ofSharing(
            rule: "X-21", record: item.name.text, root: item.save.sharing?.root?.recordName, share: item.name.text)
    }

    private func revised(_ old: ShareContent?, _ claim: ShareClaim, _ secrets: ShareSecrets) throws -> ShareDraft {
        guard let owner = request.zone.id.database.owner else { throw ShareRevision.notAllowed }
        let root = claim.root.map { RecordName($0.recordName) }
        let (stored, gone) = try old.map { try withoutGone($0) } ?? (nil, [])
        var wanted = claim
        wanted.participants.removeAll { gone.contains(ParticipantID($0.id)) }
        var situation = ShareSituation(
            stored: stored, root: root, token: old?.token ?? secrets.token, owner: owner, editor: account.userName,
            people: [:], handleOwners: [:], secrets: secrets,
            participantLimit: service.options.participantCount)
        if old == nil, let zone, let token = try ShareWriter.token(of: root, in: zone) { situation.token = token }
        try resolve(wanted, &situation)
        return ShareDraft(
            old: old, try ShareRevision(wanted, situation), handleOwners: situation.handleOwners)
    }

    /// The share without invited people and requesters whose accounts were deleted, and the IDs of these participants.
    /// No client sees them (`SharePeople`); the next save removes them.
    private func withoutGone(_ content: ShareContent) throws -> (ShareContent?, Set<ParticipantID>) {
        var content = content
        let invited = content.participants.filter { $0.status == .pending && $0.user != nil }
        let users = invited.compactMap(\.user) + content.requesters.map(\.user)
        let accounts = try service.accountDirectory.accounts(
            under: users.map { AccountDirectory.identityKey(of: $0) }, in: reader)
        let gone = zip(invited, accounts).filter { $1 == nil }
        let goneRequesters = Set(zip(users, accounts).dropFirst(invited.count).filter { $1 == nil }.map(\.0))
        let ids = Set(gone.map(\.0.id))
        content.participants.removeAll { ids.contains($0.id) }
        content.requesters.removeAll { goneRequesters.contains($0.user) }
        return (content, ids)
    }

    /// Looks up the people whom the claim newly names, and those who have not accepted yet.
    ///
    /// Throws `invalidArguments` for a malformed handle and for a user record that belongs to no account.
    private func resolve(_ claim: ShareClaim, _ situation: inout ShareSituation) throws {
        let stored = situation.stored?.participants ?? []
        let known = Set(stored.map(\.id))
        let handles = stored.filter { $0.user == nil }.compactMap(\.invitation?.handle)
        let added = claim.participants.enumerated().filter { !known.contains(ParticipantID($1.id)) && $1.lookup != nil }
        let accounts = try service.accountDirectory.accounts(
            under: handles.map { AccountDirectory.identityKey(of: $0) } + added.map { identityKey(of: $1.lookup) },
            in: reader)
        for (handle, account) in zip(handles, accounts) { situation.handleOwners[handle] = account?.userName }
        for ((place, participant), account) in zip(added, accounts.dropFirst(handles.count)) {
            guard let lookup = participant.lookup else { continue }
            let person = try person(lookup, account)
            situation.people[place] = person
            if let handle = person.handle { situation.handleOwners[handle] = person.user }
        }
    }

    /// Nil for the caller, whose account is known.
    private func identityKey(of lookup: IdentityLookup?) -> [UInt8]? {
        if case .userRecord(ZoneAddress.currentUser)? = lookup { return nil }
        return lookup.flatMap { AccountDirectory.identityKey(of: $0) }
    }

    /// The person of a look-up that leads to this account.
    private func person(_ lookup: IdentityLookup, _ found: StoredAccount?) throws -> ResolvedPerson {
        if let handle = lookup.handle {
            return ResolvedPerson(handle: try AccountLimits.normalized(handle), user: found?.userName)
        }
        guard case .userRecord(let name) = lookup, name != ZoneAddress.currentUser else {
            return ResolvedPerson(user: account.userName)
        }
        guard let found else {
            throw CloudError(
                .invalidArguments, "No person has this user record. Look them up by a handle.",
                ["rule": "X-11", "userRecord": name])
        }
        return ResolvedPerson(user: found.userName)
    }
}
