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
