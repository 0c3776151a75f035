// What is wrong with the save of a share by itself, and what is drawn for it before its transaction.

import StratusModel

extension RecordSave {
    var isShare: Bool { RecordType(type) == ShareContent.recordType }
}

extension RequestSorter {
    /// Throws `invalidArguments` when a share that was never saved comes without its root (SH-04).
    func checkRoots() throws(CloudError) {
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

    /// That the host has switched sharing off for the container (P-19).
    func sharingDisabled(_ address: RecordAddress, _ isSharing: Bool) -> CloudError? {
        guard isSharing, !service.options.isSharingEnabled(in: caller.container) else { return nil }
        return CloudError(
            .permissionFailure, inner: CloudError.InnerCode.permission,
            "Shared zone update is not enabled for container"
        ).ofSharing(rule: "P-19", record: address.description)
    }

    /// What is wrong with a share, or with a record that has a share's name.
    func shareError(_ save: RecordSave) -> CloudError? {
        let name = save.address.recordName
        return claimError(save)?.ofSharing(
            rule: "SH-02", record: name, root: save.sharing?.root?.recordName, share: save.isShare ? name : nil)
    }

    private func claimError(_ save: RecordSave) -> CloudError? {
        let isZoneWide = RecordName(save.address.recordName) == ShareContent.zoneWideName
        guard save.isShare else {
            guard isZoneWide else { return nil }
            return CloudError(
                .invalidArguments, "Only the share of a whole zone has this name: choose another.", ["rule": "C-13"])
        }
        guard database != .public else {
            return CloudError(
                .badDatabase, "Nothing is shared in the public database: everybody reads it.", ["rule": "X-21"])
        }
        if let error = save.sharing.flatMap({ claimSizeError($0) }) { return error }
        guard save.baseTag == nil else { return nil }
        return newShareError(save, isZoneWide: isZoneWide)
    }

    /// That a claim names more people than a share can have. Whom it names is looked up inside the transaction, before which
    /// this is said.
    private func claimSizeError(_ claim: ShareClaim) -> CloudError? {
        // A share may have more participants than a limit that was lowered since.
        let participantLimit = max(service.options.participantCount, CloudOptions().participantCount)
        guard claim.participants.count <= participantLimit + 1 else {
            return CloudError(
                .tooManyParticipants, "The share has more participants than it may have: remove some of them.",
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
            return CloudError(
                .limitExceeded, inner: CloudError.InnerCode.limit,
                "More people are denied, blocked or unblocked than a share knows: name those who ask or are blocked.",
                ["limit": "\(limit)", "people": "\(people.count)", "rule": "P-20"])
        }
        return nil
    }

    private func newShareError(_ save: RecordSave, isZoneWide: Bool) -> CloudError? {
        guard let claim = save.sharing else {
            return CloudError(
                .invalidArguments, "A share is made with a root or a zone: a record of its type alone is none.",
                ["rule": "SH-04"])
        }
        guard (claim.root == nil) == isZoneWide else {
            return CloudError(
                .invalidArguments, "The share of a whole zone has a name of its own, and no other share has it (C-13).",
                ["rule": "C-13"])
        }
        guard let root = claim.root else { return nil }
        guard
            ScopeVerdict.canonical(root.zone, caller: account.userName)
                == ScopeVerdict.canonical(save.address.zone, caller: account.userName)
        else {
            return CloudError(
                .invalidArguments, "A share lies in the zone of its root: make it there.",
                ["record": save.address.description, "root": root.description, "rule": "X-21"])
        }
        guard RecordName(root.recordName) != RecordName(save.address.recordName) else {
            return CloudError(.invalidArguments, "A share is not its own root.")
        }
        return NameRules.recordNameError(root.recordName)
    }

    func secrets(for save: RecordSave) -> ShareSecrets? {
        guard save.isShare, let claim = save.sharing else { return nil }
        return service.drawShareSecrets(participantCount: claim.participants.count)
    }
}

extension CloudService {
    /// What is drawn for the save of a share with so many participants.
    func drawShareSecrets(participantCount: Int) -> ShareSecrets? {
        func token() -> ShareToken? {
            ShareToken(bytes: environment.identifiers.makeSecret(byteCount: ShareToken.byteCount))
        }
        guard let own = token() else { return nil }
        return ShareSecrets(
            date: environment.clock.now, token: own, oneTimeTokens: (0..<participantCount).compactMap { _ in token() },
            ownerID: makeParticipantID(),
            participantIDs: (0..<participantCount).map { _ in makeParticipantID() })
    }
}
