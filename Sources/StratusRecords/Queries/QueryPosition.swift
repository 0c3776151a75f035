// The order of results, positions in it, and the rows of a page.
//
// The order is total: the values of the sort keys, then the zone, then the name. Zone and name have the direction of
// the first key, so an index that is read backwards has the same order. A position is relative: a query no longer sees
// records that move before it, and sees those that move behind it.

package import StratusModel

/// The order of results: by keys, then by names.
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

/// The sort values of a record, one for each key. Most orders have one key, whose value is stored without an array.
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

    /// The first value; nil for an order without keys.
    var first: FieldValue? { self[0] }

    /// The value of a key; nil behind the last one.
    subscript(index: Int) -> FieldValue? {
        switch self {
        case .none: nil
        case .one(let value): index == 0 ? value : nil
        case .several(let values): values.indices.contains(index) ? values[index] : nil
        }
    }

    package var all: [FieldValue?] { (0..<count).map { self[$0] } }
}

/// A position in the order of one zone's results. A page begins after it.
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
    /// The work of a page that ends with this row.
    package var work: QueryWork
}

extension ResultOrder {
    /// Whether a record is behind a position.
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

/// The first rows of an order. They may arrive in any order. Holds at most `limit` rows.
struct FirstRows {
    let order: ResultOrder
    let limit: Int
    private(set) var rows: [QueryRow] = []

    /// Whether a record with these values would be among the first.
    func takes(values: SortedValues, name: RecordName) -> Bool {
        guard rows.count >= limit, let last = rows.last else { return limit > 0 }
        let difference = order.compare(values: values, last.values)
        return difference < 0 || difference == 0 && order.compare(names: name, last.record.stored.record.name) < 0
    }

    /// Inserts a row. A row that is already there is not inserted twice.
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

// The progress of a query. No record counts twice, however many pages read it.
//
// A page may read a record that a later page reads again: behind its last row, to see whether there is more; in a group
// of equal elements, from which every page picks rows; everywhere, if the first rows are picked out of all. Such
// records count when no page reads them again. Until then only their results count.

/// The work of one page of a query, or of all pages up to a position.
package struct QueryWork: Hashable, Codable, Sendable {
    /// Records that were read for the last time. Requested names that no record has count too.
    package var settledCount: Int
    /// Results among the records that the next page reads again.
    package var openCount: Int
    /// The number of records from which a page's results were picked; nil for other pages. The next page reads them
    /// again.
    package var pickedFromCount: Int?

    package init(settledCount: Int = 0, openCount: Int = 0, pickedFromCount: Int? = nil) {
        self.settledCount = settledCount
        self.openCount = openCount
        self.pickedFromCount = pickedFromCount
    }

    /// Records whose outcome is final.
    package var doneCount: Int { settledCount + openCount }

    /// The sum of this work and the next. If the next has settled anything, it has read the open records again.
    package func adding(_ next: QueryWork) -> QueryWork {
        QueryWork(
            settledCount: settledCount + next.settledCount,
            openCount: next.openCount + (next.settledCount > 0 ? 0 : openCount), pickedFromCount: next.pickedFromCount)
    }
}
