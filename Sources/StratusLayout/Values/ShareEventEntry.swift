// What happened to a share, as it lies in the share's zone.

import FoundationEssentials
package import StratusModel

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
