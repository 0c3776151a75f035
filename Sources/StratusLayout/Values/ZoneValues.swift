// The values of zones: the zone's own header, and what its database stores about it: the entry, settings, why it was
// deleted, how many assets it holds. Scopes and reasons are numbers of the floor above; any byte is stored and read
// back.

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
