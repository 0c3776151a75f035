// What a zone's items do to shares beside their own records. A new share marks its root, whose record carries the mark and
// nobody else's claim of it (SH-03); the mark goes with the share, and the root is written anew for it; a share goes
// with its root (SH-11); a participant who deletes a share leaves it (P-13). All of it is one commit with the items.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// The saves that become of a request's items: with the marks of roots as they will be, roots that are only unmarked, and
/// the shares that somebody leaves.
struct ShareChanges {
    var saves: [JudgedSave] = []
    /// Of the saves that no item asks for, the item that leads to each.
    var causes: [RecordName: RecordName] = [:]
    /// The shares that are made, changed and stopped.
    var shares: [ShareChange] = []

    func isAsked(_ name: RecordName) -> Bool { causes[name] == nil }
}

extension ZoneBatch {
    // MARK: Refusals

    /// The items that shares stand in the way of.
    func shareErrors(
        saves: [JudgedSave], removed: [RemovedRecord], kept: Set<RecordName>
    ) throws -> [RecordName: CloudError] {
        var errors = try conflictErrors(saves)
        for save in saves {
            guard let root = save.share?.newRoot, errors[save.name] == nil else { continue }
            // It was to be saved in the same request (SH-04), and is not.
            if !saves.contains(where: { $0.name == root }) { errors[save.name] = FailureSpread.batchRequestFailed }
        }
        for record in removed {
            if request.zone.isShared, record.share != nil || record.content != nil {
                // No cascade takes along what the participant could not delete.
                errors[record.cause] = AccessVerdict.denied(
                    "DELETE operation not permitted", record.cause, rule: "P-12")
            } else if let share = record.share, kept.contains(share) {
                errors[record.cause] = CloudError(
                    .invalidArguments, "A root is deleted whose share is saved: do one or the other."
                ).ofSharing(rule: "SH-11", record: record.name.text, root: record.name.text, share: share.text)
            }
        }
        return errors
    }

    /// The new shares that others are in the way of, as the zone is and as the request would make it (X-01, SH-08, SH-09).
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

    /// The root with the smallest name that the zone has.
    private func firstRoot() throws -> (RecordName, RecordName)? {
        var found: RecordName?
        try zone.store.scan(zone.keys.shareRoots.keyRange, .forward, limit: 1) { key, _ in
            found = try zone.keys.readShareRootKey(key)
            return .stop
        }
        guard let root = found, let share = try zone.node(root)?.share else { return nil }
        return (root, share)
    }

    /// What the caller may not see of the share in the way is left out.
    private func error(of conflict: SharingConflict) throws -> CloudError {
        conflict.error(try zone.record(conflict.share).flatMap { try judge.shown($0) })
    }

    /// A refusal of the record layer as the error of an item: of a root that a new share makes one it is the share's.
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
            // One that is not seen and one that is not there are answered alike.
            return (name, try judge.access.mayPlace(in: nil) ? refusal.error(name) : judge.creationDenied(name))
        case .hasChildren(let child):
            return (name, try mayName([child]) ? refusal.error(name) : Self.stillReferredTo(name))
        case .parentMissing, .cycle, .tooDeep: return (name, refusal.error(name))
        }
    }

    /// The error of a deletion whose cascade is refused. In another's zone it names no record that was not asked for, in
    /// the public database none that may not be read.
    func cascadeError(_ refusal: Refusal, of name: RecordName, _ cause: RecordName) throws -> CloudError {
        guard !request.zone.isShared else { return Self.stillReferredTo(cause) }
        var names = [name]
        if case .hasChildren(let child) = refusal { names.append(child) }
        return try mayName(names) ? refusal.error(name) : Self.stillReferredTo(cause)
    }

    /// Whether the caller may know of these records, which the request did not name.
    private func mayName(_ names: [RecordName]) throws -> Bool {
        guard request.zone.isPublic else { return true }
        return try names.allSatisfy { try judge.access.permissions(at: $0).contains(.read) }
    }

    private static func stillReferredTo(_ name: RecordName) -> CloudError {
        CloudError(
            .referenceViolation, "Record delete would violate validating reference, rejecting update",
            ["record": name.text])
    }

    /// The saves of a participant that would lie where they may not write (P-11). They were judged as they lie now; a
    /// record that moves takes what is below it along.
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

    /// The saves with what shares make of them. A share that something is in the way of marks no root.
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
            save.share.map { ShareChange(share: save.name, old: $0.old, new: $0.new, approved: $0.approved) }
        }
        changes.shares += stopped.map { ShareChange(share: $0.name, old: $0.content, new: nil) }
        return changes
    }

    /// What shares write beside the records of the plan.
    func settlement(of changes: ShareChanges, with plan: MutationPlan) throws -> ShareSettlement? {
        guard !changes.shares.isEmpty else { return nil }
        return try shareWriter.settlement(of: changes.shares, with: plan, stamp: outset.stamp)
    }

    /// Writes it, and notes whom the host is to tell. The secrets of roots go with them, shared or not.
    mutating func settle(
        _ settlement: ShareSettlement?, _ saves: [JudgedSave], removed: [RemovedRecord]
    ) throws {
        if let settlement { try shareWriter.carryOut(settlement) }
        for save in saves { invitations += invitations(of: save) }
        guard !removed.isEmpty, try holdsTokens() else { return }
        for record in removed { try shareWriter.forgetToken(of: record.name) }
    }

    /// Settles what lies beside records; the records themselves are the batch's to carry out.
    private var shareWriter: ShareWriter { ShareWriter(service.acceptanceDirectory, to: zone, in: transaction) }

    /// Whether anything of the zone was ever shared: one seek, so that nothing is looked up for every deletion elsewhere.
    private func holdsTokens() throws -> Bool {
        var holdsTokens = false
        try zone.store.scan(zone.keys.shareTokens.keyRange, .forward, limit: 1) { _, _ in
            holdsTokens = true
            return .stop
        }
        return holdsTokens
    }

    private func invitations(of save: JudgedSave) -> [ShareInvitation] {
        guard let draft = save.share, !draft.invited.isEmpty, let owner = request.zone.id.database.owner else {
            return []
        }
        var title: String?
        if case .string(let text)? = save.record.fields[SchemaNames.shareTitle]?.value { title = text }
        let base = service.options.shareURLBase
        return draft.new.participants.filter { draft.invited.contains($0.id) }.map { participant in
            var token = draft.new.token
            if case .oneTime(let own)? = participant.invitation { token = own }
            let handle = participant.invitation?.handle
            return ShareInvitation(
                container: outset.container, zone: request.zone.id.name, share: save.name, owner: owner,
                inviter: account.userName, participant: participant.id, handle: handle,
                user: participant.user ?? handle.flatMap { draft.handleOwners[$0] }, role: participant.role,
                permission: participant.permission, url: ShareLink.url(base, token), title: title)
        }
    }
}
