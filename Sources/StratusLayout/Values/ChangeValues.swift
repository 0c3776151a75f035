// The values of the two feeds: what happened to a record of a zone, and to a zone of a database.

package import FoundationEssentials
package import StratusModel

/// What happened last to a record.
///
/// Bytes: version 1 · byte: 1 saved, 2 deleted, 3 deleted and had a parent · text: name ·
/// (2, 3) text: type · (3) text: parent.
package struct ChangeEntry: LayoutValue {
    package enum Kind: Hashable, Sendable {
        case saved
        case deleted(type: RecordType, parent: RecordName?)
    }

    package var name: RecordName
    package var kind: Kind

    package init(name: RecordName, kind: Kind) {
        self.name = name
        self.kind = kind
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        switch kind {
        case .saved:
            bytes.append(1)
            ValueWriter.append(name.text, to: &bytes)
        case .deleted(let type, let parent):
            bytes.append(parent == nil ? 2 : 3)
            ValueWriter.append(name.text, to: &bytes)
            ValueWriter.append(type.text, to: &bytes)
            if let parent { ValueWriter.append(parent.text, to: &bytes) }
        }
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ChangeEntry")
        try reader.expectVersion(1)
        let number = try reader.readByte()
        guard (1...3).contains(number) else { throw reader.corrupt("No kind of change has this number.") }
        name = RecordName(try reader.readText())
        if number == 1 {
            kind = .saved
        } else {
            let type = RecordType(try reader.readText())
            kind = .deleted(type: type, parent: number == 3 ? RecordName(try reader.readText()) : nil)
        }
        try reader.expectEnd()
    }
}

/// What happened last to a zone.
///
/// Bytes: version 1 · byte: 1 saved, 2 deleted · text: zone · UUID: identity.
package struct DatabaseChangeEntry: LayoutValue {
    /// The raw values are stored: they never change.
    package enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// The zone was created, or something in it was.
        case saved = 1
        case deleted = 2
    }

    package var zone: ZoneName
    package var identity: UUID
    package var kind: Kind

    package init(zone: ZoneName, identity: UUID, kind: Kind) {
        self.zone = zone
        self.identity = identity
        self.kind = kind
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(kind.rawValue)
        ValueWriter.append(zone.text, to: &bytes)
        ValueWriter.append(identity, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "DatabaseChangeEntry")
        try reader.expectVersion(1)
        guard let kind = Kind(rawValue: try reader.readByte()) else {
            throw reader.corrupt("No kind of change has this number.")
        }
        self.kind = kind
        zone = ZoneName(try reader.readText())
        identity = try reader.readUUID()
        try reader.expectEnd()
    }
}

// What the change feeds keep in the store: the secret of all tokens, and what clients sent with their changes.

/// What change tokens and cursors are authenticated and hidden with. Bytes: version 1 · the secret's 32 bytes.
package struct TokenSecretEntry: LayoutValue {
    package static let byteCount = 32

    /// Bytes from the system's generator, `byteCount` of them.
    package var secret: [UInt8]

    package init(secret: [UInt8]) {
        precondition(secret.count == Self.byteCount, "The secret of tokens has 32 bytes.")
        self.secret = secret
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(contentsOf: secret)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "TokenSecretEntry", isSecret: true)
        try reader.expectVersion(1)
        secret = [UInt8](copying: try reader.readSpan(byteCount: Self.byteCount))
        try reader.expectEnd()
    }
}

/// What a user's client sent with its last change of a zone (T-11). The user is in the key.
///
/// Bytes: version 1 · number: sequence · number: bytes · those.
package struct ClientTokenEntry: LayoutValue {
    /// The zone's last change of the commit with which it came.
    package var sequence: UInt64
    package var data: [UInt8]

    package init(sequence: UInt64, data: [UInt8]) {
        self.sequence = sequence
        self.data = data
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: sequence, to: &bytes)
        ValueWriter.append(number: UInt64(data.count), to: &bytes)
        bytes.append(contentsOf: data)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ClientTokenEntry")
        try reader.expectVersion(1)
        sequence = try reader.readNumber()
        data = [UInt8](copying: try reader.readSpan(byteCount: try reader.readCount()))
        try reader.expectEnd()
    }
}
