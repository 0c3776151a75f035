// Maintenance of a store: its figures, compaction, verification of checksums.
//
// Unsafe: a key is copied out of LevelDB's memory while its iterator is not moved.

package import StratusStore

/// LevelDB's own figures of an open store.
package struct LevelDBFigures: Sendable {
    /// Table files by level, level 0 first.
    package var filesByLevel: [Int]
    /// Bytes of memory in caches and memory tables.
    package var memoryByteCount: Int
    /// LevelDB's table of sizes, compactions and times, for people.
    package var statisticsText: String
    /// LevelDB's list of table files with their key ranges, for people.
    package var tableListText: String
}

/// The result of reading a whole store.
package struct LevelDBChecksumReport: Sendable {
    package var entryCount = 0
    /// One `.corruption` for each damaged range of keys or log file, naming the candidate files.
    package var damages: [StoreError] = []
}

extension LevelDBStore {
    /// LevelDB's levels.
    private static let levelCount = 7
    /// With this many files in level 0, LevelDB is near the point where it slows writers down (eight files).
    private static let pressureFileCount = 6
    /// With this many, it compacts them.
    static let compactedFileCount = 4

    package var isUnderWritePressure: Bool {
        (try? withDatabase { Self.fileCount($0, level: 0) >= Self.pressureFileCount }) ?? false
    }

    /// Throws `.closed`.
    package func figures() throws -> LevelDBFigures {
        try withDatabase { database in
            LevelDBFigures(
                filesByLevel: (0..<Self.levelCount).map { Self.fileCount(database, level: $0) },
                memoryByteCount: Int(database.property("leveldb.approximate-memory-usage") ?? "") ?? 0,
                statisticsText: database.property("leveldb.stats") ?? "",
                tableListText: database.property("leveldb.sstables") ?? "")
        }
    }

    /// The approximate number of bytes of files for the range, without data still in memory. Throws `.closed`.
    package func approximateByteCount(of range: KeyRange) throws -> Int {
        try withDatabase { $0.approximateByteCount(of: range) }
    }

    /// Rewrites the tables that hold the range, which frees the room of deleted entries. Other threads may read and
    /// write meanwhile.
    ///
    /// Throws `.closed`, `.unavailable` if a write has failed before, and the error of LevelDB's background work, with
    /// `.corruption` naming the damaged files. The store then accepts no transactions.
    package func compact(_ range: KeyRange) throws {
        gate.dropIdleIterators()
        // LevelDB does not know of every failed write, and would rewrite tables anyway.
        try lane.checkMayWrite()
        try withDatabase { $0.compact(range) }
        guard let error = try lane.backgroundError() else { return }
        // LevelDB names no file, and the damage may be outside the range.
        if error.isCorruption, let damage = try? verifyChecksums().damages.first { throw damage }
        throw CorruptionCandidates.error(error, in: path, range)
    }

    /// Slices of a range with about `byteCount` bytes of tables each, to compact one after another. Data in memory
    /// belongs to them but is not counted. Throws the error of reading the list of tables.
    package func compactionSlices(of range: KeyRange, byteCount: Int) throws -> [CompactionSlice] {
        CompactionSlice.slices(range, of: try tables(), byteCount: byteCount)
    }

    /// The bytes of one compaction: a second's work for a slow disk.
    package static let compactionByteCount = 16 << 20

    /// Compacts a range slice by slice. `progress` gets the bytes of tables that are done, and of all, before each
    /// slice and after the last one. If it throws, compaction stops and finished slices stay compacted. Returns the
    /// approximate number of bytes of files for the range, before and after.
    ///
    /// Throws as `compact(_:)`, and what `progress` throws.
    package func compact(
        _ range: KeyRange, sliceByteCount: Int = compactionByteCount,
        progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> (before: Int, after: Int) {
        let before = try approximateByteCount(of: range)
        let slices = try compactionSlices(of: range, byteCount: sliceByteCount)
        let total = slices.reduce(0) { $0 + $1.byteCount }
        var done = 0
        for slice in slices {
            try progress(done, total)
            try compact(slice.range)
            done += slice.byteCount
        }
        try progress(done, total)
        return (before, try approximateByteCount(of: range))
    }

    /// Reads every entry of every table and every live log and verifies its checksum, without filling the cache.
    /// Continues behind damage and reports it by the keys on both sides. `progress` now and then gets the approximate
    /// number of bytes of tables read, and of all. Throws errors other than corruption.
    package func verifyChecksums(
        progress: (_ byteCount: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> LevelDBChecksumReport {
        try withDatabase { database in
            let snapshot = EngineSnapshot(database, fillsCache: false)
            defer { snapshot.destroy() }
            let tableStarts = Set(try tables().map(\.smallestKey)).sorted { $0.lexicographicallyPrecedes($1) }
            var reader = ChecksumReader(snapshot: snapshot, tableStarts: tableStarts)
            let total = database.approximateByteCount(of: .everything)
            // The number of tables may change meanwhile.
            try reader.read { key in
                progress(min(total, database.approximateByteCount(of: KeyRange(from: [], upTo: key))), total)
            }
            var report = LevelDBChecksumReport()
            report.entryCount = reader.entryCount
            report.damages = reader.damages.map { CorruptionCandidates.error($0.error, in: path, $0.range) }
            report.damages += CorruptionCandidates.damagedLogs(in: path).map { .damagedLog($0, of: path) }
            return report
        }
    }

    // MARK: Helpers

    /// Runs work on the database. `close` waits for it.
    private func withDatabase<Result>(_ body: (EngineDatabase) throws -> Result) throws -> Result {
        let reader = try gate.enter()
        defer { gate.leave(reader) }
        return try body(database)
    }

    static func fileCount(_ database: EngineDatabase, level: Int) -> Int {
        Int(database.property("leveldb.num-files-at-level\(level)") ?? "") ?? 0
    }

    /// All tables; none if the list is damaged.
    private func tables() throws -> [ManifestTable] {
        try Manifest.read(in: path).manifest.map { Array($0.tables.values) } ?? []
    }
}

/// A range of keys, and the bytes of the tables that begin in it. Long work on all keys runs slice by slice, so that it
/// can report progress and stop.
package struct CompactionSlice: Hashable, Sendable {
    package var range: KeyRange
    package var byteCount: Int

    /// Slices that cover `range` without gaps, each of `byteCount` or a table more. Without tables there is one slice.
    ///
    /// They begin where tables begin, so that few tables are in two of them.
    static func slices(_ range: KeyRange, of tables: [ManifestTable], byteCount: Int) -> [CompactionSlice] {
        var slices: [CompactionSlice] = []
        var slice = CompactionSlice(range: range, byteCount: 0)
        let inside = tables.filter { $0.overlaps(range.lower, through: range.upper) }
        for table in inside.sorted(by: { $0.smallestKey.lexicographicallyPrecedes($1.smallestKey) }) {
            let begin = table.smallestKey
            if slice.byteCount >= byteCount, slice.range.lower.lexicographicallyPrecedes(begin) {
                slices.append(
                    CompactionSlice(range: KeyRange(from: slice.range.lower, upTo: begin), byteCount: slice.byteCount))
                slice = CompactionSlice(range: KeyRange(from: begin, upTo: range.upper), byteCount: 0)
            }
            slice.byteCount += Int(clamping: table.byteCount)
        }
        return slices + [slice]
    }
}

// Reads all entries, continues behind damage, and reports the keys between which the damage is.
//
// LevelDB skips a block that it cannot read, and its iterator keeps the first error permanently. So the iterator is
// checked at every step, and a new one continues behind the damage. A new one may meet the same damage again: if a
// table cannot be opened at all, or if entries of another level are among the damaged ones. Then the next keys are
// tried. After too many of them, everything up to the beginning of the next table counts as damaged.

struct ChecksumReader {
    /// The keys that are tried behind damage.
    private static let maximumTryCount = 1_000
    /// Entries between two calls of `progress`.
    private static let progressEntryCount = 10_000
    /// A bound behind every key.
    static var end: [UInt8] { KeyRange.everything.upper }

    private(set) var entryCount = 0
    private(set) var damages: [(error: EngineError, range: KeyRange)] = []
    let snapshot: EngineSnapshot
    /// The first keys of tables, in order.
    let tableStarts: [[UInt8]]

    /// Reads everything. `progress` now and then gets the last key. Throws errors other than corruption.
    mutating func read(_ progress: (_ key: [UInt8]) -> Void) throws {
        var position: [UInt8]? = []
        while let start = position {
            let iterator = snapshot.makeIterator()
            defer { iterator.destroy() }
            iterator.seek(start)
            guard let (error, lower) = pass(iterator, from: start, progress) else { break }
            guard error.isCorruption else { throw error.storeError() }
            position = nextSoundKey(iterator)
            damages.append((error, KeyRange(from: lower, upTo: position ?? Self.end)))
        }
        progress(Self.end)
    }

    /// Counts entries up to the first error. Returns it with the lowest key that may be damaged.
    private mutating func pass(
        _ iterator: EngineIterator, from start: [UInt8], _ progress: ([UInt8]) -> Void
    ) -> (error: EngineError, lower: [UInt8])? {
        var last: [UInt8] = []
        var hasRead = false
        while true {
            do {
                try iterator.check()
            } catch {
                return (error, hasRead ? last + [0] : start)
            }
            guard iterator.isValid else { return nil }
            unsafe iterator.key.copy(to: &last)
            hasRead = true
            entryCount += 1
            if entryCount % Self.progressEntryCount == 0 { progress(last) }
            iterator.moveForward()
        }
    }

    /// The key at which reading can continue, after an iterator has met damage; nil if nothing is left.
    private func nextSoundKey(_ iterator: EngineIterator) -> [UInt8]? {
        var key: [UInt8] = []
        for _ in 0..<Self.maximumTryCount {
            guard iterator.isValid else { return nil }
            unsafe iterator.key.copy(to: &key)
            if isSound(key) { return key }
            iterator.moveForward()
        }
        return tableStarts.first { key.lexicographicallyPrecedes($0) }
    }

    private func isSound(_ key: [UInt8]) -> Bool {
        let iterator = snapshot.makeIterator()
        defer { iterator.destroy() }
        iterator.seek(key)
        return (try? iterator.check()) != nil
    }
}
