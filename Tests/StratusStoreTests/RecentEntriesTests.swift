// The contents of caches, compared with the history of reads.

@testable import StratusStore
import StratusTestSupport
import Testing

@Suite("Recently read entries")
struct RecentEntriesTests {
    /// A naive model of every key's value, and how much has been read since its last read.
    private struct Asked {
        var value: Int
        var size: Int
        var sinceSize = 0
    }

    @Test(
        "a key keeps its newest value until half of the capacity was read besides, and the capacity is respected",
        arguments: 1...8)
    func randomHistories(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let room = 40
        var entries = RecentEntries<Int, Int>(room: room)
        var asked: [Int: Asked] = [:]
        var foundOld = 0
        var forgotten = 0

        /// The key is the newest now: its size counts for everything else.
        func touch(_ key: Int, _ value: Int, _ size: Int) {
            for other in asked.keys where other != key { asked[other]?.sinceSize += size }
            asked[key] = Asked(value: value, size: size)
        }
        for step in 0..<6_000 {
            let key = Int.random(in: 0..<30, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                let size = Int.random(in: 0..<40, using: &random) == 0 ? room / 2 + 1 : key % 5 + 1
                entries.insert(key, step, size: size)
                if size > room / 2 { asked[key] = nil } else { touch(key, step, size) }
            case 4:
                entries.remove(key)
                asked[key] = nil
            default:
                let found = entries.find(key)
                guard let known = asked[key] else {
                    #expect(found == nil, "seed \(seed) step \(step): what is not there is found")
                    continue
                }
                if let found {
                    #expect(found == known.value, "seed \(seed) step \(step): an older value")
                    if known.sinceSize > 0 { foundOld += 1 }
                    touch(key, found, known.size)
                } else {
                    #expect(known.sinceSize + known.size > room / 2, "seed \(seed) step \(step): forgotten too early")
                    forgotten += 1
                    asked[key] = nil
                }
            }
            #expect(entries.count <= room, "seed \(seed) step \(step): more than there is room for")
        }
        #expect(foundOld > 100, "seed \(seed): the history does not show both")
        #expect(forgotten > 100, "seed \(seed): the history does not show both")
    }

    @Test("repeated complete scans are kept if they take half of the capacity")
    func readingThrough() {
        var entries = RecentEntries<Int, Int>(room: 200)
        for key in 0..<100 { entries.insert(key, key) }
        for _ in 0..<5 {
            for key in 0..<100 { #expect(entries.find(key) == key) }
        }
    }

    @Test("a cache over a store has the last published value, however often older ones are read")
    func publishedValues() {
        let cache = PublishedCache<Int, String>(maximumCount: 8)
        cache.fill(1, "old", at: 5)
        #expect(cache.value(for: 1, at: 5) == "old")
        #expect(cache.value(for: 1, at: 4) == nil)
        cache.publish(1, "new", version: 7)
        #expect(cache.value(for: 1, at: 6) == nil)
        #expect(cache.value(for: 1, at: 7) == "new")
        cache.fill(2, "of an older snapshot", at: 6)
        #expect(cache.value(for: 2, at: 7) == nil)
        cache.publish(1, nil, version: 8)
        #expect(cache.newest(for: 1) == nil)
        for key in 10..<14 { cache.fill(key, "\(key)", at: 8) }
        for key in 14..<18 { cache.fill(key, "\(key)", at: 8) }
        #expect((10..<18).filter { cache.newest(for: $0) != nil }.count >= 4)
    }

    @Test("a cache over a shared store answers nothing, and guesses what was read last")
    func guesses() {
        let cache = PublishedCache<Int, String>(maximumCount: 8, role: TripStore().cacheRole)
        cache.fill(1, "read", at: 5)
        #expect(cache.guess(for: 1) == "read")
        #expect(cache.value(for: 1, at: 5) == nil)
        #expect(cache.newest(for: 1) == nil)
        cache.publish(1, "own", version: 7)
        // Another process has written since; no version says so.
        cache.fill(1, "theirs", at: 6)
        #expect(cache.guess(for: 1) == "theirs")
        cache.publish(1, nil, version: 8)
        #expect(cache.guess(for: 1) == nil)
    }

    @Test("a cache that answers never guesses")
    func answersOnly() {
        let cache = PublishedCache<Int, String>(maximumCount: 8, role: MemoryStore().cacheRole)
        cache.fill(1, "read", at: 5)
        #expect(cache.value(for: 1, at: 5) == "read")
        #expect(cache.guess(for: 1) == nil)
    }
}
