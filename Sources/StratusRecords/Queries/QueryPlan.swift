// How a query finds records in one zone: the ways that indexes offer, the plan that takes one of them, and cursors over
// names.
//
// Every way returns all records that can pass, and perhaps others: `QueryRun` compares each record with the query. The
// planner counts the first entries of a way to learn what it costs, so no statistics are kept.
//
// Cursors return names in ascending order from entries that are stored in that order: entries of one value or one word
// of an index, and the records of a type. `JoinedNames` returns the names of any of its cursors, `MetNames` those of
// all. A cursor holds one batch of names at most.

import StratusLayout
package import StratusModel
import StratusStore

/// A way to the records that can pass, with what the planner knows of it.
struct QueryWay: Sendable {
    /// The entries to read.
    enum Source: Sendable {
        /// All records of the query's type, in the order of names.
        case type(KeyRange)
        /// Ranges of keys that end with a name, each in the order of names: the names in any of them.
        case names([KeyRange])
        case given([RecordName])
        /// Entries of single values of a field, in the order of values. Those of one value are in the order of names.
        case among(FieldKey, [KeyRange])
        /// The names that all of these return.
        case met([Source])
        /// Entries of a field in the order of values.
        case values(FieldKey, [KeyRange])
        /// Entries of a field in no useful order. A record may occur more than once.
        case scattered(FieldKey, [KeyRange])
    }

    var source: Source
    /// Names the index, for people.
    var label: String
    /// Entries that were counted, up to the limit; 0 if none were.
    var count = 0
    /// The filters that limit a range of values: every value in it passes them.
    var bounds: [RecordFilter] = []
}

extension QueryWay.Source {
    /// The number of entries, up to `limit`.
    func count(limit: Int, in store: any StoreReader) throws -> Int {
        switch self {
        case .given(let names): return min(limit, names.count)
        case .met(let sources): return try sources.map { try $0.count(limit: limit, in: store) }.min() ?? 0
        case .type(let range): return try Self.count([range], limit: limit, in: store)
        case .names(let ranges), .among(_, let ranges), .values(_, let ranges), .scattered(_, let ranges):
            return try Self.count(ranges, limit: limit, in: store)
        }
    }

    private static func count(_ ranges: [KeyRange], limit: Int, in store: any StoreReader) throws -> Int {
        var count = 0
        for range in ranges where count < limit && !range.isEmpty {
            try store.forEach(in: range, limit: limit - count) { _, _ in count += 1 }
        }
        return count
    }

    /// The names in their order; nil if the source has another order.
    func nameCursor(in zone: ZoneReader) -> (any NameCursor)? {
        switch self {
        case .type(let range): return RangeNames(range, in: zone)
        case .given(let names): return GivenNames(names)
        case .names(let ranges), .among(_, let ranges):
            guard ranges.count != 1 else { return RangeNames(ranges[0], in: zone) }
            return JoinedNames(ranges.map { RangeNames($0, in: zone, oneOf: ranges.count) })
        case .met(let sources): return MetNames(sources.compactMap { $0.nameCursor(in: zone) })
        case .values, .scattered: return nil
        }
    }
}

/// How the results of one zone are found.
package struct QueryPlan: Sendable {
    var way: QueryWay
    package var order: ResultOrder
    /// Whether results are read in their order. Otherwise the first ones are picked out of all.
    package var isInOrder: Bool
    /// Whether there are more entries than were counted.
    package var isCountOpen = false
    /// The first sort key, if its index is being filled.
    package var unreadyOrder: FieldKey?
    /// Why the planner did not choose other ways.
    package var notes: [String] = []

    /// Whether all records of the type are read.
    package var isScan: Bool { if case .type = way.source { true } else { false } }
    /// A description of the reads, for people.
    package var source: String { (isScan ? "reads " : "reads the index on ") + way.label }
}

extension QueryPlan: CustomStringConvertible {
    package var description: String {
        let count = way.count > 0 ? ", " + way.count.counting("entry", "entries") + (isCountOpen ? " or more" : "") : ""
        let order = isInOrder ? "in their order" : "the first ones picked out of all"
        return (["\(source)\(count); results \(order)"] + notes).joined(separator: "; ")
    }
}

/// Returns names in ascending order, each once.
protocol NameCursor: AnyObject {
    /// The name at the cursor; nil at the end.
    func current() throws -> RecordName?
    /// Moves to the first name that is not below `name`, or above it if `name` is excluded.
    func move(to name: RecordName, isInclusive: Bool) throws
}

extension NameCursor {
    /// Returns the current name, and moves behind it.
    func next() throws -> RecordName? {
        guard let name = try current() else { return nil }
        try move(to: name, isInclusive: false)
        return name
    }
}

/// The names that end the keys of a range.
final class RangeNames: NameCursor {
    /// Names in a batch: in the first one, at most, and at most in all cursors that are joined, except in first
    /// batches.
    private static let batchCounts = (first: 16, largest: 256, together: 1_024)

    private let zone: ZoneReader
    private let whole: KeyRange
    private var rest: KeyRange
    private var batch: [RecordName] = []
    private var index = 0
    private var batchCount = batchCounts.first
    private let largestBatchCount: Int
    private var isAtEnd = false

    /// Every key of the range is its lower bound and a name. The cursor is one of `count` that are joined.
    init(_ range: KeyRange, in zone: ZoneReader, oneOf count: Int = 1) {
        largestBatchCount = max(
            Self.batchCounts.first, min(Self.batchCounts.largest, Self.batchCounts.together / max(1, count)))
        self.zone = zone
        whole = range
        rest = range
        // Where reads are trips, few large batches are better.
        if zone.reads != nil { batchCount = largestBatchCount }
    }

    func current() throws -> RecordName? {
        if index == batch.count, !isAtEnd { try fill() }
        return index < batch.count ? batch[index] : nil
    }

    func move(to name: RecordName, isInclusive: Bool) throws {
        // Most moves are short.
        while index < batch.count, batch[index] < name || !isInclusive && batch[index] == name { index += 1 }
        guard index == batch.count, !isAtEnd else { return }
        if batch.last.map({ $0 < name }) ?? true { rest = whole.names(from: name, isInclusive: isInclusive) }
    }

    private func fill() throws {
        batch.removeAll(keepingCapacity: true)
        index = 0
        let prefixByteCount = whole.lower.count
        try zone.store.forEach(in: rest, limit: batchCount) { key, _ in
            batch.append(try ZoneKeys.readName(key, prefixByteCount: prefixByteCount))
        }
        zone.reads?.records(batch)
        isAtEnd = batch.count < batchCount
        batchCount = min(batchCount * 4, largestBatchCount)
        if let last = batch.last { rest = whole.names(from: last, isInclusive: false) }
    }
}

/// Given names.
final class GivenNames: NameCursor {
    private let names: [RecordName]
    private var index = 0

    init(_ names: [RecordName]) { self.names = Set(names).sorted() }

    func current() -> RecordName? { index < names.count ? names[index] : nil }

    func move(to name: RecordName, isInclusive: Bool) {
        while index < names.count, names[index] < name || !isInclusive && names[index] == name { index += 1 }
    }
}

/// The names of any of several cursors.
class JoinedNames: NameCursor {
    fileprivate let cursors: [any NameCursor]

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

/// The names of all of several cursors.
final class MetNames: JoinedNames {
    override func current() throws -> RecordName? {
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
}
