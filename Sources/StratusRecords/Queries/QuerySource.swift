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
