// Applies what a request asks of one zone, inside one transaction. The body of a transaction may run twice, so each run
// creates its own batch, which holds everything that changes.
//
//   1. Answer a repeated request from the records as they are, and write nothing (S-21, T-11).
//   2. Judge each item alone; read each record once (`ZoneJudge`): `judgeItems`.
//   3. Decide the items together: cascades, owning references, shares, hierarchy, schema, assets, size, quota.
//      Nothing is written before all of it is decided: `decideAndWrite`.
//   4. Write the ledgers, the records with their journal entry, what shares change elsewhere, and the schema.
//   5. Note the client's token, and give parents new tags (S-10).
//
// An atomic zone is written whole or not at all. In any other zone steps 3 and 4 first run for all items that
// passed step 2. Only if one of them is refused do they run again for each item alone: saves with parents first,
// then deletes with children first. `ZoneBatch+Effects.swift` has what the items change outside their own records.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// What is drawn or read before a zone's transaction, because its body may run twice.
struct BatchOutset: Sendable {
    let caller: Caller
    let stamp: Stamp
    let tagSalt: UInt32
    /// For the default zone, which the first write creates; nil for any other zone.
    let birth: ZoneBirth?
    /// The time at which leases are checked.
    let uptimeSeconds: Double
}

/// One zone's items while they are applied.
struct ZoneBatch {
    let service: CloudService
    let request: ZoneRequest
    let outset: BatchOutset
    let account: StoredAccount
    let transaction: RecordTransaction
    let zone: ZoneReader
    let judge: ZoneJudge

    var errors: [RecordName: CloudError] = [:]
    var saves: [JudgedSave] = []
    var deletes: [RecordName] = []
    /// The deletions by which the caller leaves a share (P-13).
    var leaves: [RecordName: JudgedSave] = [:]
    /// The people to whom the host must send an invitation.
    var invitations: [ShareInvitation] = []
    /// The shares that deletions have ended.
    var endedShares: [RecordName] = []
    /// The written records, by name.
    var saved: [RecordName: StoredRecord] = [:]
    var hasWritten = false
    /// What cascades may still visit, refused ones included. It bounds the work of a request.
    var cascadeBudget: CascadeBudget

    /// Returns the answers to all items. Throws `NothingWritten` with them when there is nothing to commit.
    mutating func run() throws -> ZoneAnswer {
        guard try judge.maySeeZone() else {
            throw NothingWritten(answer: request.answer(failing: ScopeVerdict.zoneNotFound(request.zone.address)))
        }
        if let answer = try repeatedAnswer() { throw NothingWritten(answer: answer) }
        try judgeItems()
        if request.isAtomic {
            if errors.isEmpty {
                errors = try writeTogether(saves: saves, deletes: deletes)
            } else {
                errors.merge(try structureErrors()) { own, _ in own }
            }
            guard errors.isEmpty else {
                errors = FailureSpread.atomicErrors(items, own: errors)
                throw NothingWritten(answer: try answer())
            }
        } else if try !writeTogether(saves: saves, deletes: deletes).isEmpty {
            try writeEachAlone()
        }
        guard hasWritten else { throw NothingWritten(answer: try answer()) }
        try noteClientToken()
        // Last, because it only uses the room that is left.
        try touchParents()
        return try answer()
    }

    // MARK: Judging

    private mutating func judgeItems() throws {
        saves.reserveCapacity(request.saves.count)
        for item in request.saves {
            do { saves.append(try judge.judged(item)) } catch let error as CloudError { errors[item.name] = error }
        }
        for item in request.deletes {
            do {
                switch try judge.judged(item) {
                case .nothing: continue
                case .leave(let save): leaves[item.name] = save
                case .delete: break
                }
                deletes.append(item.name)
            } catch let error as CloudError { errors[item.name] = error }
        }
    }

    // MARK: Answers

    /// Every item with the parent that its save would set.
    private var items: [(name: RecordName, parent: RecordName?)] {
        request.saves.map { ($0.name, sentParent($0)) } + request.deletes.map { ($0.name, nil) }
    }

    /// The parent that a save would set; nil if it has none in this zone.
    func sentParent(_ item: ItemSave) -> RecordName? {
        guard let parent = item.save.parent?.target else { return nil }
        return ScopeVerdict.canonical(parent.zone, caller: account.userName) == request.zone.address
            ? RecordName(parent.recordName) : nil
    }

    private func answer() throws -> ZoneAnswer {
        var answer = ZoneAnswer()
        answer.invitations = invitations
        answer.endedShares = endedShares.map { RecordAddress(recordName: $0.text, zone: request.zone.address) }
        for item in request.saves {
            if let error = errors[item.name] {
                answer.saves[item.index] = .failure(error)
            } else if let stored = saved[item.name] {
                answer.saves[item.index] = .success(try judge.answer(stored, to: item.save))
            } else {
                answer.saves[item.index] = .failure(
                    CloudError(
                        .internalError, "The server has not decided this save: report this error.",
                        ["record": item.name.text]))
            }
        }
        for item in request.deletes {
            answer.deletes[item.index] = errors[item.name].map { .failure($0) } ?? .success(Done())
        }
        return answer
    }
}

// MARK: Items together

extension ZoneBatch {
    /// Saves and deletes records together, all or none.
    ///
    /// Returns the errors of the items that are refused; then nothing is written. If a participant's deletion is
    /// refused with its whole cascade, it is tried again without the records that the participant does not see, which
    /// then stay. A participant may not learn why those records cannot be deleted (decision 0019).
    private mutating func writeTogether(
        saves: [JudgedSave], deletes: [RecordName]
    ) throws -> [RecordName: CloudError] {
        let saves = try owningOnlySeen(saves)
        let visitCount = cascadeBudget.visitCount
        let errors = try decideAndWrite(saves: saves, deletes: deletes, cascadingToUnseen: true)
        guard request.zone.isShared, !errors.isEmpty, !deletes.isEmpty else { return errors }
        cascadeBudget.visitCount = visitCount
        return try decideAndWrite(saves: saves, deletes: deletes, cascadingToUnseen: false)
    }

    /// A participant's saves. A new `deleteSelf` reference to a record that they do not see becomes one without action,
    /// because its cascade would reveal that record (decision 0019).
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

    /// Steps 3 and 4. Returns the errors of refused items; then nothing is written.
    private mutating func decideAndWrite(
        saves: [JudgedSave], deletes: [RecordName], cascadingToUnseen: Bool
    ) throws -> [RecordName: CloudError] {
        let limit = service.engine.options.limits.requestItemCount
        guard saves.count <= limit else { return Self.refused(saves.map(\.name)) { Self.tooLarge($0) } }
        let leaving = deletes.compactMap { leaves[$0] }
        var kept = Set(saves.map(\.name))
        kept.formUnion(saved.keys)
        kept.formUnion(leaving.lazy.map(\.name))
        let cascades = try Cascades(
            of: leaving.isEmpty ? deletes : deletes.filter { leaves[$0] == nil }, keeping: kept,
            limit: limit - saves.count - leaving.count, budget: &cascadeBudget, in: zone, transaction,
            including: { [judge] name in try cascadingToUnseen || judge.access.sees(name) })
        guard cascades.errors.isEmpty else {
            guard request.isAtomic else { return cascades.errors }
            return cascades.errors.merging(try structureErrors()) { own, _ in own }
        }
        let removed = cascades.removed
        var failures = try zone.owningErrors(
            of: saves, removed: Set(removed.map(\.name)), limit: service.options.owningReferenceCount)
        failures.merge(try shareErrors(saves: saves, removed: removed, kept: kept)) { own, _ in own }
        let changes = try shareChanges(saves: saves, leaving: leaving, removed: removed)
        guard changes.saves.count + removed.count <= limit else {
            return Self.refused(changes.causes.values) { Cascades.tooLong($0, ["recordLimit": "\(limit)"]) }
        }
        let schema = try judgeSchema(of: saves)
        var plan: MutationPlan?
        do {
            let mutations = changes.saves.map { RecordMutation.save($0.record) } + removed.map { .delete($0.name) }
            var request = mutationRequest(mutations, changes.saves)
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
        let settlement =
            try changes.shares.isEmpty
            ? nil : shareWriter.settlement(of: changes.shares, with: plan, stamp: outset.stamp)
        let besides =
            schema.countedByteCount + ledgerByteCount(assets) + tokenByteCount(removed)
            + (settlement?.countedByteCount ?? 0)
        let noted = try journal.byteCount(in: request.zone.id, transaction)
        guard transaction.hasRoom(for: plan, besides: besides + noted) else {
            return sizeErrors(saves: saves, deletes: deletes, removed: removed)
        }
        if let error = try charge(saves: changes.saves, removed: removed, zone: plan.header.identity) {
            return Self.refused(saves.map(\.name)) { _ in error }
        }
        if !assets.isEmpty {
            try service.assetLedger.settle(
                adding: assets.added, removing: assets.gone, in: zone, atUptimeSeconds: outset.uptimeSeconds,
                transaction)
        }
        try journal.apply(plan, in: request.zone.id, transaction, learnt: schema.types, keeping: besides)
        try settle(settlement, saves, removed: removed)
        endedShares += removed.lazy.filter { $0.content != nil }.map(\.name) + leaving.map(\.name)
        try service.schemaKeeper.learn(schema, in: transaction)
        for stored in plan.saved where changes.isAsked(stored.record.name) || saved[stored.record.name] != nil {
            saved[stored.record.name] = stored
        }
        if !plan.isEmpty { hasWritten = true }
        return [:]
    }

    /// Finds further errors in a zone in which items have failed already, so that each item gets its own error and not
    /// that of another item. Checks the hierarchy as if the failed records were there, and the schema.
    private func structureErrors() throws -> [RecordName: CloudError] {
        let conflicts = try conflictErrors(saves)
        let changes = try shareChanges(saves: saves, leaving: Array(leaves.values), removed: [])
        var mutations = changes.saves.map { RecordMutation.save($0.record) }
        mutations += deletes.lazy.filter { leaves[$0] == nil }.map { RecordMutation.delete($0) }
        for item in request.saves where errors[item.name] != nil {
            guard NameRules.recordNameError(item.save.address.recordName) == nil, try zone.node(item.name) == nil else {
                continue
            }
            // The parent of a record that the caller may not know of must not affect the others.
            let parent =
                request.zone.isShared
                ? nil : sentParent(item).flatMap { NameRules.recordNameError($0.text) == nil ? $0 : nil }
            mutations.append(.save(Record(name: item.name, type: AccessVerdict.usersType, parent: parent)))
        }
        var found = try judgeSchema(of: saves).errors.merging(conflicts) { _, conflict in conflict }
        do {
            _ = try transaction.plan(mutationRequest(mutations), in: request.zone.id)
        } catch let refused as RequestRefused {
            // Refusals of deletions are ignored: a cascade may remove what they are refused for.
            let names = Set(saves.map(\.name))
            for (name, refusal) in refused.refusals.sorted(by: { $0.key < $1.key }) where names.contains(name) {
                let (item, error) = try itemError(refusal, of: name, saves)
                if found[item] == nil { found[item] = error }
            }
        }
        return found
    }

    private var journal: CommitJournal { service.journal(outset.caller) }

    private func mutationRequest(_ mutations: [RecordMutation], _ saves: [JudgedSave] = []) -> MutationRequest {
        var request = MutationRequest(mutations, stamp: outset.stamp, tagSalt: outset.tagSalt)
        for save in saves { request.creations[save.name] = save.created }
        request.asksForMemberships = self.request.zone.isShared
        return request
    }

    /// Refusals as the errors of items. The refusal of a record that a cascade deletes is the error of its cause; that
    /// of a root that loses its mark with its share is the share's.
    private func itemErrors(
        _ refused: RequestRefused, _ saves: [JudgedSave], removed: [RemovedRecord], _ changes: ShareChanges
    ) throws -> [RecordName: CloudError] {
        var causes = changes.causes
        for record in removed { causes[record.name] = record.cause }
        var errors: [RecordName: CloudError] = [:]
        for (name, refusal) in refused.refusals.sorted(by: { $0.key < $1.key }) {
            // A root that only loses its mark keeps its parent: another item causes its refusal, and reports it.
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
            replacing: { name in saves.first { $0.name == name }?.old?.record }, container: outset.caller.container,
            mode: service.options.schemaMode, isPublic: request.zone.isPublic, in: transaction)
    }

    // MARK: Size

    /// The errors when the items do not fit into one transaction: of the deletions with cascades, else of all items.
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
            "The items of the zone are too large for one transaction. Split the request.", ["record": name.text])
    }

    private static func refused(
        _ names: some Sequence<RecordName>, _ error: (RecordName) -> CloudError
    ) -> [RecordName: CloudError] {
        Dictionary(names.map { ($0, error($0)) }) { first, _ in first }
    }
}

// MARK: Each item alone

extension ZoneBatch {
    /// Writes each item alone, in the same transaction: saves with parents first, then deletes with children first.
    /// A failure does not affect the other items. A new share and its root are one item.
    private mutating func writeEachAlone() throws {
        let saveByName = Dictionary(uniqueKeysWithValues: saves.map { ($0.name, $0) })
        // The first new share of each root. A share and its root are saved together: neither exists without the other
        // (SH-03).
        let newShares = Dictionary(
            saves.compactMap { save in save.share?.newRoot.map { ($0, save.name) } }
        ) { first, _ in first }
        var (units, late): ([[JudgedSave]], [JudgedSave]) = ([], [])
        for name in Self.parentsFirst(saves.map { ($0.name, $0.record.parent) }) {
            guard let save = saveByName[name] else { continue }
            if let root = save.share?.newRoot {
                // The first share goes with its root. Others conflict with it, or have no root.
                if newShares[root] != name || saveByName[root] == nil { late.append(save) }
            } else {
                units.append([save] + [newShares[name].flatMap { saveByName[$0] }].compactMap { $0 })
            }
        }
        try writeInOrder(units)
        for save in late { try write([save]) }
        let places = try deletes.map { ($0, try zone.node($0)?.parent) }
        for name in Self.parentsFirst(places).reversed() {
            errors[name] = try writeTogether(saves: [], deletes: [name])[name]
        }
    }

    /// Saves units in their order. A unit with an empty list in a field of no type waits for another unit that gives
    /// the field its type, and its children wait for it.
    private mutating func writeInOrder(_ units: [[JudgedSave]]) throws {
        var waiting = units
        while !waiting.isEmpty {
            var left: [[JudgedSave]] = []
            var leftNames: Set<RecordName> = []
            for unit in waiting {
                let awaitsParent = unit.contains { $0.record.parent.map(leftNames.contains) ?? false }
                if try awaitsParent || unit.contains(where: hasEmptyListOfNoType) {
                    left.append(unit)
                    leftNames.formUnion(unit.map(\.name))
                } else {
                    try write(unit)
                }
            }
            if left.count == waiting.count {
                // Each of them may give a field of another its type.
                if left.count > 1, try writeTogether(saves: left.flatMap { $0 }, deletes: []).isEmpty { return }
                // Nothing gives the first one its type: it fails. Then check the others again.
                try write(left.removeFirst())
            }
            waiting = left
        }
    }

    /// Whether a record sets a field of unknown type to an empty list. Another record may give the field its type.
    private func hasEmptyListOfNoType(_ save: JudgedSave) throws -> Bool {
        let known = try service.schemaKeeper.schema(
            of: save.record.type, container: outset.caller.container, in: transaction)
        return SchemaVerdict.emptyListError(save.record, known, replacing: { _ in save.old?.record }) != nil
    }

    /// Saves a unit, all or none, and notes its members' errors.
    private mutating func write(_ unit: [JudgedSave]) throws {
        let failures = try writeTogether(saves: unit, deletes: [])
        guard !failures.isEmpty else { return }
        for member in unit {
            var error = failures[member.name] ?? FailureSpread.batchRequestFailed
            // If its parent failed too, that failure explains more.
            if error.code == .referenceViolation, let above = member.record.parent.flatMap({ errors[$0] }) {
                error = FailureSpread.childError(ofParentFailing: above, member.name) ?? error
            }
            errors[member.name] = error
        }
    }

    /// Sorts names so that each follows its parent, if that is among them. Names on a cycle come in any order.
    static func parentsFirst(_ items: [(name: RecordName, parent: RecordName?)]) -> [RecordName] {
        let parents = Dictionary(items.map { ($0.name, $0.parent) }, uniquingKeysWith: { first, _ in first })
        var sorted: [RecordName] = []
        var placed: Set<RecordName> = []
        for item in items {
            var path: [RecordName] = []
            var next: RecordName? = item.name
            while let name = next, let parent = parents[name], placed.insert(name).inserted {
                path.append(name)
                next = parent
            }
            sorted += path.reversed()
        }
        return sorted
    }
}
