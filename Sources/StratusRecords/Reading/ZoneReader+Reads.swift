// What a request will read of a zone, announced so that a store whose reads are trips fetches it together.
//
// Invariants:
//   1. Everything here only announces: no result depends on it, and nothing is counted.
//   2. `reads` is nil where the store gains nothing. Callers write `zone.reads?.…` or `if let reads = zone.reads`, so
//      they build nothing there.
//   3. Which ancestors a record has is a guess (`AncestorCache.chain`). A wrong one costs a trip and nothing else.

package import StratusLayout
package import StratusModel
package import StratusStore

extension ZoneReader {
    /// Announces reads of this zone; nil where that gains nothing.
    package var reads: ZoneReads? {
        store.gainsFromPrefetching ? ZoneReads(keys, store, cache, depthLimit: limits.hierarchyDepth) : nil
    }
}

/// Announces reads of one zone, which may be guessed.
package struct ZoneReads {
    package let keys: ZoneKeys
    private let store: any StoreReader
    private let cache: AncestorCache
    private let cacheZone: CacheZone
    private let depthLimit: Int

    /// Changes of a feed that are read at once.
    private static let changeCount = 257
    /// Children of one record that are read at once.
    package static let pageCount = 256
    /// Ended places of one record that are read at once.
    private static let endingCount = 8
    /// The ancestors that are guessed at once.
    private static let stretchCount = 64

    init(_ keys: ZoneKeys, _ store: any StoreReader, _ cache: AncestorCache, depthLimit: Int) {
        self.keys = keys
        self.store = store
        self.cache = cache
        self.depthLimit = depthLimit
        cacheZone = CacheZone(database: keys.database.rawValue, zone: keys.zone.rawValue)
    }

    /// Any keys.
    package func announce(_ keys: [[UInt8]]) { store.prefetch(keys) }

    /// The beginning of any range, in a direction.
    package func announce(_ range: KeyRange, _ direction: ScanDirection = .forward, limit: Int) {
        store.prefetch(range, direction, limit: limit)
    }

    /// What every write reads of its zone: the counters of zone and database, and the mark of a rebuild.
    package func counters() {
        store.prefetch([keys.header(), DatabaseKeys(keys.database).header(), keys.listed(in: .rebuilds)])
    }

    /// Any plan.
    package func announce(_ plan: ReadPlan) { store.prefetch(plan) }

    /// Records, with all chunks of those that are split.
    package func records(_ names: some Sequence<RecordName>) {
        var plan = ReadPlan()
        let chunks = chunks
        for name in names { plan.add(keys.record(name), following: chunks) }
        store.prefetch(plan)
    }

    /// What follows from the value at a record's key: the chunks of the record, if it is split.
    package var chunks: FetchFollower {
        { [keys] key, value, reads in
            guard let chunks = try? RecordCodec.chunks(in: value.span),
                let name = try? keys.readRecordKey(key.span).name
            else { return }
            reads.add(keys.recordWithChunks(name), limit: chunks.count, byteCount: chunks.byteCount)
        }
    }

    /// Records that may have several chunks, with all of them in the same trip.
    package func recordsWithChunks(_ names: some Sequence<RecordName>) {
        for name in names { store.prefetch(keys.recordWithChunks(name), .forward, limit: Self.stretchCount) }
    }

    /// The indexes of all types.
    package func queryIndexes() { announce(keys.keyspace(.queryIndexes), limit: Self.stretchCount) }

    package func queryIndexes(of types: some Sequence<RecordType>) {
        store.prefetch(types.map { keys.queryIndexes(of: $0) })
    }

    /// The places of records and of their ancestors. Above those that are guessed, each follows from the one below it.
    package func places(of names: some Sequence<RecordName>) {
        var plan = ReadPlan()
        _ = climb(from: names) { name, parent in
            if parent == nil {
                plan.add(keys.parent(of: name), following: Self.above(name, keys, withCounts: false))
            } else {
                plan.add(keys.parent(of: name))
            }
        }
        store.prefetch(plan)
    }

    /// The places of a record and of its guessed ancestors, at most about `levelCount` above it. Returns the names that
    /// are announced.
    func guessedPlaces(above name: RecordName, levelCount: Int) -> Set<RecordName> {
        var wanted: [[UInt8]] = []
        let met = climb(from: CollectionOfOne(name), levelCount) { name, _ in wanted.append(keys.parent(of: name)) }
        store.prefetch(wanted)
        return met
    }

    /// What follows from the place of a record: that of its parent, and so on, and the counts of share roots of each.
    private static func above(_ name: RecordName, _ keys: ZoneKeys, withCounts: Bool) -> FetchFollower {
        { _, value, reads in
            guard let parent = try? ParentEntry(decoding: value.span).parent else { return }
            if withCounts { reads.add(keys.shareCount(parent: parent, name: name)) }
            reads.add(keys.parent(of: parent), following: above(parent, keys, withCounts: withCounts))
        }
    }

    /// The places of the guessed parents of records.
    package func parents(of names: some Sequence<RecordName>) {
        let parents = Set(names.compactMap { cache.chain(zone: cacheZone, above: $0, limit: 1).first })
        store.prefetch(parents.map { keys.parent(of: $0) })
    }

    /// Adds the place of a record and of its ancestors to a plan.
    func addPlaces(of name: RecordName, to plan: inout ReadPlan) {
        var wanted: [[UInt8]] = []
        _ = climb(from: CollectionOfOne(name)) { name, _ in wanted.append(keys.parent(of: name)) }
        for key in wanted { plan.add(key) }
    }

    /// The counts of share roots at or below records and their ancestors.
    package func shareCounts(of names: some Sequence<RecordName>) {
        var plan = ReadPlan()
        _ = climb(from: names) { name, parent in
            plan.add(keys.shareCount(parent: parent, name: name))
            if parent == nil {
                plan.add(keys.parent(of: name), following: Self.above(name, keys, withCounts: true))
            }
        }
        store.prefetch(plan)
    }

    /// The references to records.
    package func references(to names: some Sequence<RecordName>, limit: Int) {
        for name in names { store.prefetch(keys.references(to: name), .forward, limit: limit) }
    }

    package func children(of names: some Sequence<RecordName>, limit: Int) {
        for name in names { store.prefetch(keys.children(of: name), .forward, limit: limit) }
    }

    /// What a walk down that continues after a record reads first: the way up from the record, and what follows on each
    /// level.
    package func walk(after last: RecordName, below top: RecordName) {
        places(of: [last, top])
        announce(keys.children(of: last), limit: Self.pageCount)
        _ = climb(from: CollectionOfOne(last), Self.stretchCount) { name, parent in
            guard let parent else { return }
            announce(keys.children(of: parent, after: name), limit: Self.pageCount)
        }
    }

    /// Everything that deleting records reads: the records, what refers to them, where they are, and the first of what
    /// is below them.
    package func deletions(of names: some Collection<RecordName>, limit: Int) {
        records(names)
        references(to: names, limit: limit)
        places(of: names)
        shareCounts(of: names)
        children(of: names, limit: min(limit, Self.stretchCount))
    }

    /// The first changes of the feed after a sequence.
    package func changes(after sequence: UInt64) {
        store.prefetch(keys.changes(after: sequence), .forward, limit: Self.changeCount)
    }

    /// Where records were, and what they were: their present and their ended places.
    package func pasts(of names: [RecordName], after sequence: UInt64) {
        store.prefetch(names.map { keys.parent(of: $0) })
        endedPlaces(of: names, after: sequence)
        // After some look-ups a history loads the whole table, if it is small.
        if names.count > ZoneHistory.seeksBeforeLoading { endings() }
    }

    /// The ended places of records.
    package func endedPlaces(of names: [RecordName], after sequence: UInt64) {
        for name in names {
            store.prefetch(
                keys.ended(.endedParents, of: name, after: sequence), .forward, limit: Self.endingCount)
        }
    }

    /// Everything in the zone that has ended, as far as a history would load it.
    package func endings() {
        for keyspace in [ZoneKeyspace.endedParents, .endedShares, .endedChildren] {
            store.prefetch(keys.keyspace(keyspace), .forward, limit: EndedTable.largestCount + 1)
        }
    }

    /// Whether the zone has records of a type.
    package func presence(of type: RecordType) { store.prefetch(keys.types(of: type), .forward, limit: 1) }

    /// Visits records and their guessed ancestors, each once, with the guessed parent. Guesses may form a cycle.
    private func climb(
        from names: some Sequence<RecordName>, _ levelCount: Int = .max,
        _ visit: (_ name: RecordName, _ parent: RecordName?) -> Void
    ) -> Set<RecordName> {
        var met: Set<RecordName> = []
        for name in names {
            var (current, level) = (name, 0)
            climbing: while level <= min(levelCount, depthLimit), met.insert(current).inserted {
                let chain = cache.chain(zone: cacheZone, above: current, limit: Self.stretchCount)
                visit(current, chain.first)
                guard let last = chain.last else { break }
                for (child, parent) in zip(chain, chain.dropFirst()) {
                    guard met.insert(child).inserted else { break climbing }
                    visit(child, parent)
                }
                current = last
                level += chain.count
            }
        }
        return met
    }
}

/// Announces the way up of one walk: the guessed rest of it at its beginning, and again where it leaves the guess.
struct WalkReads {
    /// The levels that are announced at once: a store limits the size of a plan.
    private static let levelCount = 4_096

    private let reads: ZoneReads?
    private var announced: Set<RecordName> = []

    init(in zone: ZoneReader) { reads = zone.reads }

    /// Call it before the place of a record is read.
    mutating func willRead(placeOf name: RecordName) {
        guard let reads, !announced.contains(name) else { return }
        announced.formUnion(reads.guessedPlaces(above: name, levelCount: Self.levelCount))
    }
}
