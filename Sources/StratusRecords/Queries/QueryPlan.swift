// Where a query looks for records: the ways that indexes offer, each of which gives all records that can pass, and perhaps
// others. What it is worth is found by looking at its first entries, so that no statistics have to be kept.

import StratusLayout
package import StratusModel
import StratusStore

/// A way to the records that can pass.
enum QuerySource {
    /// Ranges of keys that end with a name, each in the order of names: all names of any of them.
    case names([LayoutRange])
    case given([RecordName])
    /// Entries of single values of a field, in the order of the values; those of each value are in the order of names.
    case among(QueryField, [LayoutRange])
    /// The names that all of these give.
    case met([QuerySource])
    /// Entries of a field in the order of values.
    case values(QueryField, [LayoutRange])
    /// Entries of a field, in which a record may occur more than once and in no useful order.
    case scattered(QueryField, [LayoutRange])

    /// How many entries there are, as far as `limit`.
    func count(limit: Int, in store: any StoreReader) throws -> Int {
        switch self {
        case .given(let names): return min(limit, names.count)
        case .met(let sources): return try sources.map { try $0.count(limit: limit, in: store) }.min() ?? 0
        case .names(let ranges), .among(_, let ranges), .values(_, let ranges), .scattered(_, let ranges):
            var count = 0
            for range in ranges where count < limit && !range.isEmpty {
                try store.scan(range.keyRange, .forward, limit: limit - count) { _, _ in
                    count += 1
                    return .next
                }
            }
            return count
        }
    }

    /// The names in their order; nil where the source has another order.
    func nameCursor(in store: any StoreReader) -> (any NameCursor)? {
        switch self {
        case .given(let names): return GivenNames(names)
        case .names(let ranges), .among(_, let ranges):
            guard ranges.count != 1 else { return RangeNames(ranges[0], in: store) }
            return JoinedNames(ranges.map { RangeNames($0, in: store, oneOf: ranges.count) })
        case .met(let sources): return MetNames(sources.compactMap { $0.nameCursor(in: store) })
        case .values, .scattered: return nil
        }
    }
}

/// A way, and what is known of it.
struct QueryCandidate {
    var source: QuerySource
    /// What the way goes by, for people.
    var label: String
    /// Entries, as far as they were counted.
    var count = 0
    /// Where the way is a range of values: the filters that made it.
    var bounds: [RecordFilter] = []
}

/// How the results of one zone are found.
package struct QueryPlan: Sendable {
    /// What is read, for people.
    package var source: String
    /// Entries that were found there when the plan was made; nil where it was not asked.
    package var countedEntries: Int?
    /// Whether there are more entries than were counted.
    package var isCountOpen = false
    /// Whether all records of the type are looked at.
    package var isScan = false
    /// Whether results come in their order, or the first ones are picked out of all.
    package var isInOrder: Bool
    package var order: ResultOrder
    /// The first sort key, where its index is being filled.
    package var unreadyOrder: FieldKey?
    /// Why other ways were not taken.
    package var notes: [String] = []

    /// The way itself is the planner's: the description says it to others.
    var way: QueryWay
}

/// What an execution needs of a plan.
struct QueryWay: Sendable {
    enum Kind: Sendable { case names, values(FieldKey, isForward: Bool), scattered(FieldKey) }
    var kind: Kind
    var source: QuerySource
    /// Filters that every value in the range passes.
    var bounds: [RecordFilter] = []
}

extension QuerySource: Sendable {}

extension QueryPlan: CustomStringConvertible {
    package var description: String {
        let count =
            countedEntries.map { ", " + $0.counting("entry", "entries") + (isCountOpen ? " or more" : "") } ?? ""
        let order = isInOrder ? "in their order" : "the first ones picked out of all"
        return (["\(source)\(count); results \(order)"] + notes).joined(separator: "; ")
    }
}

// Names in their order, one at a time, out of what lies in that order in the store: what equality, membership and words
// of an index give, and the records of a type. Cursors are joined (one of several) and met (all of several); a cursor
// holds one batch of names, never more.

/// Gives names in ascending order, each once.
protocol NameCursor: AnyObject {
    /// The name at which the cursor stands; nil at the end.
    func current() throws -> RecordName?
    /// Moves to the first name that is not below `name`; behind it, when it is excluded.
    func move(to name: RecordName, isInclusive: Bool) throws
}

extension NameCursor {
    /// The current name; the cursor then stands behind it.
    func next() throws -> RecordName? {
        guard let name = try current() else { return nil }
        try move(to: name, isInclusive: false)
        return name
    }
}

/// The names behind the prefix of a range.
final class RangeNames: NameCursor {
    /// Names read at once at first, at most, and at most by all cursors that are joined together, but for the first ones.
    private static let batchCounts = (first: 16, largest: 256, together: 1_024)

    private let store: any StoreReader
    private let whole: LayoutRange
    private var rest: LayoutRange
    private var batch: [RecordName] = []
    private var index = 0
    private var batchCount = batchCounts.first
    private let largestBatchCount: Int
    private var isAtEnd = false

    /// Every key of the range is its lower bound and a name. The cursor is one of so many that are joined.
    init(_ range: LayoutRange, in store: any StoreReader, oneOf count: Int = 1) {
        largestBatchCount = max(
            Self.batchCounts.first, min(Self.batchCounts.largest, Self.batchCounts.together / max(1, count)))
        self.store = store
        whole = range
        rest = range
    }

    func current() throws -> RecordName? {
        if index == batch.count, !isAtEnd { try fill() }
        return index < batch.count ? batch[index] : nil
    }

    func move(to name: RecordName, isInclusive: Bool) throws {
        // Names are mostly looked for near where the cursor stands.
        while index < batch.count, batch[index] < name || !isInclusive && batch[index] == name { index += 1 }
        guard index == batch.count, !isAtEnd else { return }
        if batch.last.map({ $0 < name }) ?? true { rest = whole.names(from: name, isInclusive: isInclusive) }
    }

    private func fill() throws {
        batch.removeAll(keepingCapacity: true)
        index = 0
        let prefixByteCount = whole.lower.count
        try store.scan(rest.keyRange, .forward, limit: batchCount) { key, _ in
            batch.append(try ZoneKeys.readName(key, prefixByteCount: prefixByteCount))
            return .next
        }
        isAtEnd = batch.count < batchCount
        batchCount = min(batchCount * 4, largestBatchCount)
        if let last = batch.last { rest = whole.names(from: last, isInclusive: false) }
    }
}

/// Names that are known.
final class GivenNames: NameCursor {
    private let names: [RecordName]
    private var index = 0

    init(_ names: [RecordName]) { self.names = Set(names).sorted() }

    func current() -> RecordName? { index < names.count ? names[index] : nil }

    func move(to name: RecordName, isInclusive: Bool) {
        while index < names.count, names[index] < name || !isInclusive && names[index] == name { index += 1 }
    }
}

/// The names that one of several cursors gives.
final class JoinedNames: NameCursor {
    private let cursors: [any NameCursor]

    init(_ cursors: [any NameCursor]) { self.cursors = cursors }

    func current() throws -> RecordName? {
        var least: RecordName?
        for cursor in cursors {
            guard let name = try cursor.current() else { continue }
            if least.map({ name < $0 }) ?? true { least = name }
        }
        return least
    }

    func move(to name: RecordName, isInclusive: Bool) throws {
        for cursor in cursors { try cursor.move(to: name, isInclusive: isInclusive) }
    }
}

/// The names that all of several cursors give.
final class MetNames: NameCursor {
    private let cursors: [any NameCursor]

    init(_ cursors: [any NameCursor]) { self.cursors = cursors }

    func current() throws -> RecordName? {
        guard var wanted = try cursors.first?.current() else { return nil }
        var agreeing = 0
        var index = 0
        while agreeing < cursors.count {
            try cursors[index].move(to: wanted, isInclusive: true)
            guard let name = try cursors[index].current() else { return nil }
            if name == wanted {
                agreeing += 1
            } else {
                wanted = name
                agreeing = 1
            }
            index = (index + 1) % cursors.count
        }
        return wanted
    }

    func move(to name: RecordName, isInclusive: Bool) throws {
        for cursor in cursors { try cursor.move(to: name, isInclusive: isInclusive) }
    }
}
