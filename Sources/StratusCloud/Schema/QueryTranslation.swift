// A client's query as one zone's, in the words of the record layer. References name records of one zone, so that
// what points into another zone is found in none but that one.

import FoundationEssentials
import StratusModel
import StratusRecords

struct QueryTranslation {
    let verdict: QueryVerdict
    let zone: ResolvedZone
    /// The caller's user name, which stands behind the one for the caller.
    let caller: UserName?
    /// Metres in one unit of a radius.
    let metresPerUnit: Double

    func query() -> RecordQuery {
        var query = RecordQuery(
            type: RecordType(verdict.query.recordType), searchedFields: verdict.searchedFields,
            hidesParentsOfRoots: zone.isShared)
        for (filter, field) in zip(verdict.query.filters, verdict.filterFields) {
            query.filters.append(self.filter(filter, field))
        }
        for (sort, field) in zip(verdict.query.sorts, verdict.sortFields) {
            query.sorts.append(RecordSort(field, isAscending: sort.isAscending, origin: sort.origin))
        }
        return query
    }

    private func filter(_ filter: QueryFilter, _ field: QueryField?) -> RecordFilter {
        func positive(_ test: FilterTest) -> RecordFilter { RecordFilter(field, test) }
        func negative(_ test: FilterTest) -> RecordFilter { RecordFilter(field, test, isNegated: true) }
        let operand = filter.operand
        switch filter.comparator {
        case .equals: return positive(equality(operand, field))
        case .notEquals: return negative(equality(operand, field))
        case .lessThan: return positive(bound(operand, field) { .below(ValueBound($0, isInclusive: false)) })
        case .lessThanOrEquals: return positive(bound(operand, field) { .below(ValueBound($0, isInclusive: true)) })
        case .greaterThan: return positive(bound(operand, field) { .above(ValueBound($0, isInclusive: false)) })
        case .greaterThanOrEquals: return positive(bound(operand, field) { .above(ValueBound($0, isInclusive: true)) })
        case .isIn: return positive(.isIn(values(operand, field)))
        case .isNotIn: return negative(.isIn(values(operand, field)))
        case .isAnyOf: return positive(membership(operand, field))
        case .isNoneOf: return negative(membership(operand, field))
        case .beginsWith: return positive(.beginsWith(operand.text))
        case .doesNotBeginWith: return negative(.beginsWith(operand.text))
        case .listContains: return positive(.listContainsAny(values(operand, field)))
        case .listDoesNotContain: return negative(.listContainsAny(values(operand, field)))
        case .listContainsAny: return positive(.listContainsAny(values(operand, field)))
        case .listContainsNoneOf: return negative(.listContainsAny(values(operand, field)))
        case .listContainsAll: return positive(containsAll(operand, field))
        case .listDoesNotContainAll: return negative(containsAll(operand, field))
        case .listMemberBeginsWith: return positive(.listMemberBeginsWith(operand.text))
        case .noListMemberBeginsWith: return negative(.listMemberBeginsWith(operand.text))
        case .containsAnyToken: return positive(.anyWord(SearchWords.words(of: operand.text)))
        case .containsAllTokens: return positive(.allWords(SearchWords.words(of: operand.text)))
        case .isNear:
            guard case .location(let place) = operand, let radius = filter.radius else { return positive(.isIn([])) }
            return positive(.isNear(place, radiusMetres: radius * metresPerUnit))
        }
    }

    private func equality(_ operand: ClientValue, _ field: QueryField?) -> FilterTest {
        if case .list(let items) = operand {
            let values = items.compactMap { value($0, field) }
            // A list with a reference into another zone is nobody's here.
            return values.count == items.count ? .equals(.list(values)) : .isIn([])
        }
        return value(operand, field).map { .equals($0) } ?? .isIn([])
    }

    private func containsAll(_ operand: ClientValue, _ field: QueryField?) -> FilterTest {
        let values = values(operand, field)
        guard case .list(let items) = operand, items.count == values.count else { return .isIn([]) }
        return .listContainsAll(values)
    }

    /// Whether a value, or a member of a list, is one of the operand's.
    private func membership(_ operand: ClientValue, _ field: QueryField?) -> FilterTest {
        let isList = field.flatMap { verdict.valueType(of: $0)?.isList } ?? false
        let values = values(operand, field)
        return isList ? .listContainsAny(values) : .isIn(values)
    }

    private func bound(_ operand: ClientValue, _ field: QueryField?, _ test: (FieldValue) -> FilterTest) -> FilterTest {
        value(operand, field).map(test) ?? .isIn([])
    }

    private func values(_ operand: ClientValue, _ field: QueryField?) -> [FieldValue] {
        guard case .list(let items) = operand else { return value(operand, field).map { [$0] } ?? [] }
        return items.compactMap { value($0, field) }
    }

    /// A value to compare with; nil for one that no record of this zone can have.
    private func value(_ value: ClientValue, _ field: QueryField?) -> FieldValue? {
        switch value {
        case .string(let text):
            field == .recordName
                ? .reference(RecordReference(target: RecordName(text), action: .none)) : .string(text)
        case .int64(let number): .int64(number)
        case .double(let number): .double(number)
        case .date(let date): .date(date)
        case .bytes(let bytes): .bytes(bytes.bytes)
        case .location(let place): .location(place)
        case .reference(let reference):
            target(reference, field).map { .reference(RecordReference(target: $0, action: .none)) }
        case .asset, .list: nil
        }
    }

    private func target(_ reference: ClientReference, _ field: QueryField?) -> RecordName? {
        let name = reference.target.recordName
        switch field {
        case .creator?, .modifier?:
            // A user's record lies in no zone of its own.
            return name == ZoneAddress.currentUser ? caller.map { RecordName($0.text) } : RecordName(name)
        default:
            let address = ScopeVerdict.canonical(reference.target.zone, caller: caller)
            return address == zone.address ? RecordName(name) : nil
        }
    }
}

extension ClientValue {
    fileprivate var text: String {
        if case .string(let text) = self { text } else { "" }
    }
}
