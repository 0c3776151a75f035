// One snapshot at the other end of a connection, as its readers use it: what it has answered, what is announced, and
// the session that answers the rest.
//
// How it works: an announcement only remembers what will be read. The first read that the buffer cannot answer fetches
// itself and everything announced so far, in one trip, and goes on. So a caller that announces all of its reads first
// needs one trip, and one that forgets some needs more, but never gets another answer. What follows from fetched
// entries (`FetchFollower`) is announced when they have arrived, so it is fetched with the next trip.
//
// Invariants:
//   1. All answers are of one snapshot: a session that was lost is replaced only before it has answered anything.
//   2. A failure is remembered, even if the body swallows the error of its read: check `failure` before a commit.
//   3. A snapshot is used by one thread at a time.

/// The reads of one snapshot.
final class WireSnapshot {
    /// Where a snapshot gets its session, and what happens if the session fails.
    enum Opening {
        /// Begins a session at the first fetch, and another one if that is lost before it has answered.
        case reading(WireAttempts, ReadScope)
        /// Uses this session only.
        case session(any WireSession)
        /// Has none: the first fetch ends the run of the body, and says what it would have fetched.
        case rehearsal
    }

    private let opening: Opening
    private let ledger: WireLedger
    private let options: WireOptions
    private var session: (any WireSession)?
    private var buffer: ReadBuffer
    private var announcedKeys: [[UInt8]] = []
    /// The same keys, with what follows from their entries.
    private var announcedFollowers: [HashedKey: [FetchFollower]] = [:]
    private var announcedScans: [(scan: PlannedScan, follow: FetchFollower?)] = []
    private var announcedScanSet: Set<PlannedScan> = []
    /// The bytes of large scans that are announced, and the scans that wait until others were fetched.
    private var announcedByteCount = 0
    private var waitingScans: [PlannedScan] = []
    /// The sizes of entries in pages, from which the size of the next ones is foreseen.
    private var pagedEntryCount = 0
    private var pagedByteCount = 0
    /// Reads after the end of a rehearsal.
    private var readsPastTheEnd = 0

    /// Whether the engine was asked anything.
    private(set) var hasAsked = false
    private var hasAnswered = false
    /// The first failure of the session.
    private(set) var failure: WireFailure?
    /// What a rehearsal would have fetched first.
    private(set) var rehearsedPlan = ReadPlan()

    init(_ opening: Opening, _ ledger: WireLedger, _ options: WireOptions) {
        self.opening = opening
        self.ledger = ledger
        self.options = options
        buffer = ReadBuffer(room: options.bufferByteCount)
        if case .session(let session) = opening { self.session = session }
    }

    /// Ends a snapshot that only reads.
    func end() {
        session?.abandon()
        session = nil
    }

    // MARK: Announcing

    func announce(_ key: [UInt8]) { _ = register(key, nil) }

    func announce(_ scan: PlannedScan) { register(scan, nil) }

    /// Announces a plan, without the keys that the caller does not read here.
    func announce(_ plan: ReadPlan, where isRead: (_ key: [UInt8]) -> Bool = { _ in true }) {
        var known = register(plan, where: isRead)
        // What follows from entries that are known already. Damaged entries may follow from each other in a circle.
        var left = options.planKeyCount
        while left > 0, let (key, value, follow) = known.popLast() {
            left -= 1
            var reads = ReadPlan()
            follow(key, value, &reads)
            known += register(reads) { _ in true }
        }
    }

    private typealias KnownEntry = (key: [UInt8], value: [UInt8], follow: FetchFollower)

    /// Registers the unknown reads of a plan. Returns the known entries from which others follow.
    private func register(_ plan: ReadPlan, where isRead: (_ key: [UInt8]) -> Bool) -> [KnownEntry] {
        var known: [KnownEntry] = []
        var followers = plan.keyFollowers[...]
        for (index, key) in plan.keys.enumerated() {
            let follow = followers.first?.index == index ? followers.popFirst()?.follow : nil
            if isRead(key), let entry = register(key, follow) { known.append(entry) }
        }
        followers = plan.scanFollowers[...]
        for (index, scan) in plan.scans.enumerated() {
            register(scan, followers.first?.index == index ? followers.popFirst()?.follow : nil)
        }
        return known
    }

    private func register(_ key: [UInt8], _ follow: FetchFollower?) -> KnownEntry? {
        guard !buffer.knows(key) else {
            guard let follow, let value = buffer.peek(key) else { return nil }
            return (key, value, follow)
        }
        guard announcedKeys.count < options.planKeyCount else { return nil }
        let hashedKey = HashedKey(key)
        let isNew = announcedFollowers[hashedKey] == nil
        if isNew { announcedKeys.append(key) }
        if let follow {
            announcedFollowers[hashedKey, default: []].append(follow)
        } else if isNew {
            announcedFollowers[hashedKey] = []
        }
        return nil
    }

    private func register(_ scan: PlannedScan, _ follow: FetchFollower?) {
        guard scan.limit > 0, !scan.range.isEmpty, announcedScans.count < options.planScanCount else { return }
        guard var rest = buffer.unknownPart(of: scan) else { return }
        guard announcedByteCount == 0 || announcedByteCount + scan.byteCount <= options.bufferByteCount else {
            if waitingScans.count < options.planScanCount { waitingScans.append(scan) }
            return
        }
        rest.limit = pageCount(for: rest.limit)
        guard announcedScanSet.insert(rest).inserted else { return }
        announcedScans.append((rest, follow))
        announcedByteCount += scan.byteCount
    }

    /// Fetches what is announced. One trip; none if everything is known.
    func fetchAnnounced() throws {
        guard !announcedKeys.isEmpty || !announcedScans.isEmpty else { return }
        try fetch(EmptyCollection<[UInt8]>(), nil)
    }

    // MARK: Reading

    /// Whether the snapshot has answered that a key is absent.
    func isKnownAbsent(_ key: [UInt8]) -> Bool { buffer.knows(key) && buffer.peek(key) == nil }

    /// The value under a key; nil if the key is absent.
    func value(forKey key: [UInt8]) throws -> [UInt8]? {
        if case .value(let value) = try answer(key, orFetch: CollectionOfOne(key)) { value } else { nil }
    }

    /// The answer for a key. If it is not known, fetches `keys`, which begin with it.
    func answer(_ key: [UInt8], orFetch keys: some Sequence<[UInt8]>) throws -> ReadBuffer.Answer {
        let known = buffer.lookUp(key)
        guard case .unknown = known else { return known }
        try fetch(keys, nil)
        let fetched = buffer.lookUp(key)
        guard case .unknown = fetched else { return fetched }
        throw fail(.fatal(Self.incompleteAnswer))
    }

    /// The known beginning of a range that is not empty, if there is one.
    func knownPiece(_ range: KeyRange, _ direction: ScanDirection) -> ReadBuffer.Piece? {
        buffer.consume(range, direction)
    }

    /// The known beginning of a range that is not empty. If there is none, about `count` entries are fetched.
    func piece(_ range: KeyRange, _ direction: ScanDirection, count: Int) throws -> ReadBuffer.Piece {
        if let known = knownPiece(range, direction) { return known }
        let limit = pageCount(for: count, sizeIsUnknown: pagedEntryCount == 0)
        try fetch(EmptyCollection<[UInt8]>(), PlannedScan(range: range, direction: direction, limit: limit))
        if let fetched = knownPiece(range, direction) { return fetched }
        throw fail(.fatal(Self.incompleteAnswer))
    }

    /// How many entries to ask for so that they are no larger than a page.
    private func pageCount(for count: Int, sizeIsUnknown: Bool = false) -> Int {
        var most = options.pageEntryCount
        if pagedEntryCount > 0 {
            most = min(most, options.pageByteCount / max(1, pagedByteCount / pagedEntryCount))
        } else if sizeIsUnknown {
            most = min(most, Self.firstPageEntryCount)
        }
        return max(1, min(count, most))
    }

    /// The most entries of a page that was not announced, while the size of entries is unknown.
    private static let firstPageEntryCount = 256

    // MARK: Fetching

    /// Fetches what is missing, and everything announced as far as a plan has room. Then announces what follows.
    private func fetch(_ missing: some Sequence<[UInt8]>, _ missingScan: PlannedScan?) throws {
        let plan = plan(missing, missingScan)
        announcedKeys = []
        announcedFollowers = [:]
        announcedScans = []
        announcedScanSet = []
        announcedByteCount = 0

        let answer = try ask(plan)
        guard answer.values.count == plan.keys.count, answer.pages.count == plan.scans.count else {
            throw fail(.fatal(Self.incompleteAnswer))
        }
        for page in answer.pages {
            pagedEntryCount += page.entries.count
            pagedByteCount += page.entries.reduce(0) { $0 + $1.key.count + $1.value.count }
        }
        buffer.insert(answer, of: plan)
        announceFollowing(answer, of: plan)
    }

    private func plan(_ missing: some Sequence<[UInt8]>, _ missingScan: PlannedScan?) -> ReadPlan {
        var plan = ReadPlan()
        var planned: Set<HashedKey> = []
        func add(_ key: [UInt8]) {
            let hashedKey = HashedKey(key)
            guard !buffer.knows(key), planned.insert(hashedKey).inserted else { return }
            let followers = announcedFollowers[hashedKey] ?? []
            switch followers.count {
            case 0: plan.add(key)
            case 1: plan.add(key, following: followers[0])
            default: plan.add(key) { for follow in followers { follow($0, $1, &$2) } }
            }
        }
        for key in missing {
            guard planned.count < options.planKeyCount else { break }
            add(key)
        }
        for key in announcedKeys where planned.count < options.planKeyCount { add(key) }
        for (scan, follow) in scans(with: missingScan) {
            if let follow {
                plan.add(scan.range, scan.direction, limit: scan.limit, following: follow)
            } else {
                plan.add(scan.range, scan.direction, limit: scan.limit)
            }
        }
        return plan
    }

    /// Announces what follows from fetched entries, and what had to wait.
    private func announceFollowing(_ answer: FetchedReads, of plan: ReadPlan) {
        let waiting = waitingScans
        waitingScans = []
        for scan in waiting { announce(scan) }
        var reads = ReadPlan()
        for (index, follow) in plan.keyFollowers {
            if let value = answer.values[index] { follow(plan.keys[index], value, &reads) }
        }
        for (index, follow) in plan.scanFollowers {
            for entry in answer.pages[index].entries { follow(entry.key, entry.value, &reads) }
        }
        announce(reads)
    }

    /// The announced scans with the missing one. An announced scan that begins where the missing one does, and goes at
    /// least as far, replaces it.
    private func scans(with missing: PlannedScan?) -> [(scan: PlannedScan, follow: FetchFollower?)] {
        guard let missing else { return announcedScans }
        var scans = announcedScans
        if let index = scans.firstIndex(where: { $0.scan.covers(missing) }) {
            scans[index].scan.limit = max(scans[index].scan.limit, missing.limit)
            return scans
        }
        if scans.count >= options.planScanCount { scans.removeLast() }
        return [(missing, nil)] + scans
    }

    /// One trip, and more only while sessions are lost before the first answer.
    private func ask(_ plan: ReadPlan) throws -> FetchedReads {
        if let failure { throw failure.error }
        if case .rehearsal = opening { throw rehearsalEnded(plan) }
        var attempt = 0
        while true {
            do {
                let session = try session ?? begin()
                self.session = session
                hasAsked = true
                ledger.note {
                    $0.trips += 1
                    $0.engineLookups += plan.keys.count
                }
                let answer = try session.fetch(plan)
                hasAnswered = true
                return answer
            } catch {
                let failure = WireFailure(error)
                guard case .reading(let attempts, _) = opening else { throw fail(failure) }
                session?.abandon()
                session = nil
                guard failure.allowsAnotherRun else { throw fail(failure) }
                guard !hasAnswered else { throw fail(.fatal(Self.snapshotEnded(failure))) }
                attempt += 1
                try attempts.prepare(attempt, after: failure)
            }
        }
    }

    private func begin() throws -> any WireSession {
        guard case .reading(let attempts, let scope) = opening else {
            preconditionFailure("A transaction's snapshot has its session from the beginning.")
        }
        return try attempts.source.beginReading(scope, for: attempts.caller)
    }

    /// Remembers the first failure.
    private func fail(_ failure: WireFailure) -> StoreError {
        if self.failure == nil { self.failure = failure }
        return failure.error
    }

    private func rehearsalEnded(_ plan: ReadPlan) -> RehearsalEnded {
        if readsPastTheEnd == 0 { rehearsedPlan = plan }
        readsPastTheEnd += 1
        assert(readsPastTheEnd < 100_000, "A body repeats a read that fails: let it throw the error.")
        return RehearsalEnded()
    }

    private static var incompleteAnswer: StoreError {
        StoreError(.inputOutput, "The engine's answer is incomplete: report this error with the engine's version.")
    }

    private static func snapshotEnded(_ failure: WireFailure) -> StoreError {
        StoreError(
            .snapshotEnded, "The snapshot has ended: read the rest in another one.", failure.error.fields,
            cause: "\(failure.error)")
    }
}

/// Ends the run of a body that only shows what it will read first. It is not a `StoreError`, so no floor adds an
/// explanation to it.
struct RehearsalEnded: Error {}

extension PlannedScan {
    /// Whether this scan begins where another does, in its direction, and its range goes at least as far.
    fileprivate func covers(_ other: PlannedScan) -> Bool {
        guard direction == other.direction else { return false }
        return switch direction {
        case .forward: range.lower == other.range.lower && !range.upper.lexicographicallyPrecedes(other.range.upper)
        case .backward: range.upper == other.range.upper && !other.range.lower.lexicographicallyPrecedes(range.lower)
        }
    }
}

/// The time that a caller has for its attempts.
struct WireAttempts {
    let source: any WireSource
    let caller: WireCaller

    var secondsLeft: Double { caller.deadline - source.now() }
    /// Whether there is time for another attempt.
    var areLeft: Bool { secondsLeft > 0 }

    /// Waits before the attempt with this number. Throws if the time is over.
    func prepare(_ attempt: Int, after failure: WireFailure) throws {
        guard areLeft else { throw Self.busy(attempt, after: failure) }
        try source.pause(attempt: attempt)
        guard areLeft else { throw Self.busy(attempt, after: failure) }
    }

    static func busy(_ attemptCount: Int, after failure: WireFailure?) -> StoreError {
        StoreError(
            .unavailable, "The store was busy: try again.", ["attempts": "\(attemptCount)"],
            cause: failure.map { "\($0.error)" })
    }
}
