// How keys are put together and read: (database, zone, keyspace tag), then the parts of the keyspace. No other file
// writes the common beginning.
//
// Invariants: tuple encodings are prefix-free, so all keys that begin with given parts are one range, from the parts'
// bytes up to `upperBound` of them. A key is a whole number of elements. Reading copies only the names that a caller
// wants, and never traps: a key that is too short or has other parts is `.corruption`.

package import FoundationEssentials
import StratusModel
import StratusStore

/// The number of a database in this store. Zero is outside every database.
///
/// Numbers of databases and zones keep keys short. They never appear in tokens: what outlives a zone names it by its
/// UUID.
///
/// A store counts its databases. In a store of one process a number is the count itself (dense). Where several
/// processes may write, databases that were created one after another must not be neighbours: what a transaction has
/// read there may be a page of keys, so their writers would be in each other's way. There the bits of the count are
/// reversed (scattered). The two kinds never meet, so a copy of a store in another engine can have both.
package struct DatabaseNumber: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number written where no database is meant.
    package static let outside = DatabaseNumber(0)

    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }

    /// Dense numbers are below this.
    private static let denseEnd: UInt64 = 1 << 40
    /// Added to every scattered number. All of them take the same number of bytes in a key.
    private static let scatteredBase: UInt64 = 1 << 47
    private static let scatteredBitCount: UInt64 = 46

    /// The scattered number for a count of databases, which is from 1 up to 2^46.
    package static func scattered(_ count: UInt64) -> DatabaseNumber {
        DatabaseNumber(scatteredBase | reversed(count))
    }

    /// The count from which the number was made, as a dense or a scattered one; nil if no count gives this number.
    package var count: UInt64? {
        if rawValue < Self.denseEnd { return rawValue }
        let reversed = rawValue ^ Self.scatteredBase
        return reversed >> Self.scatteredBitCount == 0 && reversed != 0 ? Self.reversed(reversed) : nil
    }

    /// The lowest bits in reverse order.
    private static func reversed(_ bits: UInt64) -> UInt64 {
        var (rest, result) = (bits, UInt64(0))
        for _ in 0..<scatteredBitCount {
            result = result << 1 | rest & 1
            rest >>= 1
        }
        return result
    }

    package var description: String { "db \(rawValue)" }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The number of a zone in its database. Zero is outside every zone. A number is never used twice.
package struct ZoneNumber: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number written where no zone is meant.
    package static let outside = ZoneNumber(0)

    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }

    package var description: String { "zone \(rawValue)" }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension KeyRange {
    /// The rest of the range after one of its keys.
    func after(_ key: [UInt8]) -> KeyRange { KeyRange(from: KeyBuilder.successor(of: key), upTo: upper) }

    /// The rest of the range after all keys that begin with `prefix`.
    func after(prefix: [UInt8]) -> KeyRange { KeyRange(from: KeyBuilder.upperBound(of: prefix), upTo: upper) }
}

// MARK: Parts of keys

/// A value that is one element of a key.
protocol KeyElement {
    func append(to key: inout [UInt8])
    static func read(_ reader: inout KeyReader) throws(StoreError) -> Self
}

extension String: KeyElement {
    func append(to key: inout [UInt8]) { TupleWriter.appendString(self, to: &key) }
    static func read(_ reader: inout KeyReader) throws(StoreError) -> String { try reader.readText() }
}

extension KeyElement where Self: ByteComparedName {
    func append(to key: inout [UInt8]) { TupleWriter.appendString(text, to: &key) }
    static func read(_ reader: inout KeyReader) throws(StoreError) -> Self { Self(try reader.readText()) }
}

extension RecordName: KeyElement {}
extension ZoneName: KeyElement {}
extension RecordType: KeyElement {}
extension FieldKey: KeyElement {}
extension UserName: KeyElement {}
extension ContainerName: KeyElement {}
extension AccountID: KeyElement {}

/// A name, or null.
extension Optional: KeyElement where Wrapped: KeyElement {
    func append(to key: inout [UInt8]) {
        if let self { self.append(to: &key) } else { TupleWriter.appendNull(to: &key) }
    }

    static func read(_ reader: inout KeyReader) throws(StoreError) -> Wrapped? {
        try reader.takeNull() ? nil : try Wrapped.read(&reader)
    }
}

extension UInt64: KeyElement {
    func append(to key: inout [UInt8]) { TupleWriter.appendInteger(self, to: &key) }
    static func read(_ reader: inout KeyReader) throws(StoreError) -> UInt64 { try reader.readNumber() }
}

/// A number of a database or zone, which is never 0 after the prefix.
extension KeyElement where Self: RawRepresentable<UInt64> {
    func append(to key: inout [UInt8]) { TupleWriter.appendInteger(rawValue, to: &key) }

    static func read(_ reader: inout KeyReader) throws(StoreError) -> Self {
        let number = try reader.readNumber()
        guard number > 0, let value = Self(rawValue: number) else {
            throw reader.corrupt("No database or zone has the number 0: check or restore the store.")
        }
        return value
    }
}

extension DatabaseNumber: KeyElement {}
extension ZoneNumber: KeyElement {}

/// A case of an enumeration, as its raw value.
extension KeyElement where Self: RawRepresentable<UInt8> {
    func append(to key: inout [UInt8]) { TupleWriter.appendInteger(UInt64(rawValue), to: &key) }

    static func read(_ reader: inout KeyReader) throws(StoreError) -> Self {
        guard let number = UInt8(exactly: try reader.readNumber()), let value = Self(rawValue: number) else {
            throw reader.corrupt("No case has this number: check or restore the store.")
        }
        return value
    }
}

extension ReferenceAction: KeyElement {}
extension DatabaseScope: KeyElement {}
extension IdentityKind: KeyElement {}

/// An element that nests no tuples, such as those of `IndexedValue`.
extension TupleElement: KeyElement {
    func append(to key: inout [UInt8]) {
        do throws(TupleError) {
            try TupleWriter.append(self, to: &key)
        } catch {
            preconditionFailure("An element of an index nests no tuples.")
        }
    }

    static func read(_ reader: inout KeyReader) throws(StoreError) -> TupleElement { try reader.readElement() }
}

extension UUID: KeyElement {
    func append(to key: inout [UInt8]) { TupleWriter.appendUUID(self, to: &key) }

    static func read(_ reader: inout KeyReader) throws(StoreError) -> UUID {
        guard case .uuid(let identifier) = try reader.readElement() else {
            throw reader.corrupt("A UUID is missing: check or restore the store.")
        }
        return identifier
    }
}

/// Bytes, such as a digest.
extension [UInt8]: KeyElement {
    func append(to key: inout [UInt8]) { TupleWriter.appendBytes(self, to: &key) }

    static func read(_ reader: inout KeyReader) throws(StoreError) -> [UInt8] {
        guard case .bytes(let bytes) = try reader.readElement() else {
            throw reader.corrupt("Bytes are missing: check or restore the store.")
        }
        return bytes
    }
}

// MARK: Building

/// Builds keys and ranges.
enum KeyBuilder {
    static func prefix(_ database: DatabaseNumber, _ zone: ZoneNumber) -> [UInt8] {
        var bytes: [UInt8] = []
        database.append(to: &bytes)
        zone.append(to: &bytes)
        return bytes
    }

    /// A single key: the prefix, the keyspace's tag and the parts.
    static func key<each Part: KeyElement>(_ prefix: [UInt8], tag: UInt8, _ parts: repeat each Part) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(prefix.count + 64)
        key.append(contentsOf: prefix)
        TupleWriter.appendInteger(UInt64(tag), to: &key)
        repeat (each parts).append(to: &key)
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
    static func range(of prefix: [UInt8]) -> KeyRange {
        KeyRange(from: prefix, upTo: upperBound(of: prefix))
    }

    /// The smallest key after `key`: no element is shorter than a byte.
    static func successor(of key: [UInt8]) -> [UInt8] { key + [0] }
}

// MARK: Reading

/// Reads the parts of one key, one after the other.
struct KeyReader: ~Escapable {
    private let key: Span<UInt8>
    /// The keyspace that the key is read in; nil if it is not known.
    private let keyspace: (any Keyspace)?
    private let prefixByteCount: Int
    private var reader: TupleReader

    /// Begins after the first `prefixByteCount` bytes.
    @_lifetime(copy key)
    init(_ key: Span<UInt8>, after prefixByteCount: Int, in keyspace: (any Keyspace)? = nil) throws(StoreError) {
        guard prefixByteCount >= 0, key.count >= prefixByteCount else {
            throw .corruptKey(
                "The key ends within its prefix: check or restore the store.", key, at: 0,
                in: keyspace?.name ?? "unknown")
        }
        self.key = key
        self.keyspace = keyspace
        self.prefixByteCount = prefixByteCount
        self.reader = TupleReader(key.extracting(prefixByteCount..<key.count))
    }

    var isAtEnd: Bool { reader.isAtEnd }

    mutating func readText() throws(StoreError) -> String {
        do throws(TupleError) { return try reader.readString() } catch { throw corrupt(error) }
    }

    /// Skips a name and returns the offset in the key at which it begins.
    mutating func skipName() throws(StoreError) -> Int {
        let offset = prefixByteCount + reader.position
        do throws(TupleError) { try reader.skipString() } catch { throw corrupt(error) }
        return offset
    }

    /// Skips a null if it comes next.
    mutating func takeNull() throws(StoreError) -> Bool {
        guard reader.isNextNull else { return false }
        do throws(TupleError) { try reader.readNull() } catch { throw corrupt(error) }
        return true
    }

    mutating func readNumber() throws(StoreError) -> UInt64 {
        do throws(TupleError) { return try reader.readUnsigned() } catch { throw corrupt(error) }
    }

    mutating func readElement() throws(StoreError) -> TupleElement {
        do throws(TupleError) { return try reader.readElement() } catch { throw corrupt(error) }
    }

    /// Reads the last parts of the key and builds a value from them.
    mutating func finish<each Part: KeyElement, Parts>(
        _ make: (repeat each Part) -> Parts
    ) throws(StoreError) -> Parts {
        let parts = make(repeat try (each Part).read(&self))
        try expectEnd()
        return parts
    }

    /// Throws if parts are left.
    func expectEnd() throws(StoreError) {
        guard isAtEnd else { throw corrupt("The key has more parts than its keyspace knows.") }
    }

    /// The error for a part that is readable but means nothing here.
    func corrupt(_ message: StaticString, cause: TupleError? = nil) -> StoreError {
        .corruptKey(
            message, key, at: prefixByteCount + reader.position, in: keyspace?.name ?? "unknown", cause: cause)
    }

    private func corrupt(_ error: TupleError) -> StoreError {
        corrupt("A part of the key cannot be read: check or restore the store.", cause: error)
    }
}
