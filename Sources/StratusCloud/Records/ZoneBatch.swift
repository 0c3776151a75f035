// Carries out what a request asks of one zone, inside one transaction. The body of the transaction may run twice, so a
// batch is made anew for each run and holds everything that changes.
//
// Judging reads each record once and decides it alone: access, policy, merge, references, sizes. Carrying out decides the
// records together: cascades, owning references, hierarchy, schema, quota; then everything is written. An atomic zone is
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
    let intake: [[UInt8]: Result<AssetDescriptor, CloudError>]
    /// Whose assets the zone's records hold.
    let assetOwner: UserName
}

/// One zone's items while they are carried out.
struct ZoneBatch {
    let service: CloudService
    let request: ZoneRequest
    let outset: BatchOutset
    let account: Account
    let transaction: RecordTransaction
    let zone: ZoneReader
    let claims: FieldClaims

    var errors: [RecordName: CloudError] = [:]
    var saves: [JudgedSave] = []
    var deletes: [RecordName] = []
    /// What was written, by name.
    var saved: [RecordName: StoredRecord] = [:]
    var hasWritten = false

    init(
        service: CloudService, request: ZoneRequest, outset: BatchOutset, account: Account,
        transaction: RecordTransaction, zone: ZoneReader
    ) {
        self.service = service
        self.request = request
        self.outset = outset
        self.account = account
        self.transaction = transaction
        self.zone = zone
        claims = FieldClaims(zone: request.zone, caller: account.userName, intake: outset.intake)
    }

    /// The answers to all items. Throws `NothingWritten` with them when nothing is to be committed.
    mutating func run() throws -> ZoneAnswer {
        try judge()
        if request.isAtomic {
            if errors.isEmpty {
                errors = try carryOut(saves: saves, deletes: deletes)
            } else {
                errors.merge(try structureErrors()) { own, _ in own }
            }
            guard errors.isEmpty else {
                errors = FailureSpread.atomicErrors(items, own: errors)
                throw NothingWritten(answer: answer)
            }
        } else if try !carryOut(saves: saves, deletes: deletes).isEmpty {
            try carryOutAlone()
        }
        try touchParents()
        guard hasWritten else { throw NothingWritten(answer: answer) }
        return answer
    }

    // MARK: Judging

    private mutating func judge() throws {
        saves.reserveCapacity(request.saves.count)
        for item in request.saves {
            do {
                if let error = item.error { throw error }
                saves.append(try judged(item))
            } catch let error as CloudError { errors[item.name] = error }
        }
        for item in request.deletes {
            do {
                if let error = item.error { throw error }
                try judge(item)
                deletes.append(item.name)
            } catch let error as CloudError { errors[item.name] = error }
        }
    }

    private func judged(_ item: ItemSave) throws -> JudgedSave {
        let save = item.save
        let stored = try zone.record(item.name)
        let owner = try userRecordOwner(of: item.name)
        let refusal = AccessVerdict.saveRefusal(
            type: RecordType(save.type), name: item.name, existing: stored, zone: request.zone,
            caller: account.userName, userRecordOwner: owner?.userName)
        if let refusal { throw refusal }
        let before = stored ?? owner.map { UserRecords.unsaved(of: $0) }
        switch SaveVerdict(save, policy: request.policy, storedTag: before?.system.changeTag) {
        case .refused(let reason):
            throw reason.error(item.name, serverRecord: before.map { clientRecord($0) })
        case .write(let keys, let parent):
            let record = try save.merged(
                into: before?.record, keys: keys, parent: parent, claims, service.options)
            return JudgedSave(
                name: item.name, record: record, old: stored, created: stored == nil ? before?.system.created : nil)
        }
    }

    private func judge(_ item: ItemDelete) throws {
        let owner = try userRecordOwner(of: item.name)
        guard request.zone.isPublic || owner != nil || service.options.unknownRecordDeletionFails else { return }
        let stored = try zone.record(item.name)
        let refusal = AccessVerdict.deleteRefusal(
            name: item.name, existing: stored, zone: request.zone, caller: account.userName,
            userRecordOwner: owner?.userName)
        if let refusal { throw refusal }
        if stored == nil, service.options.unknownRecordDeletionFails {
            throw SaveVerdict.Reason.deleted.error(item.name, serverRecord: nil)
        }
    }

    private func userRecordOwner(of name: RecordName) throws -> Account? {
        try UserRecords.owner(
            of: name, in: request.zone, caller: account, service.accountDirectory, reader: transaction)
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

    private var answer: ZoneAnswer {
        var answer = ZoneAnswer()
        for item in request.saves {
            if let error = errors[item.name] {
                answer.saves[item.index] = .failure(error)
            } else if let stored = saved[item.name] {
                answer.saves[item.index] = .success(clientRecord(stored))
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

    func clientRecord(_ stored: StoredRecord) -> ClientRecord {
        ClientRecord(stored, zone: request.zone.address, viewer: account.userName)
    }
}
