// Checks a client's query, and translates it into a query of the record layer for one zone. Pure decisions:
//
//   QueryVerdict      (query, its record type, mode) → the fields it uses, or refusal
//   QueryTranslation  (verdict, zone, caller) → query of the record layer
//
// In production a query may only filter by fields that the schema marks queryable, sort by sortable and search
// searchable ones. In development it may use every field that some schema could mark; without an index the records are
// read one by one.

import StratusModel
import StratusRecords

/// A valid query, with its fields resolved.
struct QueryVerdict {
    /// Values in the list of one comparison (L-11).
    static let maximumListCount = 250
    /// Comparisons and sort keys of one query.
    static let maximumClauseCount = 100

    let query: ClientQuery
    /// The field of each filter; nil for a search for words.
    private(set) var filterFields: [QueryField?] = []
    private(set) var sortFields: [QueryField] = []
    private(set) var searchedFields: Set<FieldKey> = []
    /// Fields that no record has had so far, of a type that was never imported: misspelled, or not used yet.
    private(set) var unknownFields: [FieldKey] = []

    private let type: RecordTypeSchema
    private let mode: SchemaEnvironment

    init(_ query: ClientQuery, type: RecordTypeSchema, mode: SchemaEnvironment) throws(CloudError) {
        self.query = query
        self.type = type
        self.mode = mode
        guard query.filters.count <= Self.maximumClauseCount, query.sorts.count <= Self.maximumClauseCount else {
            throw CloudError.overLimit(
                "The query has too many comparisons or sort keys.", limit: Self.maximumClauseCount)
        }
        if query.filters.isEmpty, !query.matchesNothing { try check(.recordName, "recordName", .queryable) }
        for filter in query.filters { filterFields.append(try field(of: filter)) }
        for sort in query.sorts {
            let field = try resolved(sort.key)
            try check(field, sort.key, .sortable)
            if let known = valueType(of: field) {
                guard (known.scalar == .location) == (sort.origin != nil) else {
                    throw CloudError(
                        .invalidArguments, "Sort locations, and only locations, by distance with a location sort.",
                        ["field": sort.key])
                }
            }
            sortFields.append(field)
        }
        if query.filters.contains(where: { $0.comparator.isSearch }) { searchedFields = try searchable() }
    }

    static func typeRefusal(_ name: String) -> CloudError? {
        guard name == SchemaNames.usersType.text else { return nil }
        return CloudError(.invalidArguments, "Can't query system types", ["recordType": name])
    }

    static func unknownType(_ name: String) -> CloudError {
        CloudError(
            .unknownItem, inner: CloudError.InnerCode.unknownItem, text: "Did not find record type: \(name)",
            ["recordType": name])
    }

    // MARK: Fields

    private mutating func field(of filter: QueryFilter) throws(CloudError) -> QueryField? {
        if case .list(let items) = filter.operand, items.count > Self.maximumListCount {
            throw CloudError.overLimit(
                "The list of a comparison has too many values.", limit: Self.maximumListCount,
                ["field": filter.key, "values": "\(items.count)"])
        }
        guard !filter.comparator.isSearch else {
            guard case .string = filter.operand else { throw Self.mismatch(filter, "allTokens", "STRING") }
            return nil
        }
        let field = try resolved(filter.key)
        try check(field, filter.key, .queryable)
        try checkOperand(of: filter, field)
        return field
    }

    /// A field by its name; a system field by either spelling.
    private mutating func resolved(_ key: String) throws(CloudError) -> QueryField {
        switch key {
        case "___recordID", "recordID", "recordName": return .recordName
        case "___createTime", "creationDate": return .created
        case "___modTime", "modificationDate": return .modified
        case "___createdBy", "creatorUserRecordID": return .creator
        case "___modifiedBy", "lastModifiedUserRecordID": return .modifier
        case "___parent", "parent": return .parent
        case "___share", "share": return .share
        default:
            let field = FieldKey(key)
            if type.fields[field] == nil {
                guard SchemaNames.isValid(field), mode == .development, !type.isImported else {
                    throw CloudError(
                        .invalidArguments, text: "Unknown field '\(key)'",
                        ["field": key, "recordType": type.name.text])
                }
                unknownFields.append(field)
            }
            return .field(field)
        }
    }

    /// Checks that a query may use a field in this way.
    private func check(_ field: QueryField, _ key: String, _ index: FieldIndexes) throws(CloudError) {
        switch field {
        case .field(let name):
            guard let schema = type.fields[name] else { return }
            let isPossible = schema.type.canHave(index)
            guard isPossible, mode == .development || schema.indexes.contains(index) else {
                throw Self.unmarked(key, index)
            }
        case .parent, .share:
            // The hierarchy answers these filters; it gives no order.
            if index == .sortable { throw Self.unmarked(key, index) }
        case .recordName, .created, .modified, .creator, .modifier:
            guard mode == .production else { return }
            let schema = type.fields[field.indexKey ?? "___recordID"]
            guard schema?.indexes.contains(index) == true else {
                throw Self.unmarked(field == .recordName ? "recordName" : key, index)
            }
        }
    }

    private func searchable() throws(CloudError) -> Set<FieldKey> {
        let texts = type.fields.filter { $0.value.type.scalar == .string && !$0.value.type.isEncrypted }
        let marked = texts.filter { $0.value.indexes.contains(.searchable) }
        guard marked.isEmpty else { return Set(marked.keys) }
        guard mode == .development else {
            throw CloudError(
                .invalidArguments, text: "No field of record type '\(type.name)' is marked searchable",
                ["recordType": type.name.text])
        }
        return Set(texts.keys)
    }

    private static func unmarked(_ key: String, _ index: FieldIndexes) -> CloudError {
        let mark = index == .sortable ? "sortable" : "queryable"
        return CloudError(.invalidArguments, text: "Field '\(key)' is not marked \(mark)", ["field": key])
    }

    // MARK: Types

    /// The type of a field's values; nil if it is not known yet.
    func valueType(of field: QueryField) -> FieldType? {
        switch field {
        case .field(let key): type.fields[key]?.type
        case .created, .modified: FieldType(.timestamp)
        case .recordName, .creator, .modifier, .parent, .share: FieldType(.reference)
        }
    }

    private func checkOperand(of filter: QueryFilter, _ field: QueryField) throws(CloudError) {
        let expected = valueType(of: field)
        let shape = filter.comparator.shape
        let operands: [ClientValue]
        switch (shape.takesList, filter.operand) {
        case (true, .list(let items)): operands = items
        case (true, _): throw Self.mismatch(filter, expected.map { "\($0)" } ?? "LIST", filter.operand.typeName)
        case (false, .list(let items)) where filter.comparator.isEquality: operands = items
        case (false, let value): operands = [value]
        }
        let isWholeList = if case .list = filter.operand { !shape.takesList } else { false }
        if let expected, !shape.isOfEither, expected.isList != (shape.isOfList || isWholeList) {
            throw Self.mismatch(filter, "\(expected)", filter.operand.typeName, Self.advice(filter, expected))
        }
        for operand in operands {
            guard let scalar = operand.scalar, shape.scalars.contains(scalar),
                expected.map({ Self.fits(scalar, $0.scalar, field) }) ?? true
            else { throw Self.mismatch(filter, expected.map { "\($0)" } ?? "UNKNOWN", operand.typeName) }
        }
        if filter.comparator == .isNear, filter.radius.map({ $0.isNaN }) ?? true {
            throw CloudError(.invalidArguments, "The radius of a circle must be a number.", ["field": filter.key])
        }
    }

    private static func fits(_ operand: ScalarType, _ field: ScalarType, _ which: QueryField) -> Bool {
        let numbers: Set<ScalarType> = [.int64, .double, .number]
        if numbers.contains(operand) { return numbers.contains(field) }
        // The name of a record is also compared with texts.
        return operand == field || operand == .string && which == .recordName
    }

    /// What to write instead if only one side of a comparison is a list.
    private static func advice(_ filter: QueryFilter, _ field: FieldType) -> String {
        switch (filter.comparator, field.isList) {
        case (.listContains, false), (.listDoesNotContain, false):
            field.scalar == .string
                ? ": CONTAINS looks for a member of a list, so write BEGINSWITH for the beginning of a text, or "
                    + "self CONTAINS 'words' for words in it"
                : ": CONTAINS looks for a member of a list, so write == for the value itself"
        case (.listContainsAny, false), (.listContainsNoneOf, false), (.listMemberBeginsWith, false),
            (.noListMemberBeginsWith, false):
            ": the field is not a list, so leave ANY out"
        case (.isIn, true), (.isNotIn, true), (.beginsWith, true), (.doesNotBeginWith, true):
            ": the field is a list, so write ANY before it"
        case (.equals, true), (.notEquals, true): ": the field is a list, so write CONTAINS for one of its members"
        default: ""
        }
    }

    private static func mismatch(
        _ filter: QueryFilter, _ field: String, _ operand: String, _ advice: String = ""
    ) -> CloudError {
        CloudError(
            .invalidArguments,
            text: "Field '\(filter.key)' has a value type of \(field) and cannot be queried using filter value type "
                + operand + advice, ["field": filter.key])
    }
}

extension QueryComparator {
    /// The types that a comparator compares.
    struct Shape {
        /// The types of operands, or of the items of a list operand.
        var scalars: Set<ScalarType>
        var takesList = false
        /// Whether the field is a list.
        var isOfList = false
        /// Whether the field may be a list or not.
        var isOfEither = false
    }

    var isSearch: Bool { self == .containsAnyToken || self == .containsAllTokens }
    var isEquality: Bool { self == .equals || self == .notEquals }

    var shape: Shape {
        let identities: Set<ScalarType> = [.string, .int64, .double, .timestamp, .reference]
        switch self {
        case .equals, .notEquals: return Shape(scalars: identities)
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals:
            return Shape(scalars: [.string, .int64, .double, .timestamp])
        case .isIn, .isNotIn: return Shape(scalars: identities, takesList: true)
        case .isAnyOf, .isNoneOf: return Shape(scalars: identities, takesList: true, isOfEither: true)
        case .beginsWith, .doesNotBeginWith: return Shape(scalars: [.string])
        case .listContains, .listDoesNotContain: return Shape(scalars: identities, isOfList: true)
        case .listContainsAny, .listContainsAll, .listContainsNoneOf, .listDoesNotContainAll:
            return Shape(scalars: identities, takesList: true, isOfList: true)
        case .listMemberBeginsWith, .noListMemberBeginsWith: return Shape(scalars: [.string], isOfList: true)
        case .containsAnyToken, .containsAllTokens: return Shape(scalars: [.string])
        case .isNear: return Shape(scalars: [.location])
        }
    }
}

extension FieldType {
    /// Whether a schema could mark a field of the type like this. If not, the query is refused in every mode.
    fileprivate func canHave(_ index: FieldIndexes) -> Bool {
        if isEncrypted || scalar == .bytes || scalar == .asset { return false }
        return index != .sortable || !isList
    }
}

extension ClientValue {
    fileprivate var scalar: ScalarType? {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .date: .timestamp
        case .bytes: .bytes
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .list: nil
        }
    }

    fileprivate var typeName: String {
        guard case .list(let items) = self else { return scalar?.name ?? "UNKNOWN" }
        return (items.first?.scalar?.name ?? "EMPTY") + "_LIST"
    }
}

/// Translates a query for one zone. References name records of one zone, so a reference into another zone
/// matches no record of this zone.
struct QueryTranslation {
    let verdict: QueryVerdict
    let zone: ResolvedZone
    /// The caller's user name, for which `__defaultOwner__` is the placeholder.
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
        case .lessThan: return positive(bound(operand, field) { .below($0, isInclusive: false) })
        case .lessThanOrEquals: return positive(bound(operand, field) { .below($0, isInclusive: true) })
        case .greaterThan: return positive(bound(operand, field) { .above($0, isInclusive: false) })
        case .greaterThanOrEquals: return positive(bound(operand, field) { .above($0, isInclusive: true) })
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
        case .containsAnyToken: return positive(.anyWord(Set(SearchWords.words(of: operand.text))))
        case .containsAllTokens: return positive(.allWords(Set(SearchWords.words(of: operand.text))))
        case .isNear:
            guard case .location(let place) = operand, let radius = filter.radius else { return positive(.isIn([])) }
            return positive(.isNear(place, radiusMetres: radius * metresPerUnit))
        }
    }

    private func equality(_ operand: ClientValue, _ field: QueryField?) -> FilterTest {
        if case .list(let items) = operand {
            let values = items.compactMap { value($0, field) }
            // No record of this zone has a list with a reference into another zone.
            return values.count == items.count ? .equals(.list(values)) : .isIn([])
        }
        return value(operand, field).map { .equals($0) } ?? .isIn([])
    }

    private func containsAll(_ operand: ClientValue, _ field: QueryField?) -> FilterTest {
        let values = values(operand, field)
        guard case .list(let items) = operand, items.count == values.count else { return .isIn([]) }
        return .listContainsAll(values)
    }

    /// Whether a value, or a member of a list, is in the operand.
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

    /// A value to compare with; nil for a value that no record of this zone can have.
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
            // User records are not compared by zone.
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
