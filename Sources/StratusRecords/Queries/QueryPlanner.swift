// Chooses the way of a query in one zone.
//
//   1. Every filter that an index can answer is a candidate. The bounds of one field are one range.
//   2. If there is a choice, count up to `probeCount` entries of each candidate.
//   3. Take the candidate with the fewest entries, if it has fewer than `probeCount`: reading all of them is cheap,
//      whatever their order.
//   4. Otherwise, if the first sort key has an index, read its order and skip what does not pass.
//   5. Otherwise intersect the candidates whose names are in order; or read the first candidate; or all records of the
//      type.
//
// No statistics are kept: every save would write them, and they say nothing about combined filters. Counting a few
// entries costs a seek for each range and is never out of date. Only an index that is `ready` is read.

import StratusLayout
import StratusModel
import StratusStore

struct QueryPlanner {
    let query: RecordQuery
    let zone: ZoneReader
    let indexes: QueryIndexesEntry
    private var probeCount: Int { zone.limits.queryProbeCount }

    /// The plan. Without sort keys the first page may have any order. A later page names the order of the first.
    func plan(order fixed: ResultOrder?) throws -> QueryPlan {
        var candidates = try candidates()
        let ordered = try fixed.flatMap { try orderedSource($0) }
        let isProbed = candidates.count + (ordered == nil ? 0 : 1) > 1
        if isProbed { zone.reads?.entries(of: candidates.map(\.source), limit: probeCount) }
        for index in candidates.indices where isProbed {
            candidates[index].count = try candidates[index].source.count(limit: probeCount, in: zone.store)
        }
        var plan = plan(chosen(candidates, ordered, isProbed: isProbed), fixed)
        if isProbed { plan.notes += candidates.map { "\($0.label): \(counted($0.count))" } }
        plan.notes += indexNotes()
        plan.unreadyOrder = fixed?.keys.first?.field.indexKey.flatMap { key in
            indexes.fields[key].flatMap { $0.phase == .filling ? key : nil }
        }
        return plan
    }

    /// The plan to use if `other` needs too many reads: it reads all records of the type in the order of their names.
    func scanPlan(instead other: QueryPlan) throws -> QueryPlan {
        var plan = plan(allRecords, other.order)
        plan.notes = ["\(other.source) has too many"] + other.notes
        return plan
    }

    private func chosen(_ candidates: [QueryWay], _ ordered: QueryWay?, isProbed: Bool) -> QueryWay {
        if let best = candidates.min(by: { $0.count < $1.count }), best.count < probeCount, isProbed { return best }
        if let ordered { return ordered }
        let named = candidates.filter { $0.source.nameCursor(in: zone) != nil }
        if named.count > 1 {
            return QueryWay(
                source: .met(named.map(\.source)), label: named.map(\.label).joined(separator: " and "),
                count: probeCount)
        }
        return named.first ?? candidates.first ?? allRecords
    }

    private var allRecords: QueryWay {
        QueryWay(source: .type(zone.keys.types(of: query.type)), label: "all records of type \(query.type)")
    }

    private func plan(_ way: QueryWay, _ fixed: ResultOrder?) -> QueryPlan {
        var way = way
        let order: ResultOrder
        let isInOrder: Bool
        switch way.source {
        case .type, .names, .given, .met:
            order = fixed ?? ResultOrder([])
            isInOrder = order.isByName
        case .among(let key, let ranges):
            let field = QueryField(indexKey: key)
            order = fixed ?? ResultOrder([RecordSort(field)])
            isInOrder = order.begins(with: field) || order.isByName
            if order.begins(with: field) { way.source = .values(key, order.isAscending ? ranges : ranges.reversed()) }
        case .scattered:
            order = fixed ?? ResultOrder([])
            isInOrder = false
        case .values(let key, _):
            let field = QueryField(indexKey: key)
            order = fixed ?? ResultOrder([RecordSort(field)])
            isInOrder = order.begins(with: field)
        }
        return QueryPlan(way: way, order: order, isInOrder: isInOrder, isCountOpen: way.count >= probeCount)
    }

    private func counted(_ count: Int) -> String { count < probeCount ? "\(count)" : "\(count) or more" }

    /// The indexes that are not ready yet.
    private func indexNotes() -> [String] {
        Set(query.namedFields.compactMap(\.indexKey)).sorted().compactMap { key in
            guard let state = indexes.fields[key], state.phase != .ready else { return nil }
            return "the index on \(key) is \(state.phase)"
        }
    }

    // MARK: Candidates

    private func isReady(_ field: QueryField, _ kinds: QueryIndexKinds) -> Bool {
        guard let key = field.indexKey, let state = indexes.fields[key] else { return false }
        return state.phase == .ready && state.kinds.isSuperset(of: kinds)
    }

    private func candidates() throws -> [QueryWay] {
        var candidates: [QueryWay] = []
        var bounds: [QueryField: (range: KeyRange, filters: [RecordFilter])] = [:]
        var bounded: [QueryField] = []
        for filter in query.filters where !filter.isNegated {
            guard let field = filter.field else {
                if let words = wordsCandidate(filter.test) { candidates.append(words) }
                continue
            }
            if let place = placeCandidate(field, filter.test) {
                candidates.append(place)
            } else if isReady(field, .values) {
                if let exact = try exactCandidate(field, filter.test) { candidates.append(exact) }
                if let range = try range(field, filter.test) {
                    if bounds[field] == nil { bounded.append(field) }
                    let known = bounds[field]
                    bounds[field] = (known?.range.met(range) ?? range, (known?.filters ?? []) + [filter])
                }
            }
        }
        for field in bounded {
            guard let (range, filters) = bounds[field], let key = field.indexKey else { continue }
            candidates.append(
                QueryWay(
                    source: .values(key, [range]), label: "\(query.type).\(key), a range", bounds: filters))
        }
        return candidates
    }

    /// The way along the order's first key, limited by the filters of its field.
    private func orderedSource(_ order: ResultOrder) throws -> QueryWay? {
        guard let first = order.keys.first, first.origin == nil, isReady(first.field, .values),
            let key = first.field.indexKey
        else { return nil }
        var range = try zone.keys.fieldEntries(type: query.type, field: key)
        var bounds: [RecordFilter] = []
        for filter in query.filters where filter.field == first.field && !filter.isNegated {
            guard let bound = try self.range(first.field, filter.test) else { continue }
            range = range.met(bound)
            bounds.append(filter)
        }
        // Records without a value pass no bound. Without bounds the index must have them too.
        guard !bounds.isEmpty || isReady(first.field, .missing) else { return nil }
        return QueryWay(
            source: .values(key, [range]), label: "\(query.type).\(key), for its order", bounds: bounds)
    }

    /// The entries of a field between two edges.
    private func entries(_ key: FieldKey, _ lower: FieldEdge, _ upper: FieldEdge) throws -> KeyRange {
        try zone.keys.fieldEntries(type: query.type, field: key, from: lower, to: upper)
    }

    /// The range of a field's entries that holds all passing records, with their only value.
    private func range(_ field: QueryField, _ test: FilterTest) throws -> KeyRange? {
        guard let key = field.indexKey else { return nil }
        switch test {
        case .above(let bound, let isInclusive):
            guard let element = IndexedValue.element(of: bound) else { return nil }
            let isIncluded = isInclusive || !IndexedValue.isExact(element)
            return try entries(key, isIncluded ? .before(element) : .after(element), .afterKind(of: element))
        case .below(let bound, let isInclusive):
            guard let element = IndexedValue.element(of: bound) else { return nil }
            let isIncluded = isInclusive || !IndexedValue.isExact(element)
            return try entries(key, .beforeKind(of: element), isIncluded ? .after(element) : .before(element))
        case .beginsWith(let text):
            let beginning = IndexedValue.cut(text)
            return try entries(key, .beforeTexts(beginning: beginning), .afterTexts(beginning: beginning))
        case .equals(let value):
            guard let element = IndexedValue.element(of: value) else { return nil }
            return try entries(key, .before(element), .after(element))
        default: return nil
        }
    }

    /// Entries of single values, or of a list's items.
    private func exactCandidate(_ field: QueryField, _ test: FilterTest) throws -> QueryWay? {
        guard let key = field.indexKey else { return nil }
        let label = "\(query.type).\(key)"
        func many() throws -> KeyRange { try entries(key, .before(IndexedValue.tooMany), .after(IndexedValue.tooMany)) }
        func ranges(_ values: [FieldValue], listed: Bool) throws -> [KeyRange]? {
            var elements = Set<TupleElement>()
            for value in values {
                if case .location = value { return nil }
                guard let element = IndexedValue.element(of: value) else { return nil }
                elements.insert(element)
            }
            if listed { elements.insert(IndexedValue.tooMany) }
            return try elements.map { try zone.keys.fieldEntries(type: query.type, field: key, element: $0) }
        }
        let found: [KeyRange]?
        switch test {
        case .equals(let value): found = try ranges([value], listed: false)
        case .isIn(let values):
            guard let found = try ranges(values, listed: false) else { return nil }
            let sorted = found.sorted { $0.lower.lexicographicallyPrecedes($1.lower) }
            return QueryWay(source: .among(key, sorted), label: label, bounds: [RecordFilter(field, test)])
        case .listContainsAny(let values): found = try ranges(values, listed: true)
        case .listContainsAll(let values):
            guard let first = values.first else { return nil }
            found = try ranges([first], listed: true)
        case .listMemberBeginsWith(let text):
            let beginning = IndexedValue.cut(text)
            let items = try entries(key, .beforeTexts(beginning: beginning), .afterTexts(beginning: beginning))
            return QueryWay(
                source: .scattered(key, [items, try many()]), label: "\(label), items that begin with a text")
        case .isNear(let place, let radiusMetres):
            let cells = LocationCover.ranges(around: place, radiusMetres: radiusMetres)
            let covered = try cells.map { cells in
                let (first, last) = (Int64(cells.lowerBound), Int64(cells.upperBound))
                return try entries(key, .before(.integer(first)), .after(.integer(last)))
            }
            return QueryWay(
                source: .scattered(key, covered + [try many()]),
                label: "\(label), \(cells.count.counting("range")) of cells")
        default: return nil
        }
        return found.map { QueryWay(source: .names($0), label: label) }
    }

    /// Filters that the hierarchy or the records' names answer.
    private func placeCandidate(_ field: QueryField, _ test: FilterTest) -> QueryWay? {
        let targets: [FieldValue]
        switch test {
        case .equals(let value): targets = [value]
        case .isIn(let values): targets = values
        default: return nil
        }
        let names = targets.compactMap { value -> RecordName? in
            if case .reference(let reference) = value { reference.target } else { nil }
        }
        switch field {
        case .recordName: return QueryWay(source: .given(names), label: "names of records")
        case .parent:
            return QueryWay(source: .names(names.map { zone.keys.children(of: $0) }), label: "parents")
        case .share: return QueryWay(source: .names([zone.keys.keyspace(.shareRoots)]), label: "share roots")
        default: return nil
        }
    }

    private func wordsCandidate(_ test: FilterTest) -> QueryWay? {
        let fields = query.searchedFields.sorted()
        guard !fields.isEmpty, fields.allSatisfy({ isReady(.field($0), .words) }) else { return nil }
        func ranges(_ words: some Sequence<String>) -> [KeyRange] {
            fields.flatMap { field in
                (Array(words) + [IndexedValue.tooManyWords]).map { zone.keys.tokens($0, field: field) }
            }
        }
        switch test {
        case .anyWord(let words):
            return QueryWay(source: .names(ranges(words.sorted())), label: "words")
        case .allWords(let words):
            // Every word returns a superset. The longest word is usually the rarest.
            guard let word = words.max(by: { ($0.utf8.count, $0) < ($1.utf8.count, $1) }) else { return nil }
            return QueryWay(source: .names(ranges([word])), label: "the word \"\(word)\"")
        default: return nil
        }
    }
}

extension ResultOrder {
    /// Whether results are in the order of names alone.
    var isByName: Bool {
        guard let first = keys.first else { return true }
        return first.field == .recordName && first.isAscending
    }

    /// Whether results are in the order of a field's values first.
    func begins(with field: QueryField) -> Bool { keys.first.map { $0.field == field && $0.origin == nil } ?? false }
}

extension KeyRange {
    /// The keys that are in both ranges.
    func met(_ other: KeyRange) -> KeyRange {
        KeyRange(
            from: lower.lexicographicallyPrecedes(other.lower) ? other.lower : lower,
            upTo: upper.lexicographicallyPrecedes(other.upper) ? upper : other.upper)
    }
}
