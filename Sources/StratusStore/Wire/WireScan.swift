// A scan of a snapshot at the other end of a connection, merged with the writes of its transaction.
//
// Invariants:
//   1. It shows the writes that were there when it began. The overlay's tree is a value, so it does not change.
//   2. A page in use is the scan's own: reads of the visitor may drop it from the buffer.
//   3. Keys before `rest` are decided: the scan has passed them, or has them in `page`.

/// The entries of a range in order.
struct WireScan {
    typealias Entry = ReadBuffer.Entry

    private let snapshot: WireSnapshot
    private let direction: ScanDirection
    private let limit: Int
    private var own: OverlayCursor
    /// Fetched entries that are not passed yet, in the order of keys.
    private var page: ArraySlice<Entry> = []
    /// The part of the range behind the page.
    private var rest: KeyRange
    /// Entries of the engine that it has passed, also those that own writes hide.
    private var passedCount = 0
    private var hasHidden = false
    private var returnedCount = 0

    /// Scans a range that is not empty.
    init(_ range: KeyRange, _ direction: ScanDirection, limit: Int, _ snapshot: WireSnapshot, _ own: ByteTree) {
        self.snapshot = snapshot
        self.direction = direction
        self.limit = limit
        self.own = OverlayCursor(own, range, direction)
        rest = range
    }

    /// The next entry, nil behind the last one.
    mutating func next() throws -> Entry? {
        while true {
            if let step = step() { return step.entry }
            let piece = try snapshot.piece(rest, direction, count: pageCount)
            take(piece)
        }
    }

    /// The next entry if it is known. Nil behind the last one, and where a trip is needed.
    mutating func nextKnown() -> Entry? {
        while true {
            if let step = step() { return step.entry }
            guard let piece = snapshot.knownPiece(rest, direction) else { return nil }
            take(piece)
        }
    }

    /// How many entries to ask for. A scan that was not announced grows its pages; where own deletes hide entries, no
    /// limit says how many are needed.
    private var pageCount: Int {
        let count = max(Self.smallestPageCount, passedCount)
        return hasHidden ? count : min(count, limit - returnedCount)
    }

    private static let smallestPageCount = 32

    private mutating func take(_ piece: ReadBuffer.Piece) {
        page = piece.entries
        rest.begin(at: piece.frontier, direction)
    }

    private enum Step {
        case entry(Entry)
        case end

        var entry: Entry? { if case .entry(let entry) = self { entry } else { nil } }
    }

    /// The next step that needs no further page; nil if the next entry is not known.
    private mutating func step() -> Step? {
        guard returnedCount < limit else { return .end }
        while true {
            let fetched = direction == .forward ? page.first : page.last
            guard let write = own.current else {
                guard let fetched else { return rest.isEmpty ? .end : nil }
                passPageEntry()
                return give(fetched.key, fetched.value)
            }
            if let fetched {
                let order = compareBytes(write.key, fetched.key).order
                if direction == .forward ? order > 0 : order < 0 {
                    passPageEntry()
                    return give(fetched.key, fetched.value)
                }
                if order == 0 { passPageEntry(hidden: write.value == nil) }
            } else if !rest.isEmpty, isInRest(write.key) {
                return nil
            }
            own.advance()
            if let value = write.value { return give(write.key, value) }
        }
    }

    private mutating func give(_ key: [UInt8], _ value: [UInt8]) -> Step {
        returnedCount += 1
        return .entry((key, value))
    }

    private mutating func passPageEntry(hidden: Bool = false) {
        passedCount += 1
        if hidden { hasHidden = true }
        switch direction {
        case .forward: page.removeFirst()
        case .backward: page.removeLast()
        }
    }

    private func isInRest(_ key: [UInt8]) -> Bool {
        switch direction {
        case .forward: !key.lexicographicallyPrecedes(rest.lower)
        case .backward: key.lexicographicallyPrecedes(rest.upper)
        }
    }
}

/// Runs a scan for a visitor, and the follower before it.
extension WireScan {
    /// Visits the entries. `willVisit` is called before each.
    mutating func run(
        willVisit: () -> Void, _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        while let (key, value) = try next() {
            willVisit()
            guard try visit(key.span, value.span) == .next else { return }
        }
    }

    /// The same. Before the known entries are visited, what they lead to is announced, so that it is fetched together.
    ///
    /// An error of the follower is thrown where the visitor would get that entry, so entries before it are visited.
    mutating func run(
        following follow: EntryFollower, atMost batchCount: Int, willVisit: () -> Void,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        while let first = try next() {
            var batch = [first]
            while batch.count < batchCount, let entry = nextKnown() { batch.append(entry) }
            var reads = ReadPlan()
            var failure: (index: Int, error: any Error)?
            for (index, entry) in batch.enumerated() {
                do {
                    try follow(entry.key.span, entry.value.span, &reads)
                } catch {
                    failure = (index, error)
                    break
                }
            }
            snapshot.announce(reads)
            for (index, entry) in batch.enumerated() {
                if let failure, failure.index == index { throw failure.error }
                willVisit()
                guard try visit(entry.key.span, entry.value.span) == .next else { return }
            }
        }
    }
}
