// The entries of a store as they are on every engine, so that the stores of two engines can be compared.
//
// Shared stores scatter the numbers of databases, so a number is replaced by the place of its database among the names
// of all, in keys and in values. Left out are the keyspaces that only stores on a server have: receipts, and what
// belongs to contents and long-lived operations there.

import StratusLayout
package import StratusStore

/// The entries of a store with names in place of numbers.
package struct NamedEntries: Equatable, Sendable {
    package let entries: [[UInt8]: [UInt8]]

    private static let leftOut: [GlobalKeyspace] = [
        .receipts, .uploads, .collecting, .operations, .work, .hosts, .runs, .timeline,
    ]
    /// Keyspaces whose keys begin with the numbers of a database and a zone.
    private static let zoneLists: [GlobalKeyspace] = [.purges, .releases, .rebuilds, .indexBuilds]

    package init(of store: any OrderedStore) throws {
        entries = try store.read(.wholeStore) { reader in
            let numbers = try Self.numbers(in: reader)
            var entries: [[UInt8]: [UInt8]] = [:]
            try reader.scan(.everything) { key, value in
                let (key, value) = ([UInt8](copying: key), [UInt8](copying: value))
                guard !Self.leftOut.contains(where: { GlobalKeys.keyspace($0).contains(key) }) else { return .next }
                entries[try Self.named(key, numbers)] = try Self.named(value, forKey: key, numbers)
                return .next
            }
            return entries
        }
    }

    /// The place of each database in the order of names, which are the keys, from 1.
    private static func numbers(in reader: any StoreReader) throws -> [DatabaseNumber: DatabaseNumber] {
        var numbers: [DatabaseNumber: DatabaseNumber] = [:]
        try reader.scan(GlobalKeys.keyspace(.databases)) { _, value in
            numbers[try DatabaseEntry(decoding: value).number] = DatabaseNumber(UInt64(numbers.count + 1))
            return .next
        }
        return numbers
    }

    private static func named(_ key: [UInt8], _ numbers: [DatabaseNumber: DatabaseNumber]) throws -> [UInt8] {
        let number = try ZoneKeys.databaseNumber(of: key.span)
        if let new = numbers[number] {
            return DatabaseKeys(new).all.lower + key.dropFirst(DatabaseKeys(number).all.lower.count)
        }
        if let list = zoneLists.first(where: { GlobalKeys.keyspace($0).contains(key) }) {
            let (database, zone) = try GlobalKeys.readZoneKey(key.span, in: list)
            return GlobalKeys.zone(numbers[database] ?? database, zone, in: list)
        }
        if GlobalKeys.keyspace(.outbox).contains(key) {
            let (database, counter, index) = try GlobalKeys.readOutboxKey(key.span)
            return GlobalKeys.outbox(numbers[database] ?? database, counter: counter, index: index)
        }
        return key
    }

    private static func named(
        _ value: [UInt8], forKey key: [UInt8], _ numbers: [DatabaseNumber: DatabaseNumber]
    ) throws -> [UInt8] {
        if GlobalKeys.keyspace(.databases).contains(key) {
            var entry = try DatabaseEntry(decoding: value.span)
            entry.number = numbers[entry.number] ?? entry.number
            return entry.encoded()
        }
        if GlobalKeys.keyspace(.purges).contains(key) {
            var entry = try PurgeEntry(decoding: value.span)
            entry.database = numbers[entry.database] ?? entry.database
            return entry.encoded()
        }
        if GlobalKeys.keyspace(.releases).contains(key) {
            var entry = try ReleaseEntry(decoding: value.span)
            entry.database = numbers[entry.database] ?? entry.database
            return entry.encoded()
        }
        if GlobalKeys.keyspace(.indexReviews).contains(key) {
            let last = try IndexReviewEntry(decoding: value.span).last
            return IndexReviewEntry(last: last.map { (numbers[$0.database] ?? $0.database, $0.zone) }).encoded()
        }
        return value
    }

    /// The first entry, in the order of keys, that is not the same in both; nil if all are.
    package func difference(to other: NamedEntries) -> String? {
        let keys = Set(entries.keys).union(other.entries.keys)
        let different = keys.filter { entries[$0] != other.entries[$0] }
        guard let key = different.min(by: { $0.lexicographicallyPrecedes($1) }) else { return nil }
        func text(_ value: [UInt8]?) -> String {
            value.map { ValueDescription.text(of: $0, forKey: key) } ?? "nothing"
        }
        return """
            \(different.count) of \(keys.count) entries differ, first \(KeyDescription.text(of: key)): \
            \(text(entries[key])), and \(text(other.entries[key]))
            """
    }
}
