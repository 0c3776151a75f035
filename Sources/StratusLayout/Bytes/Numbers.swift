// Short numbers that stand for databases and zones in key prefixes. They never appear in values or tokens: whatever must
// outlive a zone names it by its UUID.

/// The number of a database in this store. Zero stands outside every database.
package struct DatabaseNumber: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number written where no database is meant.
    package static let outside = DatabaseNumber(0)

    package let value: UInt64
    package init(_ value: UInt64) { self.value = value }

    package var description: String { "db \(value)" }

    package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// The number of a zone in its database. Zero stands outside every zone. A number is never used twice.
package struct ZoneNumber: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number written where no zone is meant.
    package static let outside = ZoneNumber(0)

    package let value: UInt64
    package init(_ value: UInt64) { self.value = value }

    package var description: String { "zone \(value)" }

    package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}
