// What the items of a zone change outside their own records, all in one commit with them: shares and their roots, the
// assets that the owner holds, quota, the tags of parents, and the client's token.
//
// A new share marks its root, whose record carries the mark; no client sets it (SH-03). The mark goes with the share,
// and the root's record is written again for it. A share goes with its root (SH-11). A participant who deletes a
// share leaves it (P-13).

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// The saves that result from a request's items: with the marks of roots as they will be, roots that only lose their
/// mark, and the shares that the caller leaves.
struct ShareChanges {
    var saves: [JudgedSave] = []
    /// For each save that no item requests, the item that causes it.
    var causes: [RecordName: RecordName] = [:]
    /// The shares that are created, changed and stopped.
    var shares: [ShareTransition] = []

    func isAsked(_ name: RecordName) -> Bool { causes[name] == nil }
}

/// The contents that records start and stop holding, with counts.
struct AssetChange {
    private(set) var added: [AssetDescriptor: Int] = [:]
    private(set) var gone: [AssetDescriptor: Int] = [:]
    var isEmpty: Bool { added.isEmpty && gone.isEmpty }

    init(saves: [JudgedSave], removed: [RemovedRecord]) {
        for save in saves {
            added.merge(save.record.assets, uniquingKeysWith: +)
            if let old = save.old { gone.merge(old.record.assets, uniquingKeysWith: +) }
        }
        for record in removed { gone.merge(record.assets, uniquingKeysWith: +) }
    }
}

extension ZoneBatch {
    // MARK: Refusals

    /// The items that are refused because of shares.
    func shareErrors(
        saves: [JudgedSave], removed: [RemovedRecord], kept: Set<RecordName>
    ) throws -> [RecordName: CloudError] {
        var errors = try conflictErrors(saves)
        for save in saves {
            guard let root = save.share?.newRoot, errors[save.name] == nil else { continue }
            // SH-04 requires the root in the same request. It is not among the saves, so it has failed.
            if !saves.contains(where: { $0.name == root }) { errors[save.name] = FailureSpread.batchRequestFailed }
        }
        for record in removed {
            if request.zone.isShared, record.share != nil || record.content != nil {
                // No cascade deletes what the participant could not delete.
                errors[record.cause] = AccessVerdict.denied(
                    "DELETE operation not permitted", record.cause, rule: "P-12")
            } else if let share = record.share, kept.contains(share) {
                errors[record.cause] = CloudError(
                    .invalidArguments, "A root cannot be deleted in the same request that saves its share."
                ).ofSharing(rule: "SH-11", record: record.name.text, root: record.name.text, share: share.text)
            }
        }
        return errors
    }

    /// The new shares that conflict with others, in the zone as it is and as the request would change it (X-01, SH-08,
    /// SH-09).
    func conflictErrors(_ saves: [JudgedSave]) throws -> [RecordName: CloudError] {
        let shares = saves.filter { $0.share != nil && $0.share?.old == nil }
        guard !shares.isEmpty else { return [:] }
        var errors: [RecordName: CloudError] = [:]
        var roots: [RecordName: RecordName] = [:]
        var isZoneWide = try zone.node(ShareContent.zoneWideName) != nil
        for save in shares {
            var conflict: SharingConflict?
            if let root = save.share?.newRoot {
                if isZoneWide {
                    conflict = SharingConflict(
                        rule: "SH-09", record: root, root: nil, share: ShareContent.zoneWideName)
                } else if let share = try zone.node(root)?.share ?? roots[root] {
                    conflict = SharingConflict(rule: "SH-08", record: root, root: root, share: share)
                } else {
                    roots[root] = save.name
                }
            } else if let (root, share) = try firstRoot() ?? roots.min(by: { $0.key < $1.key }).map({ ($0, $1) }) {
                conflict = SharingConflict(rule: "SH-09", record: nil, root: root, share: share)
            } else {
                isZoneWide = true
            }
            errors[save.name] = try conflict.map { try error(of: $0) }
        }
        return errors
    }

    /// The root with the smallest name in the zone.
    private func firstRoot() throws -> (RecordName, RecordName)? {
        let first = try zone.store.first(in: zone.keys.keyspace(.shareRoots)) { key, _ in
            try zone.keys.readShareRootKey(key)
        }
        guard let root = first, let share = try zone.node(root)?.share else { return nil }
        return (root, share)
    }

    /// The error of a conflict. It includes the other share only if the caller may see it.
    private func error(of conflict: SharingConflict) throws -> CloudError {
        conflict.error(try zone.record(conflict.share).flatMap { try judge.shown($0) })
    }

    /// A refusal of the record layer as the error of an item. The refusal of a new share's root is the share's error.
    func itemError(
        _ refusal: Refusal, of name: RecordName, _ saves: [JudgedSave]
    ) throws -> (item: RecordName, error: CloudError) {
        switch refusal {
        case .alreadyShared(let found):
            let share = saves.first { $0.share?.newRoot == name }
            let rule = found.place == .same ? "SH-08" : "SH-07"
            let conflict = SharingConflict(rule: rule, record: name, root: found.root, share: found.share)
            return (share?.name ?? name, try error(of: conflict))
        case .parentMissing where request.zone.isShared:
            // A hidden parent and a missing one get the same answer.
            return (name, try judge.access.mayPlace(in: nil) ? refusal.error(name) : judge.creationDenied(name))
        case .hasChildren(let child):
            return (name, try mayName([child]) ? refusal.error(name) : Self.stillReferredTo(name))
        case .parentMissing, .cycle, .tooDeep: return (name, refusal.error(name))
        }
    }

    /// The error of a deletion whose cascade is refused. In another person's zone it names only records of the request,
    /// in the public database only records that the caller may read.
    func cascadeError(_ refusal: Refusal, of name: RecordName, _ cause: RecordName) throws -> CloudError {
        guard !request.zone.isShared else { return Self.stillReferredTo(cause) }
        var names = [name]
        if case .hasChildren(let child) = refusal { names.append(child) }
        return try mayName(names) ? refusal.error(name) : Self.stillReferredTo(cause)
    }

    /// Whether the caller may learn of these records, which the request does not name.
    private func mayName(_ names: [RecordName]) throws -> Bool {
        guard request.zone.isPublic else { return true }
        return try names.allSatisfy { try judge.access.permissions(at: $0).contains(.read) }
    }

    private static func stillReferredTo(_ name: RecordName) -> CloudError {
        CloudError(
            .referenceViolation, "Record delete would violate validating reference, rejecting update",
            ["record": name.text])
    }

    /// The saves of a participant that would place records where they may not write (P-11). They were judged by where
    /// they are now; a record that moves also moves everything below it.
    func placementErrors(of saves: [JudgedSave], in plan: MutationPlan) throws -> [RecordName: CloudError] {
        guard request.zone.isShared else { return [:] }
        var errors: [RecordName: CloudError] = [:]
        for save in saves where save.share == nil {
            guard try !judge.access.mayPlace(in: plan.memberships[save.name]) else { continue }
            errors[save.name] = judge.creationDenied(save.name)
        }
        return errors
    }

    // MARK: Changes

    /// The saves with the changes that shares cause. A share that has a conflict marks no root.
    func shareChanges(
        saves: [JudgedSave], leaving: [JudgedSave], removed: [RemovedRecord]
    ) throws -> ShareChanges {
        var changes = ShareChanges(saves: saves)
        let shares = saves.contains { $0.share != nil } ? saves.filter { $0.share != nil } : []
        let stopped = removed.filter { $0.content != nil }
        guard !shares.isEmpty || !leaving.isEmpty || !stopped.isEmpty else { return changes }
        var places: [RecordName: Int] = [:]
        for (place, save) in saves.enumerated() { places[save.name] = place }
        for share in shares {
            guard let root = share.share?.newRoot, let place = places[root] else { continue }
            if changes.saves[place].record.share == nil { changes.saves[place].record.share = share.name }
        }
        let removedNames = Set(removed.lazy.map(\.name))
        for share in stopped {
            guard let root = share.content?.root, !removedNames.contains(root) else { continue }
            if let place = places[root] {
                if changes.saves[place].record.share == share.name { changes.saves[place].record.share = nil }
            } else if let stored = try zone.record(root), stored.record.share == share.name {
                var record = stored.record
                record.share = nil
                changes.saves.append(JudgedSave(name: root, record: record, old: stored))
                changes.causes[root] = share.cause
            }
        }
        changes.saves += leaving
        for save in leaving { changes.causes[save.name] = save.name }
        changes.shares = (shares + leaving).compactMap { save in
            save.share.map {
                ShareTransition(share: save.name, old: $0.old, new: $0.new, approved: $0.revision.approved)
            }
        }
        changes.shares += stopped.map { ShareTransition(share: $0.name, old: $0.content, new: nil) }
        return changes
    }

    /// Writes the settlement and notes whom the host must invite. Deletes the secrets of removed roots, shared or not
    ///
    mutating func settle(
        _ settlement: ShareSettlement?, _ saves: [JudgedSave], removed: [RemovedRecord]
    ) throws {
        if let settlement { try shareWriter.write(settlement) }
        for save in saves { invitations += invitations(of: save) }
        // One seek finds out whether anything in the zone was ever shared. If not, no deletion needs a look-up.
        guard !removed.isEmpty, try zone.store.hasEntries(in: zone.keys.keyspace(.shareTokens)) else { return }
        for record in removed { try shareWriter.forgetToken(of: record.name) }
    }

    /// Writes the entries of shares outside their records. The batch writes the records themselves.
    var shareWriter: ShareWriter {
        ShareWriter(acceptances: service.acceptanceDirectory, zone: zone, transaction: transaction)
    }

    private func invitations(of save: JudgedSave) -> [ShareInvitation] {
        guard let draft = save.share, !draft.revision.invited.isEmpty, let owner = request.zone.id.database.owner else {
            return []
        }
        var title: String?
        if case .string(let text)? = save.record.fields[SchemaNames.shareTitle]?.value { title = text }
        let base = service.options.shareURLBase
        return draft.new.participants.filter { draft.revision.invited.contains($0.id) }.map { participant in
            var token = draft.new.token
            if case .oneTime(let own)? = participant.invitation { token = own }
            let handle = participant.invitation?.handle
            return ShareInvitation(
                container: outset.caller.container, zone: request.zone.id.name, share: save.name, owner: owner,
                inviter: account.userName, participant: participant.id, handle: handle,
                user: participant.user ?? handle.flatMap { draft.handleOwners[$0] }, role: participant.role,
                permission: participant.permission, url: ShareLink.url(base, token), title: title)
        }
    }

    // MARK: Assets and quota

    /// Charges the change of the zone's size to its owner, which for public data is the app (S-16). Returns the error
    /// if there is no room.
    func charge(saves: [JudgedSave], removed: [RemovedRecord], zone: UUID) throws -> CloudError? {
        if let error = saves.lazy.compactMap(\.quotaError).first { return error }
        var change = saves.reduce(Int64(0)) { $0.addingCapped($1.byteCountChange) }
        for record in removed { change = change.addingCapped(-record.byteCount) }
        let charged = try service.charged(for: request.zone, account, in: transaction)
        do {
            try QuotaLedger.charge(
                byteCount: change, to: charged.owner, zone: zone, limit: charged.limit, in: transaction)
            return nil
        } catch let error as CloudError where error.code == .quotaExceeded {
            return request.zone.isShared ? error.withoutFields : error
        }
    }

    /// The saves that newly hold a content that is no longer available.
    func contentErrors(saves: [JudgedSave], _ assets: AssetChange) throws -> [RecordName: CloudError] {
        announce(assets)
        // Contents that were not stored have no lease, and their records are not written.
        guard !assets.added.isEmpty, saves.allSatisfy({ $0.quotaError == nil }) else { return [:] }
        let unavailable = try service.assetLedger.unavailable(
            adding: assets.added, removing: assets.gone, owner: request.zone.assetOwner,
            atUptimeSeconds: outset.uptimeSeconds, in: transaction)
        guard !unavailable.isEmpty else { return [:] }
        var errors: [RecordName: CloudError] = [:]
        for save in saves {
            let before = save.old?.record.assets ?? [:]
            let missing = save.record.assets.keys.first { before[$0] == nil && unavailable.contains($0.digest) }
            if let missing { errors[save.name] = AssetLedger.unavailableError(digest: missing.digest) }
        }
        return errors
    }

    /// The most bytes that charging the owner and settling the assets count against the transaction's limit. Each entry
    /// is read and written.
    func ledgerByteCount(_ assets: AssetChange) -> Int {
        let usageByteCount = StoreLimits.countedByteCount(updatingKey: StoreLimits.maximumKeyByteCount, value: 24)
        guard !assets.isEmpty else { return 2 * usageByteCount }
        let entryByteCount = service.assetLedger.countedByteCount(of: request.zone.assetOwner)
        return (assets.added.count + assets.gone.count) * entryByteCount + 2 * usageByteCount
    }

    /// The most bytes that deleting the secrets of removed roots counts. The bytes of a name may double in a key.
    func tokenByteCount(_ removed: [RemovedRecord]) -> Int {
        removed.reduce(0) { sum, record in
            sum + StoreLimits.countedByteCount(updatingKey: 2 * record.name.text.utf8.count + 32, value: 0)
        }
    }

    // MARK: Parents

    /// Gives the parents of saved records a new tag without an entry in the feed, if the host wants it (S-10, T-16).
    /// Parents for which the transaction has no room keep their tags.
    mutating func touchParents() throws {
        guard service.options.childSaveTouchesParent else { return }
        var touched: Set<RecordName> = []
        for stored in saved.values {
            guard let parent = stored.record.parent, saved[parent] == nil else { continue }
            touched.insert(parent)
        }
        guard !touched.isEmpty else { return }
        let zone = request.zone.id
        let plan = try transaction.planNewTags(for: touched.sorted(), salt: outset.tagSalt, in: zone)
        try transaction.apply(plan, in: zone)
    }

    // MARK: Client tokens

    /// The answer to a request that a client repeats because the answer was lost (S-21): the records as they are now.
    /// Nil for every other request. The client's token identifies the request, so that it is not applied twice (T-11).
    func repeatedAnswer() throws -> ZoneAnswer? {
        guard let token = request.clientToken,
            try ClientTokens.entry(of: account.userName, in: zone)?.data == token
        else { return nil }
        var answer = ZoneAnswer()
        for item in request.saves {
            if let stored = try zone.record(item.name), let shown = try judge.shown(stored) {
                answer.saves[item.index] = .success(shown)
            } else {
                answer.saves[item.index] = .failure(.recordNotFound(item.name))
            }
        }
        for item in request.deletes { answer.deletes[item.index] = .success(Done()) }
        return answer
    }

    /// Remembers the client's token. Not if an item failed, because another attempt must save it, and not for a caller
    /// who has just left the zone: nothing of theirs stays in it.
    func noteClientToken() throws {
        guard let token = request.clientToken, errors.isEmpty, try judge.access.isZoneVisible() else { return }
        let entry = ClientTokenEntry(sequence: try zone.header().sequence, data: token)
        try transaction.set(zone.keys.clientToken(of: account.userName), to: entry.encoded())
    }
}
