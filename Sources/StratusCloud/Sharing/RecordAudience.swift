// The people who see a record, with their permissions: the reverse of an access check. The record's share has the
// candidates; `ZoneAccess` decides for each, as on every path.

package import StratusModel
import StratusRecords

/// The people who see a record.
package struct RecordAudience: Hashable, Sendable {
    /// A person who sees it.
    package struct Viewer: Hashable, Sendable {
        /// Their user name.
        package var user: UserName
        /// Nil for the owner, and for the creator of a public record.
        package var participant: ShareParticipant?
        /// Their permissions for the record.
        package var permissions: TypePermissions
    }

    /// The share of the record; nil if it is not shared.
    package var share: RecordName?
    /// The root of that share; nil for a share of the whole zone.
    package var root: RecordName?
    /// The permission of everyone with the share's URL.
    package var publicPermission: ParticipantPermission = .none
    /// The owner first, then in the order in which they joined.
    package var viewers: [Viewer] = []
    /// Participants who see nothing, because they have no permission or their account is closed.
    package var excluded: [ShareParticipant] = []
    /// Invited people who have not accepted: they see nothing yet.
    package var invited: [ShareParticipant] = []
    /// Everyone's permissions for a record of a public database.
    package var world: TypePermissions = []
    /// The permissions of everyone with an account.
    package var anyUser: TypePermissions = []
    /// The participant before the next page; nil after the last page, and without pages.
    package var next: ParticipantID?
}

/// A page of the people who see a record.
///
/// The owner comes first, then the others in the order of their participant identifiers. That order does not change
/// while others join and leave: a person who stays is on exactly one page.
package struct AudiencePage: Hashable, Sendable {
    /// Before every participant's identifier: the page after the owner starts there.
    static let afterOwner: ParticipantID = ""

    /// Where the previous page ended; nil for the first page.
    package var after: ParticipantID?
    /// How many people are checked, at least 1.
    package var limit: Int

    package init(after: ParticipantID? = nil, limit: Int) {
        self.after = after
        self.limit = limit
    }

    /// The participants on the page, without the owner, and where the next page starts.
    func cut(_ participants: [ShareParticipant]) -> (participants: [ShareParticipant], next: ParticipantID?) {
        let rest = participants.filter { $0.role != .owner && $0.id > after ?? Self.afterOwner }.sorted {
            $0.id < $1.id
        }
        let room = after == nil ? limit - 1 : limit
        guard rest.count > room else { return (rest, nil) }
        let page = Array(rest.prefix(room))
        return (page, page.last?.id ?? Self.afterOwner)
    }
}

extension CloudService {
    /// All people who see a record, or a page of them, with everything known of them. Only for hosts.
    ///
    /// Without a page, people are in the order in which they joined the share.
    ///
    /// Throws `unknownItem` if there is no such record, and the store's failures.
    package func audience(
        of name: RecordName, in zone: ZoneID, page: AudiencePage? = nil
    ) throws(CloudError) -> RecordAudience {
        try reading { reader in
            guard let zoneReader = try reader.zone(zone), let stored = try zoneReader.record(name) else {
                throw CloudError(.unknownItem, "The record does not exist.", ["record": name.text])
            }
            guard let owner = zone.database.owner else { return try publicAudience(of: stored, zone, reader) }
            var audience = RecordAudience()
            if page?.after == nil { try note(owner, as: nil, stored, zone, reader, in: &audience) }
            let membership =
                try stored.record.type == ShareContent.recordType ? nil : zoneReader.shareMembership(of: name)
            let share = try stored.record.shareContent() != nil ? name : membership?.share ?? ShareContent.zoneWideName
            guard let content = try zoneReader.record(share)?.record.shareContent() else { return audience }
            (audience.share, audience.root) = (share, content.root)
            audience.publicPermission = content.publicPermission
            var participants = content.participants
            if let page { (participants, audience.next) = page.cut(participants) }
            for participant in participants where participant.role != .owner {
                guard participant.status == .accepted, let user = participant.user else {
                    audience.invited.append(participant)
                    continue
                }
                try note(user, as: participant, stored, zone, reader, in: &audience)
            }
            return audience
        }
    }

    /// Adds a person, with their permissions.
    private func note(
        _ user: UserName, as participant: ShareParticipant?, _ stored: StoredRecord, _ zone: ZoneID,
        _ reader: RecordReader, in audience: inout RecordAudience
    ) throws {
        let account = try accountDirectory.account(userName: user, in: reader)
        var permissions: TypePermissions = []
        if AccountVerdict.status(of: account) == .available {
            let access = try ZoneAccess(self, to: ResolvedZone(id: zone, as: user), caller: user, in: reader)
            permissions = try access.isZoneVisible() ? access.permissions(for: stored) : []
        }
        if permissions.contains(.read) {
            audience.viewers.append(.init(user: user, participant: participant, permissions: permissions))
        } else if let participant {
            audience.excluded.append(participant)
        }
    }

    /// The audience of a public record. Only its creator may have more permissions than everyone, so it fits on one
    /// page.
    private func publicAudience(
        of stored: StoredRecord, _ zone: ZoneID, _ reader: RecordReader
    ) throws -> RecordAudience {
        var audience = RecordAudience()
        let schema = try schemaKeeper.schema(of: stored.record.type, container: zone.database.container, in: reader)
        audience.world = GrantVerdict.permissions(schema, hasAccount: false, isCreator: false)
        audience.anyUser = GrantVerdict.permissions(schema, hasAccount: true, isCreator: false)
        try note(stored.system.created.user, as: nil, stored, zone, reader, in: &audience)
        return audience
    }
}
