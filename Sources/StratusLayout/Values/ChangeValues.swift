// The values of the change feeds: the last change of a record and of a zone, the tokens that clients sent with changes,
// and the secret of all tokens.

package import FoundationEssentials
package import StratusModel
package import StratusStore

/// The last change of a record.
///
/// Bytes: version 1 · byte: 1 saved, 2 deleted, 3 deleted and had a parent · text: name ·
/// (2, 3) text: type · (3) text: parent.
package struct ChangeEntry: VersionedValue {
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

    package func appendParts(to bytes: inout [UInt8]) {
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

    package init(parts reader: inout ValueReader) throws(StoreError) {
        let number = try reader.readByte()
        guard (1...3).contains(number) else { throw reader.corrupt("No kind of change has this number.") }
        name = RecordName(try reader.readText())
        if number == 1 {
            kind = .saved
        } else {
            let type = RecordType(try reader.readText())
            kind = .deleted(type: type, parent: number == 3 ? RecordName(try reader.readText()) : nil)
        }
    }
}

/// The last change of a zone.
///
/// Bytes: version 1 · byte: 1 saved, 2 deleted · text: zone · UUID: identity.
package struct DatabaseChangeEntry: VersionedValue {
    /// The raw values are stored: they never change.
    package enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// The zone, or something in it, was saved.
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

    package func appendParts(to bytes: inout [UInt8]) {
        bytes.append(kind.rawValue)
        ValueWriter.append(zone.text, to: &bytes)
        ValueWriter.append(identity, to: &bytes)
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        kind = try reader.readCase("No kind of change has this number.")
        zone = ZoneName(try reader.readText())
        identity = try reader.readUUID()
    }
}

/// The secret that authenticates and hides change tokens and cursors. Bytes: version 1 · the secret's 32 bytes.
package struct TokenSecretEntry: VersionedValue {
    package static let byteCount = 32
    package static var holdsSecret: Bool { true }

    /// `byteCount` bytes from the system's generator.
    package var secret: [UInt8]

    package init(secret: [UInt8]) {
        precondition(secret.count == Self.byteCount, "The secret of tokens has 32 bytes.")
        self.secret = secret
    }

    package func appendParts(to bytes: inout [UInt8]) { bytes.append(contentsOf: secret) }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        secret = [UInt8](copying: try reader.readSpan(byteCount: Self.byteCount))
    }
}

/// The token a user's client sent with its last change of a zone (T-11). The user is in the key.
///
/// Bytes: version 1 · number: sequence · number: bytes · those.
package struct ClientTokenEntry: VersionedValue {
    /// The zone's last change of the commit that brought the token.
    package var sequence: UInt64
    package var data: [UInt8]

    package init(sequence: UInt64, data: [UInt8]) {
        self.sequence = sequence
        self.data = data
    }

    package func appendParts(to bytes: inout [UInt8]) {
        ValueWriter.append(number: sequence, to: &bytes)
        ValueWriter.append(data, to: &bytes)
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        sequence = try reader.readNumber()
        data = try reader.readBytes()
    }
}
