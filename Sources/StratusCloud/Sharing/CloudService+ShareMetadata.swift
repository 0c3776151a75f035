// What somebody is told of a share by its URL, before they accept it and after.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords

extension CloudService {
    /// Shares by their URLs, as the caller may know them, in the order of the request (M-01 … M-05).
    ///
    /// Throws, for the request as a whole: `notAuthenticated` and the like, `limitExceeded` (L-01), `permissionFailure`
    /// where nothing is shared (P-19), a planned fault, and the store's failures. A share that the caller may not know of
    /// is its item's `unknownItem`, with requests for access `permissionFailure` or `participantMayNeedVerification`
    /// (P-18); `participantAlreadyInvited` is the answer to another's one-time URL (P-17).
    package func shareMetadata(
        _ request: ShareMetadataRequest, as caller: Caller
    ) throws(CloudError) -> [Result<ClientShareMetadata, CloudError>] {
        try reporting(.shareMetadata, caller, itemCount: request.urls.count) { event in
            try RequestLimits.checkItemCount(request.urls.count, options)
            try requireSharing(in: caller.container)
            try requireAccount(caller)
            let answers = try engine.read { reader in
                let account = try accountDirectory.requireAccount(of: caller, in: reader)
                let finder = ShareFinder(accounts: accountDirectory, reader: reader)
                return try request.urls.map { url in
                    try item { try metadata(of: finder.share(url, for: account), url, request, in: reader) }
                }
            }
            event.count(answers)
            return answers
        }
    }

    private func metadata(
        of found: FoundShare, _ url: String, _ request: ShareMetadataRequest, in reader: RecordReader
    ) throws -> ClientShareMetadata {
        if case .invitedOtherwise = found.verdict { throw found.refusal(JoinVerdict.alreadyInvited, rule: "P-17") }
        // Nobody keeps the entry of somebody who may join: its name is never told.
        let nobody = ParticipantID("")
        guard
            let participant = found.verdict.participant(
                in: found.content, guest: found.guest, id: nobody, date: found.stored.system.modified.date)
        else { throw JoinVerdict.notFound }
        let viewer = found.guest.user
        let own = participant.id == nobody ? nil : participant.id
        let view = ShareView(
            found.content, zone: found.zone, viewer: viewer, own: own, urlBase: options.shareURLBase)
        let people = try SharePeople(in: view, accountDirectory, reader)
        var share = ClientRecord(found.stored, zone: found.zone, viewer: viewer)
        share.sharing = view.share(people)
        let access = SharedAccess(role: participant.role, permission: found.content.permission(of: participant))
        return ClientShareMetadata(
            url: url, container: found.place.container, share: share,
            rootRecord: request.wantsRootRecord && access.isAdmitted
                ? try root(of: found, keys: request.rootDesiredKeys, in: reader) : nil,
            role: access.role, status: participant.status, permission: access.permission, owner: view.owner(people))
    }

    /// The root, which can be read before the share is accepted (M-02); nil for a share of a whole zone.
    private func root(
        of found: FoundShare, keys: Set<String>?, in reader: RecordReader
    ) throws -> ClientRecord? {
        guard let name = found.content.root else { return nil }
        let fields = keys.map { FieldSelection.only(Set($0.map { FieldKey($0) })) } ?? .all
        guard let stored = try reader.existingZone(found.place.zoneID).record(name, fields: fields) else {
            throw RecordsError(
                .corruption, "A share's root is not there: verify the store, then restore it from a backup.",
                ["root": name.text, "share": found.place.share.text])
        }
        var record = ClientRecord(stored, zone: found.zone, viewer: found.guest.user)
        // What lies above is not shared.
        if found.place.owner != found.guest.user { record.parent = nil }
        return record
    }
}
