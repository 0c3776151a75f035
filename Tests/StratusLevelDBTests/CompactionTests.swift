// Compacting a store in slices of its keys, and the progress of a walk over all of them.

import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

@Suite struct CompactionTests {
    private static let everything = KeyRange(from: [], upTo: [0xFF])
    private static let valueByteCount = 1_000
    /// LevelDB's smallest table.
    private static let sliceByteCount = 1 << 20

    /// A store with some tables; half of their contents was overwritten, and half of the rest deleted.
    ///
    /// If it is settled, LevelDB has no background work left: its tables stay as they are until a compaction, and the
    /// overwrites and deletions are in memory.
    private static func make(at path: String, settled: Bool = false) throws -> LevelDBStore {
        var options = LevelDBOptions()
        options.compression = .none
        options.syncsCommits = false
        options.writeBufferByteCount = 256 << 10
        options.fileByteCount = sliceByteCount
        var store = try LevelDBStore.open(at: path, options: options)
        for generation in 0..<2 {
            if generation == 1, settled {
                try store.compact(everything)
                store.close()
                options.writeBufferByteCount = 4 << 20
                store = try LevelDBStore.open(at: path, options: options)
            }
            for first in stride(from: 0, to: 6_000, by: 200) {
                try store.transact { transaction in
                    for number in first..<first + 200 {
                        let value = [UInt8](repeating: UInt8(generation), count: valueByteCount)
                        if generation == 0 || number % 4 == 0 {
                            try transaction.set([UInt8](number: number), to: value)
                        } else if number % 4 == 1 {
                            try transaction.delete([UInt8](number: number))
                        }
                    }
                }
            }
        }
        return store
    }

    private static func sum(of store: LevelDBStore) throws -> (count: Int, newCount: Int) {
        var (count, newCount) = (0, 0)
        try store.read { reader in
            try reader.scan(everything) { _, value in
                count += 1
                newCount += value[0] == 1 ? 1 : 0
                return .next
            }
        }
        return (count, newCount)
    }

    @Test("slices are adjacent, cover everything, and count every table once")
    func slices() async throws {
        try await TestThreads.offPool {
            let directory = try TemporaryDirectory()
            let store = try Self.make(at: directory.path(of: "store"))
            defer { store.close() }
            try store.compact(Self.everything)
            let slices = try store.compactionSlices(of: Self.everything, byteCount: Self.sliceByteCount)
            #expect(slices.count > 2)
            #expect(slices.first?.range.lower == Self.everything.lower)
            #expect(slices.last?.range.upper == Self.everything.upper)
            for (one, next) in zip(slices, slices.dropFirst()) {
                #expect(one.range.upper == next.range.lower)
                #expect(one.range.lower.lexicographicallyPrecedes(one.range.upper))
                #expect(one.byteCount >= Self.sliceByteCount)
            }
            let sizes = slices.reduce(0) { $0 + $1.byteCount }
            let byteCount = try store.approximateByteCount(of: Self.everything)
            #expect(abs(sizes - byteCount) * 20 < byteCount, "\(sizes), \(byteCount)")
            // One slice is enough for a store that is not larger, or is empty.
            let one = try store.compactionSlices(of: Self.everything, byteCount: sizes)
            #expect(one.map(\.range) == [Self.everything])
            #expect(one.map(\.byteCount) == [sizes])
            let empty = try LevelDBStore.open(at: directory.path(of: "empty"), options: LevelDBOptions())
            defer { empty.close() }
            let none = try empty.compactionSlices(of: Self.everything, byteCount: 1)
            #expect(none.map(\.range) == [Self.everything])
            #expect(none.map(\.byteCount) == [0])
        }
    }

    @Test("compacting in slices frees as much space as at once, and nothing is lost")
    func sameAsAtOnce() async throws {
        try await TestThreads.offPool {
            let directory = try TemporaryDirectory()
            let (whole, sliced) = (
                try Self.make(at: directory.path(of: "whole")), try Self.make(at: directory.path(of: "sliced"))
            )
            defer {
                whole.close()
                sliced.close()
            }
            let expected = try Self.sum(of: whole)
            #expect(expected == (4_500, 1_500))
            try whole.compact(Self.everything)
            let slices = try sliced.compactionSlices(of: Self.everything, byteCount: Self.sliceByteCount)
            #expect(slices.count > 2)
            for slice in slices { try sliced.compact(slice.range) }
            #expect(try Self.sum(of: sliced) == expected)
            let byteCount = try whole.approximateByteCount(of: Self.everything)
            let slicedByteCount = try sliced.approximateByteCount(of: Self.everything)
            // The remaining data, and little more.
            #expect(byteCount < 4_500 * Self.valueByteCount * 11 / 10)
            #expect(abs(slicedByteCount - byteCount) * 20 < byteCount, "\(slicedByteCount), \(byteCount)")
        }
    }

    @Test("compacting in slices reports every slice and the end, and stops at an error")
    func sliceProgress() async throws {
        struct Stopped: Error {}
        try await TestThreads.offPool {
            let directory = try TemporaryDirectory()
            let store = try Self.make(at: directory.path(of: "store"), settled: true)
            defer { store.close() }
            let before = try store.approximateByteCount(of: Self.everything)
            #expect(throws: Stopped.self) {
                _ = try store.compact(Self.everything, sliceByteCount: Self.sliceByteCount) { _, _ in throw Stopped() }
            }
            #expect(try store.approximateByteCount(of: Self.everything) == before)
            let slices = try store.compactionSlices(of: Self.everything, byteCount: Self.sliceByteCount)
            var (told, totals): ([Int], Set<Int>) = ([], [])
            let sizes = try store.compact(Self.everything, sliceByteCount: Self.sliceByteCount) { done, total in
                told.append(done)
                totals.insert(total)
            }
            let sums = slices.reduce(into: [0]) { sums, slice in sums.append((sums.last ?? 0) + slice.byteCount) }
            #expect(told == sums, "\(told) of \(totals)")
            #expect(totals == Set(sums.suffix(1)), "\(told) of \(totals)")
            #expect(told.count > 3, "\(told) of \(totals)")
            #expect(sizes.before == before)
            #expect(try sizes.after == store.approximateByteCount(of: Self.everything))
            #expect(sizes.after < before)
        }
    }

    @Test("verifying all checksums reports how many bytes of the tables are done")
    func checksumProgress() async throws {
        try await TestThreads.offPool {
            let directory = try TemporaryDirectory()
            var options = LevelDBOptions()
            options.compression = .none
            options.writeBufferByteCount = 256 << 10
            let store = try LevelDBStore.open(at: directory.path(of: "store"), options: options)
            defer { store.close() }
            for first in stride(from: 0, to: 50_000, by: 5_000) {
                try store.transact { transaction in
                    for number in first..<first + 5_000 {
                        try transaction.set([UInt8](number: number), to: [UInt8](repeating: 7, count: 50))
                    }
                }
            }
            try store.compact(Self.everything)
            let byteCount = try store.approximateByteCount(of: Self.everything)
            var told: [Int] = []
            let report = try store.verifyChecksums { done, total in
                #expect(total == byteCount)
                told.append(done)
            }
            #expect(report.entryCount == 50_000)
            #expect(report.damages.isEmpty)
            #expect(told.count == 6, "\(told)")
            #expect(told.last == byteCount, "\(told)")
            for (index, done) in told.prefix(4).enumerated() {
                #expect(abs(done - byteCount * (index + 1) / 5) * 20 < byteCount, "\(told) of \(byteCount)")
            }
        }
    }
}
