// The values outside zones: the format, the counters and the directory of databases and zones.

package import FoundationEssentials
package import StratusModel

/// What format the store has, and which life of it this is. Checked first on opening.
///
/// Bytes: version 1 · number: format · UUID: incarnation.
package struct FormatEntry: LayoutValue {
    /// The format this software writes. It reads every one from 1 on.
    ///
    ///   1  the first
    ///   2  entries of record types say which were imported (`SchemaEntry`)
    package static let currentVersion: UInt64 = 2

    package var version: UInt64
    /// Changes when the store is restored, copied, moved or repaired; change tokens of another one expire.
    package var incarnation: UUID

    package init(version: UInt64 = Self.currentVersion, incarnation: UUID) {
        self.version = version
        self.incarnation = incarnation
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: version, to: &bytes)
        ValueWriter.append(incarnation, to: &bytes)
    }

    /// Throws `.corruptValue`, and `.newerFormat` as soon as the format's number shows that the rest may be different.
    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "FormatEntry")
        try reader.expectVersion(1)
        version = try reader.readNumber()
        guard version <= Self.currentVersion else {
            throw LayoutError(
                .newerFormat, "The store was written by newer software: open it with that, or restore an older backup.",
                ["found": "\(version)", "supported": "\(Self.currentVersion)"])
        }
        guard version >= 1 else { throw reader.corrupt("No format has the number 0.") }
        incarnation = try reader.readUUID()
        try reader.expectEnd()
    }
}

/// The store's own counter. Bytes: version 1 · number: next database number.
package struct GlobalHeader: LayoutValue {
    /// The number the next database gets; 1 in an empty store.
    package var nextDatabaseNumber: UInt64

    package init(nextDatabaseNumber: UInt64 = 1) { self.nextDatabaseNumber = nextDatabaseNumber }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: nextDatabaseNumber, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "GlobalHeader")
        try reader.expectVersion(1)
        nextDatabaseNumber = try reader.readPositive()
        try reader.expectEnd()
    }
}

/// A database's number and identity. Bytes: version 1 · number: number · UUID: identity.
package struct DatabaseEntry: LayoutValue {
    package var number: DatabaseNumber
    package var identity: UUID

    package init(number: DatabaseNumber, identity: UUID) {
        self.number = number
        self.identity = identity
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: number.rawValue, to: &bytes)
        ValueWriter.append(identity, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "DatabaseEntry")
        try reader.expectVersion(1)
        number = DatabaseNumber(try reader.readPositive())
        identity = try reader.readUUID()
        try reader.expectEnd()
    }
}

/// A database's counters. Bytes: version 1 · number: next zone number · number: change counter.
package struct DatabaseHeader: LayoutValue {
    /// The number the next zone gets; 1 in an empty database.
    package var nextZoneNumber: UInt64
    /// The number of the newest entry of the feed of zones.
    package var changeCounter: UInt64

    package init(nextZoneNumber: UInt64 = 1, changeCounter: UInt64 = 0) {
        self.nextZoneNumber = nextZoneNumber
        self.changeCounter = changeCounter
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: nextZoneNumber, to: &bytes)
        ValueWriter.append(number: changeCounter, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "DatabaseHeader")
        try reader.expectVersion(1)
        nextZoneNumber = try reader.readPositive()
        changeCounter = try reader.readNumber()
        try reader.expectEnd()
    }
}

/// A zone's number, identity and origin.
///
/// Bytes: version 1 · number: number · UUID: identity · date: created · text: creator.
package struct ZoneEntry: LayoutValue {
    package var number: ZoneNumber
    package var identity: UUID
    package var created: Stamp

    package init(number: ZoneNumber, identity: UUID, created: Stamp) {
        self.number = number
        self.identity = identity
        self.created = created
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: number.rawValue, to: &bytes)
        ValueWriter.append(identity, to: &bytes)
        ValueWriter.append(created.date, to: &bytes)
        ValueWriter.append(created.user.text, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ZoneEntry")
        try reader.expectVersion(1)
        number = ZoneNumber(try reader.readPositive())
        identity = try reader.readUUID()
        created = Stamp(date: try reader.readDate(), user: UserName(try reader.readText()))
        try reader.expectEnd()
    }
}

/// A zone that was deleted and whose keys are still there.
///
/// Bytes: version 1 · number: database · number: zone · UUID: identity.
package struct PurgeEntry: LayoutValue {
    package var database: DatabaseNumber
    package var zone: ZoneNumber
    package var identity: UUID

    package init(database: DatabaseNumber, zone: ZoneNumber, identity: UUID) {
        self.database = database
        self.zone = zone
        self.identity = identity
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: database.rawValue, to: &bytes)
        ValueWriter.append(number: zone.rawValue, to: &bytes)
        ValueWriter.append(identity, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "PurgeEntry")
        try reader.expectVersion(1)
        database = DatabaseNumber(try reader.readPositive())
        zone = ZoneNumber(try reader.readPositive())
        identity = try reader.readUUID()
        try reader.expectEnd()
    }
}

// Deleted zones that the ledger of assets still counts.

/// A zone that was deleted and whose records still count as holders of assets. Its keys are purged when they do not.
///
/// Bytes: version 1 · number: database · number: zone · UUID: identity · text: owner · byte: 1 some were released, else 0
/// · (1) text: the last record released.
package struct ReleaseEntry: LayoutValue {
    package var database: DatabaseNumber
    package var zone: ZoneNumber
    package var identity: UUID
    /// Whose assets the records hold.
    package var owner: UserName
    /// The record, in the order of names, up to which the zone's records do not count any more; nil when all still do.
    package var last: RecordName?

    package init(
        database: DatabaseNumber, zone: ZoneNumber, identity: UUID, owner: UserName, last: RecordName? = nil
    ) {
        self.database = database
        self.zone = zone
        self.identity = identity
        self.owner = owner
        self.last = last
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: database.rawValue, to: &bytes)
        ValueWriter.append(number: zone.rawValue, to: &bytes)
        ValueWriter.append(identity, to: &bytes)
        ValueWriter.append(owner.text, to: &bytes)
        bytes.append(last == nil ? 0 : 1)
        if let last { ValueWriter.append(last.text, to: &bytes) }
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ReleaseEntry")
        try reader.expectVersion(1)
        database = DatabaseNumber(try reader.readPositive())
        zone = ZoneNumber(try reader.readPositive())
        identity = try reader.readUUID()
        owner = UserName(try reader.readText())
        switch try reader.readByte() {
        case 0: last = nil
        case 1: last = RecordName(try reader.readText())
        default: throw reader.corrupt("The mark of what was released is neither 0 nor 1.")
        }
        try reader.expectEnd()
    }
}

// The ledger of assets: which contents of an owner are in use.

/// How often an owner's records hold a content. Bytes: version 1 · number: count · number: how many bytes it has.
///
/// There is no entry for content that no record holds.
package struct AssetEntry: LayoutValue {
    /// At least 1.
    package var count: UInt64
    package var byteCount: Int64

    package init(count: UInt64, byteCount: Int64) {
        self.count = count
        self.byteCount = byteCount
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: count, to: &bytes)
        ValueWriter.append(number: UInt64(bitPattern: byteCount), to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "AssetEntry")
        try reader.expectVersion(1)
        count = try reader.readPositive()
        guard let size = Int64(exactly: try reader.readNumber()) else {
            throw reader.corrupt("The size of a content is negative.")
        }
        byteCount = size
        try reader.expectEnd()
    }
}
