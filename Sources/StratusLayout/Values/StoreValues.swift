// The values outside zones: the format, the counters, the directory of databases and zones, the ledger of assets, and
// deleted zones whose keys are still there.

package import FoundationEssentials
package import StratusModel
package import StratusStore

/// The format and the incarnation of the store. Checked first on opening.
///
/// Bytes: version 1 · number: format · UUID: incarnation. In an unfinished copy: version 2 · the same · UUID:
/// incarnation of the store that is copied. Software that does not know copies does not know that version, and opens
/// none.
package struct FormatEntry: LayoutValue {
    /// The format this software writes. It reads every format from 1 on.
    ///
    ///   1  the first
    ///   2  entries of record types say which were imported (`SchemaEntry`)
    ///   3  entries of changes name the parent of a saved record (`ChangeEntry`)
    package static let currentVersion: UInt64 = 3

    package var version: UInt64
    /// Changes when the store is restored, copied, moved or repaired. Change tokens of another incarnation expire.
    package var incarnation: UUID
    /// The incarnation of the store that is being copied into this one; nil in a whole store.
    package var copied: UUID?

    package init(version: UInt64 = Self.currentVersion, incarnation: UUID, copied: UUID? = nil) {
        self.version = version
        self.incarnation = incarnation
        self.copied = copied
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(copied == nil ? 1 : 2)
        ValueWriter.append(version, incarnation, to: &bytes)
        if let copied { ValueWriter.append(copied, to: &bytes) }
    }

    /// Throws `.newerFormat` as soon as the format's number shows that the rest may be different.
    package init(decoding bytes: Span<UInt8>) throws(StoreError) {
        var reader = ValueReader(bytes, FormatEntry.self)
        let isCopy = bytes.count > 0 && bytes[0] == 2
        try reader.expectVersion(isCopy ? 2 : 1)
        version = try reader.readNumber()
        guard version <= Self.currentVersion else {
            throw StoreError(
                .newerFormat, "The store was written by newer software: open it with that, or restore an older backup.",
                ["found": "\(version)", "supported": "\(Self.currentVersion)"])
        }
        guard version >= 1 else { throw reader.corrupt("No format has the number 0.") }
        incarnation = try reader.read()
        copied = isCopy ? try reader.read() as UUID : nil
        try reader.expectEnd()
    }
}

/// The store's own counter. Bytes: version 1 · number: next database number.
package struct GlobalHeader: VersionedValue {
    /// The number the next database gets; 1 in an empty store.
    package var nextDatabaseNumber: UInt64

    package init(nextDatabaseNumber: UInt64 = 1) { self.nextDatabaseNumber = nextDatabaseNumber }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(nextDatabaseNumber, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { nextDatabaseNumber = try reader.readPositive() }
}

extension DatabaseNumber: ValuePart {}
extension ZoneNumber: ValuePart {}

/// A database's number and identity. Bytes: version 1 · number: number · UUID: identity.
package struct DatabaseEntry: VersionedValue {
    package var number: DatabaseNumber
    package var identity: UUID

    package init(number: DatabaseNumber, identity: UUID) {
        self.number = number
        self.identity = identity
    }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(number, identity, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { (number, identity) = try reader.read() }
}

/// A database's counters. Bytes: version 1 · number: next zone number · number: change counter.
package struct DatabaseHeader: VersionedValue {
    /// The number the next zone gets; 1 in an empty database.
    package var nextZoneNumber: UInt64 = 1
    /// The number of the newest entry of the feed of zones.
    package var changeCounter: UInt64 = 0

    package init() {}

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(nextZoneNumber, changeCounter, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        nextZoneNumber = try reader.readPositive()
        changeCounter = try reader.readNumber()
    }
}

/// How often an owner's records hold a content. Bytes: version 1 · number: count · number: how many bytes it has.
/// Version 2, where contents are in the store: then UUID: upload.
///
/// Content that no record holds has no entry.
package struct AssetEntry: LayoutValue {
    /// At least 1.
    package var count: UInt64
    package var byteCount: Int64
    /// Which of its uploads the records hold; nil where contents are files.
    package var upload: UUID?

    package init(count: UInt64, byteCount: Int64, upload: UUID? = nil) {
        self.count = count
        self.byteCount = byteCount
        self.upload = upload
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(upload == nil ? 1 : 2)
        ValueWriter.append(count, UInt64(bitPattern: byteCount), to: &bytes)
        if let upload { ValueWriter.append(upload, to: &bytes) }
    }

    package init(decoding bytes: Span<UInt8>) throws(StoreError) {
        var reader = ValueReader(bytes, AssetEntry.self)
        let isInStore = bytes.count > 0 && bytes[0] == 2
        try reader.expectVersion(isInStore ? 2 : 1)
        count = try reader.readPositive()
        guard let size = Int64(exactly: try reader.readNumber()) else {
            throw reader.corrupt("The size of a content is negative.")
        }
        byteCount = size
        upload = isInStore ? try reader.read() as UUID : nil
        try reader.expectEnd()
    }
}

/// A request's lease on a content: the content stays at least until then.
///
/// Bytes: version 1 · UUID: upload · number: end.
package struct UploadEntry: VersionedValue {
    package var upload: UUID
    /// By the clock of the store, in milliseconds since 1970.
    package var endMilliseconds: UInt64

    package init(upload: UUID, endMilliseconds: UInt64) {
        self.upload = upload
        self.endMilliseconds = endMilliseconds
    }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(upload, endMilliseconds, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { (upload, endMilliseconds) = try reader.read() }
}

/// The process that does a kind of background work.
///
/// Bytes: version 1 · number: generation · byte: 1 a process does it, else 0 · (1) UUID: holder.
package struct WorkEntry: VersionedValue, Hashable {
    /// The process, by a UUID that it draws when it opens the store; nil if none does the work.
    package var holder: UUID?
    /// Raised by each process that takes the work.
    package var generation: UInt64

    package init(holder: UUID?, generation: UInt64) {
        self.holder = holder
        self.generation = generation
    }

    package func appendParts(to bytes: inout [UInt8]) {
        ValueWriter.append(generation, to: &bytes)
        bytes.append(holder == nil ? 0 : 1)
        if let holder { ValueWriter.append(holder, to: &bytes) }
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        generation = try reader.read()
        holder = try reader.readFlag() ? reader.read() as UUID : nil
    }
}

/// A process that does background work.
///
/// Bytes: version 1 · number: beat.
package struct HostEntry: VersionedValue, Hashable {
    /// Raised regularly. A beat that stands still shows a process that is gone.
    package var beat: UInt64

    package init(beat: UInt64) { self.beat = beat }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(beat, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { beat = try reader.read() }
}

/// The server's timeline on which no commit was missing, and a part of all positions in feeds.
///
/// Bytes: version 1 · number: the 64 bits of the system's identity · number: timeline, 0 unknown · flags: 1 replicated,
/// 2 incarnation · (2) UUID: incarnation.
package struct TimelineEntry: VersionedValue, Hashable {
    package var system: Int64
    package var number: Int64
    /// Whether a standby had each commit before it was acknowledged.
    package var isReplicated: Bool
    /// Combined with the incarnations in positions; nil before a commit may have been lost.
    package var incarnation: UUID?

    package init(system: Int64, number: Int64, isReplicated: Bool, incarnation: UUID?) {
        self.system = system
        self.number = number
        self.isReplicated = isReplicated
        self.incarnation = incarnation
    }

    package func appendParts(to bytes: inout [UInt8]) {
        ValueWriter.append(UInt64(bitPattern: system), UInt64(bitPattern: number), to: &bytes)
        bytes.append((isReplicated ? 1 : 0) + (incarnation == nil ? 0 : 2))
        if let incarnation { ValueWriter.append(incarnation, to: &bytes) }
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        system = Int64(bitPattern: try reader.readNumber())
        number = Int64(bitPattern: try reader.readNumber())
        let flags = try reader.readFlags(below: 4)
        isReplicated = flags & 1 != 0
        incarnation = flags & 2 != 0 ? try reader.read() as UUID : nil
    }
}

/// A part of the stored form of a long-lived operation, which StratusKit defines, or its head, which says which parts
/// are the newest form's. The head has the index 0 and no bytes.
///
/// Bytes: version 1 · number: index of the first part · number: how many parts · bytes: this one.
package struct OperationPart: VersionedValue {
    /// The bytes of every part but the last.
    package static let byteCount = 90_000

    /// At least 1.
    package var first: UInt64
    /// At least 1.
    package var count: UInt64
    package var bytes: [UInt8]

    package init(first: UInt64, count: UInt64, bytes: [UInt8] = []) {
        self.first = first
        self.count = count
        self.bytes = bytes
    }

    package func appendParts(to bytes: inout [UInt8]) {
        ValueWriter.append(first, count, to: &bytes)
        ValueWriter.append(self.bytes, to: &bytes)
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        first = try reader.readPositive()
        count = try reader.readPositive()
        bytes = try reader.readBytes()
    }
}

/// A deleted zone whose keys are still there.
///
/// Bytes: version 1 · number: database · number: zone · UUID: identity.
package struct PurgeEntry: VersionedValue {
    package var database: DatabaseNumber
    package var zone: ZoneNumber
    package var identity: UUID

    package init(database: DatabaseNumber, zone: ZoneNumber, identity: UUID) {
        self.database = database
        self.zone = zone
        self.identity = identity
    }

    package var keys: ZoneKeys { ZoneKeys(database: database, zone: zone) }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(database, zone, identity, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { (database, zone, identity) = try reader.read() }
}

/// A deleted zone whose records still count as holders of assets. Its keys are purged when they no longer do.
///
/// Bytes: version 1 · number: database · number: zone · UUID: identity · text: owner · byte: 1 if some were released,
/// else 0 · (1) text: the last record released.
package struct ReleaseEntry: VersionedValue {
    package var database: DatabaseNumber
    package var zone: ZoneNumber
    package var identity: UUID
    /// The owner of the assets that the records hold.
    package var owner: UserName
    /// The last record, in the order of names, that no longer counts; nil if all still do.
    package var last: RecordName?

    package init(database: DatabaseNumber, zone: ZoneNumber, identity: UUID, owner: UserName) {
        self.database = database
        self.zone = zone
        self.identity = identity
        self.owner = owner
    }

    package var keys: ZoneKeys { ZoneKeys(database: database, zone: zone) }
    /// What the entry turns into once nothing holds the zone any longer.
    package var purge: PurgeEntry { PurgeEntry(database: database, zone: zone, identity: identity) }

    package func appendParts(to bytes: inout [UInt8]) {
        ValueWriter.append(database, zone, identity, owner, last, to: &bytes)
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        (database, zone, identity, owner, last) = try reader.read()
    }
}
