// Where a record stands in the order of results, and what a page is given and gives.
//
// The order is total: the values of the sort keys, then the zone, then the name; zone and name in the direction of the
// first key, so that an index read backwards gives it too. A position is relative: records that come to lie before it are
// not seen any more, records behind it are.

package import StratusModel

/// What results are ordered by: keys, then names.
package struct ResultOrder: Hashable, Sendable {
    package var keys: [RecordSort]

    package init(_ keys: [RecordSort]) { self.keys = keys }

    /// The direction of names.
    package var isAscending: Bool { keys.first?.isAscending ?? true }

    func values(of stored: StoredRecord) -> SortedValues { SortedValues(keys.map { $0.value(of: stored) }) }

    /// -1, 0 or 1.
    package func compare(values left: SortedValues, _ right: SortedValues) -> Int {
        for (index, key) in keys.enumerated() {
            let order = ValueOrder.compare(sorted: left[index], right[index])
            if order != 0 { return key.isAscending ? order : -order }
        }
        return 0
    }

    /// -1, 0 or 1, for zones or for names of records.
    package func compare<Name: ByteComparedName>(names left: Name, _ right: Name) -> Int {
        guard left != right else { return 0 }
        return (left < right) == isAscending ? -1 : 1
    }
}

/// What a record is sorted by, one value for each key. That of most orders, which have one key, lies here itself.
package enum SortedValues: Hashable, Sendable {
    case none
    case one(FieldValue?)
    /// Two or more.
    case several([FieldValue?])

    package init(_ values: [FieldValue?]) {
        switch values.count {
        case 0: self = .none
        case 1: self = .one(values[0])
        default: self = .several(values)
        }
    }

    package var count: Int {
        switch self {
        case .none: 0
        case .one: 1
        case .several(let values): values.count
        }
    }

    /// Nil for an order without keys, too.
    var first: FieldValue? { self[0] }

    /// Nil behind the last one.
    subscript(index: Int) -> FieldValue? {
        switch self {
        case .none: nil
        case .one(let value): index == 0 ? value : nil
        case .several(let values): values.indices.contains(index) ? values[index] : nil
        }
    }

    package var all: [FieldValue?] { (0..<count).map { self[$0] } }
}

/// A place in the order of one zone's results, after which a page begins.
package struct QueryPosition: Hashable, Sendable {
    package enum Name: Hashable, Sendable {
        /// Before all records with these values.
        case beforeAll
        case name(RecordName)
        /// Behind all records with these values.
        case afterAll
    }

    package var values: SortedValues
    package var name: Name

    package init(values: SortedValues, name: Name) {
        self.values = values
        self.name = name
    }
}

/// One result.
package struct QueryRow: Sendable {
    package let values: SortedValues
    package let record: DecodedRecord
    /// What a page that ends with the row has done.
    package var work: QueryWork
}

extension ResultOrder {
    /// Whether a record stands behind a position.
    func isBehind(_ position: QueryPosition?, values: SortedValues, name: RecordName) -> Bool {
        guard let position else { return true }
        let order = compare(values: values, position.values)
        guard order == 0 else { return order > 0 }
        switch position.name {
        case .beforeAll: return true
        case .afterAll: return false
        case .name(let last): return compare(names: name, last) > 0
        }
    }

    func isBefore(_ left: QueryRow, _ right: QueryRow) -> Bool {
        let order = compare(values: left.values, right.values)
        guard order == 0 else { return order < 0 }
        return compare(names: left.record.stored.record.name, right.record.stored.record.name) < 0
    }
}

/// The first rows of an order, whatever comes in which order: never more than there may be.
struct FirstRows {
    let order: ResultOrder
    let limit: Int
    private(set) var rows: [QueryRow] = []

    init(_ order: ResultOrder, limit: Int) {
        self.order = order
        self.limit = limit
    }

    /// Whether a record with these values would be among the first.
    func takes(values: SortedValues, name: RecordName) -> Bool {
        guard rows.count >= limit, let last = rows.last else { return limit > 0 }
        let difference = order.compare(values: values, last.values)
        return difference < 0 || difference == 0 && order.compare(names: name, last.record.stored.record.name) < 0
    }

    /// Takes a row in; one that is there already stays once.
    mutating func insert(_ row: QueryRow) {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if order.isBefore(rows[middle], row) { low = middle + 1 } else { high = middle }
        }
        if low < rows.count, rows[low].record.stored.record.name == row.record.stored.record.name { return }
        rows.insert(row, at: low)
        if rows.count > limit { rows.removeLast() }
    }
}

// How far a query has come, for whoever shows it: no record counts twice, however many pages look at it.
//
// A page may look at a record that a later one looks at again: behind its last row, to see whether there is more; in a group
// of equal elements, out of which every page picks; everywhere, where the first rows are picked out of all. Such records
// count when no page looks at them any more. Until then their results count.

/// What a page of a query has done, or all pages up to a place.
package struct QueryWork: Hashable, Sendable {
    /// Records that were looked at for the last time; names that were asked for and that no record has count as well.
    package var settledCount: Int
    /// Results among the records that the next page looks at again.
    package var openCount: Int
    /// Of a page whose results were picked out of all records that could be some: how many those are. The next page looks
    /// at them again.
    package var pickedFromCount: Int?

    package init(settledCount: Int = 0, openCount: Int = 0, pickedFromCount: Int? = nil) {
        self.settledCount = settledCount
        self.openCount = openCount
        self.pickedFromCount = pickedFromCount
    }

    /// Records of which nothing more is to be told.
    package var doneCount: Int { settledCount + openCount }

    /// This and what came after it. What settles anything has looked again at what was open.
    package func adding(_ next: QueryWork) -> QueryWork {
        QueryWork(
            settledCount: settledCount + next.settledCount,
            openCount: next.openCount + (next.settledCount > 0 ? 0 : openCount), pickedFromCount: next.pickedFromCount)
    }
}
