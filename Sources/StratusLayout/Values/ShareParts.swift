// The parts of which the values of shares are made: handles, secrets, roles and permissions.

import StratusModel

extension ValueWriter {
    /// Byte: kind (1 e-mail, 2 telephone) · text.
    static func append(_ handle: Handle, to bytes: inout [UInt8]) {
        let kind: IdentityKind =
            switch handle {
            case .email: .email
            case .phone: .phone
            }
        bytes.append(kind.rawValue)
        append(handle.text, to: &bytes)
    }

    /// The handle, or byte 0.
    static func append(_ handle: Handle?, to bytes: inout [UInt8]) {
        if let handle { append(handle, to: &bytes) } else { bytes.append(0) }
    }
}

extension ValueReader {
    mutating func readHandle() throws(LayoutError) -> Handle {
        guard let handle = try readOptionalHandle() else { throw corrupt("A handle is missing.") }
        return handle
    }

    mutating func readOptionalHandle() throws(LayoutError) -> Handle? {
        let kind = try readByte()
        if kind == 0 { return nil }
        switch IdentityKind(rawValue: kind) {
        case .email: return .email(try readText())
        case .phone: return .phone(try readText())
        case .userRecord, .externalID, nil: throw corrupt("No kind of handle has this number.")
        }
    }

    mutating func readShareToken() throws(LayoutError) -> ShareToken {
        let span = try readSpan(byteCount: ShareToken.byteCount)
        guard let token = ShareToken(bytes: [UInt8](copying: span)) else { throw corrupt("A secret is missing.") }
        return token
    }

    mutating func readRole() throws(LayoutError) -> ParticipantRole {
        guard let role = ParticipantRole(rawValue: try readByte()) else {
            throw corrupt("No role of a participant has this number.")
        }
        return role
    }

    mutating func readPermission() throws(LayoutError) -> ParticipantPermission {
        guard let permission = ParticipantPermission(rawValue: try readByte()) else {
            throw corrupt("No permission of a participant has this number.")
        }
        return permission
    }
}
