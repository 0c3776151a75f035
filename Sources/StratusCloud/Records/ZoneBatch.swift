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
