// The keys of one zone. All begin with (database number, zone number), so a zone is one contiguous range of the store.
//
// Each key comes in two forms: one that appends it to a buffer of the caller's (no allocation while its capacity
// suffices), and one that returns bytes of its own.

package import StratusModel

/// Builds and reads the keys of one zone.
package struct ZoneKeys: Hashable, Sendable {
    package let database: DatabaseNumber
    package let zone: ZoneNumber
    /// The encoded (database, zone): how every key of the zone begins.
    package let prefix: [UInt8]

    /// Both numbers are at least 1: zero stands outside every database and zone.
    package init(database: DatabaseNumber, zone: ZoneNumber) {
        precondition(database != .outside && zone != .outside, "Zone keys need the number of a database and a zone.")
        self.database = database
        self.zone = zone
        self.prefix = KeyBuilder.prefix(database, zone)
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.database == right.database && left.zone == right.zone
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(database)
        hasher.combine(zone)
    }

    /// Appends the beginning of every key of `keyspace`.
    package func begin(_ keyspace: ZoneKeyspace, into key: inout [UInt8]) {
        KeyBuilder.begin(&key, prefix, tag: keyspace.rawValue)
    }

    /// How many bytes every key of a keyspace begins with before its own parts.
    package var keyspacePrefixByteCount: Int { prefix.count + 2 }

    /// A key of its own, written by one of the functions that append to a buffer.
    func key(_ fill: (inout [UInt8]) -> Void) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(prefix.count + 64)
        fill(&key)
        return key
    }
}

extension ZoneKeys {
    package func header(into key: inout [UInt8]) { begin(.header, into: &key) }
    package func header() -> [UInt8] { key { header(into: &$0) } }

    /// The key of a record or its tombstone; the first chunk of a large record lies here too.
    package func record(_ name: RecordName, into key: inout [UInt8]) {
        begin(.records, into: &key)
        TupleWriter.appendString(name.text, to: &key)
    }
    package func record(_ name: RecordName) -> [UInt8] { key { record(name, into: &$0) } }

    /// The key of the record whose name is the end of another key, from `nameOffset` on: names are the same bytes in all
    /// keys.
    package func record(namedIn other: Span<UInt8>, from nameOffset: Int, into key: inout [UInt8]) {
        begin(.records, into: &key)
        key.append(addingCapacity: other.count - nameOffset) { output in
            for index in nameOffset..<other.count { output.append(other[index]) }
        }
    }

    /// The key of a later chunk of a large record: `index` is 1 or more.
    package func recordChunk(_ name: RecordName, index: Int, into key: inout [UInt8]) {
        precondition(index >= 1, "The first chunk of a record lies under the record's own key.")
        record(name, into: &key)
        TupleWriter.appendInteger(UInt64(index), to: &key)
    }
    package func recordChunk(_ name: RecordName, index: Int) -> [UInt8] {
        key { recordChunk(name, index: index, into: &$0) }
    }

    /// The key of the small entry that names a record's parent and share.
    package func parent(of name: RecordName, into key: inout [UInt8]) {
        begin(.parents, into: &key)
        TupleWriter.appendString(name.text, to: &key)
    }
    package func parent(of name: RecordName) -> [UInt8] { key { parent(of: name, into: &$0) } }

    package func child(parent: RecordName, name: RecordName, into key: inout [UInt8]) {
        begin(.children, into: &key)
        TupleWriter.appendString(parent.text, to: &key)
        TupleWriter.appendString(name.text, to: &key)
    }
    package func child(parent: RecordName, name: RecordName) -> [UInt8] {
        key { child(parent: parent, name: name, into: &$0) }
    }

    package func shareRoot(_ name: RecordName, into key: inout [UInt8]) {
        begin(.shareRoots, into: &key)
        TupleWriter.appendString(name.text, to: &key)
    }
    package func shareRoot(_ name: RecordName) -> [UInt8] { key { shareRoot(name, into: &$0) } }

    /// The key of a record's share count: its parent (nil for a record that has none) stands first.
    package func shareCount(parent: RecordName?, name: RecordName, into key: inout [UInt8]) {
        begin(.shareCounts, into: &key)
        KeyBuilder.append(parent, to: &key)
        TupleWriter.appendString(name.text, to: &key)
    }
    package func shareCount(parent: RecordName?, name: RecordName) -> [UInt8] {
        key { shareCount(parent: parent, name: name, into: &$0) }
    }
}
