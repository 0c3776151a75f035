// The save of a share judged alone: where it may lie, whom it names, and what its content becomes (`ShareVerdict`).

import StratusLayout
import StratusModel
import StratusRecords

extension ZoneJudge {
    /// What becomes of the share whose save this is, written into its record; nil for every other record.
    func shareDraft(of item: ItemSave, stored: Record?, _ record: inout Record) throws -> ShareDraft? {
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
            draft = ShareDraft(old: old, new: old)
        } else {
            throw CloudError(.invalidArguments, "A share says who takes part.")
                .ofSharing(rule: "SH-04", record: item.name.text)
        }
        record = record.with(draft.new)
        try record.checkSize(service.options)
        return draft
    }

    /// The share's record without the caller, who leaves it.
    func leaving(_ stored: StoredRecord) throws -> JudgedSave {
        let record = stored.record
        guard let old = try record.shareContent(), let left = ShareRevision(leaving: account.userName, old) else {
            throw AccessVerdict.denied(
                "DELETE operation not permitted", record.name, rule: "P-13", root: try record.shareContent()?.root,
                share: record.name)
        }
        return JudgedSave(
            name: record.name, record: record.with(left.content), old: stored,
            share: ShareDraft(old: old, new: left.content))
    }

    /// Whether the zone takes such a share, and the root is one.
    private func checkPlace(of item: ItemSave) throws {
        if let root = item.save.sharing?.root.map({ RecordName($0.recordName) }),
            request.saves.contains(where: { $0.name == root && $0.save.isShare })
        {
            throw CloudError(.invalidArguments, "A share is no root of another: share a record.")
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
            .invalidArguments, "The zone cannot be shared in this way: save the records in another zone.",
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
        switch ShareVerdict(wanted, situation) {
        case .refused(let error): throw error
        case .write(let revision):
            return ShareDraft(
                old: old, new: revision.content, invited: revision.invited, approved: revision.approved,
                handleOwners: situation.handleOwners)
        }
    }

    /// The share without those who wait for what they cannot have any more, because their accounts were deleted: nobody is
    /// shown them (`SharePeople`), and they go with the next save. And the participants among them.
    private func withoutGone(_ content: ShareContent) throws -> (ShareContent?, Set<ParticipantID>) {
        func isGone(_ user: UserName) throws -> Bool {
            try service.accountDirectory.account(userName: user, in: reader) == nil
        }
        var content = content
        let gone = try content.participants.filter { participant in
            guard participant.status == .pending, let user = participant.user else { return false }
            return try isGone(user)
        }
        let ids = Set(gone.map(\.id))
        content.participants.removeAll { ids.contains($0.id) }
        try content.requesters.removeAll { try isGone($0.user) }
        return (content, ids)
    }

    /// Asks the directory who the people are whom the claim names anew, and those who have not accepted yet.
    ///
    /// Throws `invalidArguments` for a malformed handle and for a user record that is nobody's.
    private func resolve(_ claim: ShareClaim, _ situation: inout ShareSituation) throws {
        let stored = situation.stored?.participants ?? []
        let known = Set(stored.map(\.id))
        for participant in stored where participant.user == nil {
            guard let handle = participant.invitation?.handle else { continue }
            situation.handleOwners[handle] =
                try service.accountDirectory.account(handle: handle, in: reader)?.userName
        }
        for (place, participant) in claim.participants.enumerated() {
            guard !known.contains(ParticipantID(participant.id)), let lookup = participant.lookup else { continue }
            let person = try person(lookup)
            situation.people[place] = person
            if let handle = person.handle { situation.handleOwners[handle] = person.user }
        }
    }

    private func person(_ lookup: IdentityLookup) throws -> ResolvedPerson {
        if let handle = lookup.handle {
            let normalized = try AccountLimits.normalized(handle)
            let owner = try service.accountDirectory.account(handle: normalized, in: reader)
            return .handle(normalized, owner: owner?.userName)
        }
        guard case .userRecord(let name) = lookup, name != ZoneAddress.currentUser else {
            return .userRecord(account.userName)
        }
        guard let found = try service.accountDirectory.account(userName: UserName(name), in: reader) else {
            throw CloudError(
                .invalidArguments, "No person has this user record: look for them by a handle.",
                ["rule": "X-11", "userRecord": name])
        }
        return .userRecord(found.userName)
    }
}
