// Runs a plan in one zone, for one page.
//
// Memory: one batch of names, and the rows of the page. If the source has the order of the results, the page ends with
// its last row and reads nothing behind it. Otherwise every page reads all records that can pass, up to a limit, and
// keeps the first rows behind the position. Entries are read in place: only the name of a record is copied from a key.

package import StratusLayout
import StratusModel
import StratusStore

/// One page of one zone.
package struct QueryPage: Sendable {
    package var rows: [QueryRow] = []
    /// The position at which the page stopped before it was full and before the end; nil if it did not stop.
    package var stopped: QueryPosition?
    /// Records that were read.
    package var examinedCount = 0
    /// The work of the page, if it ends behind everything that was read and not with one of its rows.
    package var work = QueryWork()
    /// Whether finding the first rows takes more reads than the limit. The page then has no rows.
    package var isTooMuch = false
}

/// The limits of one page.
package struct QueryPageLimits: Sendable {
    /// Rows.
    package var rowCount: Int
    /// Records that may be read, if the page can end anywhere.
    package var examinedCount: Int
    /// Records that may be read, if the first rows are picked out of all.
    package var pickedFromCount: Int

    package init(rowCount: Int, examinedCount: Int, pickedFromCount: Int = .max) {
        self.rowCount = rowCount
        self.examinedCount = examinedCount
        self.pickedFromCount = pickedFromCount
    }
}

struct QueryRun {
    let plan: QueryPlan
    let zone: ZoneReader
    let limits: QueryPageLimits
    /// The fields of the results.
    let fields: FieldSelection
    /// Whether `admits` depends on where records are.
    let needsPlaces: Bool
    /// Whether the caller may see the record.
    let admits: (DecodedRecord) throws -> Bool
    private let test: RowTest
    private let testedFields: Set<FieldKey>
    private var page = QueryPage()
    /// Whether the last record passed. The next one is then likely to pass.
    private var hasPassed = false

    init(
        _ query: RecordQuery, _ plan: QueryPlan, in zone: ZoneReader, after position: QueryPosition?,
        _ limits: QueryPageLimits, fields: FieldSelection, needsPlaces: Bool,
        admits: @escaping (DecodedRecord) throws -> Bool
    ) {
        self.needsPlaces = needsPlaces
        test = RowTest(query, plan, after: position)
        testedFields = query.testedFields
        self.plan = plan
        self.zone = zone
        self.limits = limits
        self.fields = fields
        self.admits = admits
    }

    mutating func run() throws -> QueryPage {
        switch plan.way.source {
        case .type, .names, .given, .among, .met:
            guard let names = plan.way.source.nameCursor(in: zone) else { break }
            zone.reads?.entries(of: [plan.way.source], limit: limits.rowCount)
            if plan.isInOrder { try runInOrder(names) } else { try pickFirst(names) }
        case .values(let key, let ranges) where plan.isInOrder: try runInOrder(key, ranges)
        case .values(let key, let ranges), .scattered(let key, let ranges): try pickFirst(entriesOf: key, ranges)
        }
        page.work = QueryWork(settledCount: page.examinedCount)
        return page
    }

    // MARK: Names in order

    private mutating func runInOrder(_ names: any NameCursor) throws {
        switch test.position?.name {
        case .name(let last)?: try names.move(to: last, isInclusive: false)
        case .beforeAll?, .afterAll?:
            if case .reference(let reference)? = test.position?.values.first {
                try names.move(to: reference.target, isInclusive: true)
            }
        case nil: break
        }
        while page.rows.count < limits.rowCount, let name = try names.next() {
            guard let row = try row(name) else {
                if page.examinedCount >= limits.examinedCount {
                    let values: [FieldValue?] = plan.order.keys.map { key in
                        key.field == .recordName ? .reference(RecordReference(target: name, action: .none)) : nil
                    }
                    return page.stopped = QueryPosition(values: SortedValues(values), name: .name(name))
                }
                continue
            }
            page.rows.append(row)
        }
    }

    // MARK: Picking

    private mutating func pickFirst(_ names: any NameCursor) throws {
        var first = FirstRows(order: plan.order, limit: limits.rowCount)
        while let name = try names.next() {
            guard mayPick() else { return }
            if let row = try row(name, { first.takes(values: $0, name: name) }) { first.insert(row) }
        }
        append(first, settledCount: 0)
    }

    private mutating func pickFirst(entriesOf key: FieldKey, _ ranges: [KeyRange]) throws {
        var first = FirstRows(order: plan.order, limit: limits.rowCount)
        let prefixByteCount = zone.keys.fieldPrefixByteCount(type: test.query.type, field: key)
        let (reads, needsPlaces) = (zone.reads, needsPlaces)
        func follow(_ key: Span<UInt8>, _ value: Span<UInt8>, _ plan: inout ReadPlan) throws {
            try reads?.add(recordOf: key, prefixByteCount, needsPlaces: needsPlaces, to: &plan)
        }
        for range in ranges where !range.isEmpty {
            reads?.announce(range, limit: min(limits.pickedFromCount, ZoneReads.entryCount))
            try zone.store.scan(range, .forward, limit: .max, following: follow) { key, _ in
                guard mayPick() else { return .stop }
                let nameOffset = try ZoneKeys.readFieldEntry(key, prefixByteCount: prefixByteCount).nameOffset
                if let row = try row(namedIn: key, from: nameOffset, nil, { first.takes(values: $0, name: $1) }) {
                    first.insert(row)
                }
                return .next
            }
            guard !page.isTooMuch else { return }
        }
        append(first, settledCount: 0)
    }

    /// Adds rows that were picked out of records that later pages read again. Records read before them are settled.
    private mutating func append(_ picked: FirstRows, settledCount: Int) {
        for (index, row) in picked.rows.enumerated() {
            var row = row
            row.work = QueryWork(settledCount: settledCount, openCount: index + 1)
            page.rows.append(row)
        }
    }

    /// Whether the limit allows to read one more record before the first rows are known.
    private mutating func mayPick() -> Bool {
        page.isTooMuch = page.examinedCount >= limits.pickedFromCount
        return !page.isTooMuch
    }

    // MARK: Values in order

    /// Rows of one element that are not yet sorted, and how many records were read before it.
    private typealias Group = (element: TupleElement, first: FirstRows, settledCount: Int)

    /// Entries come in groups of one element. Within a group, records are in the order of their names. If there are
    /// further keys, or the element represents several values, the first rows of the group are picked.
    private mutating func runInOrder(_ key: FieldKey, _ ranges: [KeyRange]) throws {
        let prefixByteCount = zone.keys.fieldPrefixByteCount(type: test.query.type, field: key)
        var group: Group?
        let direction: ScanDirection = plan.order.isAscending ? .forward : .backward
        let (reads, needsPlaces) = (zone.reads, needsPlaces)
        func follow(_ key: Span<UInt8>, _ value: Span<UInt8>, _ plan: inout ReadPlan) throws {
            try reads?.add(recordOf: key, prefixByteCount, needsPlaces: needsPlaces, to: &plan)
        }
        for range in try remaining(ranges, of: key) where !range.isEmpty {
            guard page.rows.count < limits.rowCount, page.stopped == nil else { break }
            reads?.announce(range, direction, limit: limits.rowCount - page.rows.count)
            try zone.store.scan(range, direction, limit: .max, following: follow) { key, _ in
                let entry = try ZoneKeys.readFieldEntry(key, prefixByteCount: prefixByteCount)
                return try take(entry.element, key, entry.nameOffset, &group)
            }
        }
        close(&group)
    }

    /// Reads the record of an index entry.
    private mutating func take(
        _ element: TupleElement, _ key: Span<UInt8>, _ nameOffset: Int, _ group: inout Group?
    ) throws -> ScanStep {
        if let open = group, open.element != element { close(&group) }
        guard page.rows.count < limits.rowCount else { return .stop }
        guard plan.order.keys.count == 1, IndexedValue.isExact(element) else {
            try take(element, key, nameOffset, into: &group)
            return .next
        }
        guard let row = try row(namedIn: key, from: nameOffset, element) else {
            guard page.examinedCount >= limits.examinedCount else { return .next }
            page.stopped = QueryPosition(
                values: SortedValues([element.sortedValue]),
                name: .name(try ZoneKeys.readName(key, prefixByteCount: nameOffset)))
            return .stop
        }
        page.rows.append(row)
        return page.rows.count < limits.rowCount ? .next : .stop
    }

    /// The same if the rows of an element are picked.
    private mutating func take(
        _ element: TupleElement, _ key: Span<UInt8>, _ nameOffset: Int, into group: inout Group?
    ) throws {
        let limit = limits.rowCount - page.rows.count
        var grown: Group = group ?? (element, FirstRows(order: plan.order, limit: limit), page.examinedCount)
        // Now the rows have one owner and are not copied.
        group = nil
        let row = try row(namedIn: key, from: nameOffset, element) { grown.first.takes(values: $0, name: $1) }
        if let row { grown.first.insert(row) }
        group = grown
    }

    private mutating func close(_ group: inout Group?) {
        guard let closed = group else { return }
        group = nil
        append(closed.first, settledCount: closed.settledCount)
    }

    /// The ranges without the entries before the position.
    private func remaining(_ ranges: [KeyRange], of key: FieldKey) throws -> [KeyRange] {
        guard let position = test.position, position.values.count > 0 else { return ranges }
        let isForward = plan.order.isAscending
        let element = position.values.first.flatMap { IndexedValue.element(of: $0) } ?? IndexedValue.missing
        var rest = try zone.keys.fieldEntries(
            type: test.query.type, field: key, from: isForward ? .before(element) : .start,
            to: isForward ? .end : .after(element))
        if plan.order.keys.count == 1, IndexedValue.isExact(element), case .name(let name) = position.name {
            let same = try zone.keys.fieldEntries(type: test.query.type, field: key, element: element)
            let edge = same.names(from: name, isInclusive: !isForward)
            if isForward { rest.lower = edge.lower } else { rest.upper = edge.lower }
        }
        return ranges.map { $0.met(rest) }
    }

    // MARK: One record

    /// The record as a row of the results; nil if it does not pass, is before the position, or is not wanted.
    private mutating func row(
        _ name: RecordName, _ isWanted: (SortedValues) -> Bool = { _ in true }
    ) throws -> QueryRow? {
        let test = test
        var values: SortedValues?
        let found = try zone.record(name, testing: testedFields, likely: hasPassed, fields: fields) { stored in
            values = test.values(of: stored).flatMap { isWanted($0) ? $0 : nil }
            return values != nil
        }
        return try row(found, values)
    }

    /// The same for the record whose name ends a key of an index. `entry` is the entry's element, if the results are in
    /// the order of that index: a record with several entries counts at the one of its value.
    private mutating func row(
        namedIn key: Span<UInt8>, from nameOffset: Int, _ entry: TupleElement?,
        _ isWanted: (SortedValues, RecordName) -> Bool = { _, _ in true }
    ) throws -> QueryRow? {
        let test = test
        var values: SortedValues?
        let found = try zone.record(
            namedIn: key, from: nameOffset, testing: testedFields, likely: hasPassed, fields: fields
        ) { stored in
            values = test.values(of: stored, entry).flatMap { isWanted($0, stored.record.name) ? $0 : nil }
            return values != nil
        }
        return try row(found, values)
    }

    private mutating func row(_ found: DecodedRecord?, _ values: SortedValues?) throws -> QueryRow? {
        page.examinedCount += 1
        hasPassed = found != nil
        guard let found, let values, try admits(found) else { return nil }
        return QueryRow(values: values, record: found, work: QueryWork(settledCount: page.examinedCount))
    }
}

extension TupleElement {
    /// The value of an exact index element.
    fileprivate var sortedValue: FieldValue? {
        switch self {
        case .bytes(let bytes):
            .reference(RecordReference(target: RecordName(String(decoding: bytes, as: UTF8.self)), action: .none))
        case .string(let text): .string(text)
        case .double(let number): .double(number)
        case .date(let date): .date(date)
        default: nil
        }
    }
}

// Decides whether a record is a row of the results, and what it is sorted by. A class apart from the run, because it
// runs for every record and never changes: nothing of it is copied.
//
// An index entry may prove filters. The filters that limit the range hold for every value in it, so a record whose own
// value has an exact entry there has passed them. Entries that stand for several values prove nothing.

final class RowTest {
    let query: RecordQuery
    /// The position behind which rows are wanted.
    let position: QueryPosition?
    private let order: ResultOrder
    /// The field that is the only key of the order: the usual case.
    private let onlyField: FieldKey?
    /// The filters that an exact entry does not prove.
    private let openFilters: [RecordFilter]

    init(_ query: RecordQuery, _ plan: QueryPlan, after position: QueryPosition?) {
        self.query = query
        self.position = position
        order = plan.order
        onlyField = order.onlyField
        openFilters = query.filters.filter { !plan.way.bounds.contains($0) }
    }

    /// The sort values of the record; nil if it does not pass or is before the position. With an entry of the index in
    /// whose order the results are, also nil if that is not the entry of the record's value.
    func values(of stored: StoredRecord, _ entry: TupleElement? = nil) -> SortedValues? {
        guard stored.record.type == query.type else { return nil }
        // Two calls, because a choice between two records copies the one that is chosen.
        guard query.hidesParentsOfRoots, stored.record.share != nil else { return values(ofShown: stored, entry) }
        var shown = stored
        shown.record.parent = nil
        return values(ofShown: shown, entry)
    }

    private func values(ofShown stored: StoredRecord, _ entry: TupleElement?) -> SortedValues? {
        let values =
            if let onlyField {
                SortedValues.one(ValueOrder.sortable(QueryField.value(of: onlyField, in: stored)))
            } else {
                order.values(of: stored)
            }
        var filters = query.filters
        if let entry {
            guard (values.first.flatMap { IndexedValue.element(of: $0) } ?? IndexedValue.missing) == entry else {
                return nil
            }
            if IndexedValue.isExact(entry) { filters = openFilters }
        }
        guard query.matches(stored, filters) else { return nil }
        return order.isBehind(position, values: values, name: stored.record.name) ? values : nil
    }
}

extension ResultOrder {
    fileprivate var onlyField: FieldKey? {
        guard keys.count == 1, let key = keys.first, key.origin == nil, case .field(let field) = key.field else {
            return nil
        }
        return field
    }
}

// Queries over one zone in one snapshot.

extension ZoneReader {
    /// Plans how to find the results of a query. `order` is nil for the first page of a query without sort keys.
    package func plan(_ query: RecordQuery, order: ResultOrder?) throws -> QueryPlan {
        try QueryPlanner(query: query, zone: self, indexes: queryIndexes(of: query.type)).plan(order: order)
    }

    /// The plan to continue with if a page of `plan` takes too much: its pages can end anywhere. Nil unless the results
    /// are in the order of names.
    package func scanPlan(_ query: RecordQuery, instead plan: QueryPlan) throws -> QueryPlan? {
        guard plan.order.isByName else { return nil }
        return try QueryPlanner(query: query, zone: self, indexes: queryIndexes(of: query.type)).scanPlan(instead: plan)
    }

    /// One page of results behind a position. `isTooMuch` is set if finding it exceeds the limits.
    ///
    /// `admits` is called for every record that passes. A record that it refuses is no result. `needsPlaces` says
    /// whether it will read where the record is.
    package func page(
        of query: RecordQuery, _ plan: QueryPlan, after position: QueryPosition?, _ limits: QueryPageLimits,
        fields: FieldSelection = .all, needsPlaces: Bool = false,
        admits: @escaping (DecodedRecord) throws -> Bool = { _ in true }
    ) throws -> QueryPage {
        var run = QueryRun(
            query, plan, in: self, after: position, limits, fields: fields, needsPlaces: needsPlaces, admits: admits)
        return try run.run()
    }
}
