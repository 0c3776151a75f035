// What a database keeps of a zone beside its entry: settings, why it was deleted, how many assets it holds.
//
// The numbers of scopes and reasons are the floor above's; any byte is kept and read back.

package import FoundationEssentials

/// What was chosen when a zone was made. Bytes: version 1 · byte: encryption scope.
package struct ZoneSettingsEntry: LayoutValue {
    package var encryptionScope: UInt8

    package init(encryptionScope: UInt8) { self.encryptionScope = encryptionScope }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(encryptionScope)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ZoneSettingsEntry")
        try reader.expectVersion(1)
        encryptionScope = try reader.readByte()
        try reader.expectEnd()
    }
}

/// Why and when a host deleted a zone. Bytes: version 1 · byte: reason · date: deleted.
package struct ZoneMarkerEntry: LayoutValue {
    package var reason: UInt8
    package var deleted: Date

    package init(reason: UInt8, deleted: Date) {
        self.reason = reason
        self.deleted = deleted
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(reason)
        ValueWriter.append(deleted, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ZoneMarkerEntry")
        try reader.expectVersion(1)
        reason = try reader.readByte()
        deleted = try reader.readDate()
        try reader.expectEnd()
    }
}

/// How many fields and list items of a zone's records hold an asset. Bytes: version 1 · number: count.
package struct ZoneAssetsEntry: LayoutValue {
    package var count: UInt64

    package init(count: UInt64) { self.count = count }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: count, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ZoneAssetsEntry")
        try reader.expectVersion(1)
        count = try reader.readNumber()
        try reader.expectEnd()
    }
}

// The zone's counters and identity: read and written by every commit to the zone.

/// A zone's counters and identity.
///
/// Bytes: version 1, or 2 in a zone with indexes for queries, so that software that would not keep them up refuses the
/// zone · UUID: identity · UUID: incarnation · numbers: sequence, horizon, database counter, record count.
package struct ZoneHeader: LayoutValue {
    /// Which zone this is; a zone deleted and created again under the same name is another.
    package var identity: UUID
    /// Which life of the zone this is; change tokens of another one expire.
    package var incarnation: UUID
    /// The sequence of the newest change; 0 before the first.
    package var sequence: UInt64
    /// Changes up to this sequence may have been purged; older tokens expire.
    package var horizon: UInt64
    /// The counter under which the zone lies in its database's feed.
    package var databaseCounter: UInt64
    /// How many live records the zone has.
    package var recordCount: UInt64
    /// Whether the zone has ever had an index for queries: only then its writers look for them.
    package var hasQueryIndexes: Bool

    package init(
        identity: UUID, incarnation: UUID, sequence: UInt64 = 0, horizon: UInt64 = 0, databaseCounter: UInt64 = 0,
        recordCount: UInt64 = 0, hasQueryIndexes: Bool = false
    ) {
        self.identity = identity
        self.incarnation = incarnation
        self.sequence = sequence
        self.horizon = horizon
        self.databaseCounter = databaseCounter
        self.recordCount = recordCount
        self.hasQueryIndexes = hasQueryIndexes
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(hasQueryIndexes ? 2 : 1)
        ValueWriter.append(identity, to: &bytes)
        ValueWriter.append(incarnation, to: &bytes)
        ValueWriter.append(number: sequence, to: &bytes)
        ValueWriter.append(number: horizon, to: &bytes)
        ValueWriter.append(number: databaseCounter, to: &bytes)
        ValueWriter.append(number: recordCount, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ZoneHeader")
        hasQueryIndexes = bytes.count > 0 && bytes[0] == 2
        try reader.expectVersion(hasQueryIndexes ? 2 : 1)
        identity = try reader.readUUID()
        incarnation = try reader.readUUID()
        sequence = try reader.readNumber()
        horizon = try reader.readNumber()
        databaseCounter = try reader.readNumber()
        recordCount = try reader.readNumber()
        try reader.expectEnd()
    }
}
