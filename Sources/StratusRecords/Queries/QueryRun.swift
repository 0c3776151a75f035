// Carries a plan out in one zone, for one page.
//
// Memory: one batch of names or entries, and the rows of the page. Where the order of results is not that of the source,
// all that passes is looked at and the first rows behind the position are kept; every page looks again. Where it is, the
// page ends with its last row, and what follows is never touched.

import StratusLayout
import StratusModel
import StratusStore
import StratusTuple

/// One page of one zone.
package struct QueryPage: Sendable {
    package var rows: [QueryRow] = []
    /// Where the work stopped before the page was full and before the end; nil where it did not.
    package var stopped: QueryPosition?
    /// Records that were looked at.
    package var examinedCount = 0
}

/// What one page may take.
package struct QueryPageLimits: Sendable {
    /// Rows.
    package var rowCount: Int
    /// Records looked at, where the page can be ended anywhere.
    package var examinedCount: Int

    package init(rowCount: Int, examinedCount: Int) {
        self.rowCount = rowCount
        self.examinedCount = examinedCount
    }
}

struct QueryRun {
    let query: RecordQuery
    let plan: QueryPlan
    let zone: ZoneReader
    let position: QueryPosition?
    let limits: QueryPageLimits
    /// The fields of the results.
    let fields: FieldSelection
    /// Whether the caller may see the record.
    let admits: (KeptRecord) throws -> Bool
    private let testedFields: Set<FieldKey>
    private var page = QueryPage()
    /// Whether the record before passed: then the next one is likely to.
    private var hasPassed = false

    init(
        _ query: RecordQuery, _ plan: QueryPlan, in zone: ZoneReader, after position: QueryPosition?,
        _ limits: QueryPageLimits, fields: FieldSelection, admits: @escaping (KeptRecord) throws -> Bool
    ) {
        self.query = query
        testedFields = query.testedFields
        self.plan = plan
        self.zone = zone
        self.position = position
        self.limits = limits
        self.fields = fields
        self.admits = admits
    }

    mutating func run() throws -> QueryPage {
        switch plan.way.kind {
        case .names:
            guard let names = plan.way.source.nameCursor(in: zone.store) else { break }
            if plan.isInOrder { try runInOrder(names) } else { try pickFirst { try names.next() } }
        case .values(let key, let isForward):
            if plan.isInOrder {
                try runInOrder(key, isForward: isForward)
            } else {
                let entries = cursor(key, ranges, isForward: true)
                try pickFirst { try entries.next()?.name }
            }
        case .scattered(let key):
            let entries = cursor(key, ranges, isForward: true)
            try pickFirst { try entries.next()?.name }
        }
        return page
    }

    // MARK: Names in order

    private mutating func runInOrder(_ names: any NameCursor) throws {
        switch position?.name {
        case .name(let last)?: try names.move(to: last, isInclusive: false)
        case .beforeAll?, .afterAll?:
            if case .reference(let reference)?? = position?.values.first {
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
                    return page.stopped = QueryPosition(values: values, name: .name(name))
                }
                continue
            }
            page.rows.append(row)
        }
    }

    // MARK: Picking

    private mutating func pickFirst(_ next: () throws -> RecordName?) throws {
        var first = FirstRows(plan.order, limit: limits.rowCount)
        while let name = try next() {
            if let row = try row(name, { first.takes(values: $0, name: name) }) { first.insert(row) }
        }
        page.rows = first.rows
    }

    // MARK: Values in order

    private var ranges: [LayoutRange] {
        switch plan.way.source {
        case .values(_, let ranges), .scattered(_, let ranges), .names(let ranges): ranges
        case .given, .met: []
        }
    }

    private func cursor(
        _ key: FieldKey, _ ranges: [LayoutRange], isForward: Bool, expecting count: Int = 0
    ) -> ValueCursor {
        ValueCursor(
            ranges, prefixByteCount: zone.keys.fieldPrefixByteCount(type: query.type, field: key), isForward: isForward,
            expecting: count, in: zone.store)
    }

    /// Entries come in groups of one element. Within a group records are in the order of their names, unless there are
    /// further keys or the element stands for several values: then the first rows of the group are picked.
    private mutating func runInOrder(_ key: FieldKey, isForward: Bool) throws {
        // The entry behind the last row is looked at too.
        let entries = cursor(
            key, try remainingRanges(key, isForward: isForward), isForward: isForward,
            expecting: limits.rowCount < .max ? limits.rowCount + 1 : .max)
        var group: (element: TupleElement, first: FirstRows)?
        while let entry = try entries.next() {
            if let open = group, open.element != entry.element {
                page.rows += open.first.rows
                group = nil
            }
            guard page.rows.count < limits.rowCount else { return }
            let isPlain = plan.order.keys.count == 1 && IndexedValue.isExact(entry.element)
            let found = try row(entry.name, entry: entry.element) { values in
                group.map { $0.first.takes(values: values, name: entry.name) } ?? true
            }
            guard let found else {
                if isPlain, page.examinedCount >= limits.examinedCount {
                    return page.stopped = QueryPosition(
                        values: [entry.element.sortedValue], name: .name(entry.name))
                }
                continue
            }
            if isPlain {
                page.rows.append(found)
            } else {
                var open =
                    group ?? (entry.element, FirstRows(plan.order, limit: limits.rowCount - page.rows.count))
                open.first.insert(found)
                group = open
            }
        }
        if let group { page.rows += group.first.rows }
    }

    /// The ranges without what lies before the position.
    private func remainingRanges(_ key: FieldKey, isForward: Bool) throws -> [LayoutRange] {
        guard let position, let value = position.values.first else { return ranges }
        let element = value.flatMap { IndexedValue.element(of: $0) } ?? IndexedValue.missing
        var rest = try zone.keys.fieldEntries(
            type: query.type, field: key, from: isForward ? .before(element) : .start,
            to: isForward ? .end : .after(element))
        if plan.order.keys.count == 1, IndexedValue.isExact(element), case .name(let name) = position.name {
            let same = try zone.keys.fieldEntries(type: query.type, field: key, element: element)
            let edge = same.names(from: name, isInclusive: !isForward)
            if isForward { rest.lower = edge.lower } else { rest.upper = edge.lower }
        }
        return ranges.map { $0.met(rest) }
    }

    // MARK: One record

    /// The record as a row of the results; nil when it is none, stands before the position, or is not wanted.
    private mutating func row(
        _ name: RecordName, entry: TupleElement? = nil, _ isWanted: ([FieldValue?]) -> Bool = { _ in true }
    ) throws -> QueryRow? {
        page.examinedCount += 1
        var values: [FieldValue?] = []
        let found = try zone.record(name, testing: testedFields, likely: hasPassed, fields: fields) { found in
            guard found.record.type == query.type else { return false }
            let hidesParent = query.hidesParentsOfRoots && found.record.share != nil
            // Two calls, because a choice between two records copies the one that is chosen.
            let order =
                hidesParent
                ? orderValues(of: found.withoutParent, name, entry, isWanted)
                : orderValues(of: found, name, entry, isWanted)
            values = order ?? []
            return order != nil
        }
        hasPassed = found != nil
        guard let found, try admits(found) else { return nil }
        return QueryRow(values: values, kept: found)
    }

    /// What the record is sorted by, if it passes all filters and is to stand here.
    private func orderValues(
        of stored: StoredRecord, _ name: RecordName, _ entry: TupleElement?, _ isWanted: ([FieldValue?]) -> Bool
    ) -> [FieldValue?]? {
        guard query.matches(stored) else { return nil }
        let values = plan.order.values(of: stored)
        // Of a record that stands in several places of an index, that of its value counts.
        if let entry, (values[0].flatMap { IndexedValue.element(of: $0) } ?? IndexedValue.missing) != entry {
            return nil
        }
        return plan.order.isBehind(position, values: values, name: name) && isWanted(values) ? values : nil
    }
}

extension StoredRecord {
    fileprivate var withoutParent: StoredRecord {
        var stored = self
        stored.record.parent = nil
        return stored
    }
}

extension TupleElement {
    /// The value that an exact element of an index stands for.
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
