// Deciding records together, and writing them.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension ZoneBatch {
    /// Saves and deletes records together, whole or not at all.
    ///
    /// Returns the errors of the items that cannot be done; nothing is written then.
    mutating func carryOut(saves: [JudgedSave], deletes: [RecordName]) throws -> [RecordName: CloudError] {
        var kept = Set(saves.map(\.name))
        kept.formUnion(saved.keys)
        let removed = try zone.removed(
            with: deletes, keeping: kept, limit: service.engine.options.limits.requestItemCount)
        var failures = try OwnedRecordLimit(zone: zone, limit: service.options.owningReferenceCount)
            .errors(saves: saves, removed: Set(removed.map(\.name)))
        let mutations =
            saves.map { RecordMutation.save($0.record) }
            + removed.map { RecordMutation.delete($0.name) }
        let plan: MutationPlan
        do {
            plan = try transaction.plan(mutationRequest(mutations, saves), in: request.zone.id)
        } catch let refused as RequestRefused {
            let structure = itemErrors(refused, removed: removed)
            failures.merge(structure) { own, _ in own }
            if request.isAtomic { failures.merge(try schemaErrors(of: saves.map(\.record))) { own, _ in own } }
            return failures
        }
        if failures.isEmpty || request.isAtomic {
            failures.merge(try schemaErrors(of: saves.map(\.record))) { own, _ in own }
        }
        guard failures.isEmpty else { return failures }
        if let error = try charge(saves: saves, removed: removed, zone: plan.header.identity) {
            return Dictionary(uniqueKeysWithValues: (saves.map(\.name)).map { ($0, error) })
        }
        try settleAssets(saves: saves, removed: removed)
        try transaction.carryOut(plan, in: request.zone.id)
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
        var found = try schemaErrors(of: saves.map(\.record))
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

    private func schemaErrors(of records: [Record]) throws -> [RecordName: CloudError] {
        guard !records.isEmpty else { return [:] }
        return try service.schemaKeeper.admit(
            records, container: outset.container, mode: service.options.schemaMode, isPublic: request.zone.isPublic,
            in: transaction)
    }

    /// Charges what the zone then holds more or less to its owner; public data is charged to nobody.
    private func charge(saves: [JudgedSave], removed: [RemovedRecord], zone: UUID) throws -> CloudError? {
        guard !request.zone.isPublic else { return nil }
        var change: Int64 = 0
        for save in saves {
            change += QuotaLedger.byteCount(of: save.record)
            if let old = save.old { change -= QuotaLedger.byteCount(of: old.record) }
        }
        for record in removed { change -= record.byteCount }
        do {
            try QuotaLedger.charge(
                byteCount: change, to: account.userName, zone: zone, limit: service.quotaLimit(of: account),
                in: transaction)
            return nil
        } catch let error as CloudError where error.code == .quotaExceeded {
            return error
        }
    }

    private func settleAssets(saves: [JudgedSave], removed: [RemovedRecord]) throws {
        var added: [AssetDescriptor: Int] = [:]
        var gone: [AssetDescriptor: Int] = [:]
        for save in saves {
            added.merge(save.record.assets, uniquingKeysWith: +)
            if let old = save.old { gone.merge(old.record.assets, uniquingKeysWith: +) }
        }
        for record in removed { gone.merge(record.assets, uniquingKeysWith: +) }
        guard !added.isEmpty || !gone.isEmpty else { return }
        try service.assetLedger.settle(
            adding: added, removing: gone, owner: outset.assetOwner, in: transaction)
        let change = added.values.reduce(0, +) - gone.values.reduce(0, +)
        try ZoneFacts.changeAssetCount(
            by: change, of: request.zone.id.name, DatabaseKeys(zone.keys.database), in: transaction)
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
