// Whether a record passes: the last word on every result, whatever an index has said.

import StratusLayout
package import StratusModel

extension RecordQuery {
    /// Whether the record passes all filters. It has at least the fields `testedFields`.
    package func matches(_ stored: StoredRecord) -> Bool { matches(stored, filters) }

    /// Whether it passes some of the filters.
    func matches(_ stored: StoredRecord, _ filters: [RecordFilter]) -> Bool {
        filters.allSatisfy { filter in
            let passes =
                filter.field.map { filter.test.passes($0.value(in: stored)) }
                ?? filter.test.passes(words: { stored.record.words(of: searchedFields) })
            return passes != filter.isNegated
        }
    }
}

extension RecordSort {
    /// What the record is sorted by. A distance is a number; that of no place is endless.
    func value(of stored: StoredRecord) -> FieldValue? {
        guard let origin else { return ValueOrder.sortable(field.value(in: stored)) }
        guard case .location(let place)? = field.value(in: stored) else { return .double(.infinity) }
        return .double(GreatCircle.haversine(from: origin, to: place) ?? .infinity)
    }
}

extension FilterTest {
    func passes(_ value: FieldValue?) -> Bool {
        guard let value else { return false }
        switch self {
        case .equals(let operand): return ValueOrder.areEqual(value, operand)
        case .above(let bound):
            guard let order = ValueOrder.compare(value, bound.value) else { return false }
            return order > 0 || order == 0 && bound.isInclusive
        case .below(let bound):
            guard let order = ValueOrder.compare(value, bound.value) else { return false }
            return order < 0 || order == 0 && bound.isInclusive
        case .isIn(let operands): return operands.contains { ValueOrder.areEqual(value, $0) }
        case .beginsWith(let prefix):
            guard case .string(let text) = value else { return false }
            return text.utf8.starts(with: prefix.utf8)
        case .isNear(let place, let radiusMetres):
            let limit = GreatCircle.haversine(ofMetres: radiusMetres)
            return value.items.contains { item in
                guard case .location(let found) = item else { return false }
                return GreatCircle.haversine(from: place, to: found).map { $0 < limit } ?? false
            }
        case .listContainsAny, .listContainsAll, .listMemberBeginsWith:
            guard case .list(let items) = value else { return false }
            return passes(list: items)
        case .anyWord, .allWords: return false
        }
    }

    private func passes(list items: [FieldValue]) -> Bool {
        func contains(_ operand: FieldValue) -> Bool { items.contains { ValueOrder.areEqual($0, operand) } }
        switch self {
        case .listContainsAny(let operands): return operands.contains(where: contains)
        case .listContainsAll(let operands): return operands.allSatisfy(contains)
        case .listMemberBeginsWith(let prefix):
            return items.contains { item in
                guard case .string(let text) = item else { return false }
                return text.utf8.starts(with: prefix.utf8)
            }
        default: return false
        }
    }

    /// A search for no word finds nothing.
    func passes(words: () -> Set<String>) -> Bool {
        switch self {
        case .anyWord(let wanted): !wanted.isEmpty && !words().isDisjoint(with: wanted)
        case .allWords(let wanted): !wanted.isEmpty && words().isSuperset(of: wanted)
        default: false
        }
    }
}

extension Record {
    /// The words of these fields, folded.
    func words(of keys: Set<FieldKey>) -> Set<String> {
        var words: Set<String> = []
        for (key, field) in fields where keys.contains(key) && !field.isEncrypted {
            for case .string(let text) in field.value.items { words.formUnion(SearchWords.words(of: text)) }
        }
        return words
    }
}
