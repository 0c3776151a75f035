// Reading for longer than a snapshot lasts, over a store whose snapshots end after a few reads.

import StratusStore
import StratusTestSupport
import Testing

@Suite("long reads")
struct LongReadingTests {
    private static func filled(_ count: Int) throws -> MemoryStore {
        let store = MemoryStore()
        try store.transact { transaction in
            for number in 0..<count {
                try transaction.set([UInt8(number / 16), UInt8(number % 16)], to: [UInt8(number)])
            }
        }
        return store
    }

    private static func scan(
        _ reader: any StoreReader, _ range: KeyRange, _ direction: ScanDirection, limit: Int
    ) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        try reader.scan(range, direction, limit: limit) { key, _ in
            keys.append([UInt8](copying: key))
            return .next
        }
        return keys
    }

    @Test("a scan over many snapshots visits what a scan of one visits, and counts the same")
    func scans() throws {
        let memory = try Self.filled(100)
        var random = SplitMix64(seed: 1)
        for _ in 0..<300 {
            let store = ShortSnapshotStore(memory, endingAfter: 1 + Int(random.next() % 40))
            let range = KeyRange(
                from: [UInt8(random.next() % 7)], upTo: [UInt8(random.next() % 8), UInt8(random.next() % 16)])
            let direction: ScanDirection = random.next().isMultiple(of: 2) ? .forward : .backward
            let limit = random.next().isMultiple(of: 3) ? Int.max : Int(random.next() % 60)
            let expected = try memory.read { (try Self.scan($0, range, direction, limit: limit), $0.cost) }
            let found = try store.read(.wholeStore) { (try Self.scan($0, range, direction, limit: limit), $0.cost) }
            #expect(found.0 == expected.0, "\(range) \(direction) \(limit)")
            #expect(found.1 == expected.1, "\(range) \(direction) \(limit)")
        }
    }

    @Test("a snapshot of one page ends, and a long read goes on in others")
    func ends() throws {
        let store = ShortSnapshotStore(try Self.filled(100), endingAfter: 30)
        #expect(throws: StoreError.self) { try store.read { try Self.scan($0, .everything, .forward, limit: .max) } }
        #expect(store.endedSnapshotCount == 1)
        let found = try store.read(.wholeStore) { try Self.scan($0, .everything, .forward, limit: .max) }
        #expect(found.count == 100)
        #expect(store.endedSnapshotCount > 3)
    }

    @Test("a page is no larger than asked for, in entries and in bytes")
    func pages() throws {
        let memory = try Self.filled(64)
        for reader in [PagedReader(memory, pageCount: 7), PagedReader(memory, pageByteCount: 10)] {
            var visited = 0
            try reader.scan(.everything, .forward, limit: .max) { key, _ in
                visited += 1
                // A later page shows what was written while an earlier one was visited.
                if visited == 1 { try memory.transact { try $0.set([3, 15, 1], to: [0]) } }
                return .next
            }
            #expect(visited == 65)
            try memory.transact { try $0.delete([3, 15, 1]) }
        }
    }

    @Test("a look-up shows the newest commit, and what is read at one moment belongs together")
    func moments() throws {
        let memory = try Self.filled(2)
        let store = ShortSnapshotStore(memory, endingAfter: 100)
        try store.read(.wholeStore) { reader in
            #expect(!reader.showsOneMoment)
            #expect(reader.version == 0)
            #expect(try reader.value(forKey: [0, 0]) == [0])
            try memory.transact { try $0.set([0, 0], to: [9]) }
            #expect(try reader.value(forKey: [0, 0]) == [9])
            try reader.atOneMoment { one in
                #expect(one.showsOneMoment)
                #expect(try one.value(forKey: [0, 0]) == [9])
                try memory.transact { try $0.set([0, 0], to: [1]) }
                #expect(try one.value(forKey: [0, 0]) == [9])
            }
            #expect(try reader.value(forKey: [0, 0]) == [1])
        }
        try memory.read(.wholeStore) { #expect($0.showsOneMoment) }
    }

    @Test("an error of a visitor ends the scan, and one that stops is not called again")
    func stops() throws {
        struct Planned: Error {}
        let store = ShortSnapshotStore(try Self.filled(100), endingAfter: 10)
        #expect(throws: Planned.self) {
            try store.read(.wholeStore) { try $0.scan(.everything) { _, _ in throw Planned() } }
        }
        var visited = 0
        try store.read(.wholeStore) { reader in
            try reader.scan(.everything) { _, _ in
                visited += 1
                return visited == 25 ? .stop : .next
            }
        }
        #expect(visited == 25)
    }

    @Test("a store that ends every snapshot at once fails, and does not go on without end")
    func hopeless() throws {
        let store = ShortSnapshotStore(try Self.filled(3), endingAfter: 0)
        for read in [{ try $0.scan(.everything) { _, _ in .next } }, { _ = try $0.value(forKey: [0, 0]) }]
            as [(any StoreReader) throws -> Void]
        {
            #expect { try store.read(.wholeStore, read) } throws: { ($0 as? StoreError)?.code == .snapshotEnded }
        }
    }
}

@Suite("confirming findings")
struct ConfirmingTests {
    private struct Report: ConfirmableReport {
        var found: Set<Int>
        var isFinished = false

        var hasFindings: Bool { !found.isEmpty }
        mutating func keepOnly(whatFound earlier: Report) { found.formIntersection(earlier.found) }
        mutating func finishConfirming() { isFinished = true }
    }

    private let short = ShortSnapshotStore(MemoryStore(), endingAfter: 1)

    /// What remains of the findings of these runs, and how many of them were needed.
    private func confirm(_ runs: [Set<Int>], on store: any OrderedStore) throws -> (found: Set<Int>, count: Int) {
        var count = 0
        let report = try store.confirmed {
            defer { count += 1 }
            return Report(found: runs[count])
        }
        return (report.found, count)
    }

    @Test("what not all of three runs find is dropped, and what all find remains")
    func runs() throws {
        #expect(try confirm([[1, 2, 3], [2, 3, 4], [3, 5]], on: short).found == [3])
        #expect(try confirm([[1, 2], [2, 3], [1]], on: short).found == [])
    }

    @Test("a store without findings is read once, and nothing is read again once nothing is left")
    func clean() throws {
        #expect(try confirm([[]], on: short).count == 1)
        #expect(try confirm([[1], [2]], on: short).count == 2)
    }

    @Test("where snapshots last, one run decides")
    func lasting() throws {
        let (found, count) = try confirm([[1, 2]], on: MemoryStore())
        #expect(found == [1, 2])
        #expect(count == 1)
    }
}
