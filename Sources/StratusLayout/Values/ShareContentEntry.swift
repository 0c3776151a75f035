// What the server stores about a share, in a field of the share's record.
//
// Any content is stored and read unchanged, also content that breaks the invariants of `ShareContent`: the verifier
// reports it. The bytes hold secrets, so no error shows them.

import FoundationEssentials
package import StratusModel
package import StratusStore

/// The content of a share, stored as bytes under `ShareContent.fieldKey`.
///
/// Bytes: version 1 · flags (1 root, 2 access requests) · (1) text: root · 16 bytes: the URL's secret · byte: public
/// permission · number: participants · each · number: requesters · each · number: blocked · each.
///
/// A participant: text: id · byte: role · byte: permission · byte: status · flags (1 invited by handle, 2 by user
/// record, 3 by one-time URL, 4 user known, 8 approved requester) · (1) handle · (3) 16 bytes: the one-time URL's
/// secret · (4) text: user · date: added.
///
/// A requester or blocked person: text: id · text: user · handle, or byte 0 · date.
///
/// A handle: byte: kind (1 e-mail, 2 telephone) · text: its normalised form.
package struct ShareContentEntry: VersionedValue {
    package static var holdsSecret: Bool { true }

    package var content: ShareContent

    package init(_ content: ShareContent) { self.content = content }

    private enum Flag {
        static let root: UInt8 = 1
        static let allowsAccessRequests: UInt8 = 2
        static let invitation: UInt8 = 3
        static let user: UInt8 = 4
        static let approved: UInt8 = 8
    }

    // MARK: Writing

    package func appendParts(to bytes: inout [UInt8]) {
        bytes.append(
            (content.root == nil ? 0 : Flag.root) | (content.allowsAccessRequests ? Flag.allowsAccessRequests : 0))
        if let root = content.root { ValueWriter.append(root.text, to: &bytes) }
        bytes.append(contentsOf: content.token.bytes)
        bytes.append(content.publicPermission.rawValue)
        ValueWriter.append(number: UInt64(content.participants.count), to: &bytes)
        for participant in content.participants { Self.append(participant, to: &bytes) }
        for people in [content.requesters, content.blocked] {
            ValueWriter.append(number: UInt64(people.count), to: &bytes)
            for person in people { Self.append(person, to: &bytes) }
        }
    }

    private static func append(_ participant: ShareParticipant, to bytes: inout [UInt8]) {
        ValueWriter.append(participant.id.text, to: &bytes)
        bytes.append(participant.role.rawValue)
        bytes.append(participant.permission.rawValue)
        bytes.append(participant.status.rawValue)
        var flags: UInt8 =
            switch participant.invitation {
            case nil: 0
            case .handle: 1
            case .userRecord: 2
            case .oneTime: 3
            }
        if participant.user != nil { flags |= Flag.user }
        if participant.isApprovedRequester { flags |= Flag.approved }
        bytes.append(flags)
        switch participant.invitation {
        case .handle(let handle): ValueWriter.append(handle, to: &bytes)
        case .oneTime(let token): bytes.append(contentsOf: token.bytes)
        case .userRecord, nil: break
        }
        if let user = participant.user { ValueWriter.append(user.text, to: &bytes) }
        ValueWriter.append(participant.added, to: &bytes)
    }

    private static func append(_ person: SharePetitioner, to bytes: inout [UInt8]) {
        ValueWriter.append(person.id.text, to: &bytes)
        ValueWriter.append(person.user.text, to: &bytes)
        ValueWriter.append(person.handle, to: &bytes)
        ValueWriter.append(person.date, to: &bytes)
    }

    // MARK: Reading

    package init(parts reader: inout ValueReader) throws(StoreError) {
        let flags = try reader.readFlags(below: 4)
        let root = flags & Flag.root == 0 ? nil : RecordName(try reader.readText())
        let token = try reader.readShareToken()
        let publicPermission: ParticipantPermission = try reader.readCase()
        var participants: [ShareParticipant] = []
        for _ in 0..<(try reader.readCount()) { participants.append(try Self.readParticipant(&reader)) }
        let requesters = try Self.readPetitioners(&reader)
        content = ShareContent(
            root: root, token: token, publicPermission: publicPermission,
            allowsAccessRequests: flags & Flag.allowsAccessRequests != 0, participants: participants,
            requesters: requesters, blocked: try Self.readPetitioners(&reader))
    }

    private static func readParticipant(_ reader: inout ValueReader) throws(StoreError) -> ShareParticipant {
        let id = ParticipantID(try reader.readText())
        let role: ParticipantRole = try reader.readCase()
        let permission: ParticipantPermission = try reader.readCase()
        let status: AcceptanceStatus = try reader.readCase()
        let flags = try reader.readFlags(below: 16)
        let invitation: ParticipantInvitation? =
            switch flags & Flag.invitation {
            case 1: .handle(try reader.readHandle())
            case 2: .userRecord
            case 3: .oneTime(try reader.readShareToken())
            default: nil
            }
        let user = flags & Flag.user == 0 ? nil : UserName(try reader.readText())
        return ShareParticipant(
            id: id, role: role, permission: permission, status: status, invitation: invitation, user: user,
            added: try reader.readDate(), isApprovedRequester: flags & Flag.approved != 0)
    }

    private static func readPetitioners(_ reader: inout ValueReader) throws(StoreError) -> [SharePetitioner] {
        var people: [SharePetitioner] = []
        for _ in 0..<(try reader.readCount()) {
            people.append(
                SharePetitioner(
                    id: ParticipantID(try reader.readText()), user: UserName(try reader.readText()),
                    handle: try reader.readOptionalHandle(), date: try reader.readDate()))
        }
        return people
    }
}

extension ValueReader {
    mutating func readShareToken() throws(StoreError) -> ShareToken {
        let span = try readSpan(byteCount: ShareToken.byteCount)
        guard let token = ShareToken(bytes: [UInt8](copying: span)) else { throw corrupt("A secret is missing.") }
        return token
    }
}
