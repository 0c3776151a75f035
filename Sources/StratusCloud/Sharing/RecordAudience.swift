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
}

extension CloudService {
    /// Everybody who sees a record. It is told with all that is known, and is for hosts alone.
    ///
    /// Throws `unknownItem` where there is no such record, and the store's failures.
    package func audience(of name: RecordName, in zone: ZoneID) throws(CloudError) -> RecordAudience {
        try reading { reader in
            guard let zoneReader = try reader.zone(zone), let stored = try zoneReader.record(name) else {
                throw CloudError(.unknownItem, "There is no such record.", ["record": name.text])
            }
            guard let owner = zone.database.owner else { return try publicAudience(of: stored, zone, reader) }
            var audience = RecordAudience()
            try note(owner, as: nil, stored, zone, reader, in: &audience)
            let membership =
                try stored.record.type == ShareContent.recordType ? nil : zoneReader.shareMembership(of: name)
            let share = try stored.record.shareContent() != nil ? name : membership?.share ?? ShareContent.zoneWideName
            guard let content = try zoneReader.record(share)?.record.shareContent() else { return audience }
            (audience.share, audience.root) = (share, content.root)
            audience.publicPermission = content.publicPermission
            for participant in content.participants where participant.role != .owner {
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
