// The one place where the common beginning of a key is put together: (database, zone, keyspace tag).
//
// Invariants: tuple encodings are prefix-free, so all keys that begin with given parts are one contiguous range, from
// the parts' bytes up to `upperBound` of them. A key is a whole number of elements.

import StratusModel

/// Builds keys and ranges from the parts in front.
enum KeyBuilder {
    static func prefix(_ database: DatabaseNumber, _ zone: ZoneNumber) -> [UInt8] {
        var bytes: [UInt8] = []
        TupleWriter.appendInteger(database.rawValue, to: &bytes)
        TupleWriter.appendInteger(zone.rawValue, to: &bytes)
        return bytes
    }

    /// Appends a prefix and a keyspace tag.
    static func begin(_ key: inout [UInt8], _ prefix: [UInt8], tag: UInt8) {
        key.append(contentsOf: prefix)
        TupleWriter.appendInteger(UInt64(tag), to: &key)
    }

    /// A key of its own: `write` fills it.
    static func key(_ prefix: [UInt8], tag: UInt8, _ write: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(64)
        begin(&key, prefix, tag: tag)
        write(&key)
        return key
    }

    /// The first bytes after all keys that begin with `prefix`. Every element's type code is below 0xFF.
    static func upperBound(of prefix: [UInt8]) -> [UInt8] {
        guard let bound = prefixUpperBound(of: prefix) else {
            preconditionFailure("A prefix of whole elements begins with a type code, which is never 0xFF.")
        }
        return bound
    }

    /// All keys that begin with `prefix`, the prefix itself included.
    static func range(of prefix: [UInt8]) -> LayoutRange {
        LayoutRange(lower: prefix, upper: upperBound(of: prefix))
    }

    /// The smallest key after `key`: no element is shorter than a byte.
    static func successor(of key: [UInt8]) -> [UInt8] { key + [0] }

    static func append(_ name: RecordName?, to key: inout [UInt8]) {
        if let name {
            TupleWriter.appendString(name.text, to: &key)
        } else {
            TupleWriter.appendNull(to: &key)
        }
    }
}

// Short numbers that stand for databases and zones in key prefixes. They never appear in values or tokens: what must
// outlive a zone names it by its UUID.

/// The number of a database in this store. Zero stands outside every database.
package struct DatabaseNumber: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number written where no database is meant.
    package static let outside = DatabaseNumber(0)

    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }

    package var description: String { "db \(rawValue)" }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The number of a zone in its database. Zero stands outside every zone. A number is never used twice.
package struct ZoneNumber: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number written where no zone is meant.
    package static let outside = ZoneNumber(0)

    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }

    package var description: String { "zone \(rawValue)" }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

// A range of keys, named here because this target does not know the store's own type.

/// Keys from `lower` up to but not including `upper`, in byte order.
package struct LayoutRange: Hashable, Sendable {
    package var lower: [UInt8]
    package var upper: [UInt8]

    package init(lower: [UInt8], upper: [UInt8]) {
        self.lower = lower
        self.upper = upper
    }

    /// Whether `key` lies in the range.
    package func contains(_ key: [UInt8]) -> Bool {
        !key.lexicographicallyPrecedes(lower) && key.lexicographicallyPrecedes(upper)
    }
}

// Reads the parts of a key behind a prefix that is known to be there. Nothing is copied but the names that are asked
// for, and nothing traps: a key that is too short, or is not what it should be, is `.corruptKey`.

/// Which keyspace a key is read in.
enum KeyspaceLabel {
    case zone(ZoneKeyspace)
    case database(DatabaseKeyspace)
    case global(GlobalKeyspace)
    case unknown

    var name: String {
        switch self {
        case .zone(let keyspace): keyspace.name
        case .database(let keyspace): keyspace.name
        case .global(let keyspace): keyspace.name
        case .unknown: "unknown"
        }
    }
}

/// Reads the parts of one key, one after the other.
struct KeyReader: ~Escapable {
    private let key: Span<UInt8>
    private let keyspace: KeyspaceLabel
    private let prefixByteCount: Int
    private var reader: TupleReader

    /// Begins behind the first `prefixByteCount` bytes.
    @_lifetime(copy key)
    init(_ key: Span<UInt8>, after prefixByteCount: Int, in keyspace: KeyspaceLabel) throws(LayoutError) {
        guard prefixByteCount >= 0, key.count >= prefixByteCount else {
            throw .corruptKey(
                "The key ends within its prefix: check or restore the store.", key, at: 0, in: keyspace.name)
        }
        self.key = key
        self.keyspace = keyspace
        self.prefixByteCount = prefixByteCount
        self.reader = TupleReader(key.extracting(prefixByteCount..<key.count))
    }

    var isAtEnd: Bool { reader.isAtEnd }

    mutating func readText() throws(LayoutError) -> String {
        do throws(TupleError) { return try reader.readString() } catch { throw corrupt(error) }
    }

    mutating func readName() throws(LayoutError) -> RecordName { RecordName(try readText()) }

    /// Passes over a name, and says where in the key it begins.
    mutating func skipName() throws(LayoutError) -> Int {
        let offset = prefixByteCount + reader.position
        do throws(TupleError) { try reader.skipString() } catch { throw corrupt(error) }
        return offset
    }

    mutating func readOptionalName() throws(LayoutError) -> RecordName? {
        guard reader.isNextNull else { return try readName() }
        do throws(TupleError) { try reader.readNull() } catch { throw corrupt(error) }
        return nil
    }

    mutating func readNumber() throws(LayoutError) -> UInt64 {
        do throws(TupleError) { return try reader.readUnsigned() } catch { throw corrupt(error) }
    }

    mutating func readElement() throws(LayoutError) -> TupleElement {
        do throws(TupleError) { return try reader.readElement() } catch { throw corrupt(error) }
    }

    /// Refuses a key that goes on.
    func expectEnd() throws(LayoutError) {
        guard isAtEnd else { throw corrupt("The key has more parts than its keyspace knows.") }
    }

    /// The error for a part that can be read and means nothing here.
    func corrupt(_ message: StaticString, cause: TupleError? = nil) -> LayoutError {
        .corruptKey(message, key, at: prefixByteCount + reader.position, in: keyspace.name, cause: cause)
    }

    private func corrupt(_ error: TupleError) -> LayoutError {
        corrupt("A part of the key cannot be read: check or restore the store.", cause: error)
    }
}
