// Everybody who can see a record, and how: the question of access, asked the other way round. Who may be one of them is
// told by the record's share; whether they are is asked of `ZoneAccess`, as every path does.

package import StratusModel
import StratusRecords

/// Who sees a record.
package struct RecordAudience: Hashable, Sendable {
    /// Somebody who sees it.
    package struct Viewer: Hashable, Sendable {
        /// Their user name.
        package var user: UserName
        /// Nil for the owner, and for the creator of a public record.
        package var participant: ShareParticipant?
        /// What they may do with the record.
        package var permissions: RecordPermissions
    }

    /// The share that the record is in; nil where it is in none.
    package var share: RecordName?
    /// The root of that share; nil for that of the whole zone.
    package var root: RecordName?
    /// What whoever has the share's URL may do.
    package var publicPermission: ParticipantPermission = .none
    /// The owner first, then in the order in which they came.
    package var viewers: [Viewer] = []
    /// Who takes part and sees nothing: they may do nothing, or their account is closed.
    package var excluded: [ShareParticipant] = []
    /// Who is invited and has not accepted: they see nothing yet.
    package var invited: [ShareParticipant] = []
    /// What everybody may do with a record of a public database.
    package var world: RecordPermissions = []
    /// What everybody with an account may do with it.
    package var anyUser: RecordPermissions = []
    /// Behind whom the next page begins; nil after the last one, and where no pages were asked for.
    package var next: ParticipantID?
}

/// Which of the people of a record are wanted.
///
/// The owner comes first, then everybody else in the order of their names within the share. That order does not change
/// while others come and go: a person who takes part all the while is on exactly one page.
package struct AudiencePage: Hashable, Sendable {
    /// What precedes every participant's name: the page behind the owner begins there.
    static let afterOwner: ParticipantID = ""

    /// Where the page before this one ended; nil for the first.
    package var after: ParticipantID?
    /// How many people are looked at, 1 at least.
    package var limit: Int

    package init(after: ParticipantID? = nil, limit: Int) {
        self.after = after
        self.limit = limit
    }

    /// Those of a share's participants who are on the page, without the owner, and where the next page begins.
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
    /// Everybody who sees a record, or a page of them, with all that is known of them: for hosts alone.
    ///
    /// Without a page people come in the order in which they came to the share.
    ///
    /// Throws `unknownItem` where there is no such record, and the store's failures.
    package func audience(
        of name: RecordName, in zone: ZoneID, page: AudiencePage? = nil
    ) throws(CloudError) -> RecordAudience {
        try reading { reader in
            guard let zoneReader = try reader.zone(zone), let stored = try zoneReader.record(name) else {
                throw CloudError(.unknownItem, "There is no such record.", ["record": name.text])
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

    /// Asks what somebody may do, and takes them up.
    private func note(
        _ user: UserName, as participant: ShareParticipant?, _ stored: StoredRecord, _ zone: ZoneID,
        _ reader: RecordReader, in audience: inout RecordAudience
    ) throws {
        let account = try accountDirectory.account(userName: user, in: reader)
        var permissions: RecordPermissions = []
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

    /// Who has created a public record is the only person who may do more than everybody: they fit on one page.
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
