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
    }

    package func appendParts(to bytes: inout [UInt8]) {
        bytes.append(
            (content.root == nil ? 0 : Flag.root) | (content.allowsAccessRequests ? Flag.allowsAccessRequests : 0))
        if let root = content.root { ValueWriter.append(root, to: &bytes) }
        ValueWriter.append(
            content.token, content.publicPermission, content.participants, content.requesters, content.blocked,
            to: &bytes)
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        let flags = try reader.readFlags(below: 4)
        content = ShareContent(
            root: flags & Flag.root == 0 ? nil : try reader.read() as RecordName, token: try reader.read(),
            publicPermission: try reader.read(), allowsAccessRequests: flags & Flag.allowsAccessRequests != 0,
            participants: try reader.read(), requesters: try reader.read(), blocked: try reader.read())
    }
}

extension ShareParticipant: ValuePart {
    private enum Flag {
        static let invitation: UInt8 = 3
        static let user: UInt8 = 4
        static let approved: UInt8 = 8
    }

    func write(to bytes: inout [UInt8]) {
        var flags: UInt8 =
            switch invitation {
            case nil: 0
            case .handle: 1
            case .userRecord: 2
            case .oneTime: 3
            }
        if user != nil { flags |= Flag.user }
        if isApprovedRequester { flags |= Flag.approved }
        ValueWriter.append(id, role, permission, status, flags, to: &bytes)
        switch invitation {
        case .handle(let handle): ValueWriter.append(handle, to: &bytes)
        case .oneTime(let token): token.write(to: &bytes)
        case .userRecord, nil: break
        }
        if let user { ValueWriter.append(user, to: &bytes) }
        ValueWriter.append(added, to: &bytes)
    }

    static func read(from reader: inout ValueReader) throws(StoreError) -> ShareParticipant {
        let id: ParticipantID = try reader.read()
        let (role, permission): (ParticipantRole, ParticipantPermission) = try reader.read()
        let status: AcceptanceStatus = try reader.read()
        let flags = try reader.readFlags(below: 16)
        let invitation: ParticipantInvitation? =
            switch flags & Flag.invitation {
            case 1: .handle(try reader.readHandle())
            case 2: .userRecord
            case 3: .oneTime(try reader.read())
            default: nil
            }
        return ShareParticipant(
            id: id, role: role, permission: permission, status: status, invitation: invitation,
            user: flags & Flag.user == 0 ? nil : try reader.read() as UserName, added: try reader.readDate(),
            isApprovedRequester: flags & Flag.approved != 0)
    }
}

extension SharePetitioner: ValuePart {
    func write(to bytes: inout [UInt8]) {
        ValueWriter.append(id, user, to: &bytes)
        ValueWriter.append(handle, to: &bytes)
        ValueWriter.append(date, to: &bytes)
    }

    static func read(from reader: inout ValueReader) throws(StoreError) -> SharePetitioner {
        SharePetitioner(
            id: try reader.read(), user: try reader.read(), handle: try reader.readOptionalHandle(),
            date: try reader.readDate())
    }
}

/// The secret's bytes.
extension ShareToken: ValuePart {
    func write(to bytes: inout [UInt8]) { bytes.append(contentsOf: self.bytes) }

    static func read(from reader: inout ValueReader) throws(StoreError) -> ShareToken {
        guard let token = ShareToken(bytes: try reader.readBytes(count: byteCount)) else {
            throw reader.corrupt("A secret is missing.")
        }
        return token
    }
}
