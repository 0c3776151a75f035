// The part of a request that goes to one zone, as values. `RequestSorter` creates it before the transaction, whose body
// may run twice. It checks each item separately, and draws the secrets of shares.

import StratusModel

/// A record to save, with its place in the request.
struct ItemSave: Sendable {
    let index: Int
    let name: RecordName
    let save: RecordSave
    /// Why it fails before its transaction: a planned fault, a misuse, a bad name, or a refusal before its files were
    /// stored.
    var error: CloudError?
    /// Set if its owner had no room for it and its files. The files were not stored, so it must not be written.
    var quotaError: CloudError?
    /// Drawn for the save of a share.
    var secrets: ShareSecrets?
}

/// A record to delete, with its place in the request.
struct ItemDelete: Sendable {
    let index: Int
    let name: RecordName
    var error: CloudError?
}

/// What a request asks of one zone. No record is named twice (S-11).
struct ZoneRequest: Sendable {
    let zone: ResolvedZone
    var saves: [ItemSave] = []
    var deletes: [ItemDelete] = []
    let policy: SavePolicy
    /// Whether all items of the zone are applied or none.
    let isAtomic: Bool
    /// The client's token, by which it recognises the change (T-11); nil if the zone has no feed.
    var clientToken: [UInt8]?
    /// Why no item can be applied: a planned fault, or a missing zone.
    var error: CloudError?

    /// Whether it is already certain that nothing will be written.
    var isRefused: Bool {
        if error != nil { return true }
        return isAtomic && (saves.contains { $0.error != nil } || deletes.contains { $0.error != nil })
    }

    /// The same error for every item without its own error.
    func answer(failing error: CloudError) -> ZoneAnswer {
        var answer = ZoneAnswer()
        for item in saves { answer.saves[item.index] = .failure(item.error ?? error) }
        for item in deletes { answer.deletes[item.index] = .failure(item.error ?? error) }
        return answer
    }
}

/// The answers to the items of one zone, by their places in the request.
struct ZoneAnswer: Sendable {
    var saves: [Int: Result<ClientRecord, CloudError>] = [:]
    var deletes: [Int: Result<Done, CloudError>] = [:]
    /// The people to whom the host must send an invitation after the commit.
    var invitations: [ShareInvitation] = []
    /// The shares that deletions have ended.
    var endedShares: [RecordAddress] = []
}

/// Thrown by the body of a zone's transaction if it writes nothing, so that nothing is committed.
struct NothingWritten: Error {
    let answer: ZoneAnswer
}

/// Sorts a request's items by zone.
struct RequestSorter {
    let service: CloudService
    let request: ModifyRecordsRequest
    let caller: Caller
    let account: StoredAccount
    let database: DatabaseSelector

    /// What the request asks of each zone, in the order in which it names them, and the answers to items whose address
    /// names no zone.
    ///
    /// Throws `invalidArguments` when a record is named twice (S-11, A-03), and for a new share without its root
    /// (SH-04).
    func sorted() throws(CloudError) -> (zones: [ZoneRequest], answers: ZoneAnswer) {
        try checkDuplicates()
        try checkRoots()
        var zones: [ZoneRequest] = []
        var places: [ZoneAddress: Int] = [:]
        var answers = ZoneAnswer()
        for (index, save) in request.saves.enumerated() {
            do throws(CloudError) {
                let place = try place(of: save.address.zone, &zones, &places)
                let error = fault(at: save.address, in: zones[place]) ?? saveError(save)
                zones[place].saves.append(
                    ItemSave(
                        index: index, name: RecordName(save.address.recordName), save: save, error: error,
                        secrets: error == nil ? secrets(for: save) : nil))
            } catch { answers.saves[index] = .failure(error) }
        }
        for (index, address) in request.deletes.enumerated() {
            do throws(CloudError) {
                let place = try place(of: address.zone, &zones, &places)
                let error =
                    fault(at: address, in: zones[place]) ?? NameRules.recordNameError(address.recordName)
                    ?? sharingDisabled(address, database == .shared)
                zones[place].deletes.append(
                    ItemDelete(index: index, name: RecordName(address.recordName), error: error))
            } catch { answers.deletes[index] = .failure(error) }
        }
        return (zones, answers)
    }

    private func checkDuplicates() throws(CloudError) {
        var seen: Set<RecordAddress> = []
        seen.reserveCapacity(request.saves.count + request.deletes.count)
        for address in request.saves.lazy.map(\.address) { try note(address, &seen) }
        for address in request.deletes { try note(address, &seen) }
    }

    private func note(_ address: RecordAddress, _ seen: inout Set<RecordAddress>) throws(CloudError) {
        guard !seen.insert(ScopeVerdict.canonical(address, caller: account.userName)).inserted else { return }
        throw CloudError(
            .invalidArguments, "A record is saved or deleted more than once in one operation. Name it once.",
            ["record": address.description])
    }

    private func place(
        of address: ZoneAddress, _ zones: inout [ZoneRequest], _ places: inout [ZoneAddress: Int]
    ) throws(CloudError) -> Int {
        if let known = places[address] { return known }
        let zone = try ScopeVerdict.zone(
            address, in: database, container: caller.container, caller: account.userName)
        // The caller's own user name and the placeholder for it name the same zone.
        let place = places[zone.address] ?? zones.count
        if place == zones.count {
            let point = FaultPoint.zone(zone.address, caller, .modifyRecords)
            zones.append(
                ZoneRequest(
                    zone: zone, policy: request.policy, isAtomic: request.isAtomic && zone.isTransactional,
                    clientToken: zone.isTransactional ? request.clientChangeTokenData : nil,
                    error: service.environment.faults?.error(at: point)))
        }
        places[address] = place
        places[zone.address] = place
        return place
    }

    /// A planned fault of the record. If its zone has a fault, the record's is kept for another request.
    private func fault(at address: RecordAddress, in zone: ZoneRequest) -> CloudError? {
        guard zone.error == nil else { return nil }
        return service.environment.faults?.error(at: .record(address, caller, .modifyRecords))
    }

    /// The error of a save regardless of other items.
    private func saveError(_ save: RecordSave) -> CloudError? {
        if let misuse = save.misuse { return CloudError(.invalidArguments, text: misuse) }
        if let error = originError(save) { return error }
        if let error = NameRules.recordNameError(save.address.recordName) { return error }
        if let error = sharingDisabled(save.address, database == .shared || save.isShare) { return error }
        let name = save.address.recordName
        return claimError(save)?.ofSharing(
            rule: "SH-02", record: name, root: save.sharing?.root?.recordName, share: save.isShare ? name : nil)
    }

    /// The error if the record belongs to another container, database or account. Under a policy that compares
    /// no tags the save would overwrite the record of the same name here.
    private func originError(_ save: RecordSave) -> CloudError? {
        guard let origin = save.origin else { return nil }
        guard origin.container == caller.container, origin.database == database else {
            return CloudError(
                .invalidArguments,
                "The record belongs to another container or database. Save it there, or save a new record here.",
                [
                    "record": save.address.description, "container": origin.container.text,
                    "database": "\(origin.database)",
                ])
        }
        guard origin.account == nil || origin.account == account.id else {
            return CloudError(
                .invalidArguments, "Another account fetched the record. Fetch it with the account that saves it.",
                ["record": save.address.description])
        }
        return nil
    }
}

// MARK: Shares

extension RecordSave {
    var isShare: Bool { RecordType(type) == ShareContent.recordType }
}

extension RequestSorter {
    /// Throws `invalidArguments` when a share that was never saved comes without its root (SH-04).
    private func checkRoots() throws(CloudError) {
        var saved: Set<RecordAddress>?
        for save in request.saves where save.isShare && save.baseTag == nil {
            guard let root = save.sharing?.root else { continue }
            let addresses =
                saved ?? Set(request.saves.map { ScopeVerdict.canonical($0.address, caller: account.userName) })
            saved = addresses
            guard !addresses.contains(ScopeVerdict.canonical(root, caller: account.userName)) else { continue }
            throw CloudError(
                .invalidArguments,
                "An added share is being saved without its rootRecord being saved in the same operation",
                ["root": root.description, "share": save.address.description]
            ).ofSharing(rule: "SH-04", record: root.description)
        }
    }

    /// The error if the host has switched off sharing for the container (P-19).
    private func sharingDisabled(_ address: RecordAddress, _ isSharing: Bool) -> CloudError? {
        guard isSharing, !service.options.isSharingEnabled(in: caller.container) else { return nil }
        return CloudError.notPermitted("Shared zone update is not enabled for container").ofSharing(
            rule: "P-19", record: address.description)
    }

    private func claimError(_ save: RecordSave) -> CloudError? {
        let isZoneWide = RecordName(save.address.recordName) == ShareContent.zoneWideName
        guard save.isShare else {
            guard isZoneWide else { return nil }
            return CloudError(
                .invalidArguments, "Only the share of a whole zone has this name. Choose another.", ["rule": "C-13"])
        }
        guard database != .public else {
            return CloudError(
                .badDatabase, "The public database has no shares: everyone can read it.", ["rule": "X-21"])
        }
        if let error = save.sharing.flatMap({ claimSizeError($0) }) { return error }
        guard save.baseTag == nil else { return nil }
        return newShareError(save, isZoneWide: isZoneWide)
    }

    /// The error if a claim names more people than a share can have. It is checked before the transaction, which looks
    /// these people up.
    private func claimSizeError(_ claim: ShareClaim) -> CloudError? {
        // A share may already have more participants than the limit, if the host has lowered it since.
        let participantLimit = max(service.options.participantCount, CloudOptions().participantCount)
        guard claim.participants.count <= participantLimit + 1 else {
            return CloudError(
                .tooManyParticipants, "The share has too many participants. Remove some of them.",
                [
                    "limit": "\(service.options.participantCount)", "participants": "\(claim.participants.count)",
                    "rule": "X-10",
                ])
        }
        let requesterLimit = AccessRequestVerdict.requesterLimit
        let lists = [
            (claim.denied, requesterLimit), (claim.blocked, requesterLimit + participantLimit),
            (claim.unblocked, AccessRequestVerdict.blockedLimit),
        ]
        for (people, limit) in lists where people.count > limit {
            return CloudError.overLimit(
                "Too many people are denied, blocked or unblocked. Name only people who requested access or are blocked.",
                limit: limit, ["people": "\(people.count)", "rule": "P-20"])
        }
        return nil
    }

    private func newShareError(_ save: RecordSave, isZoneWide: Bool) -> CloudError? {
        guard let claim = save.sharing else {
            return CloudError(
                .invalidArguments, "A share needs a root record or a zone. Create it as a CKShare, not as a record.",
                ["rule": "SH-04"])
        }
        guard (claim.root == nil) == isZoneWide else {
            return CloudError(
                .invalidArguments, "The share of a whole zone has a reserved name. Use it for no other share (C-13).",
                ["rule": "C-13"])
        }
        guard let root = claim.root else { return nil }
        guard
            ScopeVerdict.canonical(root.zone, caller: account.userName)
                == ScopeVerdict.canonical(save.address.zone, caller: account.userName)
        else {
            return CloudError(
                .invalidArguments, "A share must be in the zone of its root. Create it there.",
                ["record": save.address.description, "root": root.description, "rule": "X-21"])
        }
        guard RecordName(root.recordName) != RecordName(save.address.recordName) else {
            return CloudError(.invalidArguments, "A share cannot be its own root.")
        }
        return NameRules.recordNameError(root.recordName)
    }

    /// Draws the secrets for the save of a share; nil for every other save.
    private func secrets(for save: RecordSave) -> ShareSecrets? {
        guard save.isShare, let claims = save.sharing?.participants, let token = service.makeShareToken() else {
            return nil
        }
        return ShareSecrets(
            date: service.environment.clock.now, token: token,
            oneTimeTokens: claims.compactMap { _ in service.makeShareToken() }, ownerID: service.makeParticipantID(),
            participantIDs: claims.map { _ in service.makeParticipantID() })
    }
}
