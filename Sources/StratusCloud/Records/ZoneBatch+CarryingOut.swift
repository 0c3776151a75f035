// Deciding records together, and writing them.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension ZoneBatch {
    /// Saves and deletes records together, whole or not at all.
    ///
    /// Returns the errors of the items that cannot be done; nothing is written then. Everything is decided before
    /// anything is written.
    mutating func carryOut(saves: [JudgedSave], deletes: [RecordName]) throws -> [RecordName: CloudError] {
        let limit = service.engine.options.limits.requestItemCount
        guard saves.count <= limit else { return Self.refused(saves.map(\.name)) { Self.tooLarge($0) } }
        var kept = Set(saves.map(\.name))
        kept.formUnion(saved.keys)
        let cascades = try Cascades(
            of: deletes, keeping: kept, limit: limit - saves.count, visitCount: &cascadeVisitCount, in: zone)
        guard cascades.errors.isEmpty else {
            guard request.isAtomic else { return cascades.errors }
            return cascades.errors.merging(try structureErrors()) { own, _ in own }
        }
        let removed = cascades.removed
        var failures = try OwnedRecordLimit(zone: zone, limit: service.options.owningReferenceCount)
            .errors(saves: saves, removed: Set(removed.map(\.name)))
        var plan: MutationPlan?
        do {
            plan = try transaction.plan(mutationRequest(Self.mutations(saves, removed), saves), in: request.zone.id)
        } catch let refused as RequestRefused {
            failures.merge(itemErrors(refused, removed: removed)) { own, _ in own }
        }
        guard failures.isEmpty || request.isAtomic else { return failures }
        let schema = try judgeSchema(of: saves)
        failures.merge(schema.errors) { own, _ in own }
        let assets = AssetChange(saves: saves, removed: removed)
        failures.merge(try contentErrors(saves: saves, assets)) { own, _ in own }
        guard failures.isEmpty, let plan else { return failures }
        guard transaction.hasRoom(for: plan, besides: schema.byteCount + ledgerByteCount(assets)) else {
            return sizeErrors(saves: saves, deletes: deletes, removed: removed)
        }
        if let error = try charge(saves: saves, removed: removed, zone: plan.header.identity) {
            return Self.refused(saves.map(\.name)) { _ in error }
        }
        try settle(assets)
        try transaction.carryOut(plan, in: request.zone.id)
        try service.schemaKeeper.learn(schema, in: transaction)
        for stored in plan.saved { saved[stored.record.name] = stored }
        if !plan.isEmpty { hasWritten = true }
        return [:]
    }

    /// What else is wrong in a zone in which items have failed already, so that each gets its own error and not that of
    /// another: the hierarchy, judged as if the failed records were there, and the schema.
    func structureErrors() throws -> [RecordName: CloudError] {
        var mutations = saves.map { RecordMutation.save($0.record) } + deletes.map { RecordMutation.delete($0) }
        for item in request.saves where errors[item.name] != nil {
            guard NameRules.recordNameError(item.save.address.recordName) == nil, try zone.node(item.name) == nil else {
                continue
            }
            let parent = sentParent(item).flatMap { NameRules.recordNameError($0.text) == nil ? $0 : nil }
            mutations.append(.save(Record(name: item.name, type: AccessVerdict.usersType, parent: parent)))
        }
        var found = try judgeSchema(of: saves).errors
        do {
            _ = try transaction.plan(mutationRequest(mutations), in: request.zone.id)
        } catch let refused as RequestRefused {
            // A deletion may be refused here only for records that its cascade would take along.
            let names = Set(saves.map(\.name))
            for (name, refusal) in refused.refusals where names.contains(name) { found[name] = refusal.error(name) }
        }
        return found
    }

    private func mutationRequest(_ mutations: [RecordMutation], _ saves: [JudgedSave] = []) -> MutationRequest {
        var request = MutationRequest(mutations, stamp: outset.stamp, tagSalt: outset.tagSalt)
        for save in saves { request.creations[save.name] = save.created }
        return request
    }

    /// Refusals as the errors of items: that of a record deleted by a cascade is its cause's.
    private func itemErrors(_ refused: RequestRefused, removed: [RemovedRecord]) -> [RecordName: CloudError] {
        var causes: [RecordName: RecordName] = [:]
        for record in removed { causes[record.name] = record.cause }
        var errors: [RecordName: CloudError] = [:]
        for (name, refusal) in refused.refusals.sorted(by: { $0.key < $1.key }) {
            let item = causes[name] ?? name
            if errors[item] == nil { errors[item] = refusal.error(name) }
        }
        return errors
    }

    private func judgeSchema(of saves: [JudgedSave]) throws -> SchemaJudgement {
        try service.schemaKeeper.judge(
            saves.map(\.record), container: outset.container, mode: service.options.schemaMode,
            isPublic: request.zone.isPublic, in: transaction)
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
    mutating func touchParents() throws {
        guard service.options.childSaveTouchesParent else { return }
        var touched: Set<RecordName> = []
        for stored in saved.values {
            guard let parent = stored.record.parent, saved[parent] == nil else { continue }
            touched.insert(parent)
        }
        for name in touched.sorted() {
            guard var stored = try zone.record(name), let numbers = ChangeTag.numbers(of: stored.system.changeTag)
            else { continue }
            // Another salt makes another tag of the same sequence, so that the record stays where it is in the feed.
            let salt = numbers.salt == outset.tagSalt ? outset.tagSalt &+ 1 : outset.tagSalt
            stored.system.changeTag = ChangeTag.text(sequence: numbers.sequence, salt: salt)
            let value = try RecordCodec.encoded(stored)
            let chunks = try RecordChunks.split(value, record: name, changeSequence: numbers.sequence)
            for (index, chunk) in chunks.enumerated() {
                let key = index == 0 ? zone.keys.record(name) : zone.keys.recordChunk(name, index: index)
                try transaction.set(key, to: chunk)
            }
        }
    }
}
