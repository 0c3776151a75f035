// The values of people: an account, the look-ups that find it, what an owner uses, and what remains of a deleted
// account.

import FoundationEssentials
package import StratusModel
package import StratusStore

/// An account, whose identifier is in its key and empty here.
///
/// Bytes: version 1 · text: user name · byte: standing · byte: flags (1 external identifier, 2 discoverable, 4 quota) ·
/// (1) text: external identifier · (4) number: the bits of the quota · date: created · byte: name parts (from 1:
/// prefix, given, middle, family, suffix, nickname) · a text for each · number: how many handles · handles in ascending
/// order, each byte: kind (1 e-mail, 2 telephone) · text: its normalised form.
package struct AccountEntry: VersionedValue {
    package private(set) var content: StoredAccount

    private static let nameParts: [any WritableKeyPath<PersonName, String?> & Sendable] = [
        \.prefix, \.given, \.middle, \.family, \.suffix, \.nickname,
    ]

    package init(_ account: StoredAccount) {
        content = account
        content.id = ""
    }

    /// The account that is stored under the key of `id`.
    package func account(_ id: AccountID) -> StoredAccount {
        var account = content
        account.id = id
        return account
    }

    package func appendParts(to bytes: inout [UInt8]) {
        let (externalID, quota) = (content.externalID, content.quotaByteCount)
        let flags: UInt8 = (externalID == nil ? 0 : 1) | (content.isDiscoverable ? 2 : 0) | (quota == nil ? 0 : 4)
        ValueWriter.append(content.userName, content.standing.rawValue, flags, to: &bytes)
        if let externalID { ValueWriter.append(externalID, to: &bytes) }
        if let quota { ValueWriter.append(number: UInt64(bitPattern: quota), to: &bytes) }
        ValueWriter.append(content.created, to: &bytes)
        let parts = Self.nameParts.map { content.name[keyPath: $0] }
        bytes.append(parts.reversed().reduce(0) { flags, part in flags << 1 | (part == nil ? 0 : 1) })
        for case let part? in parts { ValueWriter.append(part, to: &bytes) }
        let sorted = content.handles.sorted { Self.areAscending($0, $1) }
        ValueWriter.append(number: UInt64(sorted.count), to: &bytes)
        for handle in sorted { ValueWriter.append(handle, to: &bytes) }
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        let userName: UserName = try reader.read()
        let standing: AccountStanding = try reader.readCase("No standing of an account has this number.")
        let flags = try reader.readFlags(below: 8)
        content = StoredAccount(
            id: "", externalID: flags & 1 == 0 ? nil : try reader.readText(), userName: userName, standing: standing,
            isDiscoverable: flags & 2 != 0,
            quotaByteCount: flags & 4 == 0 ? nil : Int64(bitPattern: try reader.readNumber()),
            created: try reader.readDate())
        let nameFlags = try reader.readFlags(below: 64)
        for (index, part) in Self.nameParts.enumerated() where nameFlags & 1 << UInt8(index) != 0 {
            content.name[keyPath: part] = try reader.readText()
        }
        var last: Handle?
        for _ in 0..<(try reader.readCount()) {
            let handle = try reader.readHandle()
            // Swift's strings are equal if they mean the same letters, which two of an entry never do.
            guard last.map({ Self.areAscending($0, handle) }) ?? true, content.handles.insert(handle).inserted else {
                throw reader.corrupt("The handles are not in ascending order.")
            }
            last = handle
        }
    }

    /// Handles are stored by kind, then by the bytes of their text.
    private static func areAscending(_ left: Handle, _ right: Handle) -> Bool {
        if left.kind != right.kind { return left.kind.rawValue < right.kind.rawValue }
        return left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}

/// The account of a handle, a user record or the host's own identifier, or a deleted one whose data is still being
/// removed. Bytes: version 1 · text: account.
package struct AccountIDEntry: VersionedValue {
    package var account: AccountID

    package init(account: AccountID) { self.account = account }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(account, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { account = try reader.read() }
}

/// How many bytes an owner's zones hold, or one of them. Bytes: version 1 · number: bytes.
package struct UsageEntry: VersionedValue {
    package var byteCount: UInt64

    package init(byteCount: UInt64) { self.byteCount = byteCount }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(byteCount, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { byteCount = try reader.read() }
}

extension ValueWriter {
    /// Byte: kind (1 e-mail, 2 telephone) · text.
    static func append(_ handle: Handle, to bytes: inout [UInt8]) {
        bytes.append(handle.kind.rawValue)
        append(handle.text, to: &bytes)
    }

    /// The handle, or byte 0.
    static func append(_ handle: Handle?, to bytes: inout [UInt8]) {
        if let handle { append(handle, to: &bytes) } else { bytes.append(0) }
    }
}

extension ValueReader {
    mutating func readHandle() throws(StoreError) -> Handle {
        guard let handle = try readOptionalHandle() else { throw corrupt("A handle is missing.") }
        return handle
    }

    mutating func readOptionalHandle() throws(StoreError) -> Handle? {
        let kind = try readByte()
        if kind == 0 { return nil }
        switch IdentityKind(rawValue: kind) {
        case .email: return .email(try readText())
        case .phone: return .phone(try readText())
        case .userRecord, .externalID, nil: throw corrupt("No kind of handle has this number.")
        }
    }
}
