// Names of records, zones and people, places of records, and random identities. Names are compared by their bytes:
// Swift's `String` calls composed and decomposed "é" equal, but they are two keys in the store and two records to
// CloudKit.

package import FoundationEssentials

/// A text that is equal to another only if every UTF-8 byte is the same.
package protocol ByteComparedName:
    Hashable, Comparable, Codable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral
{
    var text: String { get }
    init(_ text: String)
}

extension ByteComparedName {
    package init(stringLiteral value: String) { self.init(value) }

    package var description: String { text }

    package static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }

    package static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    // A name is coded as its text.
    package init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension String {
    /// Equal bytes imply equal strings. If one of two equal strings with the same number of bytes is ASCII, their bytes
    /// are equal: any other text that is canonically equivalent to ASCII is longer. Only other strings need the slow
    /// comparison.
    fileprivate func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count, self == other else { return false }
        return utf8Span.isKnownASCII || utf8.elementsEqual(other.utf8)
    }
}

// Each type has its own equality, because other modules would call that of the protocol through witness tables.

/// The name of a record, unique within its zone: 1 to 255 characters of any valid Unicode. Source: L-07.
package struct RecordName: ByteComparedName {
    package let text: String
    package init(_ text: String) { self.text = text }

    package static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
}

/// The name of a zone, unique within its database: 1 to 255 ASCII characters. Source: L-08.
package struct ZoneName: ByteComparedName {
    package let text: String
    package init(_ text: String) { self.text = text }

    package static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
}

/// The name of a record type, which is also the name of its schema. Source: L-09.
package struct RecordType: ByteComparedName {
    package let text: String
    package init(_ text: String) { self.text = text }

    package static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
}

/// The key of a field in a record. Source: L-10.
package struct FieldKey: ByteComparedName {
    package let text: String
    package init(_ text: String) { self.text = text }

    package static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
}

/// The record name of a user: opaque, the same in every database of a container.
package struct UserName: ByteComparedName {
    package let text: String
    package init(_ text: String) { self.text = text }

    package static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
}

/// The identifier of a container, such as `iCloud.com.example.app`.
package struct ContainerName: ByteComparedName {
    package let text: String
    package init(_ text: String) { self.text = text }

    package static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
}

extension BinaryInteger {
    /// The number with the noun that it counts: "1 record", "2 records". Pass `many` for a plural that is not `one` +
    /// s.
    package func counting(_ one: String, _ many: String? = nil) -> String {
        "\(self) \(self == 1 ? one : many ?? one + "s")"
    }
}

/// The kind of a container's database. The raw values are stored; they never change.
///
/// The shared database has no scope here: it stores nothing and shows other people's private databases (D-01).
package enum DatabaseScope: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case `public` = 1
    case `private` = 2
}

/// One database: the private one of an owner, or the public one of a container (`owner` is nil).
package struct DatabaseID: Hashable, Codable, Sendable {
    package let container: ContainerName
    package let owner: UserName?
    package let scope: DatabaseScope

    package init(container: ContainerName, owner: UserName?, scope: DatabaseScope) {
        self.container = container
        self.owner = owner
        self.scope = scope
    }
}

/// One zone of one database, by name.
package struct ZoneID: Hashable, Codable, Sendable {
    package let database: DatabaseID
    package let name: ZoneName

    package init(database: DatabaseID, name: ZoneName) {
        self.database = database
        self.name = name
    }
}

// Identities have 122 random bits from a generator that the caller passes in.
//
// Nothing calls Foundation's `UUID()`. On Linux it opens /dev/urandom on every call. If that fails (no free descriptor,
// no /dev), it returns one constant without an error. Two things created then would have one identity, and an account
// that may see one would see the other.

extension UUID {
    /// A random UUID (version 4) from two numbers of the generator. Equal numbers give equal UUIDs, on every machine.
    package static func drawn(from generator: inout some RandomNumberGenerator) -> UUID {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        for _ in 0..<2 {
            let number = generator.next()
            for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
        }
        let b = bytes
        return UUID(
            uuid: (
                b[0], b[1], b[2], b[3], b[4], b[5], b[6] & 0x0F | 0x40, b[7], b[8] & 0x3F | 0x80, b[9], b[10], b[11],
                b[12], b[13], b[14], b[15]
            ))
    }

    /// The constant that Foundation's `UUID()` returns if it cannot open its source:
    /// 00000000-0000-4000-8000-000000000000. Stores of earlier versions may hold it.
    package static let withoutRandomness = UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0))

    /// Whether a name is that constant in any spelling: in upper or lower case, with or without hyphens, and after a
    /// prefix such as those of names of shares and users.
    package static func isWithoutRandomness(_ name: String) -> Bool {
        let digits = name.utf8.filter { $0 != UInt8(ascii: "-") }
        return digits.count >= 32 && digits.suffix(32).elementsEqual("00000000000040008000000000000000".utf8)
    }
}
