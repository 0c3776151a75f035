// What a query must answer, found by looking at every record: it shares no code with the engine. Numbers are compared
// as decimal expansions, words are folded by Foundation, distances are measured by the C library.

import Foundation
import StratusModel
import StratusRecords

struct QueryOracle {
    let query: RecordQuery

    /// The names of the matching records, in their order if the query has one, or else by name.
    func names(of records: [StoredRecord]) -> [RecordName] {
        let found = records.filter { record in
            record.record.type == query.type && query.filters.allSatisfy { passes(record, $0) }
        }
        let keyed = found.map { record in (record.record.name, query.sorts.map { key(of: record, $0) }) }
        let isAscending = query.sorts.first?.isAscending ?? true
        return keyed.sorted { left, right in
            for (index, sort) in query.sorts.enumerated() {
                let (one, other) = (left.1[index], right.1[index])
                if one.isLess(than: other) { return sort.isAscending }
                if other.isLess(than: one) { return !sort.isAscending }
            }
            let isLess = Array(left.0.text.utf8).lexicographicallyPrecedes(Array(right.0.text.utf8))
            return isLess == isAscending && left.0 != right.0
        }.map(\.0)
    }

    // MARK: Order

    private enum Key {
        case none
        case reference([UInt8])
        case text([UInt8])
        case number(Number)
        case date(Double)
        case far(Double)

        var rank: Int {
            switch self {
            case .none: 0
            case .reference: 1
            case .text: 2
            case .number: 3
            case .date: 4
            case .far: 5
            }
        }

        func isLess(than other: Key) -> Bool {
            switch (self, other) {
            case (.reference(let one), .reference(let two)), (.text(let one), .text(let two)):
                one.lexicographicallyPrecedes(two)
            case (.number(let one), .number(let two)): one.isLess(than: two)
            case (.date(let one), .date(let two)): Number.isLess(one, two)
            // What is equally far for one library of mathematics may not be so for another.
            case (.far(let one), .far(let two)): one < two - 1e-3
            default: rank < other.rank
            }
        }
    }

    private func key(of record: StoredRecord, _ sort: RecordSort) -> Key {
        let value = value(of: record, sort.field)
        if let origin = sort.origin {
            guard case .location(let place)? = value, let metres = Self.metres(origin, place) else {
                return .far(.infinity)
            }
            return .far(metres)
        }
        switch value {
        case .string(let text)?: return .text(Array(text.utf8))
        case .reference(let reference)?: return .reference(Array(reference.target.text.utf8))
        case .int64(let number)?: return .number(.whole(number))
        case .double(let number)?: return .number(.part(number))
        case .date(let date)?: return .date(date.timeIntervalSinceReferenceDate)
        default: return .none
        }
    }

    enum Number {
        case whole(Int64)
        case part(Double)

        static func isLess(_ one: Double, _ other: Double) -> Bool {
            if one.isNaN { return false }
            return other.isNaN || one < other
        }

        func isLess(than other: Number) -> Bool {
            switch (self, other) {
            case (.whole(let one), .whole(let two)): one < two
            case (.part(let one), .part(let two)): Self.isLess(one, two)
            case (.whole(let one), .part(let two)):
                if one.magnitude < 1 << 50, abs(two) < 0x1p50 {
                    Double(one) < two
                } else {
                    two.isNaN || two == .infinity || two != -.infinity && Decimal(one) < Self.decimal(two)
                }
            case (.part(let one), .whole(let two)):
                if two.magnitude < 1 << 50, abs(one) < 0x1p50 {
                    one < Double(two)
                } else {
                    !one.isNaN && one != .infinity && (one == -.infinity || Self.decimal(one) < Decimal(two))
                }
            }
        }

        /// Exactly, for an integer; else something on the right side of all integers.
        private static func decimal(_ number: Double) -> Decimal {
            if abs(number) >= 1e20 { return number < 0 ? Decimal(sign: .minus, exponent: 20, significand: 1) : 1e20 }
            if number == number.rounded(), abs(number) < 0x1p63 { return Decimal(Int64(number)) }
            if number == number.rounded() {
                return number < 0 ? -Decimal(UInt64(-number)) : Decimal(UInt64(number))
            }
            // Between two integers, wherever.
            return Decimal(Int64(number.rounded(.down))) + 0.5
        }
    }

    // MARK: Values

    private func value(of record: StoredRecord, _ field: QueryField) -> FieldValue? {
        func name(_ text: String?) -> FieldValue? {
            text.map { .reference(RecordReference(target: RecordName($0), action: .none)) }
        }
        switch field {
        case .field(let key):
            guard let found = record.record.fields[key], !found.isEncrypted else { return nil }
            return found.value
        case .recordName: return name(record.record.name.text)
        case .created: return .date(record.system.created.date)
        case .modified: return .date(record.system.modified.date)
        case .creator: return name(record.system.created.user.text)
        case .modifier: return name(record.system.modified.user.text)
        case .parent:
            return query.hidesParentsOfRoots && record.record.share != nil ? nil : name(record.record.parent?.text)
        case .share: return name(record.record.share?.text)
        }
    }

    private func isEqual(_ one: FieldValue, _ other: FieldValue) -> Bool {
        switch (one, other) {
        case (.bytes(let left), .bytes(let right)): return left == right
        case (.string(let left), .string(let right)): return Array(left.utf8) == Array(right.utf8)
        case (.reference(let left), .reference(let right)):
            return Array(left.target.text.utf8) == Array(right.target.text.utf8)
        case (.date(let left), .date(let right)):
            let (left, right) = (left.timeIntervalSinceReferenceDate, right.timeIntervalSinceReferenceDate)
            return left == right || left.isNaN && right.isNaN
        case (.list(let left), .list(let right)):
            return left.count == right.count && zip(left, right).allSatisfy { isEqual($0, $1) }
        default:
            guard let left = number(one), let right = number(other) else { return false }
            return !left.isLess(than: right) && !right.isLess(than: left)
        }
    }

    private func number(_ value: FieldValue) -> Number? {
        switch value {
        case .int64(let number): .whole(number)
        case .double(let number): .part(number)
        default: nil
        }
    }

    /// Whether the value is of the same kind and less.
    private func isLess(_ one: FieldValue, _ other: FieldValue) -> Bool {
        switch (one, other) {
        case (.string(let left), .string(let right)):
            return Array(left.utf8).lexicographicallyPrecedes(Array(right.utf8))
        case (.reference(let left), .reference(let right)):
            return Array(left.target.text.utf8).lexicographicallyPrecedes(Array(right.target.text.utf8))
        case (.date(let left), .date(let right)):
            return Number.isLess(left.timeIntervalSinceReferenceDate, right.timeIntervalSinceReferenceDate)
        default:
            guard let left = number(one), let right = number(other) else { return false }
            return left.isLess(than: right)
        }
    }

    // MARK: Filters

    private func passes(_ record: StoredRecord, _ filter: RecordFilter) -> Bool {
        guard let field = filter.field else { return holdsWords(record, filter.test) != filter.isNegated }
        guard let value = value(of: record, field) else { return filter.isNegated }
        return passes(value, filter.test) != filter.isNegated
    }

    private func passes(_ value: FieldValue, _ test: FilterTest) -> Bool {
        var items: [FieldValue] = []
        var isList = false
        if case .list(let found) = value { (items, isList) = (found, true) }
        switch test {
        case .equals(let wanted): return isEqual(value, wanted)
        case .above(let bound, let isInclusive):
            return isLess(bound, value) || isInclusive && isOrdered(value) && isEqual(value, bound)
        case .below(let bound, let isInclusive):
            return isLess(value, bound) || isInclusive && isOrdered(value) && isEqual(value, bound)
        case .isIn(let wanted): return wanted.contains { isEqual(value, $0) }
        case .beginsWith(let beginning): return begins(value, beginning)
        case .listContainsAny(let wanted):
            return isList && wanted.contains { item in items.contains { isEqual($0, item) } }
        case .listContainsAll(let wanted):
            return isList && !wanted.contains { item in !items.contains { isEqual($0, item) } }
        case .listMemberBeginsWith(let beginning): return isList && items.contains { begins($0, beginning) }
        case .isNear(let centre, let radius):
            return (isList ? items : [value]).contains { item in
                guard case .location(let place) = item, let metres = Self.metres(centre, place) else { return false }
                return metres < radius
            }
        case .anyWord, .allWords: return false
        }
    }

    private func isOrdered(_ value: FieldValue) -> Bool {
        switch value {
        case .bytes, .list, .asset, .location: false
        default: true
        }
    }

    private func begins(_ value: FieldValue, _ beginning: String) -> Bool {
        guard case .string(let text) = value else { return false }
        return Array(text.utf8).prefix(beginning.utf8.count) == Array(beginning.utf8)[...]
    }

    private func holdsWords(_ record: StoredRecord, _ test: FilterTest) -> Bool {
        var words: Set<String> = []
        for key in query.searchedFields {
            guard let field = record.record.fields[key], !field.isEncrypted else { continue }
            var texts: [FieldValue] = [field.value]
            if case .list(let items) = field.value { texts = items }
            for case .string(let text) in texts {
                let folded =
                    text.utf8.count > 500
                    ? text : text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
                words.formUnion(folded.components(separatedBy: CharacterSet.alphanumerics.inverted))
            }
        }
        switch test {
        case .anyWord(let wanted): return wanted.contains { words.contains($0) }
        case .allWords(let wanted): return !wanted.isEmpty && wanted.allSatisfy { words.contains($0) }
        default: return false
        }
    }

    static func metres(_ one: Location, _ other: Location) -> Double? {
        for place in [one, other] where !(abs(place.latitudeDegrees) <= 90 && abs(place.longitudeDegrees) <= 180) {
            return nil
        }
        func vector(_ place: Location) -> (Double, Double, Double) {
            let (latitude, longitude) = (place.latitudeDegrees * .pi / 180, place.longitudeDegrees * .pi / 180)
            return (cos(latitude) * cos(longitude), cos(latitude) * sin(longitude), sin(latitude))
        }
        let (left, right) = (vector(one), vector(other))
        let chord = sqrt(pow(left.0 - right.0, 2) + pow(left.1 - right.1, 2) + pow(left.2 - right.2, 2))
        return 2 * 6_371_008.8 * asin(min(1, chord / 2))
    }
}
