// The values of zones: the zone's own header, and what its database stores about it: the entry, settings, why it was
// deleted, how many assets it holds. Scopes and reasons are numbers of the floor above; any byte is stored and read
// back. Then the values of the change feeds: the last change of a record and of a zone, the tokens that clients sent
// with changes, and the secret of all tokens.

package import FoundationEssentials
package import StratusModel
package import StratusStore

/// A zone's counters and identity. Every commit to the zone reads and writes them.
///
/// Bytes: version 1, or 2 in a zone with indexes for queries, so that software that would not maintain them refuses the
/// zone · UUID: identity · UUID: incarnation · numbers: sequence, horizon, database counter, record count.
package struct ZoneHeader: LayoutValue {
    /// The zone's identity. A zone deleted and created again under the same name has another.
    package var identity: UUID
    /// The zone's incarnation. Change tokens of another one expire.
    package var incarnation: UUID
    /// The sequence of the newest change; 0 before the first.
    package var sequence: UInt64 = 0
    /// Changes up to this sequence may have been purged; older tokens expire.
    package var horizon: UInt64 = 0
    /// The counter of the zone's entry in its database's feed.
    package var databaseCounter: UInt64
    /// The number of live records in the zone.
    package var recordCount: UInt64 = 0
    /// Whether the zone has ever had an index for queries. If not, its writers do not look for one.
    package var hasQueryIndexes = false

    package init(identity: UUID, incarnation: UUID, databaseCounter: UInt64) {
        self.identity = identity
        self.incarnation = incarnation
        self.databaseCounter = databaseCounter
    }

    package func append(to bytes: inout [UInt8]) {
        let version: UInt8 = hasQueryIndexes ? 2 : 1
        ValueWriter.append(
            version, identity, incarnation, sequence, horizon, databaseCounter, recordCount, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(StoreError) {
        var reader = ValueReader(bytes, ZoneHeader.self)
        hasQueryIndexes = bytes.count > 0 && bytes[0] == 2
        try reader.expectVersion(hasQueryIndexes ? 2 : 1)
        (identity, incarnation, sequence, horizon, databaseCounter, recordCount) = try reader.read()
        try reader.expectEnd()
    }
}

/// A zone's number, identity and origin.
///
/// Bytes: version 1 · number: number · UUID: identity · date: created · text: creator.
package struct ZoneEntry: VersionedValue {
    package var number: ZoneNumber
    package var identity: UUID
    package var created: Stamp

    package init(number: ZoneNumber, identity: UUID, created: Stamp) {
        self.number = number
        self.identity = identity
        self.created = created
    }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(number, identity, created, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { (number, identity, created) = try reader.read() }
}

/// Settings from the zone's creation. Bytes: version 1 · byte: encryption scope.
package struct ZoneSettingsEntry: VersionedValue {
    package var encryptionScope: UInt8

    package init(encryptionScope: UInt8) { self.encryptionScope = encryptionScope }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(encryptionScope, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { encryptionScope = try reader.read() }
}

/// Why and when a host deleted a zone. Bytes: version 1 · byte: reason · date: deleted.
package struct ZoneMarkerEntry: VersionedValue {
    package var reason: UInt8
    package var deleted: Date

    package init(reason: UInt8, deleted: Date) {
        self.reason = reason
        self.deleted = deleted
    }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(reason, deleted, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { (reason, deleted) = try reader.read() }
}

/// The last change of a record.
///
/// Bytes: version 1 · byte: 1 saved, 2 deleted, 3 deleted and had a parent, 4 saved without a parent, 5 saved below a
/// parent · text: name · (2, 3) text: type · (3, 5) text: parent. 4 and 5 are of format 3.
package struct ChangeEntry: VersionedValue {
    package enum Kind: Hashable, Sendable {
        case saved(SavedPlace)
        case deleted(type: RecordType, parent: RecordName?)

        package var isDeletion: Bool { if case .deleted = self { true } else { false } }
    }

    /// What the entry says about the place of a saved record.
    package enum SavedPlace: Hashable, Sendable {
        /// Nothing: the record is the root of a share, or an earlier format wrote the entry.
        case unsaid
        /// It is the root of no share, and has this parent.
        case below(RecordName?)
    }

    package var name: RecordName
    package var kind: Kind

    package init(name: RecordName, kind: Kind) {
        self.name = name
        self.kind = kind
    }

    package func appendParts(to bytes: inout [UInt8]) {
        switch kind {
        case .saved(.unsaid): ValueWriter.append(UInt8(1), name, to: &bytes)
        case .saved(.below(nil)): ValueWriter.append(UInt8(4), name, to: &bytes)
        case .saved(.below(let parent?)): ValueWriter.append(UInt8(5), name, parent, to: &bytes)
        case .deleted(let type, nil): ValueWriter.append(UInt8(2), name, type, to: &bytes)
        case .deleted(let type, let parent?): ValueWriter.append(UInt8(3), name, type, parent, to: &bytes)
        }
    }

    package init(parts reader: inout ValueReader) throws(StoreError) { try self.init(&reader, .read(last: nil)) }

    /// Reads an entry. If its parent is `last`, they share one text: siblings often change one after the other.
    package init(decoding bytes: Span<UInt8>, lastParent last: RecordName?) throws(StoreError) {
        try self.init(bytes, .read(last: last))
    }

    /// Reads an entry without the place of a saved record.
    package init(withoutPlace bytes: Span<UInt8>) throws(StoreError) { try self.init(bytes, .skipped) }

    private enum ParentReading {
        case skipped
        case read(last: RecordName?)
    }

    private init(_ bytes: Span<UInt8>, _ reading: ParentReading) throws(StoreError) {
        var reader = ValueReader(bytes, ChangeEntry.self)
        try reader.expectVersion(1)
        try self.init(&reader, reading)
        try reader.expectEnd()
    }

    private init(_ reader: inout ValueReader, _ reading: ParentReading) throws(StoreError) {
        let number = try reader.readByte()
        guard (1...5).contains(number) else { throw reader.corrupt("No kind of change has this number.") }
        name = RecordName(try reader.readText())
        switch number {
        case 1: kind = .saved(.unsaid)
        case 4: kind = .saved(.below(nil))
        case 5:
            switch reading {
            case .skipped:
                try reader.skip(byteCount: try reader.readCount())
                kind = .saved(.unsaid)
            case .read(let last): kind = .saved(.below(try reader.readName(orSharing: last)))
            }
        default: kind = .deleted(type: try reader.read(), parent: number == 3 ? try reader.read() as RecordName : nil)
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
