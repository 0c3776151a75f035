// Everything about a record but its fields; it stands at the beginning of the value, in the first chunk too.

package import StratusModel

/// A live record without its fields.
package struct RecordHeader: Hashable, Sendable {
    package var type: RecordType
    package var parent: RecordName?
    package var share: RecordName?
    package var system: SystemFields

    package init(type: RecordType, parent: RecordName?, share: RecordName?, system: SystemFields) {
        self.type = type
        self.parent = parent
        self.share = share
        self.system = system
    }
}

extension RecordHeader {
    /// Bits of the byte behind the kind. Never change.
    enum Flag {
        static let parent: UInt8 = 1
        static let share: UInt8 = 2
        /// The record was last modified by who created it: the user is not repeated.
        static let sameUser: UInt8 = 4
        static let all: UInt8 = 7
    }

    static func append(_ stored: StoredRecord, to bytes: inout [UInt8]) {
        let isSameUser = stored.system.created.user == stored.system.modified.user
        bytes.append(RecordValueKind.live.rawValue)
        var flags: UInt8 = stored.record.parent != nil ? Flag.parent : 0
        if stored.record.share != nil { flags |= Flag.share }
        if isSameUser { flags |= Flag.sameUser }
        bytes.append(flags)
        ValueWriter.append(stored.record.type.text, to: &bytes)
        ValueWriter.append(number: stored.system.changeSequence, to: &bytes)
        ValueWriter.append(fixed: stored.system.tagSalt, to: &bytes)
        ValueWriter.append(stored.system.created.date, to: &bytes)
        ValueWriter.append(stored.system.created.user.text, to: &bytes)
        ValueWriter.append(stored.system.modified.date, to: &bytes)
        if !isSameUser { ValueWriter.append(stored.system.modified.user.text, to: &bytes) }
        if let parent = stored.record.parent { ValueWriter.append(parent.text, to: &bytes) }
        if let share = stored.record.share { ValueWriter.append(share.text, to: &bytes) }
    }

    /// Reads the header of a live record; of a large one, from its first chunk as it lies in the store.
    ///
    /// Throws `.corruptValue`, also for a tombstone.
    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "Record")
        if try RecordValueKind(of: bytes) == .firstChunk { _ = try RecordChunks.readFirstHeader(&reader) }
        self = try Self.read(&reader)
    }

    /// Reads the header and leaves `reader` at the number of fields.
    static func read(_ reader: inout ValueReader) throws(LayoutError) -> RecordHeader {
        let flags = try readFlags(&reader)
        let type = RecordType(try reader.readText())
        let sequence = try reader.readNumber()
        let salt = try reader.readFixed32()
        let created = Stamp(date: try reader.readDate(), user: UserName(try reader.readText()))
        var modified = Stamp(date: try reader.readDate(), user: created.user)
        if flags & Flag.sameUser == 0 {
            modified.user = UserName(try reader.readText())
            guard modified.user != created.user else { throw reader.corrupt("A user is repeated needlessly.") }
        }
        let parent = flags & Flag.parent != 0 ? RecordName(try reader.readText()) : nil
        let share = flags & Flag.share != 0 ? RecordName(try reader.readText()) : nil
        return RecordHeader(
            type: type, parent: parent, share: share,
            system: SystemFields(
                changeSequence: sequence, tagSalt: salt, created: created,
                modified: modified))
    }

    /// Passes over the header and leaves `reader` at the number of fields.
    static func skip(_ reader: inout ValueReader) throws(LayoutError) {
        let flags = try readFlags(&reader)
        try reader.skipText()
        _ = try reader.readNumber()
        try reader.skip(byteCount: 12)
        try reader.skipText()
        try reader.skip(byteCount: 8)
        if flags & Flag.sameUser == 0 { try reader.skipText() }
        if flags & Flag.parent != 0 { try reader.skipText() }
        if flags & Flag.share != 0 { try reader.skipText() }
    }

    private static func readFlags(_ reader: inout ValueReader) throws(LayoutError) -> UInt8 {
        guard try reader.readByte() == RecordValueKind.live.rawValue else {
            throw reader.corrupt("The value is not a whole live record: join its chunks, or read it as a tombstone.")
        }
        let flags = try reader.readByte()
        guard flags & ~Flag.all == 0 else { throw reader.corrupt("A flag of the record is unknown.") }
        return flags
    }
}

extension ValueReader {
    /// Passes over a text without looking at it.
    mutating func skipText() throws(LayoutError) {
        try skip(byteCount: try readCount())
    }
}
