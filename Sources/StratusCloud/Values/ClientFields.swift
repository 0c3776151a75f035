// The fields of a record as a client gets them, and their values. `ClientFields` keeps the stored fields and converts
// each one when it is read: most records of a page are only passed on, so converting all of them would be wasted work.
//
// A client's value is like the stored one, but its references name whole records, and its assets are files or contents.

import Crypto
package import FoundationEssentials
import StratusLayout
package import StratusModel
import StratusRecords

/// Fields by key: a read-only dictionary.
package struct ClientFields: Sendable {
    /// Fields as they are stored, and how they are shown. There are either these or given ones.
    private var stored = RecordFields()
    private var showing = RecordShowing.none
    private var given: [String: ClientField] = [:]
    /// Whether assets come without their contents.
    private var isWithoutContent = false

    /// The stored fields of a record.
    init(of decoded: DecodedRecord, _ showing: RecordShowing) {
        stored = decoded.stored.record.fields
        // The server's content of a share is not a field: `ShareView` has what a caller may know of it.
        if decoded.stored.record.type == ShareContent.recordType { stored = stored.without(ShareContent.fieldKey) }
        self.showing = showing
    }

    package init(_ fields: [String: ClientField]) { given = fields }

    package subscript(key: String) -> ClientField? {
        if let field = stored[FieldKey(key)] { return shown(field) }
        return given[key].map { shown($0) }
    }

    package var count: Int { stored.count + given.count }

    package var isEmpty: Bool { count == 0 }

    package var keys: [String] { given.isEmpty ? stored.keys.map(\.text) : Array(given.keys) }

    /// The keys of the plain or of the encrypted fields, in alphabetical order.
    package func keys(isEncrypted: Bool) -> [String] {
        guard given.isEmpty else { return given.filter { $0.value.isEncrypted == isEncrypted }.keys.sorted() }
        var keys: [String] = []
        keys.reserveCapacity(stored.count)
        let entries = stored.entries
        let span = entries.span
        for index in span.indices where span[index].value.isEncrypted == isEncrypted {
            keys.append(span[index].key.text)
        }
        return keys
    }

    /// Whether a field is an asset or a list with one.
    var hasAssets: Bool { stored.hasAssets || given.values.contains { $0.value.hasAsset } }

    /// All fields, converted.
    package var dictionary: [String: ClientField] { [String: ClientField](map { ($0, $1) }) { _, last in last } }

    /// The fields under these keys.
    package func only(_ keys: Set<String>) -> ClientFields {
        var fields = self
        fields.stored = stored.only(Set(keys.map { FieldKey($0) }))
        fields.given = given.filter { keys.contains($0.key) }
        return fields
    }

    /// The same fields, with assets that have no contents (S-07).
    var withoutContent: ClientFields {
        var fields = self
        fields.isWithoutContent = true
        return fields
    }

    private func shown(_ field: Field) -> ClientField {
        shown(ClientField(ClientValue(field.value, showing), isEncrypted: field.isEncrypted))
    }

    private func shown(_ field: ClientField) -> ClientField { isWithoutContent ? field.withoutContent : field }
}

extension ClientFields: Sequence {
    package struct Iterator: IteratorProtocol {
        private let entries: [RecordFields.Entry]
        private let showing: RecordShowing
        private let isWithoutContent: Bool
        private var position = 0
        private var given: Dictionary<String, ClientField>.Iterator?

        fileprivate init(_ fields: __shared ClientFields) {
            entries = fields.stored.entries
            showing = fields.showing
            isWithoutContent = fields.isWithoutContent
            given = fields.given.isEmpty ? nil : fields.given.makeIterator()
        }

        package mutating func next() -> (key: String, value: ClientField)? {
            guard position < entries.count else { return nextGiven() }
            defer { position += 1 }
            // In place: a copy of the entry would retain its parts once more.
            let span = entries.span
            let field = ClientField(
                ClientValue(span[position].value.value, showing), isEncrypted: span[position].value.isEncrypted)
            return (span[position].key.text, isWithoutContent ? field.withoutContent : field)
        }

        private mutating func nextGiven() -> (key: String, value: ClientField)? {
            guard let (key, field) = given?.next() else { return nil }
            return (key, isWithoutContent ? field.withoutContent : field)
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

extension ClientValue {
    fileprivate var hasAsset: Bool {
        switch self {
        case .asset: true
        case .list(let items): items.contains { $0.hasAsset }
        default: false
        }
    }
}

extension RecordFields {
    /// Whether a field is an asset or a list with one.
    var hasAssets: Bool {
        let entries = entries
        let span = entries.span
        for index in span.indices {
            switch span[index].value.value {
            case .asset: return true
            case .list(let items): if items.contains(where: \.hasAsset) { return true }
            default: continue
            }
        }
        return false
    }
}

extension FieldValue {
    fileprivate var hasAsset: Bool {
        switch self {
        case .asset: true
        case .list(let items): items.contains { $0.hasAsset }
        default: false
        }
    }
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

    /// The field, with assets that have no contents.
    fileprivate var withoutContent: ClientField { ClientField(value.withoutContent, isEncrypted: isEncrypted) }
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
