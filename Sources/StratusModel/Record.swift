// Records as plain values, and change tags. `Record` is what a caller stores; `StoredRecord` is what the store returns.

package import FoundationEssentials

/// The content of a record, which its writer decides.
package struct Record: Hashable, Sendable {
    package var name: RecordName
    package var type: RecordType
    /// The record above this one in its hierarchy (X-07: only `parent` forms hierarchies).
    package var parent: RecordName?
    /// The share whose hierarchical root this record is; nil for every other record.
    package var share: RecordName?
    package var fields: RecordFields

    package init(
        name: RecordName, type: RecordType, parent: RecordName? = nil, share: RecordName? = nil,
        fields: RecordFields = RecordFields()
    ) {
        self.name = name
        self.type = type
        self.parent = parent
        self.share = share
        self.fields = fields
    }
}

/// The fields that the store sets at every write of a record (S-09).
package struct SystemFields: Hashable, Sendable {
    /// The position of the record's latest write in its zone's change feed.
    package var changeSequence: UInt64
    /// A random number that makes the tag of this write unique, also in a store that was restored to an earlier state
    /// and uses the sequence again.
    package var tagSalt: UInt32
    package var created: Stamp
    package var modified: Stamp

    /// The change tag: opaque to clients, new at every write. It is computed at every call.
    package var changeTag: String { ChangeTag.text(sequence: changeSequence, salt: tagSalt) }

    package init(changeSequence: UInt64, tagSalt: UInt32, created: Stamp, modified: Stamp) {
        self.changeSequence = changeSequence
        self.tagSalt = tagSalt
        self.created = created
        self.modified = modified
    }
}

/// The time and the user of a write.
package struct Stamp: Hashable, Sendable {
    package var date: Date
    package var user: UserName

    package init(date: Date, user: UserName) {
        self.date = date
        self.user = user
    }
}

/// A record in the store.
package struct StoredRecord: Hashable, Sendable {
    package var record: Record
    package var system: SystemFields

    package init(record: Record, system: SystemFields) {
        self.record = record
        self.system = system
    }
}

/// Builds change tags, which are opaque to clients and new at every write. A record stores the sequence of its write
/// and a salt; the text is made of both.
///
/// The text is the sequence in base 36 without leading zeros, then the salt in base 36 in exactly seven digits. So
/// different numbers give different texts. A store that was restored to an earlier state uses sequences again, but with
/// new salts.
package enum ChangeTag {
    private static let saltDigitCount = 7
    private static let radix: UInt64 = 36

    /// The text of a tag.
    package static func text(sequence: UInt64, salt: UInt32) -> String {
        // Seven digits of salt and at most thirteen of a 64-bit number, written from the end.
        var digits: InlineArray<20, UInt8> = .init(repeating: 0)
        var start = digits.count
        var rest = UInt64(salt)
        for _ in 0..<saltDigitCount {
            start -= 1
            digits[start] = digit(rest % radix)
            rest /= radix
        }
        rest = sequence
        repeat {
            start -= 1
            digits[start] = digit(rest % radix)
            rest /= radix
        } while rest > 0
        // Digits are ASCII, so the check never fails. It builds the string without a loop of appends.
        guard let text = try? UTF8Span(validating: digits.span.extracting(start..<digits.count)) else { return "" }
        return String(copying: text)
    }

    private static func digit(_ value: UInt64) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value)
        return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

// The fields of a record and their values: CloudKit's server types (C-21), as plain values.
//
// `RecordFields` is an array in the byte order of the keys, the order of storage. A record has few fields, and an
// ordered array is decoded without hashing a key and encoded without sorting. Invariant: keys ascend strictly by their
// bytes.

/// What happens to the record that holds a reference when its target is deleted. The raw values are stored.
package enum ReferenceAction: UInt8, Hashable, Codable, Sendable, CaseIterable {
    /// The reference stays and dangles.
    case none = 0
    /// The holder is deleted too.
    case deleteSelf = 1
}

/// A pointer to a record of the same zone.
package struct RecordReference: Hashable, Sendable {
    package var target: RecordName
    package var action: ReferenceAction

    package init(target: RecordName, action: ReferenceAction) {
        self.target = target
        self.action = action
    }
}

/// The digest and the size of a file's content. The content itself is stored elsewhere, once per owner.
package struct AssetDescriptor: Hashable, Codable, Sendable {
    /// The SHA-256 of the content, 32 bytes.
    package var digest: [UInt8]
    package var byteCount: Int64

    package init(digest: [UInt8], byteCount: Int64) {
        self.digest = digest
        self.byteCount = byteCount
    }
}

/// The value of one field.
package enum FieldValue: Hashable, Sendable {
    case string(String)
    case int64(Int64)
    case double(Double)
    case date(Date)
    case bytes([UInt8])
    /// Indirect, because it is rare and larger than all other values.
    indirect case location(Location)
    case reference(RecordReference)
    case asset(AssetDescriptor)
    /// Values of one kind; never a list of lists.
    case list([FieldValue])
}

/// A value, and whether its owner marked it as encrypted (C-08).
package struct Field: Hashable, Sendable {
    package var value: FieldValue
    package var isEncrypted: Bool

    package init(_ value: FieldValue, isEncrypted: Bool = false) {
        self.value = value
        self.isEncrypted = isEncrypted
    }
}

/// The fields of a record by key: a dictionary that iterates in the order of its keys.
package struct RecordFields: Sendable {
    package typealias Element = (key: FieldKey, value: Field)

    /// Up to this number of fields a look-up compares one key after the other.
    private static let searchedCount = 8

    private var elements: [Entry]

    /// A field with its key.
    package struct Entry: Hashable, Sendable {
        package fileprivate(set) var key: FieldKey
        package fileprivate(set) var value: Field
    }

    /// The fields in their order, for reading in place. Iterating the collection copies each field and counts its
    /// references.
    package var entries: [Entry] { elements }

    package init() { elements = [] }

    /// The fields of a dictionary.
    package init(_ fields: [FieldKey: Field]) {
        elements = fields.map { Entry(key: $0.key, value: $0.value) }.sorted { $0.key < $1.key }
    }

    /// The field under `key`. Setting nil removes it. Setting takes time that grows with the number of fields, unless
    /// the key comes after all others.
    package subscript(key: FieldKey) -> Field? {
        get { index(of: key).map { elements[$0].value } }
        set {
            let index = firstIndex(notBelow: key)
            let isPresent = index < elements.count && elements[index].key == key
            switch (newValue, isPresent) {
            case (let field?, true): elements[index].value = field
            case (let field?, false): elements.insert(Entry(key: key, value: field), at: index)
            case (nil, true): elements.remove(at: index)
            case (nil, false): break
            }
        }
    }

    /// The place of a key in `entries`.
    package func index(of key: FieldKey) -> Int? {
        // Equality of short keys takes a few instructions, their order many more.
        guard elements.count > Self.searchedCount else {
            for index in elements.indices where elements[index].key == key { return index }
            return nil
        }
        let index = firstIndex(notBelow: key)
        return index < elements.count && elements[index].key == key ? index : nil
    }

    package var keys: some Collection<FieldKey> { elements.lazy.map(\.key) }
    package var values: some Collection<Field> { elements.lazy.map(\.value) }

    package mutating func reserveCapacity(_ count: Int) { elements.reserveCapacity(count) }

    /// Appends a field whose key comes after all others, which the caller has checked.
    package mutating func append(ascending key: FieldKey, _ field: Field) {
        assert(elements.last.map { $0.key < key } ?? true, "The keys of fields ascend.")
        elements.append(Entry(key: key, value: field))
    }

    /// The fields without one of them.
    package func without(_ key: FieldKey) -> RecordFields {
        guard elements.contains(where: { $0.key == key }) else { return self }
        var fields = self
        fields[key] = nil
        return fields
    }

    /// The fields under these keys.
    package func only(_ keys: Set<FieldKey>) -> RecordFields {
        var fields = RecordFields()
        fields.elements = elements.filter { keys.contains($0.key) }
        return fields
    }

    private func firstIndex(notBelow key: FieldKey) -> Int {
        guard let last = elements.last, !(last.key < key) else { return elements.count }
        var (low, high) = (0, elements.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if elements[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension RecordFields: RandomAccessCollection {
    /// A separate type, because other modules would call the default iterator through the collection's witness
    /// tables.
    package struct Iterator: IteratorProtocol {
        fileprivate let elements: [Entry]
        private var position = 0

        fileprivate init(_ elements: [Entry]) { self.elements = elements }

        package mutating func next() -> Element? {
            guard position < elements.count else { return nil }
            let entry = elements[position]
            position += 1
            return (entry.key, entry.value)
        }
    }

    package func makeIterator() -> Iterator { Iterator(elements) }
    package var startIndex: Int { 0 }
    package var endIndex: Int { elements.count }
    package subscript(position: Int) -> Element { (elements[position].key, elements[position].value) }
}

extension RecordFields: Hashable {}

extension RecordFields: ExpressibleByDictionaryLiteral {
    /// If a key occurs twice, its last field counts.
    package init(dictionaryLiteral fields: (FieldKey, Field)...) {
        self.init(Dictionary(fields) { _, last in last })
    }
}
