// Saves and deletes records. The steps of a request:
//
//   1. Check the limits of the request: items, bytes.                     (RequestSize)
//   2. Check the caller's account and its status.                         (AccountVerdict)
//   3. Sort the items by zone. A record named twice fails the request. Check planned faults, misuse noted by the
//      client, the account that fetched the record, and names.            (RequestSorter, ScopeVerdict, NameRules)
//   4. Store the files of assets, durably, before any commit. First refuse items that fail with any content of their
//      files.                                                             (AssetPreflight, AssetIntake, AssetStore)
//   Then one transaction for each zone, in the order of the request:
//   5. Check the account again, and the zone. The first write to the default zone creates it.
//   6. Judge each record: access, policy and tag, merge, references, sizes; the participants of a share.
//                                                   (ZoneJudge, ZoneAccess, AccessVerdict, SaveVerdict, ShareRevision)
//   7. Find the cascades of deletions, and check owning references. (Cascades, ZoneReader.owningErrors)
//   8. Check conflicting shares; set the marks of roots; make the plan of the record layer: parents, children, cycles;
//      check where participants' records will be.                                    (ZoneBatch+Effects, ZoneAccess)
//   9. Check the schema, the contents of assets, the store's limit, quota. (SchemaKeeper, AssetLedger, QuotaLedger)
//  10. Write the ledgers, the records, the entries of shares outside their records, and the schema. An atomic zone is
//      written whole or not at all; in any other zone each item succeeds or fails alone.                (ZoneBatch)
//  11. Spread failures to the other items of the zone.                    (FailureSpread)
//   Finally:
//  12. End the leases of stored files that are not used, and answer in the order of the request.

import StratusModel
import StratusRecords

extension CloudService {
    /// Saves and deletes records, with one commit for each zone in the request.
    ///
    /// Every item gets its answer in its place. If the request is atomic, a transactional zone (custom, private) is
    /// changed whole or not at all: items that fail have their own error, the others of that zone `batchRequestFailed`
    /// . Otherwise each item succeeds or fails alone.
    ///
    /// Throws for the request as a whole: `limitExceeded` (L-01), `notAuthenticated` and similar errors (S-17),
    /// `invalidArguments` for a record named twice (S-11), a planned fault, and the store's failure if no zone could be
    /// written; `serverResponseLost` means that the write may have happened (S-21).
    package func modifyRecords(
        _ request: ModifyRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> ModifyRecordsResponse {
        let itemCount = request.saves.count + request.deletes.count
        return try reporting(.modifyRecords, caller, itemCount: itemCount) { event in
            guard itemCount > 0 else { return ModifyRecordsResponse(saves: [], deletes: []) }
            try requestLimits().check(itemCount: itemCount)
            let byteCount = request.saves.reduce(0) { $0 + $1.contentByteCount(request.policy) }
            try requestLimits().check(byteCount: byteCount)
            if let token = request.clientChangeTokenData, token.count > options.clientChangeTokenByteCount {
                throw CloudError.overLimit(
                    "The client change token is too large. Send an identifier.",
                    limit: options.clientChangeTokenByteCount, ["bytes": "\(token.count)"])
            }
            let account = try claimedAccount(of: caller)
            let sorter = RequestSorter(
                service: self, request: request, caller: caller, account: account, database: database)
            let (sorted, unresolved) = try sorter.sorted()
            var zones = sorted
            var intake = AssetIntake(store: assets)
            intake.measure(zones, request.policy)
            if intake.isNeeded {
                zones = try AssetPreflight(
                    service: self, caller: caller, user: account.userName, intake: intake
                ).judged(zones)
                intake.takeIn(zones, request.policy)
            }
            let outcomes = zones.map { write($0, caller, account, intake, &event) }
            intake.release(outcomes)
            let response = try respond(to: request, zones, outcomes, unresolved)
            event.count(response.saves)
            event.count(response.deletes)
            return response
        }
    }

    /// Runs one zone's transaction. Returns a failure only if the store fails.
    private func write(
        _ request: ZoneRequest, _ caller: Caller, _ account: StoredAccount, _ intake: AssetIntake,
        _ event: inout CloudEvent
    ) -> Result<ZoneAnswer, CloudError> {
        if let fault = request.error { return .success(request.answer(failing: fault)) }
        let birth = request.zone.isDefault ? makeBirth(by: account.userName) : nil
        let outset = BatchOutset(
            caller: caller, stamp: Stamp(date: environment.clock.now, user: account.userName),
            tagSalt: environment.identifiers.makeSalt(), birth: birth, uptimeSeconds: environment.clock.uptimeSeconds)
        do {
            let answer = try engine.transact(in: request.zone.id.database) { transaction in
                var reads = BatchReads(
                    self, request, caller, user: account.userName, intake: intake, in: transaction)
                // Again, because the account may have been deleted since.
                let account = try accountDirectory.requireAccount(of: caller, in: transaction)
                let zone = try writableZone(request, outset.birth, transaction)
                reads?.found(zone)
                let judge = try ZoneJudge(self, request, account, transaction, zone: zone, intake: intake)
                var batch = ZoneBatch(
                    service: self, request: request, outset: outset, account: account, transaction: transaction,
                    zone: zone, judge: judge,
                    cascadeBudget: CascadeBudget(visitCount: 4 * engine.options.limits.requestItemCount))
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
        _ request: ZoneRequest, _ birth: ZoneBirth?, _ transaction: RecordTransaction
    ) throws -> ZoneReader {
        if let zone = try transaction.zone(request.zone.id) { return zone }
        guard let birth else {
            let error = try ZoneFacts.missing(request.zone, in: transaction)
            throw NothingWritten(answer: request.answer(failing: error))
        }
        try makeZone(request.zone, .perRecord, birth, journal(), in: transaction)
        return try transaction.existingZone(request.zone.id)
    }

    /// The answers in the order of the request. Throws the store's failure if every zone failed.
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
            // Another zone's failure must not hide that a write may have happened (S-21).
            throw failures.first { $0.code == .serverResponseLost } ?? first
        }
        return ModifyRecordsResponse(
            saves: request.saves.indices.map { answers.saves[$0] ?? .failure(Self.unanswered) },
            deletes: request.deletes.indices.map { answers.deletes[$0] ?? .failure(Self.unanswered) },
            endedShares: answers.endedShares)
    }

    private static var unanswered: CloudError {
        CloudError(.internalError, "The server returned no answer for this item: report this error.")
    }
}
