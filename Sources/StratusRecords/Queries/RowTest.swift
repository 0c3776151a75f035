// Whether a record is a row of the results, and what it is sorted by. Apart from the run, because it is asked of every
// record and never changes: nothing of it is copied.
//
// An entry of an index may prove filters. Those that made the range which is read hold for every value in it, so that a
// record whose own value stands under an exact entry has passed them. Entries that stand for several values prove
// nothing.

import StratusLayout
import StratusModel

final class RowTest {
    let query: RecordQuery
    /// Behind which rows are wanted.
    let position: QueryPosition?
    private let order: ResultOrder
    /// The field that is the only key of the order, as mostly.
    private let onlyField: FieldKey?
    /// The filters that an exact entry leaves open.
    private let openFilters: [RecordFilter]

    init(_ query: RecordQuery, _ plan: QueryPlan, after position: QueryPosition?) {
        self.query = query
        self.position = position
        order = plan.order
        onlyField = order.onlyField
        openFilters = query.filters.filter { !plan.way.bounds.contains($0) }
    }

    /// What the record is sorted by; nil when it passes not, or stands before the position. With an entry of the index in
    /// whose order results are, also nil where that is not the one of its value.
    func values(of stored: StoredRecord, _ entry: TupleElement? = nil) -> SortedValues? {
        guard stored.record.type == query.type else { return nil }
        // Two calls, because a choice between two records copies the one that is chosen.
        return query.hidesParentsOfRoots && stored.record.share != nil
            ? values(ofShown: stored.withoutParent, entry) : values(ofShown: stored, entry)
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

extension StoredRecord {
    fileprivate var withoutParent: StoredRecord {
        var stored = self
        stored.record.parent = nil
        return stored
    }
}
