// Names in their order, one at a time, out of what lies in that order in the store: what equality, membership and words
// of an index give, and the records of a type. Cursors are joined (one of several) and met (all of several); a cursor
// holds one batch of names, never more.

import StratusLayout
import StratusModel
import StratusStore

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
