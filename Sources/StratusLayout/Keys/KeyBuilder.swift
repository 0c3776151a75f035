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
