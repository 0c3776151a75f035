// The zone's counters and identity: read and written by every commit to the zone.

package import FoundationEssentials

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
