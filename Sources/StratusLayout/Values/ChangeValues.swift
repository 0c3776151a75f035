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
        case .saved: ValueWriter.append(UInt8(1), name, to: &bytes)
        case .deleted(let type, nil): ValueWriter.append(UInt8(2), name, type, to: &bytes)
        case .deleted(let type, let parent?): ValueWriter.append(UInt8(3), name, type, parent, to: &bytes)
        }
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        let number = try reader.readByte()
        guard (1...3).contains(number) else { throw reader.corrupt("No kind of change has this number.") }
        name = try reader.read()
        kind =
            number == 1
            ? .saved : .deleted(type: try reader.read(), parent: number == 3 ? try reader.read() as RecordName : nil)
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
        ValueWriter.append(zone, identity, to: &bytes)
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        kind = try reader.readCase("No kind of change has this number.")
        (zone, identity) = try reader.read()
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
        secret = try reader.readBytes(count: Self.byteCount)
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

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(sequence, data, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { (sequence, data) = try reader.read() }
}
