// The fields of a record as a client gets them, and their values. `ClientFields` keeps the stored fields and converts
// each one when it is read: most records of a page are only passed on, so converting all of them would be wasted work.
//
// A client's value is like the stored one, but its references name whole records, and its assets are files or contents.

import Crypto
package import FoundationEssentials
import StratusLayout
package import StratusModel

/// Fields by key: a read-only dictionary.
package struct ClientFields: Sendable {
    private enum Content: Sendable {
        case stored(RecordFields, zone: ZoneAddress)
        case given([String: ClientField])
    }

    private var content: Content
    /// Whether assets come without their contents.
    private var isWithoutContent = false

    /// The stored fields of a record in a zone.
    init(of record: __shared Record, zone: ZoneAddress) {
        // The server's content of a share is not a field: `ShareView` has what a caller may know of it.
        let isShare = record.type == ShareContent.recordType
        content = .stored(isShare ? record.fields.without(ShareContent.fieldKey) : record.fields, zone: zone)
    }

    package init(_ fields: [String: ClientField]) { content = .given(fields) }

    package subscript(key: String) -> ClientField? {
        switch content {
        case .stored(let fields, let zone):
            fields[FieldKey(key)].map { Self.shown($0, zone, isWithoutContent: isWithoutContent) }
        case .given(let fields): fields[key].map { Self.shown($0, isWithoutContent: isWithoutContent) }
        }
    }

    package var count: Int {
        switch content {
        case .stored(let fields, _): fields.count
        case .given(let fields): fields.count
        }
    }

    package var isEmpty: Bool { count == 0 }

    package var keys: [String] {
        switch content {
        case .stored(let fields, _): fields.keys.map(\.text)
        case .given(let fields): Array(fields.keys)
        }
    }

    /// All fields, converted.
    package var dictionary: [String: ClientField] { [String: ClientField](map { ($0, $1) }) { _, last in last } }

    /// The fields under these keys.
    package func only(_ keys: Set<String>) -> ClientFields {
        var fields = self
        switch content {
        case .stored(let stored, let zone):
            fields.content = .stored(stored.only(Set(keys.map { FieldKey($0) })), zone: zone)
        case .given(let given): fields.content = .given(given.filter { keys.contains($0.key) })
        }
        return fields
    }

    /// The same fields, with assets that have no contents (S-07).
    var withoutContent: ClientFields {
        var fields = self
        fields.isWithoutContent = true
        return fields
    }

    private static func shown(_ field: Field, _ zone: ZoneAddress, isWithoutContent: Bool) -> ClientField {
        shown(
            ClientField(ClientValue(field.value, zone: zone), isEncrypted: field.isEncrypted),
            isWithoutContent: isWithoutContent)
    }

    private static func shown(_ field: ClientField, isWithoutContent: Bool) -> ClientField {
        isWithoutContent ? ClientField(field.value.withoutContent, isEncrypted: field.isEncrypted) : field
    }
}

extension ClientFields: Sequence {
    package struct Iterator: IteratorProtocol {
        private let isWithoutContent: Bool
        private var stored: RecordFields.Iterator
        private var given: Dictionary<String, ClientField>.Iterator
        /// Nil for given fields.
        private let zone: ZoneAddress?

        fileprivate init(_ fields: __shared ClientFields) {
            isWithoutContent = fields.isWithoutContent
            switch fields.content {
            case .stored(let stored, let zone):
                (self.stored, given, self.zone) = (stored.makeIterator(), [String: ClientField]().makeIterator(), zone)
            case .given(let given):
                (stored, self.given, zone) = (RecordFields().makeIterator(), given.makeIterator(), nil)
            }
        }

        package mutating func next() -> (key: String, value: ClientField)? {
            guard let zone else {
                guard let (key, field) = given.next() else { return nil }
                return (key, ClientFields.shown(field, isWithoutContent: isWithoutContent))
            }
            guard let (key, field) = stored.next() else { return nil }
            return (key.text, ClientFields.shown(field, zone, isWithoutContent: isWithoutContent))
        }
    }

    package func makeIterator() -> Iterator { Iterator(self) }

    package var underestimatedCount: Int { count }
}

extension ClientFields: Hashable {
    package static func == (left: Self, right: Self) -> Bool { left.dictionary == right.dictionary }
    package func hash(into hasher: inout Hasher) { hasher.combine(dictionary) }
}

extension ClientFields: Codable {
    package init(from decoder: any Decoder) throws { self.init(try [String: ClientField](from: decoder)) }
    package func encode(to encoder: any Encoder) throws { try dictionary.encode(to: encoder) }
}

extension ClientFields: ExpressibleByDictionaryLiteral {
    /// If a key occurs twice, the last field counts.
    package init(dictionaryLiteral fields: (String, ClientField)...) {
        self.init([String: ClientField](fields) { _, last in last })
    }
}

/// A pointer to a record in any zone; the server refuses those that leave the record's zone.
package struct ClientReference: Hashable, Codable, Sendable {
    package var target: RecordAddress
    package var action: ReferenceAction

    package init(target: RecordAddress, action: ReferenceAction) {
        self.target = target
        self.action = action
    }
}

/// An asset as a client sends and gets it.
package enum ClientAsset: Hashable, Codable, Sendable {
    /// A file to store, which this process may read. Never created from an archive; a host's socket accepts it
    /// only from its own user.
    case file(path: String)
    /// Content that the server has returned before, or that the client says a record has. It is a claim, which counts
    /// only if the stored record holds the same content in the same field.
    case content(AssetDescriptor)
    /// An asset without a file and without content: what decoding an archive leaves.
    case missing
}

/// The value of a field.
package enum ClientValue: Hashable, Codable, Sendable {
    case string(String)
    case int64(Int64)
    case double(Double)
    case date(Date)
    case bytes(ClientBytes)
    // The large and rare cases are indirect, so that a record's values use little memory.
    indirect case location(Location)
    indirect case reference(ClientReference)
    indirect case asset(ClientAsset)
    case list([ClientValue])
}

/// The bytes of a field. They share the stored array, which is copied only when a client requests `Data`. Archives and
/// messages encode them as `Data`.
package struct ClientBytes: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }
    package init(_ data: Data) { bytes = [UInt8](data) }

    package var count: Int { bytes.count }
    package var data: Data { Data(bytes) }
}

extension ClientBytes: Codable {
    package init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(Data.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(data)
    }
}

/// A value, and whether it was set through `encryptedValues` (C-08).
package struct ClientField: Hashable, Codable, Sendable {
    package var value: ClientValue
    package var isEncrypted: Bool

    package init(_ value: ClientValue, isEncrypted: Bool = false) {
        self.value = value
        self.isEncrypted = isEncrypted
    }
}

/// The digest that identifies a content and detects damage, computed at once or piece by piece.
package struct ContentDigest {
    private var hash = SHA256()

    package init() {}

    /// Adds the next bytes.
    package mutating func add(_ bytes: some DataProtocol) { hash.update(data: bytes) }

    /// The SHA-256 of everything that was added: 32 bytes.
    package func finish() -> [UInt8] { Array(hash.finalize()) }

    /// The SHA-256 of some bytes: 32 bytes.
    package static func sha256(_ bytes: some DataProtocol) -> [UInt8] { Array(SHA256.hash(data: bytes)) }
}

extension FieldSelection {
    /// The fields with the desired keys; all fields if there are none. The participants of a share are not a field, and
    /// always included.
    static func desired(_ keys: Set<String>?) -> FieldSelection {
        keys.map { .only(Set($0.map { FieldKey($0) }).union([ShareContent.fieldKey])) } ?? .all
    }
}
