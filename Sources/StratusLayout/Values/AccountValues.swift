// The values of people: an account, what leads to one, what one uses, and what is left of one that was deleted.

package import FoundationEssentials
package import StratusModel

/// An account, whose identifier is in its key.
///
/// Bytes: version 1 · text: user name · byte: standing · byte: flags (1 external identifier, 2 discoverable, 4 quota) ·
/// (1) text: external identifier · (4) number: the bits of the quota · date: created · byte: name parts (from 1: prefix,
/// given, middle, family, suffix, nickname) · a text for each · number: how many handles · handles in ascending order,
/// each byte: kind (1 e-mail, 2 telephone) · text: its normalised form.
package struct AccountEntry: LayoutValue {
    package var userName: UserName
    package var externalID: String?
    package var handles: Set<Handle>
    package var name: PersonName
    package var standing: AccountStanding
    package var isDiscoverable: Bool
    package var quotaByteCount: Int64?
    package var created: Date

    package init(_ account: Account) {
        userName = account.userName
        externalID = account.externalID
        handles = account.handles
        name = account.name
        standing = account.standing
        isDiscoverable = account.isDiscoverable
        quotaByteCount = account.quotaByteCount
        created = account.created
    }

    /// The account that lies under the key of `id`.
    package func account(_ id: AccountID) -> Account {
        Account(
            id: id, externalID: externalID, userName: userName, handles: handles, name: name, standing: standing,
            isDiscoverable: isDiscoverable, quotaByteCount: quotaByteCount, created: created)
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(userName.text, to: &bytes)
        bytes.append(standing.rawValue)
        let flags: UInt8 = (externalID == nil ? 0 : 1) | (isDiscoverable ? 2 : 0) | (quotaByteCount == nil ? 0 : 4)
        bytes.append(flags)
        if let externalID { ValueWriter.append(externalID, to: &bytes) }
        if let quotaByteCount { ValueWriter.append(number: UInt64(bitPattern: quotaByteCount), to: &bytes) }
        ValueWriter.append(created, to: &bytes)
        appendName(to: &bytes)
        let sorted = handles.map(StoredHandle.init).sorted()
        ValueWriter.append(number: UInt64(sorted.count), to: &bytes)
        for handle in sorted {
            bytes.append(handle.kind)
            ValueWriter.append(handle.text, to: &bytes)
        }
    }

    private func appendName(to bytes: inout [UInt8]) {
        let parts = [name.prefix, name.given, name.middle, name.family, name.suffix, name.nickname]
        var flags: UInt8 = 0
        for (index, part) in parts.enumerated() where part != nil { flags |= 1 << UInt8(index) }
        bytes.append(flags)
        for case let part? in parts { ValueWriter.append(part, to: &bytes) }
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "AccountEntry")
        try reader.expectVersion(1)
        userName = UserName(try reader.readText())
        guard let standing = AccountStanding(rawValue: try reader.readByte()) else {
            throw reader.corrupt("No standing of an account has this number.")
        }
        self.standing = standing
        let flags = try reader.readByte()
        guard flags < 8 else { throw reader.corrupt("A flag of the entry is unknown.") }
        externalID = flags & 1 == 0 ? nil : try reader.readText()
        isDiscoverable = flags & 2 != 0
        quotaByteCount = flags & 4 == 0 ? nil : Int64(bitPattern: try reader.readNumber())
        created = try reader.readDate()
        name = try Self.readName(&reader)
        handles = try Self.readHandles(&reader)
        try reader.expectEnd()
    }

    private static func readName(_ reader: inout ValueReader) throws(LayoutError) -> PersonName {
        let flags = try reader.readByte()
        guard flags < 64 else { throw reader.corrupt("A part of the name is unknown.") }
        var name = PersonName()
        if flags & 1 != 0 { name.prefix = try reader.readText() }
        if flags & 2 != 0 { name.given = try reader.readText() }
        if flags & 4 != 0 { name.middle = try reader.readText() }
        if flags & 8 != 0 { name.family = try reader.readText() }
        if flags & 16 != 0 { name.suffix = try reader.readText() }
        if flags & 32 != 0 { name.nickname = try reader.readText() }
        return name
    }

    private static func readHandles(_ reader: inout ValueReader) throws(LayoutError) -> Set<Handle> {
        let count = try reader.readCount()
        var handles: Set<Handle> = []
        var last: StoredHandle?
        for _ in 0..<count {
            let next = StoredHandle(kind: try reader.readByte(), text: try reader.readText())
            guard let handle = next.handle else { throw reader.corrupt("No kind of handle has this number.") }
            // Swift's strings are equal when they mean the same letters, which two of an entry never do.
            guard last.map({ $0 < next }) ?? true, handles.insert(handle).inserted else {
                throw reader.corrupt("The handles are not in ascending order.")
            }
            last = next
        }
        return handles
    }
}

/// A handle as it is stored: by kind, then by the bytes of its text.
private struct StoredHandle: Comparable {
    let kind: UInt8
    let text: String

    init(kind: UInt8, text: String) {
        self.kind = kind
        self.text = text
    }

    init(_ handle: Handle) {
        switch handle {
        case .email(let text): self.init(kind: IdentityKind.email.rawValue, text: text)
        case .phone(let text): self.init(kind: IdentityKind.phone.rawValue, text: text)
        }
    }

    var handle: Handle? {
        switch IdentityKind(rawValue: kind) {
        case .email: .email(text)
        case .phone: .phone(text)
        case .userRecord, .externalID, nil: nil
        }
    }

    static func < (left: Self, right: Self) -> Bool {
        if left.kind != right.kind { return left.kind < right.kind }
        return left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}

// The small values of people: what leads to an account, what an owner uses, and what is left of a deleted account.

/// The account that a handle, a user record or the host's own identifier leads to. Bytes: version 1 · text: account.
package struct IdentityEntry: LayoutValue {
    package var account: AccountID

    package init(account: AccountID) { self.account = account }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(account.text, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "IdentityEntry")
        try reader.expectVersion(1)
        account = AccountID(try reader.readText())
        try reader.expectEnd()
    }
}

/// How much an owner's zones hold, or one of them. Bytes: version 1 · number: bytes.
package struct UsageEntry: LayoutValue {
    package var byteCount: UInt64

    package init(byteCount: UInt64) { self.byteCount = byteCount }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: byteCount, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "UsageEntry")
        try reader.expectVersion(1)
        byteCount = try reader.readNumber()
        try reader.expectEnd()
    }
}

/// A deleted account whose data is still being removed. Bytes: version 1 · text: account.
package struct DepartureEntry: LayoutValue {
    package var account: AccountID

    package init(account: AccountID) { self.account = account }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(account.text, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "DepartureEntry")
        try reader.expectVersion(1)
        account = AccountID(try reader.readText())
        try reader.expectEnd()
    }
}
