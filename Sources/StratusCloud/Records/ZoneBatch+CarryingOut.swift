// Deciding records together, and writing them.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension ZoneBatch {
    /// Saves and deletes records together, whole or not at all.
    ///
    /// Returns the errors of the items that cannot be done; nothing is written then. A participant's deletion that
    /// cannot be done with all that goes with it is tried again without the records that they do not see, which then
    /// stay: what stands in the way of those is nothing that a participant may learn (decision 0019).
    mutating func carryOut(saves: [JudgedSave], deletes: [RecordName]) throws -> [RecordName: CloudError] {
        let saves = try owningOnlySeen(saves)
        let visitCount = cascadeVisitCount
        let errors = try carryOut(saves: saves, deletes: deletes, takingUnseen: true)
        guard request.zone.isShared, !errors.isEmpty, !deletes.isEmpty else { return errors }
        cascadeVisitCount = visitCount
        return try carryOut(saves: saves, deletes: deletes, takingUnseen: false)
    }

    /// A participant's saves, in which a `deleteSelf` reference that is new and points at nothing they see is one that
    /// deletes nothing: its cascade would tell them of a record that they may not know of (decision 0019).
    private func owningOnlySeen(_ saves: [JudgedSave]) throws -> [JudgedSave] {
        guard request.zone.isShared else { return saves }
        let together = Set(saves.map(\.name))
        return try saves.map { save in
            let known = save.old?.record.owners ?? []
            let unseen = try save.record.owners.filter { target in
                try !known.contains(target) && !together.contains(target) && !judge.access.sees(target)
            }
            guard !unseen.isEmpty else { return save }
            var save = save
            save.record.removeOwners(unseen)
            return save
        }
    }

    /// Everything is decided before anything is written.
    private mutating func carryOut(
        saves: [JudgedSave], deletes: [RecordName], takingUnseen: Bool
    ) throws -> [RecordName: CloudError] {
        let limit = service.engine.options.limits.requestItemCount
        guard saves.count <= limit else { return Self.refused(saves.map(\.name)) { Self.tooLarge($0) } }
        let leaving = deletes.compactMap { leaves[$0] }
        var kept = Set(saves.map(\.name))
        kept.formUnion(saved.keys)
        kept.formUnion(leaving.lazy.map(\.name))
        let cascades = try Cascades(
            of: leaving.isEmpty ? deletes : deletes.filter { leaves[$0] == nil }, keeping: kept,
            limit: limit - saves.count - leaving.count, visitCount: &cascadeVisitCount, in: zone,
            taking: { [judge] name in try takingUnseen || judge.access.sees(name) })
        guard cascades.errors.isEmpty else {
            guard request.isAtomic else { return cascades.errors }
            return cascades.errors.merging(try structureErrors()) { own, _ in own }
        }
        let removed = cascades.removed
        var failures = try OwnedRecordLimit(zone: zone, limit: service.options.owningReferenceCount)
            .errors(saves: saves, removed: Set(removed.map(\.name)))
        failures.merge(try shareErrors(saves: saves, removed: removed, kept: kept)) { own, _ in own }
        let changes = try shareChanges(saves: saves, leaving: leaving, removed: removed)
        guard changes.saves.count + removed.count <= limit else {
            return Self.refused(changes.causes.values) { Cascades.tooLong($0, ["recordLimit": "\(limit)"]) }
        }
        let schema = try judgeSchema(of: saves)
        var plan: MutationPlan?
        do {
            var request = mutationRequest(Self.mutations(changes.saves, removed), changes.saves)
            request.queryIndexes = schema.types.mapValues(\.queryIndexes)
            let made = try transaction.plan(request, in: self.request.zone.id)
            failures.merge(try placementErrors(of: saves, in: made)) { own, _ in own }
            plan = made
        } catch let refused as RequestRefused {
            failures.merge(try itemErrors(refused, saves, removed: removed, changes)) { own, _ in own }
        }
        guard failures.isEmpty || request.isAtomic else { return failures }
        failures.merge(schema.errors) { own, _ in own }
        let assets = AssetChange(saves: changes.saves, removed: removed)
        failures.merge(try contentErrors(saves: saves, assets)) { own, _ in own }
        guard failures.isEmpty, let plan else { return failures }
        let settlement = try settlement(of: changes, with: plan)
        let besides = schema.byteCount + ledgerByteCount(assets) + (settlement?.byteCount ?? 0)
        let noted = try journal.byteCount(in: request.zone.id, transaction)
        guard transaction.hasRoom(for: plan, besides: besides + noted) else {
            return sizeErrors(saves: saves, deletes: deletes, removed: removed)
        }
        if let error = try charge(saves: changes.saves, removed: removed, zone: plan.header.identity) {
            return Self.refused(saves.map(\.name)) { _ in error }
        }
        try settle(assets)
        try journal.carryOut(plan, in: request.zone.id, transaction, learnt: schema.types, keeping: besides)
        try settle(settlement, saves, removed: removed)
        endedShares += removed.lazy.filter { $0.content != nil }.map(\.name) + leaving.map(\.name)
        try service.schemaKeeper.learn(schema, in: transaction)
        for stored in plan.saved where changes.isAsked(stored.record.name) || saved[stored.record.name] != nil {
            saved[stored.record.name] = stored
        }
        if !plan.isEmpty { hasWritten = true }
        return [:]
    }

    /// What else is wrong in a zone in which items have failed already, so that each gets its own error and not that of
    /// another: the hierarchy, judged as if the failed records were there, and the schema.
    func structureErrors() throws -> [RecordName: CloudError] {
        let conflicts = try conflictErrors(saves)
        let changes = try shareChanges(saves: saves, leaving: Array(leaves.values), removed: [])
        var mutations = changes.saves.map { RecordMutation.save($0.record) }
        mutations += deletes.lazy.filter { leaves[$0] == nil }.map { RecordMutation.delete($0) }
        for item in request.saves where errors[item.name] != nil {
            guard NameRules.recordNameError(item.save.address.recordName) == nil, try zone.node(item.name) == nil else {
                continue
            }
            // Where a record was to hang that may not be known of says nothing about the others.
            let parent =
                request.zone.isShared
                ? nil : sentParent(item).flatMap { NameRules.recordNameError($0.text) == nil ? $0 : nil }
            mutations.append(.save(Record(name: item.name, type: AccessVerdict.usersType, parent: parent)))
        }
        var found = try judgeSchema(of: saves).errors.merging(conflicts) { _, conflict in conflict }
        do {
            _ = try transaction.plan(mutationRequest(mutations), in: request.zone.id)
        } catch let refused as RequestRefused {
            // A deletion may be refused here only for records that its cascade would take along.
            let names = Set(saves.map(\.name))
            for (name, refusal) in refused.refusals.sorted(by: { $0.key < $1.key }) where names.contains(name) {
                let (item, error) = try itemError(refusal, of: name, saves)
                if found[item] == nil { found[item] = error }
            }
        }
        return found
    }

    private var journal: CommitJournal { service.journal(outset.origin) }

    private func mutationRequest(_ mutations: [RecordMutation], _ saves: [JudgedSave] = []) -> MutationRequest {
        var request = MutationRequest(mutations, stamp: outset.stamp, tagSalt: outset.tagSalt)
        for save in saves { request.creations[save.name] = save.created }
        request.asksForMemberships = self.request.zone.isShared
        return request
    }

    /// Refusals as the errors of items: that of a record deleted by a cascade is its cause's, and that of a root whose
    /// mark goes with its share the share's.
    private func itemErrors(
        _ refused: RequestRefused, _ saves: [JudgedSave], removed: [RemovedRecord], _ changes: ShareChanges
    ) throws -> [RecordName: CloudError] {
        var causes = changes.causes
        for record in removed { causes[record.name] = record.cause }
        var errors: [RecordName: CloudError] = [:]
        for (name, refusal) in refused.refusals.sorted(by: { $0.key < $1.key }) {
            // A root that is only unmarked hangs where it hung: what is in its way is another item's to say.
            if changes.causes[name] != nil, refused.refusals.count > 1 { continue }
            if let cause = causes[name], cause != name {
                if errors[cause] == nil { errors[cause] = try cascadeError(refusal, of: name, cause) }
                continue
            }
            let (item, error) = try itemError(refusal, of: name, saves)
            if errors[item] == nil { errors[item] = error }
        }
        return errors
    }

    private func judgeSchema(of saves: [JudgedSave]) throws -> SchemaJudgement {
        try service.schemaKeeper.judge(
            saves.map { $0.share == nil ? $0.record : $0.record.withoutShareContent },
            replacing: { name in saves.first { $0.name == name }?.old?.record }, container: outset.container,
            mode: service.options.schemaMode, isPublic: request.zone.isPublic, in: transaction)
    }

    private static func mutations(_ saves: [JudgedSave], _ removed: [RemovedRecord]) -> [RecordMutation] {
        saves.map { .save($0.record) } + removed.map { .delete($0.name) }
    }

    // MARK: Size

    /// Who is told that all of it does not fit into one transaction: the deletions that take others along, else all.
    private func sizeErrors(
        saves: [JudgedSave], deletes: [RecordName], removed: [RemovedRecord]
    ) -> [RecordName: CloudError] {
        let limit = ["byteLimit": "\(StoreLimits.maximumTransactionByteCount)"]
        let causes = Set(removed.lazy.filter { $0.cause != $0.name }.map(\.cause))
        guard causes.isEmpty else { return Self.refused(causes) { Cascades.tooLong($0, limit) } }
        return Self.refused(saves.map(\.name) + deletes) { Self.tooLarge($0) }
    }

    private static func tooLarge(_ name: RecordName) -> CloudError {
        CloudError(
            .limitExceeded, inner: CloudError.InnerCode.limit,
            "The items of the zone are larger than one transaction may be: split the request.", ["record": name.text])
    }

    private static func refused(
        _ names: some Sequence<RecordName>, _ error: (RecordName) -> CloudError
    ) -> [RecordName: CloudError] {
        Dictionary(names.map { ($0, error($0)) }) { first, _ in first }
    }
}

extension ZoneBatch {
    /// Gives the parents of saved records a new tag without an entry in the feed, where the host wants it (S-10, T-16).
    /// Clients are told that a tag may change so; where the transaction has no room left, it does not.
    mutating func touchParents() throws {
        guard service.options.childSaveTouchesParent else { return }
        var touched: Set<RecordName> = []
        for stored in saved.values {
            guard let parent = stored.record.parent, saved[parent] == nil else { continue }
            touched.insert(parent)
        }
        let zone = request.zone.id
        let plan = try transaction.planNewTags(for: touched.sorted(), salt: outset.tagSalt, in: zone)
        try transaction.apply(plan, in: zone)
    }
}
