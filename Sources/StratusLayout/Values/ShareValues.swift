// The values by which shares are found from outside their zones, and what a zone keeps of shares beside their records.

package import FoundationEssentials
package import StratusModel

/// The share that a URL leads to. Its key holds the digest of the URL's secret; the secret lies in the share alone.
///
/// Bytes: version 1 · byte: 1 the URL of one participant, else 0 · text: container · text: owner · text: zone · UUID: the
/// zone's identity · text: share · (1) text: participant.
package struct ShareURLEntry: LayoutValue {
    package var container: ContainerName
    package var owner: UserName
    package var zone: ZoneName
    /// The entry is dead without a zone of this identity.
    package var zoneIdentity: UUID
    package var share: RecordName
    /// Whose one-time URL it is; nil for the share's own URL.
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

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(participant == nil ? 0 : 1)
        ValueWriter.append(container.text, to: &bytes)
        ValueWriter.append(owner.text, to: &bytes)
        ValueWriter.append(zone.text, to: &bytes)
        ValueWriter.append(zoneIdentity, to: &bytes)
        ValueWriter.append(share.text, to: &bytes)
        if let participant { ValueWriter.append(participant.text, to: &bytes) }
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ShareURLEntry")
        try reader.expectVersion(1)
        let flag = try reader.readByte()
        guard flag <= 1 else { throw reader.corrupt("A flag of the entry is unknown.") }
        container = ContainerName(try reader.readText())
        owner = UserName(try reader.readText())
        zone = ZoneName(try reader.readText())
        zoneIdentity = try reader.readUUID()
        share = RecordName(try reader.readText())
        participant = flag == 1 ? ParticipantID(try reader.readText()) : nil
        try reader.expectEnd()
    }
}

/// What a user has accepted. The user, the zone's identity and the share are in its key.
///
/// Bytes: version 1 · text: container · text: owner · text: zone · byte: role · byte: permission · text: participant ·
/// number: since · date: accepted.
package struct AcceptanceEntry: LayoutValue {
    package var container: ContainerName
    package var owner: UserName
    package var zone: ZoneName
    package var role: ParticipantRole
    /// Of public users the share's public permission.
    package var permission: ParticipantPermission
    package var participant: ParticipantID
    /// The change of the zone since which the user sees what is shared or, without permission, does not.
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

    /// Whether it was given in this zone. A zone's identity alone does not show it: stores of earlier versions may hold
    /// two zones with one identity.
    package func isOf(_ id: ZoneID) -> Bool {
        zone == id.name && owner == id.database.owner && container == id.database.container
            && id.database.scope == .private
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(container.text, to: &bytes)
        ValueWriter.append(owner.text, to: &bytes)
        ValueWriter.append(zone.text, to: &bytes)
        bytes.append(role.rawValue)
        bytes.append(permission.rawValue)
        ValueWriter.append(participant.text, to: &bytes)
        ValueWriter.append(number: since, to: &bytes)
        ValueWriter.append(date, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "AcceptanceEntry")
        try reader.expectVersion(1)
        container = ContainerName(try reader.readText())
        owner = UserName(try reader.readText())
        zone = ZoneName(try reader.readText())
        role = try reader.readRole()
        permission = try reader.readPermission()
        participant = ParticipantID(try reader.readText())
        since = try reader.readNumber()
        date = try reader.readDate()
        try reader.expectEnd()
    }
}

/// The secret of the URL of a root, or of a whole zone. Bytes: version 1 · the secret's 16 bytes.
package struct ShareTokenEntry: LayoutValue {
    package var token: ShareToken

    package init(token: ShareToken) { self.token = token }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(contentsOf: token.bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ShareTokenEntry", isSecret: true)
        try reader.expectVersion(1)
        token = try reader.readShareToken()
        try reader.expectEnd()
    }
}

/// What somebody was admitted to, until the change in its key. Bytes: version 1 · number: began.
package struct EndedAcceptanceEntry: LayoutValue {
    /// The change of the zone since which the person saw what was shared.
    package var began: UInt64

    package init(began: UInt64) { self.began = began }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: began, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "EndedAcceptanceEntry")
        try reader.expectVersion(1)
        began = try reader.readNumber()
        try reader.expectEnd()
    }
}

// What happened to a share, as it lies in the share's zone.

/// An event of a share.
///
/// Bytes: version 1 · byte: kind · date · text: actor · text: share · flags (1 root, 2 participant, 4 user, 8 handle) ·
/// (1) text: root · (2) text: participant · (4) text: user · (8) byte: kind of handle, text · bytes: old permission, new
/// permission, old role, new role, each 0 where there is none.
package struct ShareEventEntry: LayoutValue {
    package var event: ShareEvent

    package init(_ event: ShareEvent) { self.event = event }

    private enum Flag {
        static let root: UInt8 = 1
        static let participant: UInt8 = 2
        static let user: UInt8 = 4
        static let handle: UInt8 = 8
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(event.kind.rawValue)
        ValueWriter.append(event.date, to: &bytes)
        ValueWriter.append(event.actor.text, to: &bytes)
        ValueWriter.append(event.share.text, to: &bytes)
        var flags: UInt8 = event.root == nil ? 0 : Flag.root
        if event.participant != nil { flags |= Flag.participant }
        if event.user != nil { flags |= Flag.user }
        if event.handle != nil { flags |= Flag.handle }
        bytes.append(flags)
        if let root = event.root { ValueWriter.append(root.text, to: &bytes) }
        if let participant = event.participant { ValueWriter.append(participant.text, to: &bytes) }
        if let user = event.user { ValueWriter.append(user.text, to: &bytes) }
        if let handle = event.handle { ValueWriter.append(handle, to: &bytes) }
        bytes.append(event.oldPermission?.rawValue ?? 0)
        bytes.append(event.newPermission?.rawValue ?? 0)
        bytes.append(event.oldRole?.rawValue ?? 0)
        bytes.append(event.newRole?.rawValue ?? 0)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ShareEventEntry")
        try reader.expectVersion(1)
        guard let kind = ShareEventKind(rawValue: try reader.readByte()) else {
            throw reader.corrupt("No kind of event has this number.")
        }
        let date = try reader.readDate()
        let actor = UserName(try reader.readText())
        let share = RecordName(try reader.readText())
        let flags = try reader.readByte()
        guard flags < 16 else { throw reader.corrupt("A flag of the event is unknown.") }
        let root = flags & Flag.root == 0 ? nil : RecordName(try reader.readText())
        let participant = flags & Flag.participant == 0 ? nil : ParticipantID(try reader.readText())
        let user = flags & Flag.user == 0 ? nil : UserName(try reader.readText())
        let handle = flags & Flag.handle == 0 ? nil : try reader.readHandle()
        event = ShareEvent(
            date: date, actor: actor, kind: kind, share: share, root: root, participant: participant, user: user,
            handle: handle,
            oldPermission: try Self.readOptional(&reader), newPermission: try Self.readOptional(&reader),
            oldRole: try Self.readOptional(&reader), newRole: try Self.readOptional(&reader))
        try reader.expectEnd()
    }

    private static func readOptional<Value: RawRepresentable<UInt8>>(
        _ reader: inout ValueReader
    ) throws(LayoutError) -> Value? {
        let number = try reader.readByte()
        if number == 0 { return nil }
        guard let value = Value(rawValue: number) else {
            throw reader.corrupt("No role or permission has this number.")
        }
        return value
    }
}
