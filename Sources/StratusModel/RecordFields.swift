// The fields of a record and their values: CloudKit's server types (C-21), as plain values.
//
// `RecordFields` is an array in the byte order of the keys, the order of storage. A record has few fields, and an
// ordered array is decoded without hashing a key and encoded without sorting. Invariant: keys ascend strictly by their
// bytes.

package import FoundationEssentials

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
        get {
            // Equality of short keys takes a few instructions, their order many more.
            guard elements.count > Self.searchedCount else {
                for index in elements.indices where elements[index].key == key { return elements[index].value }
                return nil
            }
            let index = firstIndex(notBelow: key)
            guard index < elements.count, elements[index].key == key else { return nil }
            return elements[index].value
        }
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
