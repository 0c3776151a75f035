// The values that find shares from outside their zones, and what a zone stores about shares, besides their records.

package import FoundationEssentials
package import StratusModel
package import StratusStore

/// The share of a URL. The key holds the digest of the URL's secret; only the share stores the secret.
///
/// Bytes: version 1 · byte: 1 the URL of one participant, else 0 · text: container · text: owner · text: zone · UUID:
/// the zone's identity · text: share · (1) text: participant.
package struct ShareURLEntry: VersionedValue {
    package var container: ContainerName
    package var owner: UserName
    package var zone: ZoneName
    /// The entry is dead without a zone of this identity.
    package var zoneIdentity: UUID
    package var share: RecordName
    /// The participant of a one-time URL; nil for the share's own URL.
    package var participant: ParticipantID?

    package init(
        container: ContainerName, owner: UserName, zone: ZoneName, zoneIdentity: UUID, share: RecordName,
        participant: ParticipantID? = nil
    ) {
        self.container = container
        self.owner = owner
        self.zone = zone
        self.zoneIdentity = zoneIdentity
        self.share = share
        self.participant = participant
    }

    package func appendParts(to bytes: inout [UInt8]) {
        ValueWriter.append(participant != nil, container, owner, zone, zoneIdentity, share, to: &bytes)
        if let participant { ValueWriter.append(participant, to: &bytes) }
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        let hasParticipant = try reader.readFlag()
        (container, owner, zone, zoneIdentity, share) = try reader.read()
        participant = hasParticipant ? try reader.read() as ParticipantID : nil
    }
}

/// An acceptance of a share. The user, the zone's identity and the share are in its key.
///
/// Bytes: version 1 · text: container · text: owner · text: zone · byte: role · byte: permission · text: participant ·
/// number: since · date: accepted.
package struct AcceptanceEntry: VersionedValue {
    package var container: ContainerName
    package var owner: UserName
    package var zone: ZoneName
    package var role: ParticipantRole
    /// For public users this is the share's public permission.
    package var permission: ParticipantPermission
    package var participant: ParticipantID
    /// The change of the zone since which the user sees the shared records or, without permission, does not.
    package var since: UInt64
    /// When the user accepted.
    package var date: Date

    package init(
        container: ContainerName, owner: UserName, zone: ZoneName, role: ParticipantRole,
        permission: ParticipantPermission, participant: ParticipantID, since: UInt64, date: Date
    ) {
        self.container = container
        self.owner = owner
        self.zone = zone
        self.role = role
        self.permission = permission
        self.participant = participant
        self.since = since
        self.date = date
    }

    /// Whether it belongs to this zone. A zone's identity does not prove that: stores of earlier versions may hold two
    /// zones with one identity.
    package func isOf(_ id: ZoneID) -> Bool {
        zone == id.name && owner == id.database.owner && container == id.database.container
            && id.database.scope == .private
    }

    package func appendParts(to bytes: inout [UInt8]) {
        ValueWriter.append(container, owner, zone, role, permission, participant, since, date, to: &bytes)
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        (container, owner, zone, role, permission, participant, since, date) = try reader.read()
    }
}

/// The secret of the URL of a root, or of a whole zone. Bytes: version 1 · the secret's 16 bytes.
package struct ShareTokenEntry: VersionedValue {
    package static var holdsSecret: Bool { true }

    package var token: ShareToken

    package init(token: ShareToken) { self.token = token }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(token, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { token = try reader.read() }
}

/// An event of a share.
///
/// Bytes: version 1 · byte: kind · date · text: actor · text: share · flags (1 root, 2 participant, 4 user, 8 handle) ·
/// (1) text: root · (2) text: participant · (4) text: user · (8) byte: kind of handle, text · bytes: old permission,
/// new permission, old role, new role, each 0 if there is none.
package struct ShareEventEntry: VersionedValue {
    package var event: ShareTrailEvent

    package init(_ event: ShareTrailEvent) { self.event = event }

    private enum Flag {
        static let root: UInt8 = 1
        static let participant: UInt8 = 2
        static let user: UInt8 = 4
        static let handle: UInt8 = 8
    }

    package func appendParts(to bytes: inout [UInt8]) {
        ValueWriter.append(event.kind.rawValue, event.date, event.actor, event.share, to: &bytes)
        var flags: UInt8 = event.root == nil ? 0 : Flag.root
        if event.participant != nil { flags |= Flag.participant }
        if event.user != nil { flags |= Flag.user }
        if event.handle != nil { flags |= Flag.handle }
        bytes.append(flags)
        for text in [event.root?.text, event.participant?.text, event.user?.text] {
            if let text { ValueWriter.append(text, to: &bytes) }
        }
        if let handle = event.handle { ValueWriter.append(handle, to: &bytes) }
        for permission in [event.oldPermission, event.newPermission] { bytes.append(permission?.rawValue ?? 0) }
        for role in [event.oldRole, event.newRole] { bytes.append(role?.rawValue ?? 0) }
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        let kind: ShareEventKind = try reader.readCase("No kind of event has this number.")
        let (date, actor, share): (Date, UserName, RecordName) = try reader.read()
        let flags = try reader.readFlags(below: 16)
        event = ShareTrailEvent(date: date, actor: actor, kind: kind, share: share, root: nil)
        if flags & Flag.root != 0 { event.root = try reader.read() as RecordName }
        if flags & Flag.participant != 0 { event.participant = try reader.read() as ParticipantID }
        if flags & Flag.user != 0 { event.user = try reader.read() as UserName }
        if flags & Flag.handle != 0 { event.handle = try reader.readHandle() }
        event.oldPermission = try Self.readOptional(&reader)
        event.newPermission = try Self.readOptional(&reader)
        event.oldRole = try Self.readOptional(&reader)
        event.newRole = try Self.readOptional(&reader)
    }

    private static func readOptional<Value: RawRepresentable<UInt8>>(
        _ reader: inout ValueReader
    ) throws(StoreError) -> Value? {
        let number = try reader.readByte()
        if number == 0 { return nil }
        guard let value = Value(rawValue: number) else {
            throw reader.corrupt("No role or permission has this number.")
        }
        return value
    }
}
