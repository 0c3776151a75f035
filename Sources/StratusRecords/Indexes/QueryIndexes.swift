// The indexes for queries: the values of fields, and the words of texts. Fields of the system can be indexed too
//

package import StratusLayout
package import StratusModel

/// A field of a record that a query tests or sorts by.
package enum QueryField: Hashable, Sendable {
    case field(FieldKey)
    case recordName
    case created
    case modified
    case creator
    case modifier
    case parent
    case share

    /// The field's name in the index of values; nil if it cannot have one.
    package var indexKey: FieldKey? {
        switch self {
        case .field(let key): key
        case .created: "___createTime"
        case .modified: "___modTime"
        case .creator: "___createdBy"
        case .modifier: "___modifiedBy"
        case .recordName, .parent, .share: nil
        }
    }
}

extension QueryField {
    /// The field whose index has this name.
    package init(indexKey: FieldKey) {
        let system: [QueryField] = [.created, .modified, .creator, .modifier]
        self = system.first { $0.indexKey == indexKey } ?? .field(indexKey)
    }
}

extension QueryField {
    /// The field's value in a record; nil if it has none or the value is encrypted (C-08).
    package func value(in stored: StoredRecord) -> FieldValue? {
        switch self {
        case .field(let key): Self.value(of: key, in: stored)
        case .recordName: Self.reference(stored.record.name)
        case .created: .date(stored.system.created.date)
        case .modified: .date(stored.system.modified.date)
        case .creator: Self.reference(RecordName(stored.system.created.user.text))
        case .modifier: Self.reference(RecordName(stored.system.modified.user.text))
        case .parent: stored.record.parent.map(Self.reference)
        case .share: stored.record.share.map(Self.reference)
        }
    }

    /// The value of a field that is not the system's; nil if there is none or it is encrypted.
    static func value(of key: FieldKey, in stored: StoredRecord) -> FieldValue? {
        guard let field = stored.record.fields[key], !field.isEncrypted else { return nil }
        return field.value
    }

    private static func reference(_ name: RecordName) -> FieldValue {
        .reference(RecordReference(target: name, action: .none))
    }
}

extension FieldValue {
    /// The items of a list, or the value itself.
    var items: [FieldValue] {
        if case .list(let items) = self { items } else { [self] }
    }

    /// The words of its texts, folded.
    var words: Set<String> {
        var words: Set<String> = []
        for case .string(let text) in items { words.formUnion(SearchWords.words(of: text)) }
        return words
    }
}

// The zone stores for each record type which fields are indexed (`QueryIndexesEntry`). The transaction that writes a
// record reads it, so a save and a change of the indexes cannot miss each other.
//
// Invariants: a field that is not named there has no entries. If it is `ready`, every record has its entries. If it is
// `filling`, every record up to the position has them, and every one written since. If it is `clearing`, no record up
// to the position has any, and none written since. So a writer sets the entries of ready and filling fields, and
// removes those of all.

/// The values and words of a live record in the indexes for queries.
package struct QueryFacts: Hashable, Sendable {
    package var name: RecordName
    package var type: RecordType
    package var values: [FieldKey: Set<TupleElement>] = [:]
    package var words: [FieldKey: Set<String>] = [:]

    /// Reads a record for the indexes that are in one of these phases.
    package init(
        of stored: StoredRecord, _ indexes: QueryIndexesEntry, in phases: Set<QueryIndexPhase>
    ) {
        name = stored.record.name
        type = stored.record.type
        for (key, state) in indexes.fields where phases.contains(state.phase) {
            let value = QueryField(indexKey: key).value(in: stored)
            let elements = Self.elements(of: value, state.kinds)
            if !elements.isEmpty { values[key] = elements }
            guard state.kinds.contains(.words), let value else { continue }
            let found = value.words
            guard !found.isEmpty else { continue }
            words[key] = found.count > IndexedValue.maximumItemCount ? [IndexedValue.tooManyWords] : found
        }
    }

    private static func elements(of value: FieldValue?, _ kinds: QueryIndexKinds) -> Set<TupleElement> {
        var elements: Set<TupleElement> = []
        if kinds.contains(.values), let value {
            elements = Set(value.items.compactMap { IndexedValue.element(of: $0) })
            if elements.count > IndexedValue.maximumItemCount { elements = [IndexedValue.tooMany] }
        }
        if kinds.contains(.missing), !(value?.hasOrder ?? false) { elements.insert(IndexedValue.missing) }
        return elements
    }
}

extension QueryIndexPhase {
    /// The phases in which a writer sets entries.
    package static let written: Set<QueryIndexPhase> = [.ready, .filling]
    /// The phases in which there may be entries.
    package static let all: Set<QueryIndexPhase> = [.ready, .filling, .clearing]
}

extension FieldValue {
    /// Whether records can be sorted by the value.
    package var hasOrder: Bool {
        switch self {
        case .string, .int64, .double, .date, .reference: true
        case .bytes, .location, .asset, .list: false
        }
    }
}

/// (Type, field, value, record): the records of a type in the order of a field's values.
package enum FieldIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.fields

    package static func append(_ facts: QueryFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        for (key, elements) in facts.values {
            for element in elements {
                mutations.set(EmptyEntry()) {
                    zone.fieldEntry(type: facts.type, field: key, element: element, name: facts.name, into: &$0)
                }
            }
        }
    }
}

/// (Word, field, record): the records with a word in a field.
package enum TokenIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.tokens

    package static func append(_ facts: QueryFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        for (key, words) in facts.words {
            for word in words {
                mutations.set(EmptyEntry()) { zone.token(word, field: key, name: facts.name, into: &$0) }
            }
        }
    }
}

extension QueryIndexesEntry {
    /// Adds the wanted indexes that are missing. Indexes that change start again, and are filled unless the zone has no
    /// records of the type. The others stay as they are.
    ///
    /// Returns whether anything changed.
    mutating func add(_ wanted: [FieldKey: QueryIndexKinds], isEmpty: () throws -> Bool) rethrows -> Bool {
        var changed: [FieldKey: QueryIndexKinds] = [:]
        for (key, kinds) in wanted where !kinds.isEmpty {
            let state = fields[key]
            guard let state, state.phase != .clearing, state.kinds.isSuperset(of: kinds) else {
                changed[key] = kinds.union(state?.kinds ?? [])
                continue
            }
        }
        guard !changed.isEmpty else { return false }
        let phase: QueryIndexPhase = try isEmpty() ? .ready : .filling
        for (key, kinds) in changed { fields[key] = QueryIndexState(kinds: kinds, phase: phase) }
        if phase == .filling { position = nil }
        return true
    }

    /// Starts to clear indexes that are no longer wanted. Returns whether anything changed.
    mutating func drop(allBut wanted: [FieldKey: QueryIndexKinds]) -> Bool {
        let dropped = fields.filter { $0.value.phase != .clearing && wanted[$0.key]?.isEmpty != false }
        for (key, state) in dropped { fields[key] = QueryIndexState(kinds: state.kinds, phase: .clearing) }
        if !dropped.isEmpty { position = nil }
        return !dropped.isEmpty
    }
}
