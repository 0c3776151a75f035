// The work on indexes for queries that is still to be done, however often the process ends meanwhile.

package import FoundationEssentials

/// A zone in which an index is being filled or cleared. Bytes: version 1 · UUID: identity.
package struct IndexBuildEntry: LayoutValue {
    /// The identity of the zone.
    package var identity: UUID

    package init(identity: UUID) { self.identity = identity }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(identity, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "IndexBuildEntry")
        try reader.expectVersion(1)
        identity = try reader.readUUID()
        try reader.expectEnd()
    }
}

/// A record type whose indexes are not what its schema wants, in some zones of its container.
///
/// Bytes: version 1 · byte: 1 there is a last zone, else 0 · (1) numbers: database, zone.
package struct IndexReviewEntry: LayoutValue {
    /// The zone up to which the review has come, by the numbers of database and zone; nil before its beginning.
    package var last: (database: DatabaseNumber, zone: ZoneNumber)?

    package init(last: (database: DatabaseNumber, zone: ZoneNumber)? = nil) { self.last = last }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(last == nil ? 0 : 1)
        guard let last else { return }
        ValueWriter.append(number: last.database.rawValue, to: &bytes)
        ValueWriter.append(number: last.zone.rawValue, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "IndexReviewEntry")
        try reader.expectVersion(1)
        switch try reader.readByte() {
        case 0: last = nil
        case 1: last = (DatabaseNumber(try reader.readPositive()), ZoneNumber(try reader.readPositive()))
        default: throw reader.corrupt("The mark of a last zone is neither 0 nor 1.")
        }
        try reader.expectEnd()
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.last?.database == right.last?.database && left.last?.zone == right.last?.zone
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(last?.database)
        hasher.combine(last?.zone)
    }
}
