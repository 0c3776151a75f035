// Reads the parts of a key behind a prefix that is known to be there. Nothing is copied but the names that are asked
// for, and nothing traps: a key that is too short, or is not what it should be, is `.corruptKey`.

import StratusModel

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
