// What the ancestor cache promises, one behaviour at a time.

import StratusLayout
import StratusModel
@testable import StratusRecords
import StratusStore
import Testing

@Suite("Ancestor cache")
struct AncestorCacheTests {
    let zone = CacheZone(database: 1, zone: 7)
    let cache = AncestorCache(capacityByteCount: 1_000_000)

    /// Records "0" … "count - 1", each the parent of the next; "0" is the root of share "s" on request.
    private func fillChain(_ cache: AncestorCache, count: Int, isShared: Bool = false, at version: StoreVersion = 1) {
        for level in 0..<count {
            let node = ParentEntry(
                parent: level == 0 ? nil : RecordName("\(level - 1)"), parentSince: UInt64(level),
                share: level == 0 && isShared ? "s" : nil, shareSince: 3, hasChildren: level + 1 < count)
            cache.fill(zone: zone, name: RecordName("\(level)"), node: node, at: version)
        }
    }

    private func node(under parent: RecordName?, share: RecordName? = nil) -> ParentEntry {
        ParentEntry(parent: parent, parentSince: 1, share: share, shareSince: 2)
    }

    // MARK: Guesses

    @Test("a cache that guesses knows nothing, and names the ancestors it heard of last")
    func guesses() {
        let guessing = AncestorCache(capacityByteCount: 1_000_000, role: .guesses)
        fillChain(guessing, count: 5, isShared: true)
        #expect(guessing.node(zone: zone, name: "4", at: 9) == nil)
        #expect(
            guessing.nearestShareRoot(zone: zone, of: "4", at: 9, limit: 10) == .unknown(at: "4", levels: 0))
        #expect(guessing.chain(zone: zone, above: "4", limit: 10) == ["3", "2", "1", "0"])
        #expect(guessing.chain(zone: zone, above: "4", limit: 2) == ["3", "2"])
        #expect(guessing.chain(zone: zone, above: "unknown", limit: 10) == [])
        // A later read replaces a guess, whatever its version.
        guessing.fill(zone: zone, name: "3", node: node(under: "1"), at: 0)
        #expect(guessing.chain(zone: zone, above: "4", limit: 10) == ["3", "1", "0"])
        guessing.forget(zone: zone, version: 3)
        #expect(guessing.chain(zone: zone, above: "4", limit: 10) == [])
    }

    @Test("a cache that answers names no chain")
    func answersOnly() {
        fillChain(cache, count: 5)
        #expect(cache.chain(zone: zone, above: "4", limit: 10) == [])
    }

    // MARK: Versions

    @Test("a filled value answers readers of its version and later, and none before")
    func fillHoldsFromItsVersionOn() {
        cache.fill(zone: zone, name: "a", node: node(under: "b", share: "s"), at: 5)
        #expect(cache.node(zone: zone, name: "a", at: 4) == nil)
        #expect(cache.node(zone: zone, name: "a", at: 5) == node(under: "b", share: "s"))
        #expect(cache.node(zone: zone, name: "a", at: 9) == node(under: "b", share: "s"))
        #expect(cache.node(zone: CacheZone(database: 1, zone: 8), name: "a", at: 9) == nil)
    }

    @Test("a publication answers its readers and is hidden from older ones")
    func publicationHoldsFromItsVersionOn() {
        cache.fill(zone: zone, name: "a", node: node(under: "b"), at: 5)
        cache.publish([HierarchyChange(zone: zone, name: "a", node: node(under: "c"))], version: 6)
        #expect(cache.node(zone: zone, name: "a", at: 5) == nil)
        #expect(cache.node(zone: zone, name: "a", at: 6) == node(under: "c"))
        cache.publish([HierarchyChange(zone: zone, name: "a", node: nil)], version: 7)
        #expect(cache.node(zone: zone, name: "a", at: 6) == nil)
        #expect(cache.node(zone: zone, name: "a", at: 7) == nil)
        #expect(cache.statistics.entryCount == 0)
    }

    @Test("a value read before a publication is not filled after it")
    func staleFillIsRefused() {
        cache.publish([HierarchyChange(zone: zone, name: "a", node: nil)], version: 6)
        cache.fill(zone: zone, name: "a", node: node(under: "b"), at: 5)
        #expect(cache.node(zone: zone, name: "a", at: 5) == nil)
        #expect(cache.node(zone: zone, name: "a", at: 6) == nil)
        cache.fill(zone: zone, name: "a", node: node(under: "c"), at: 6)
        #expect(cache.node(zone: zone, name: "a", at: 6) == node(under: "c"))
    }

    @Test("of two fills of one value the older version is kept")
    func olderFillIsKept() {
        cache.fill(zone: zone, name: "a", node: node(under: "b"), at: 5)
        cache.fill(zone: zone, name: "a", node: node(under: "b"), at: 8)
        #expect(cache.node(zone: zone, name: "a", at: 5) != nil)
        cache.fill(zone: zone, name: "a", node: node(under: "b"), at: 3)
        #expect(cache.node(zone: zone, name: "a", at: 3) != nil)
        #expect(cache.node(zone: zone, name: "a", at: 2) == nil)
    }

    @Test("a forgotten zone is unknown to every reader, and only a later reader's fill is taken")
    func forgottenZone() {
        fillChain(cache, count: 3)
        cache.forget(zone: zone, version: 4)
        #expect(cache.node(zone: zone, name: "0", at: 3) == nil)
        #expect(cache.node(zone: zone, name: "0", at: 4) == nil)
        cache.fill(zone: zone, name: "0", node: node(under: nil), at: 3)
        #expect(cache.node(zone: zone, name: "0", at: 4) == nil)
        cache.fill(zone: zone, name: "0", node: node(under: "x"), at: 4)
        #expect(cache.node(zone: zone, name: "0", at: 4) == node(under: "x"))
    }

    // MARK: Walks

    @Test("the nearest share root is found at every depth, across the segments of a long walk")
    func shareAtEveryDepth() {
        fillChain(cache, count: 1_200, isShared: true)
        for depth in [0, 1, 2, 10, 255, 256, 257, 511, 512, 513, 1_199] {
            let name = RecordName("\(depth)")
            #expect(
                cache.nearestShareRoot(zone: zone, of: name, at: 1, limit: 10_000)
                    == .found(ShareMembership(root: "0", share: "s"), levels: depth))
            #expect(
                cache.nearestShareRoot(zone: zone, of: name, at: 1, limit: depth) == .unknown(at: "0", levels: depth))
        }
        cache.publish([HierarchyChange(zone: zone, name: "0", node: node(under: nil))], version: 2)
        #expect(cache.nearestShareRoot(zone: zone, of: "700", at: 2, limit: 10_000) == .none(levels: 700))
        #expect(cache.nearestShareRoot(zone: zone, of: "700", at: 1, limit: 10_000) == .unknown(at: "0", levels: 700))
        #expect(cache.nearestShareRoot(zone: zone, of: "?", at: 1, limit: 10_000) == .unknown(at: "?", levels: 0))
    }

    @Test("canonically equivalent names are different records")
    func canonicallyEquivalentNames() {
        cache.fill(zone: zone, name: "caf\u{E9}", node: node(under: "one"), at: 1)
        #expect(cache.node(zone: zone, name: "cafe\u{301}", at: 1) == nil)
        cache.fill(zone: zone, name: "cafe\u{301}", node: node(under: "caf\u{E9}", share: "e\u{301}"), at: 1)
        #expect(cache.node(zone: zone, name: "caf\u{E9}", at: 1) == node(under: "one"))
        #expect(cache.node(zone: zone, name: "cafe\u{301}", at: 1) == node(under: "caf\u{E9}", share: "e\u{301}"))
    }

    @Test("names of every length round-trip")
    func namesOfEveryLength() {
        for length in 0...300 {
            let name = RecordName(
                String(repeating: "é€", count: length / 5) + String(repeating: "z", count: length % 5))
            cache.fill(zone: zone, name: RecordName("child \(length)"), node: node(under: name, share: name), at: 1)
            #expect(
                cache.node(zone: zone, name: RecordName("child \(length)"), at: 1) == node(under: name, share: name))
        }
        let huge = RecordName(String(repeating: "h", count: 70_000))
        cache.fill(zone: zone, name: huge, node: node(under: nil), at: 1)
        cache.fill(zone: zone, name: "under huge", node: node(under: huge), at: 1)
        #expect(cache.node(zone: zone, name: huge, at: 1) == nil)
        #expect(cache.node(zone: zone, name: "under huge", at: 1) == nil)
    }

    // MARK: Size

    @Test("without capacity the cache is off and knows nothing", arguments: [-1, 0, 100, 1_500])
    func off(capacityByteCount: Int) {
        let cache = AncestorCache(capacityByteCount: capacityByteCount)
        #expect(cache.isOff)
        fillChain(cache, count: 3, isShared: true)
        cache.publish([HierarchyChange(zone: zone, name: "1", node: node(under: nil))], version: 2)
        cache.forget(zone: zone, version: 3)
        #expect(cache.node(zone: zone, name: "1", at: 4) == nil)
        #expect(cache.nearestShareRoot(zone: zone, of: "1", at: 4, limit: 9) == .unknown(at: "1", levels: 0))
        #expect(cache.statistics == AncestorCacheStatistics())
    }

    @Test("an entry with a name of 36 bytes takes at most 130 bytes, and the capacity is respected")
    func bytesPerEntry() {
        let cache = AncestorCache(capacityByteCount: 4_000_000)
        let names = (0..<60_000).map { RecordName(String(repeating: "u", count: 30) + "\(100_000 + $0)") }
        for (index, name) in names.enumerated() {
            let parent = index == 0 ? nil : names[(index - 1) / 8]
            cache.fill(zone: zone, name: name, node: node(under: parent), at: 1)
            if index % 1_000 == 0 { #expect(cache.statistics.byteCount <= 4_000_000) }
        }
        let statistics = cache.statistics
        #expect(statistics.byteCount > 3_900_000)
        #expect(statistics.byteCount / statistics.entryCount <= 130)
    }

    @Test("repeated filling and removing takes no more bytes")
    func nothingLeaks() {
        var sizes: Set<Int> = []
        for round in UInt64(0)..<4 {
            fillChain(cache, count: 500, isShared: true, at: round * 2 + 1)
            #expect(cache.statistics.entryCount == 500)
            sizes.insert(cache.statistics.byteCount)
            let removals = (0..<500).map { HierarchyChange(zone: zone, name: RecordName("\($0)"), node: nil) }
            cache.publish(removals, version: round * 2 + 2)
            #expect(cache.statistics.entryCount == 0)
        }
        #expect(sizes.count == 1)
    }

    @Test("frequently read records survive a flood of others, and so do their ancestors")
    func hotChainsStay() {
        let cache = AncestorCache(capacityByteCount: 60_000)
        fillChain(cache, count: 20, isShared: true)
        for index in 0..<20_000 {
            cache.fill(
                zone: zone, name: RecordName("flood \(index)"), node: node(under: RecordName("flood \(index / 2)")),
                at: 1)
            guard index % 50 == 0 else { continue }
            #expect(
                cache.nearestShareRoot(zone: zone, of: "19", at: 1, limit: 99)
                    == .found(ShareMembership(root: "0", share: "s"), levels: 19))
        }
        #expect(cache.node(zone: zone, name: "flood 3", at: 1) == nil)
    }

    @Test(
        "a full cache accepts share roots and other zones, evicts few values for them, and probes few slots",
        arguments: [60_000, 16_000_000])
    func roomForRareOnes(capacityByteCount: Int) {
        let cache = AncestorCache(capacityByteCount: capacityByteCount)
        var count = 0
        func flood(_ more: Int) {
            for index in count..<count + more {
                cache.fill(
                    zone: zone, name: RecordName("flood \(index)"), node: node(under: RecordName("flood \(index / 8)")),
                    at: 1)
            }
            count += more
        }
        // About twice as many as there is room for.
        flood(capacityByteCount / 40)
        let full = cache.statistics
        #expect(full.entryCount > capacityByteCount / 120)
        #expect(full.entryCount < count)
        for number in 0..<200 {
            let root = RecordName("root \(number)")
            cache.fill(zone: zone, name: root, node: node(under: nil, share: "share"), at: 1)
            #expect(
                cache.nearestShareRoot(zone: zone, of: root, at: 1, limit: 9)
                    == .found(ShareMembership(root: root, share: "share"), levels: 0))
            let other = CacheZone(database: 2, zone: UInt64(number))
            cache.fill(zone: other, name: "a", node: node(under: nil), at: 1)
            // The small one has space for only some zones.
            #expect(capacityByteCount < 100_000 || cache.node(zone: other, name: "a", at: 1) != nil)
            flood(10)
        }
        let now = cache.statistics
        #expect(now.entryCount > full.entryCount * 9 / 10)
        #expect(now.byteCount <= capacityByteCount)
        #expect(now.evictionStepCount - full.evictionStepCount < 12 * 200 * 100)
    }

    @Test(
        "names of share roots keep their space in a full cache, whatever was there before or came since")
    func roomForMarks() {
        let cache = AncestorCache(capacityByteCount: 1_000_000)
        func name(_ text: String, _ number: Int) -> RecordName {
            RecordName(String(repeating: text, count: 30) + "\(number)")
        }
        func fillRoots(_ text: String, _ count: Int, isShort: Bool = false) -> Int {
            var takenCount = 0
            for number in 0..<count {
                let root = isShort ? RecordName("\(text)\(number)") : name(text, number)
                cache.fill(
                    zone: zone, name: root, node: node(under: nil, share: isShort ? "s" : name("s", number)), at: 1)
                if case .found = cache.nearestShareRoot(zone: zone, of: root, at: 1, limit: 9) { takenCount += 1 }
            }
            return takenCount
        }
        func flood(_ text: String) {
            for number in 0..<20_000 {
                cache.fill(zone: zone, name: name(text, number), node: node(under: nil), at: 1)
            }
        }
        #expect(fillRoots("a", 300) == 300)
        // Twice as many as there is room for: the roots are forgotten.
        flood("b")
        flood("c")
        for round in ["d", "e", "f"] {
            #expect(fillRoots(round, 200) == 200)
            // Those that free no text are replaced, too.
            #expect(fillRoots(round, 400, isShort: true) == 400)
            #expect(fillRoots(round + "x", 200) == 200)
            flood(round + "y")
        }
        #expect(cache.statistics.byteCount <= 1_000_000)
        #expect(cache.statistics.entryCount > 4_000)
    }

    @Test(
        "share roots leave zones their space in a full cache, and zones leave it to share roots",
        arguments: [true, false])
    func roomForEachOther(rootsComeFirst: Bool) {
        let cache = AncestorCache(capacityByteCount: 16_000_000)
        for index in 0..<200_000 {
            cache.fill(zone: zone, name: RecordName("record \(index)"), node: node(under: nil), at: 1)
        }
        // More of each than there is space for.
        let count = 2_000
        func fillRoots() -> Int {
            (0..<count).count { number in
                let root = RecordName("root \(number)")
                cache.fill(zone: zone, name: root, node: node(under: nil, share: "share"), at: 1)
                return cache.node(zone: zone, name: root, at: 1) != nil
            }
        }
        func fillZones() -> Int {
            (0..<count).count { number in
                let other = CacheZone(database: 2, zone: UInt64(number))
                cache.fill(zone: other, name: "a", node: node(under: nil), at: 1)
                return cache.node(zone: other, name: "a", at: 1) != nil
            }
        }
        let rootCount: Int
        let zoneCount: Int
        if rootsComeFirst {
            rootCount = fillRoots()
            zoneCount = fillZones()
        } else {
            zoneCount = fillZones()
            rootCount = fillRoots()
        }
        // Each root replaces another; zones stay.
        #expect(rootCount == count)
        // The first of its zones is that of the other records.
        #expect(zoneCount >= 16_000_000 / 128 / 128 - 1, "\(zoneCount)")
        #expect(zoneCount < count, "\(zoneCount)")
        #expect(cache.statistics.byteCount <= 16_000_000)
    }

    @Test("new zones in a full cache take little space from existing ones")
    func zonesWithoutRoom() {
        let cache = AncestorCache(capacityByteCount: 1_000_000)
        for index in 0..<20_000 {
            cache.fill(zone: zone, name: RecordName("record \(index)"), node: node(under: nil), at: 1)
        }
        let full = cache.statistics.entryCount
        for number in 0..<15_000 {
            let other = CacheZone(database: 2, zone: UInt64(number % 1_000))
            cache.fill(zone: other, name: RecordName("\(number / 1_000)"), node: node(under: nil), at: 1)
        }
        #expect(cache.statistics.entryCount > full * 8 / 10)
    }

    @Test("if nearly all slots are free and space is exhausted, an insertion probes few of them")
    func sparseTable() {
        let cache = AncestorCache(capacityByteCount: 16_000_000)
        let names = (0..<200_000).map { RecordName("\($0)") }
        for name in names { cache.fill(zone: zone, name: name, node: node(under: nil), at: 1) }
        cache.publish(names.map { HierarchyChange(zone: zone, name: $0, node: nil) }, version: 2)
        #expect(cache.statistics.entryCount == 0)
        #expect(cache.statistics.byteCount > 14_000_000)
        // More zones than there is space for next to the slots; the hand passes all of those.
        var (mostSteps, mostEntries) = (0, 0)
        for number in 0..<20_000 {
            let before = cache.statistics.evictionStepCount
            cache.fill(zone: CacheZone(database: 2, zone: UInt64(number)), name: "a", node: node(under: nil), at: 2)
            let now = cache.statistics
            mostSteps = max(mostSteps, now.evictionStepCount - before)
            mostEntries = max(mostEntries, now.entryCount)
        }
        #expect(mostSteps == 8_192, "else nothing was tested")
        #expect(mostEntries > 400)
        #expect(cache.statistics.entryCount > mostEntries - 100)
        #expect(cache.statistics.byteCount <= 16_000_000)
    }

    @Test("the space of a forgotten zone is reused")
    func forgottenZonesGiveTheirRoomBack() {
        let cache = AncestorCache(capacityByteCount: 60_000)
        for number in UInt64(1)...200 {
            let zone = CacheZone(database: 1, zone: number)
            for index in 0..<100 {
                cache.fill(zone: zone, name: RecordName("record \(index)"), node: node(under: nil), at: number)
            }
            #expect(cache.node(zone: zone, name: "record 99", at: number) == node(under: nil))
            cache.forget(zone: zone, version: number)
        }
        #expect(cache.statistics.byteCount <= 60_000)
    }

    @Test("look-ups are counted as hits or misses")
    func statistics() {
        fillChain(cache, count: 3)
        _ = cache.nearestShareRoot(zone: zone, of: "2", at: 1, limit: 9)
        _ = cache.node(zone: zone, name: "2", at: 1)
        _ = cache.node(zone: zone, name: "2", at: 0)
        _ = cache.node(zone: zone, name: "?", at: 1)
        #expect(cache.statistics.hits == 2)
        #expect(cache.statistics.misses == 2)
        #expect(cache.statistics.entryCount == 3)
    }
}
