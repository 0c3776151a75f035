// The names records, zones and people go by. A name is compared by its bytes: Swift's `String` calls composed and
// decomposed "é" equal, but they are two keys in the store and two records to CloudKit.

/// A piece of text that is equal to another only when every UTF-8 byte is the same.
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

    // As text alone: a name has nothing else.
    package init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension String {
    /// Equal bytes imply equal strings. A string in ASCII and another of as many bytes are equal only with equal bytes: whatever
    /// else is canonically equivalent to ASCII is longer. So the slow comparison is for the canonically equivalent alone.
    fileprivate func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count, self == other else { return false }
        return utf8Span.isKnownASCII || utf8.elementsEqual(other.utf8)
    }
}

// Each has an equality of its own, because that of the protocol is called through tables from other modules.

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
    /// The number with what it counts: "1 record", "2 records". `many` is the noun's plural, where that does not end with s
    /// alone.
    package func counting(_ one: String, _ many: String? = nil) -> String {
        "\(self) \(self == 1 ? one : many ?? one + "s")"
    }
}
