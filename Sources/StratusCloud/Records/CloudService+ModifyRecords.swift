// Saving and deleting records: the pipeline.
//
//   1. Limits of the request: items, bytes.                               (RequestLimits)
//   2. The caller's account and its standing.                             (AccountVerdict)
//   3. Sorting: records named twice fail the request; each item's zone is resolved; planned faults, misuse remembered by
//      the client, the account that fetched the record, names.            (RequestSorter, ScopeVerdict, NameRules)
//   4. Files of assets: what is refused whatever they hold is refused first; the others are taken in and durable before
//      any commit.                                                        (AssetPreflight, AssetIntake, AssetStore)
//   Then one transaction for each zone, in the order of the request:
//   5. The account again, and the zone; the default zone is made when it is first written to.
//   6. Judging each record: access, policy and tag, merge, references, sizes; who takes part in a share.
//                                                    (ZoneJudge, ZoneAccess, AccessVerdict, SaveVerdict, ShareVerdict)
//   7. Cascades of deletions, owning references.                          (Cascades, OwnedRecords)
//   8. Shares in the way, marks of roots; the plan of the record layer: parents, children, cycles; where participants'
//      records will lie.                                                  (ZoneBatch+Shares, RefusalVerdict, ZoneAccess)
//   9. Schema, contents of assets, the store's limit, quota.              (SchemaKeeper, AssetLedger, QuotaLedger)
//  10. Writing: ledgers, records, what shares have outside their records, and last what was learnt. A zone that is atomic
//      is written whole or not at all; in any other each item stands alone.
//  11. How a failure spreads to the other items of its zone.              (FailureSpread)
//   And at last:
//  12. What was taken in and is not used is let go; the answers stand in the order of the request.

import StratusModel
import StratusRecords

extension CloudService {
    /// Saves and deletes records: one commit for each zone the request names, however many records it has.
    ///
    /// Every item is answered in its place. A zone that is transactional (custom, private) is changed whole or not at
    /// all when the request is atomic: items that fail carry their own error, the others of that zone
    /// `batchRequestFailed`. In every other case each item stands alone.
    ///
    /// Throws, for the request as a whole: `limitExceeded` (L-01), `notAuthenticated` and the like (S-17),
    /// `invalidArguments` for a record named twice (S-11), a planned fault, and what the store failed with when no zone
    /// could be written; `serverResponseLost` means that the write may have happened (S-21).
    package func modifyRecords(
        _ request: ModifyRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> ModifyRecordsResponse {
        let itemCount = request.saves.count + request.deletes.count
        return try reporting(.modifyRecords, caller, itemCount: itemCount) { event in
            guard itemCount > 0 else { return ModifyRecordsResponse(saves: [], deletes: []) }
            try RequestLimits.checkItemCount(itemCount, options)
            try RequestLimits.checkByteCount(of: request, options)
            try RequestLimits.checkClientToken(request.clientChangeTokenData, options)
            let account = try requireAccount(caller)
            let sorter = RequestSorter(
                service: self, request: request, caller: caller, account: account, database: database)
            let (sorted, unresolved) = try sorter.sorted()
            var zones = sorted
            var intake = AssetIntake(store: assets)
            intake.measure(zones, request.policy)
            if intake.isNeeded {
                zones = try AssetPreflight(service: self, caller: caller, intake: intake).judged(zones)
                intake.takeIn(zones, request.policy)
            }
            let outcomes = zones.map { carryOut($0, caller, account, intake, &event) }
            intake.release(outcomes)
            let response = try respond(to: request, zones, outcomes, unresolved)
            event.count(response.saves)
            event.count(response.deletes)
            return response
        }
    }

    /// One zone's transaction; its failure as a whole is the store's.
    private func carryOut(
        _ request: ZoneRequest, _ caller: Caller, _ account: Account, _ intake: AssetIntake, _ event: inout CloudEvent
    ) -> Result<ZoneAnswer, CloudError> {
        if let fault = request.error { return .success(request.answer(failing: fault)) }
        let outset = BatchOutset(
            container: caller.container, stamp: Stamp(date: environment.clock.now, user: account.userName),
            tagSalt: environment.identifiers.makeSalt(), birth: makeBirth(by: account.userName), intake: intake,
            uptimeSeconds: environment.clock.uptimeSeconds, origin: CommitOrigin(caller))
        do {
            let answer = try engine.transact { transaction in
                // Again, because the account may have gone since.
                let account = try accountDirectory.requireAccount(of: caller, in: transaction)
                var batch = try ZoneBatch(
                    service: self, request: request, outset: outset, account: account, transaction: transaction,
                    zone: try writableZone(request, outset.birth, transaction))
                return try batch.run()
            }
            event.commitCount += 1
            for invitation in answer.invitations { environment.onInvitation?(invitation) }
            return .success(answer)
        } catch let nothing as NothingWritten {
            return .success(nothing.answer)
        } catch { return .failure(CloudError(answering: error)) }
    }

    private func writableZone(
        _ request: ZoneRequest, _ birth: ZoneBirth, _ transaction: RecordTransaction
    ) throws -> ZoneReader {
        if let zone = try transaction.zone(request.zone.id) { return zone }
        guard request.zone.isDefault else {
            let error = try ZoneFacts.missing(request.zone, in: transaction)
            throw NothingWritten(answer: request.answer(failing: error))
        }
        try makeZone(request.zone, .perRecord, birth, journal(), in: transaction)
        return try transaction.existingZone(request.zone.id)
    }

    /// The answers in the order of the request. Throws the store's failure when it is that of every zone.
    private func respond(
        to request: ModifyRecordsRequest, _ zones: [ZoneRequest], _ outcomes: [Result<ZoneAnswer, CloudError>],
        _ unresolved: ZoneAnswer
    ) throws(CloudError) -> ModifyRecordsResponse {
        var answers = unresolved
        var failures: [CloudError] = []
        for (zone, outcome) in zip(zones, outcomes) {
            let answer: ZoneAnswer
            switch outcome {
            case .success(let found): answer = found
            case .failure(let error):
                failures.append(error)
                answer = zone.answer(failing: error)
            }
            answers.saves.merge(answer.saves) { $1 }
            answers.deletes.merge(answer.deletes) { $1 }
            answers.endedShares += answer.endedShares
        }
        if let first = failures.first, failures.count == zones.count {
            // That a write may have happened must not be hidden by another zone's failure (S-21).
            throw failures.first { $0.code == .serverResponseLost } ?? first
        }
        return ModifyRecordsResponse(
            saves: request.saves.indices.map { answers.saves[$0] ?? .failure(Self.unanswered) },
            deletes: request.deletes.indices.map { answers.deletes[$0] ?? .failure(Self.unanswered) },
            endedShares: answers.endedShares)
    }

    private static var unanswered: CloudError { CloudError(.internalError, "An item was not answered.") }
}
