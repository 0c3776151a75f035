// The keys of one database outside its zones: (database number, 0, tag, …).

package import StratusModel
package import StratusStore

/// Builds and reads the keys of one database.
package struct DatabaseKeys: Hashable, Sendable {
    package let number: DatabaseNumber
    /// The encoded (database, 0): how every key here begins.
    package let prefix: [UInt8]

    /// The number is at least 1: zero is outside every database.
    package init(_ number: DatabaseNumber) {
        precondition(number != .outside, "Database keys need the number of a database.")
        self.number = number
        self.prefix = KeyBuilder.prefix(number, .outside)
    }

    /// Every key of the database, its zones included.
    package var all: KeyRange {
        var prefix: [UInt8] = []
        number.append(to: &prefix)
        return KeyBuilder.range(of: prefix)
    }

    /// All keys of all zones of the database.
    package var zoneContents: KeyRange {
        KeyRange(from: KeyBuilder.range(of: prefix).upper, upTo: all.upper)
    }

    package func keyspace(_ keyspace: DatabaseKeyspace) -> KeyRange { KeyBuilder.range(of: key(keyspace)) }

    package func header() -> [UInt8] { key(.header) }

    package func zone(_ name: ZoneName) -> [UInt8] { key(.zones, name) }
    package func zones(after name: ZoneName) -> KeyRange { keyspace(.zones).after(zone(name)) }
    /// The name in a key of the zones keyspace. Throws `.corruption`.
    package func readZoneKey(_ key: Span<UInt8>) throws(StoreError) -> ZoneName { try read(key, .zones) { $0 } }

    package func change(_ counter: UInt64) -> [UInt8] { key(.changes, counter) }
    package func changes(after counter: UInt64) -> KeyRange { keyspace(.changes).after(change(counter)) }
    /// The counter in a key of the changes keyspace. Throws `.corruption`.
    package func readChangeKey(_ key: Span<UInt8>) throws(StoreError) -> UInt64 { try read(key, .changes) { $0 } }

    package func subscription(user: UserName, id: String) -> [UInt8] { key(.subscriptions, user, id) }
    package func subscriptions(of user: UserName) -> KeyRange { KeyBuilder.range(of: key(.subscriptions, user)) }

    package func zoneSettings(_ name: ZoneName) -> [UInt8] { key(.zoneSettings, name) }
    package func zoneMarker(_ name: ZoneName) -> [UInt8] { key(.zoneMarkers, name) }
    package func zoneAssets(_ name: ZoneName) -> [UInt8] { key(.zoneAssets, name) }

    private func key<each Part: KeyElement>(_ keyspace: DatabaseKeyspace, _ parts: repeat each Part) -> [UInt8] {
        KeyBuilder.key(prefix, tag: keyspace.rawValue, repeat each parts)
    }

    /// What `make` builds from the parts of a key.
    private func read<each Part: KeyElement, Parts>(
        _ key: Span<UInt8>, _ keyspace: DatabaseKeyspace, _ make: (repeat each Part) -> Parts
    ) throws(StoreError) -> Parts {
        var reader = try KeyReader(key, after: prefix.count + 2, in: keyspace)
        return try reader.finish(make)
    }
}
