// What a snapshot at the other end of a connection has answered so far.
//
// Invariants:
//   1. Everything in the buffer is of one snapshot, so any two answers agree, and it does not matter which of them
//      answers a later read.
//   2. A segment covers the keys from `lower` up to but not including `upper`: the entries in it are all there are. So
//      it answers look-ups of absent keys too, and scans in both directions.
//   3. Segments are sorted and do not overlap: a page that overlaps others is cut.
//   4. What the newest fetch brought is never dropped before the next one, so the read that caused it is answered.
//   5. Dropping anything else is always correct: it is fetched again.

/// The fetched values, absences and ranges of one snapshot, up to a number of bytes.
struct ReadBuffer {
    typealias Entry = (key: [UInt8], value: [UInt8])

    enum Answer {
        case unknown
        case absent
        case value([UInt8])
    }

    /// The known entries at the beginning of a range, in its direction.
    struct Piece {
        /// In the order of keys, whatever the direction.
        var entries: ArraySlice<Entry>
        /// Where the known part ends: the lower bound of what is left of the range, or its upper bound if backward.
        var frontier: [UInt8]
    }

    private struct Point {
        let value: [UInt8]?
        let fetch: Int
        let byteCount: Int
        var isConsumed = false
    }

    private struct Segment {
        let lower: [UInt8]
        let upper: [UInt8]
        let entries: ArraySlice<Entry>
        let fetch: Int
        let byteCount: Int
        var isConsumed = false
    }

    private static let pointOverhead = 64
    private static let entryOverhead = 48
    private static let segmentOverhead = 160

    private let room: Int
    private var points: [HashedKey: Point] = [:]
    private var segments: [Segment] = []
    private var fetch = 0
    private(set) var byteCount = 0

    init(room: Int) { self.room = room }

    // MARK: Answers

    /// Whether a look-up of the key would be answered.
    func knows(_ key: [UInt8]) -> Bool {
        points[HashedKey(key)] != nil || segmentIndex(containing: key) != nil
    }

    /// The value under a key, if it is known and there is one. It does not count as read.
    func peek(_ key: [UInt8]) -> [UInt8]? {
        if let point = points[HashedKey(key)] { return point.value }
        guard let index = segmentIndex(containing: key) else { return nil }
        let entries = segments[index].entries
        let place = Self.index(in: entries, notBefore: key)
        return place < entries.endIndex && entries[place].key == key ? entries[place].value : nil
    }

    /// The answer to a look-up. What has been read is dropped first when room is needed.
    mutating func lookUp(_ key: [UInt8]) -> Answer {
        if let index = points.index(forKey: HashedKey(key)) {
            points.values[index].isConsumed = true
            return points.values[index].value.map { .value($0) } ?? .absent
        }
        guard let index = segmentIndex(containing: key) else { return .unknown }
        let entries = segments[index].entries
        let place = Self.index(in: entries, notBefore: key)
        guard place < entries.endIndex, entries[place].key == key else { return .absent }
        return .value(entries[place].value)
    }

    /// The known beginning of a range that is not empty, in a direction. Nil if its first key is not known.
    mutating func consume(_ range: KeyRange, _ direction: ScanDirection) -> Piece? {
        guard let (index, piece) = find(range, direction) else { return nil }
        segments[index].isConsumed = true
        return piece
    }

    /// What is not known of a scan; nil if all of it is.
    func unknownPart(of scan: PlannedScan) -> PlannedScan? {
        var rest = scan
        while rest.limit > 0, !rest.range.isEmpty {
            guard let (_, piece) = find(rest.range, rest.direction) else { return rest }
            rest.limit -= piece.entries.count
            rest.range.begin(at: piece.frontier, rest.direction)
        }
        return nil
    }

    private func find(_ range: KeyRange, _ direction: ScanDirection) -> (index: Int, piece: Piece)? {
        switch direction {
        case .forward:
            guard let index = segmentIndex(containing: range.lower) else { return nil }
            let segment = segments[index]
            let end = Self.lesser(segment.upper, range.upper)
            return (index, Piece(entries: Self.entries(of: segment, from: range.lower, upTo: end), frontier: end))
        case .backward:
            guard let index = segmentIndex(endingAtOrAfter: range.upper) else { return nil }
            let segment = segments[index]
            let end = Self.greater(segment.lower, range.lower)
            return (index, Piece(entries: Self.entries(of: segment, from: end, upTo: range.upper), frontier: end))
        }
    }

    // MARK: Fetched reads

    /// Adds the answers to a plan, and drops others if there are too many.
    mutating func insert(_ answer: FetchedReads, of plan: ReadPlan) {
        fetch += 1
        for (key, value) in zip(plan.keys, answer.values) { insert(key, value) }
        for (scan, page) in zip(plan.scans, answer.pages) { insert(page, of: scan) }
        if byteCount > room { makeRoom() }
    }

    private mutating func insert(_ key: [UInt8], _ value: [UInt8]?) {
        let point = Point(
            value: value, fetch: fetch, byteCount: key.count + (value?.count ?? 0) + Self.pointOverhead)
        byteCount += point.byteCount
        if let replaced = points.updateValue(point, forKey: HashedKey(key)) { byteCount -= replaced.byteCount }
    }

    private mutating func insert(_ page: FetchedPage, of scan: PlannedScan) {
        guard !scan.range.isEmpty, page.isComplete || !page.entries.isEmpty else { return }
        var covered = scan.range
        var entries = page.entries
        switch scan.direction {
        case .forward:
            if !page.isComplete, let last = page.entries.last { covered.upper = last.key.successor }
        case .backward:
            if !page.isComplete, let last = page.entries.last { covered.lower = last.key }
            entries.reverse()
        }
        // The parts of it that no other segment covers.
        var index = firstSegmentIndex(endingAfter: covered.lower)
        while !covered.isEmpty {
            let next = index < segments.count ? segments[index] : nil
            let end = next.map { Self.lesser($0.lower, covered.upper) } ?? covered.upper
            if covered.lower.lexicographicallyPrecedes(end) {
                insert(entries, from: covered.lower, upTo: end, at: index)
                index += 1
            }
            guard let next else { return }
            covered.lower = next.upper
            index += 1
        }
    }

    private mutating func insert(_ entries: [Entry], from lower: [UInt8], upTo upper: [UInt8], at index: Int) {
        let first = Self.index(in: entries[...], notBefore: lower)
        let end = Self.index(in: entries[...], notBefore: upper)
        let part = entries[first..<max(first, end)]
        let bytes = part.reduce(lower.count + upper.count + Self.segmentOverhead) { sum, entry in
            sum + entry.key.count + entry.value.count + Self.entryOverhead
        }
        segments.insert(Segment(lower: lower, upper: upper, entries: part, fetch: fetch, byteCount: bytes), at: index)
        byteCount += bytes
    }

    // MARK: Room

    /// Drops what has been read, and then, if that is not much, the oldest half; but nothing of the newest fetch.
    private mutating func makeRoom() {
        let newest = fetch
        drop { isConsumed, fetch in isConsumed && fetch < newest }
        guard byteCount > room / 4 * 3 else { return }
        var byteCounts: [Int: Int] = [:]
        for point in points.values { byteCounts[point.fetch, default: 0] += point.byteCount }
        for segment in segments { byteCounts[segment.fetch, default: 0] += segment.byteCount }
        var kept = 0
        var oldest = newest
        for (fetch, bytes) in byteCounts.sorted(by: { $0.key > $1.key }) {
            kept += bytes
            guard fetch == newest || kept <= room / 2 else { break }
            oldest = fetch
        }
        drop { _, fetch in fetch < oldest }
    }

    private mutating func drop(_ isDropped: (_ isConsumed: Bool, _ fetch: Int) -> Bool) {
        points = points.filter { !isDropped($0.value.isConsumed, $0.value.fetch) }
        segments.removeAll { isDropped($0.isConsumed, $0.fetch) }
        byteCount = points.values.reduce(0) { $0 + $1.byteCount } + segments.reduce(0) { $0 + $1.byteCount }
    }
}

// MARK: Searching

extension ReadBuffer {
    private func segmentIndex(containing key: [UInt8]) -> Int? {
        let index = firstSegmentIndex(endingAfter: key)
        guard index < segments.count, !key.lexicographicallyPrecedes(segments[index].lower) else { return nil }
        return index
    }

    /// The segment that knows the last key below a bound.
    private func segmentIndex(endingAtOrAfter upper: [UInt8]) -> Int? {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if segments[middle].upper.lexicographicallyPrecedes(upper) { low = middle + 1 } else { high = middle }
        }
        guard low < segments.count, segments[low].lower.lexicographicallyPrecedes(upper) else { return nil }
        return low
    }

    private func firstSegmentIndex(endingAfter key: [UInt8]) -> Int {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if key.lexicographicallyPrecedes(segments[middle].upper) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    private static func entries(of segment: Segment, from lower: [UInt8], upTo upper: [UInt8]) -> ArraySlice<Entry> {
        let first = index(in: segment.entries, notBefore: lower)
        let end = index(in: segment.entries, notBefore: upper)
        return segment.entries[first..<max(first, end)]
    }

    /// The index of the first entry whose key is not less than `key`.
    private static func index(in entries: ArraySlice<Entry>, notBefore key: [UInt8]) -> Int {
        var low = entries.startIndex
        var high = entries.endIndex
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].key.lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private static func lesser(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        right.lexicographicallyPrecedes(left) ? right : left
    }

    private static func greater(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        left.lexicographicallyPrecedes(right) ? right : left
    }
}

extension KeyRange {
    /// Removes the beginning of the range, in a direction.
    mutating func begin(at bound: [UInt8], _ direction: ScanDirection) {
        switch direction {
        case .forward: lower = bound
        case .backward: upper = bound
        }
    }
}

extension [UInt8] {
    /// The first key after this one.
    var successor: [UInt8] { self + [0] }
}
