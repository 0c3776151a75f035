// The keys of one database outside its zones: (database number, 0, tag, …).

package import StratusModel

/// Builds and reads the keys of one database.
package struct DatabaseKeys: Hashable, Sendable {
    package let number: DatabaseNumber
    /// The encoded (database, 0): how every key here begins.
    package let prefix: [UInt8]

    /// The number is at least 1: zero stands outside every database.
    package init(_ number: DatabaseNumber) {
        precondition(number != .outside, "Database keys need the number of a database.")
        self.number = number
        self.prefix = KeyBuilder.prefix(number, .outside)
    }

    /// The keys of one of the database's zones.
    package func zoneKeys(_ zone: ZoneNumber) -> ZoneKeys { ZoneKeys(database: number, zone: zone) }

    /// Every key of the database, its zones included.
    package var all: LayoutRange {
        var prefix: [UInt8] = []
        TupleWriter.appendInteger(number.rawValue, to: &prefix)
        return KeyBuilder.range(of: prefix)
    }

    /// All keys of all zones of the database.
    package var zoneContents: LayoutRange {
        LayoutRange(lower: KeyBuilder.range(of: prefix).upper, upper: all.upper)
    }

    package func keyspace(_ keyspace: DatabaseKeyspace) -> LayoutRange { KeyBuilder.range(of: key(keyspace)) }

    package func header() -> [UInt8] { key(.header) }

    package func zone(_ name: ZoneName) -> [UInt8] {
        key(.zones) { TupleWriter.appendString(name.text, to: &$0) }
    }
    package var zones: LayoutRange { keyspace(.zones) }
    package func zones(after name: ZoneName) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.successor(of: zone(name)), upper: zones.upper)
    }
    /// The name of a key of the zones keyspace. Throws `.corruptKey`.
    package func readZoneKey(_ key: Span<UInt8>) throws(LayoutError) -> ZoneName {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .database(.zones))
        let name = ZoneName(try reader.readText())
        try reader.expectEnd()
        return name
    }

    package func change(_ counter: UInt64) -> [UInt8] {
        key(.changes) { TupleWriter.appendInteger(counter, to: &$0) }
    }
    package var changes: LayoutRange { keyspace(.changes) }
    package func changes(after counter: UInt64) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.successor(of: change(counter)), upper: changes.upper)
    }
    /// The counter of a key of the changes keyspace. Throws `.corruptKey`.
    package func readChangeKey(_ key: Span<UInt8>) throws(LayoutError) -> UInt64 {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .database(.changes))
        let counter = try reader.readNumber()
        try reader.expectEnd()
        return counter
    }

    package func subscription(user: UserName, id: String) -> [UInt8] {
        key(.subscriptions) {
            TupleWriter.appendString(user.text, to: &$0)
            TupleWriter.appendString(id, to: &$0)
        }
    }
    package func subscriptions(of user: UserName) -> LayoutRange {
        KeyBuilder.range(of: key(.subscriptions) { TupleWriter.appendString(user.text, to: &$0) })
    }

    package func schema(_ type: RecordType) -> [UInt8] {
        key(.schema) { TupleWriter.appendString(type.text, to: &$0) }
    }
    package var schema: LayoutRange { keyspace(.schema) }

    package func zoneSettings(_ name: ZoneName) -> [UInt8] {
        key(.zoneSettings) { TupleWriter.appendString(name.text, to: &$0) }
    }
    package func zoneMarker(_ name: ZoneName) -> [UInt8] {
        key(.zoneMarkers) { TupleWriter.appendString(name.text, to: &$0) }
    }
    package func zoneAssets(_ name: ZoneName) -> [UInt8] {
        key(.zoneAssets) { TupleWriter.appendString(name.text, to: &$0) }
    }

    private func key(_ keyspace: DatabaseKeyspace, _ write: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
        KeyBuilder.key(prefix, tag: keyspace.rawValue, write)
    }
}
