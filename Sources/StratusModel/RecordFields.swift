// The fields of a record, in the byte order of their keys, which is the order in which they are stored. A record has few
// of them: an ordered array is decoded without hashing a key and encoded without sorting.
//
// Invariant: keys ascend strictly, compared by their bytes.

package import FoundationEssentials

/// The fields of a record by key: a dictionary that is iterated in the order of its keys.
package struct RecordFields: Sendable {
    package typealias Element = (key: FieldKey, value: Field)

    /// With no more fields than these a key is compared with one after the other.
    private static let searchedCount = 8

    private var elements: [Entry]

    /// A field with its key.
    package struct Entry: Hashable, Sendable {
        package fileprivate(set) var key: FieldKey
        package fileprivate(set) var value: Field
    }

    /// The fields in their order, to be looked at in place: iterating copies each, and counts its references.
    package var entries: [Entry] { elements }

    package init() { elements = [] }

    /// The fields of a dictionary.
    package init(_ fields: [FieldKey: Field]) {
        elements = fields.map { Entry(key: $0.key, value: $0.value) }.sorted { $0.key < $1.key }
    }

    /// The field under `key`. Setting nil removes it; both take time that grows with the number of fields, unless the
    /// key comes behind all others.
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

    /// Appends a field whose key the caller knows to come behind all others: a decoder that has compared them.
    package mutating func append(ascending key: FieldKey, _ field: Field) {
        assert(elements.last.map { $0.key < key } ?? true, "The keys of fields ascend.")
        elements.append(Entry(key: key, value: field))
    }

    /// The same fields, but for one.
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
    /// Gives the fields in their order. A type of its own, because the general one calls the collection through its
    /// witnesses from other modules.
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
    /// Throws nothing, and of a key that is written twice the last field counts.
    package init(dictionaryLiteral fields: (FieldKey, Field)...) {
        self.init(Dictionary(fields) { _, last in last })
    }
}

// What a field of a record can hold: CloudKit's server types (C-21), as plain values.

/// What happens to the record that holds a reference when its target is deleted. The raw values are stored.
package enum ReferenceAction: UInt8, Hashable, Codable, Sendable, CaseIterable {
    /// The reference is left dangling.
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

/// What a record keeps of a file: its content's digest and its size. The bytes are stored elsewhere, once per owner.
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
    /// Kept apart, because it is larger than all other values and rare.
    indirect case location(Location)
    case reference(RecordReference)
    case asset(AssetDescriptor)
    /// Values of one kind; never a list of lists.
    case list([FieldValue])
}

/// A value together with whether its owner marked it as encrypted (C-08).
package struct Field: Hashable, Sendable {
    package var value: FieldValue
    package var isEncrypted: Bool

    package init(_ value: FieldValue, isEncrypted: Bool = false) {
        self.value = value
        self.isEncrypted = isEncrypted
    }
}
