// Carries out what a request asks of one zone, inside one transaction. The body of the transaction may run twice, so a
// batch is made anew for each run and holds everything that changes.
//
// Judging reads each record once and decides it alone (`ZoneJudge`). Carrying out decides the records together: cascades,
// owning references, shares, hierarchy, schema, contents, size, quota; then everything is written. An atomic zone is
// carried out whole or not at all. Otherwise all that may be done is tried at once, and only where something of it
// is refused each item stands alone: saves with parents first, then deletes with children first.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// What a transaction is given from outside.
struct BatchOutset: Sendable {
    let container: ContainerName
    let stamp: Stamp
    let tagSalt: UInt32
    /// For the default zone, which is made when it is first written to.
    let birth: ZoneBirth
    let intake: AssetIntake
    /// The time at which leases are looked at.
    let uptimeSeconds: Double
    /// Whose device it is that asks.
    let origin: CommitOrigin
}

/// One zone's items while they are carried out.
struct ZoneBatch {
    let service: CloudService
    let request: ZoneRequest
    let outset: BatchOutset
    let account: Account
    let transaction: RecordTransaction
    let zone: ZoneReader
    let judge: ZoneJudge

    var errors: [RecordName: CloudError] = [:]
    var saves: [JudgedSave] = []
    var deletes: [RecordName] = []
    /// The deletions by which the caller leaves a share (P-13).
    var leaves: [RecordName: JudgedSave] = [:]
    /// Whom the host is to tell that they are invited.
    var invitations: [ShareInvitation] = []
    /// The shares that deletions have ended.
    var endedShares: [RecordName] = []
    /// What was written, by name.
    var saved: [RecordName: StoredRecord] = [:]
    var hasWritten = false
    /// Records that cascades may still look at, refused ones included: what bounds the work of a request.
    var cascadeVisitCount: Int

    init(
        service: CloudService, request: ZoneRequest, outset: BatchOutset, account: Account,
        transaction: RecordTransaction, zone: ZoneReader
    ) throws {
        self.service = service
        self.request = request
        self.outset = outset
        self.account = account
        self.transaction = transaction
        self.zone = zone
        judge = try ZoneJudge(service, request, account, transaction, zone: zone, intake: outset.intake)
        cascadeVisitCount = 4 * service.engine.options.limits.requestItemCount
    }

    /// The answers to all items. Throws `NothingWritten` with them when nothing is to be committed.
    mutating func run() throws -> ZoneAnswer {
        guard try judge.access.isZoneVisible() || onlyLeaves() else {
            throw NothingWritten(answer: request.answer(failing: ScopeVerdict.zoneNotFound(request.zone.address)))
        }
        if let answer = try repeatedAnswer() { throw NothingWritten(answer: answer) }
        try judgeItems()
        if request.isAtomic {
            if errors.isEmpty {
                errors = try carryOut(saves: saves, deletes: deletes)
            } else {
                errors.merge(try structureErrors()) { own, _ in own }
            }
            guard errors.isEmpty else {
                errors = FailureSpread.atomicErrors(items, own: errors)
                throw NothingWritten(answer: try answer())
            }
        } else if try !carryOut(saves: saves, deletes: deletes).isEmpty {
            try carryOutAlone()
        }
        guard hasWritten else { throw NothingWritten(answer: try answer()) }
        try noteClientToken()
        // With what room is left.
        try touchParents()
        return try answer()
    }

    /// Whether all that is asked is to leave shares that the caller has accepted. Whoever has a place without any
    /// permission sees nothing of the zone, and may give the place up all the same (P-13).
    private func onlyLeaves() throws -> Bool {
        try request.saves.isEmpty && request.deletes.allSatisfy { try judge.access.mayLeave($0.name) }
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

    /// Every item with the parent a save would have had.
    private var items: [(name: RecordName, parent: RecordName?)] {
        request.saves.map { ($0.name, sentParent($0)) } + request.deletes.map { ($0.name, nil) }
    }

    /// The parent that an item would get, as far as that can be said.
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
                    CloudError(.internalError, "The save has no outcome.", ["record": item.name.text]))
            }
        }
        for item in request.deletes {
            answer.deletes[item.index] = errors[item.name].map { .failure($0) } ?? .success(())
        }
        return answer
    }
}

// Deciding records together, and writing them.

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
        for name in touched.sorted() {
            guard var stored = try zone.record(name) else { continue }
            // Another salt makes another tag of the same sequence, so that the record stays where it is in the feed.
            stored.system.tagSalt = stored.system.tagSalt == outset.tagSalt ? outset.tagSalt &+ 1 : outset.tagSalt
            let value = try RecordCodec.encoded(stored)
            let chunks = try RecordChunks.split(value, record: name, changeSequence: stored.system.changeSequence)
            let writes = chunks.enumerated().map { index, chunk in
                (key: index == 0 ? zone.keys.record(name) : zone.keys.recordChunk(name, index: index), value: chunk)
            }
            let byteCount = writes.reduce(0) { $0 + $1.key.count + $1.value.count }
            guard transaction.hasRoom(forByteCount: byteCount) else { return }
            for write in writes { try transaction.set(write.key, to: write.value) }
        }
    }
}

// Each item by itself, in one transaction: what isAtomic = false means, and every change of a zone that is not
// transactional. A new share and its root are one item.

extension ZoneBatch {
    /// Saves with parents first, then deletes with children first. What fails leaves the others as they are.
    mutating func carryOutAlone() throws {
        let saveByName = Dictionary(uniqueKeysWithValues: saves.map { ($0.name, $0) })
        let newShares = newShares
        var (units, late): ([[JudgedSave]], [JudgedSave]) = ([], [])
        for name in Self.parentsFirst(saves.map { ($0.name, $0.record.parent) }) {
            guard let save = saveByName[name] else { continue }
            if let root = save.share?.newRoot {
                // The first one goes with its root; others are in its way, or have no root.
                if newShares[root] != name || saveByName[root] == nil { late.append(save) }
            } else {
                units.append([save] + [newShares[name].flatMap { saveByName[$0] }].compactMap { $0 })
            }
        }
        try carryOut(units)
        for save in late { try carryOut(unit: [save]) }
        let places = try deletes.map { ($0, try zone.node($0)?.parent) }
        for name in Self.parentsFirst(places).reversed() {
            errors[name] = try carryOut(saves: [], deletes: [name])[name]
        }
    }

    /// Saves units in their order. One with an empty list in a field of no type waits for another that gives the field its
    /// type, and its children wait for it.
    private mutating func carryOut(_ units: [[JudgedSave]]) throws {
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
                    try carryOut(unit: unit)
                }
            }
            if left.count == waiting.count {
                // Each of them may give another's field its type.
                if left.count > 1, try carryOut(saves: left.flatMap { $0 }, deletes: []).isEmpty { return }
                // Nothing gives the first one its type: it fails, and the others are looked at again.
                try carryOut(unit: left.removeFirst())
            }
            waiting = left
        }
    }

    private func hasEmptyListOfNoType(_ save: JudgedSave) throws -> Bool {
        try service.schemaKeeper.hasEmptyListOfNoType(
            save.record, replacing: save.old?.record, container: outset.container, in: transaction)
    }

    private mutating func carryOut(unit: [JudgedSave]) throws {
        let failures = try carryOut(saves: unit, deletes: [])
        guard !failures.isEmpty else { return }
        for member in unit {
            errors[member.name] = spread(failures[member.name] ?? FailureSpread.batchRequestFailed, to: member)
        }
    }

    /// The first new share of each root: a share and its root stand together, for neither is without the other (SH-03).
    private var newShares: [RecordName: RecordName] {
        Dictionary(saves.compactMap { save in save.share?.newRoot.map { ($0, save.name) } }) { first, _ in first }
    }

    /// The error of a save whose parent's failure says more than its own.
    private func spread(_ error: CloudError, to save: JudgedSave) -> CloudError {
        guard error.code == .referenceViolation, let parent = save.record.parent, let above = errors[parent] else {
            return error
        }
        return FailureSpread.childError(ofParentFailing: above, save.name) ?? error
    }

    /// The names so that each stands behind its parent, if that is among them; those on a cycle in any order.
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

// A request that a client repeats, because its answer got lost (S-21), is recognised by what the client sent with it and is
// not applied again (T-11).

extension ZoneBatch {
    /// The answer to a request that was processed already: the records as they are now. Nil for every other request.
    func repeatedAnswer() throws -> ZoneAnswer? {
        guard let token = request.clientToken,
            try ClientTokens.entry(of: account.userName, in: zone)?.data == token
        else { return nil }
        var answer = ZoneAnswer()
        for item in request.saves {
            if let stored = try zone.record(item.name), let shown = try judge.shown(stored) {
                answer.saves[item.index] = .success(shown)
            } else {
                answer.saves[item.index] = .failure(
                    CloudError(
                        .unknownItem, inner: CloudError.InnerCode.unknownItem, "Record not found",
                        ["record": item.name.text]))
            }
        }
        for item in request.deletes { answer.deletes[item.index] = .success(()) }
        return answer
    }

    /// Remembers what the client sent. Not where an item failed, which another try is to save, and not of somebody who
    /// has just left: nothing of theirs stays in another's zone.
    func noteClientToken() throws {
        guard let token = request.clientToken, errors.isEmpty, try judge.access.isZoneVisible() else { return }
        try ClientTokens.note(
            token, sequence: zone.header().sequence, of: account.userName, in: zone, transaction)
    }
}

// What a zone's items change beside its records: what is counted for their owner, and who holds which content.

/// The contents that records begin and cease to hold, with how often.
struct AssetChange {
    private(set) var added: [AssetDescriptor: Int] = [:]
    private(set) var gone: [AssetDescriptor: Int] = [:]

    init(saves: [JudgedSave], removed: [RemovedRecord]) {
        for save in saves {
            added.merge(save.record.assets, uniquingKeysWith: +)
            if let old = save.old { gone.merge(old.record.assets, uniquingKeysWith: +) }
        }
        for record in removed { gone.merge(record.assets, uniquingKeysWith: +) }
    }

    var isEmpty: Bool { added.isEmpty && gone.isEmpty }
}

extension ZoneBatch {
    /// Charges what the zone then holds more or less to its owner, which for public data is the app (S-16). Returns the
    /// error when there is no room.
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

    /// The saves that newly hold a content that is not to be had any more.
    func contentErrors(saves: [JudgedSave], _ assets: AssetChange) throws -> [RecordName: CloudError] {
        // Contents that were not taken in have no lease, and are not written either.
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

    func settle(_ assets: AssetChange) throws {
        guard !assets.isEmpty else { return }
        try service.assetLedger.settle(
            adding: assets.added, removing: assets.gone, owner: request.zone.assetOwner,
            atUptimeSeconds: outset.uptimeSeconds, in: transaction)
        let change = assets.added.values.reduce(0, +) - assets.gone.values.reduce(0, +)
        try ZoneFacts.changeAssetCount(
            by: change, of: request.zone.id.name, DatabaseKeys(zone.keys.database), in: transaction)
    }

    /// The most bytes that `charge` and `settle` write.
    func ledgerByteCount(_ assets: AssetChange) -> Int {
        let entryByteCount =
            GlobalKeys.asset(owner: request.zone.assetOwner, digest: AssetIntake.unknownDigest).count + 24
        return (assets.added.count + assets.gone.count) * entryByteCount + 4 * StoreLimits.maximumKeyByteCount
    }
}
