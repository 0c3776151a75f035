// What one does to a store besides reading and writing it: look at its figures, compact, check.
//
// Unsafe: the iterator's key is looked at only while the iterator stands still.

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

/// What reading a whole store has shown.
package struct LevelDBChecksumReport: Sendable {
    package var entryCount = 0
    /// One `.corruption` for each damaged stretch of keys or log file, naming the candidate files.
    package var damages: [StoreError] = []
}

extension LevelDBStore {
    /// LevelDB's levels.
    private static let levelCount = 7
    /// From this many files in level 0 on, LevelDB is near the point where it slows writers down (eight files).
    private static let pressureFileCount = 6

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

    /// About how many bytes of files the range takes; what is still in memory is not counted. Throws `.closed`.
    package func approximateByteCount(of range: KeyRange) throws -> Int {
        try withDatabase { $0.approximateByteCount(from: range.lower, upTo: range.upper) }
    }

    /// Rewrites the tables that hold the range, which gives the room of deleted entries back. Others read and write
    /// meanwhile.
    ///
    /// Throws `.closed`, `.unavailable` when a write has failed before, and what has failed LevelDB's background work, with
    /// `.corruption` naming where damage lies. The store then takes no more transactions.
    package func compact(_ range: KeyRange) throws {
        gate.dropIdleIterators()
        // LevelDB does not know of every write that has failed, and would rewrite tables all the same.
        try lane.checkMayWrite()
        try withDatabase { $0.compact(from: range.lower, upTo: range.upper) }
        guard let error = try lane.backgroundError() else { return }
        // LevelDB names no place, and what stopped it may lie outside of the range.
        if error.isCorruption, let damage = try? verifyChecksums().damages.first { throw damage }
        throw CorruptionCandidates.error(error, in: path, range)
    }

    /// Slices of a range of which each takes about `byteCount` bytes of tables, to be compacted one after another. What is
    /// still in memory is in them and not counted. Throws what keeps the list of tables from being read.
    package func compactionSlices(of range: KeyRange, byteCount: Int) throws -> [CompactionSlice] {
        CompactionSlice.slices(range, of: try tables(), byteCount: byteCount)
    }

    /// So much is compacted at once: a second's work of a slow disk.
    package static let compactionByteCount = 16 << 20

    /// Compacts a range slice by slice. `progress` is told before each slice and behind the last one how many bytes of tables
    /// were looked at, and of how many; where it throws nothing more is done, and what is done stays. Returns about how many
    /// bytes of files the range took before, and takes after.
    ///
    /// Throws what compacting at once throws, and what `progress` does.
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

    /// Reads every entry of every table and every live log against its checksum, without filling the cache, and goes on
    /// behind damage, which is told by the keys on both sides of it. `progress` is told now and then about how many bytes
    /// of tables lie before what is being read, and how many there are. Throws what is not corruption.
    package func verifyChecksums(
        progress: (_ byteCount: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> LevelDBChecksumReport {
        try withDatabase { database in
            let snapshot = EngineSnapshot(database, fillsCache: false)
            defer { snapshot.destroy() }
            var reader = ChecksumReader(snapshot, tableStarts: try tableStarts())
            let total = database.approximateByteCount(from: [], upTo: ChecksumReader.end)
            // Others may write meanwhile: tables become more, or fewer.
            try reader.read { progress(min(total, database.approximateByteCount(from: [], upTo: $0)), total) }
            var report = LevelDBChecksumReport()
            report.entryCount = reader.entryCount
            report.damages = reader.damages.map { CorruptionCandidates.error($0.error, in: path, $0.range) }
            for file in CorruptionCandidates.damagedLogs(in: path) {
                report.damages.append(
                    StoreError(
                        .corruption,
                        "A log of the store is damaged: restore a backup, or run 'stratus repair-losing-damaged-data'.",
                        ["path": path, "candidateFiles": file]))
            }
            return report
        }
    }

    // MARK: Helpers

    /// Lends the database to work that `close` waits for.
    private func withDatabase<Result>(_ body: (EngineDatabase) throws -> Result) throws -> Result {
        let reader = try gate.enter()
        defer { gate.leave(reader) }
        return try body(database)
    }

    private static func fileCount(_ database: EngineDatabase, level: Int) -> Int {
        Int(database.property("leveldb.num-files-at-level\(level)") ?? "") ?? 0
    }

    /// The first keys of all tables, in order.
    private func tableStarts() throws -> [[UInt8]] {
        Set(try tables().map(\.smallestKey)).sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// All tables; none where the list is damaged.
    private func tables() throws -> [ManifestTable] {
        let source = try Manifest.read(in: path)
        return Manifest(source.manifest).map { Array($0.tables.values) } ?? []
    }
}

// A store's keys in slices that take about the same room, so that long work on all of them can tell how far it has come and
// stop between two.

/// Keys that lie together, and the bytes of the tables that begin among them.
package struct CompactionSlice: Hashable, Sendable {
    package var range: KeyRange
    package var byteCount: Int

    /// Slices that cover `range` without gaps, each of `byteCount` or a table more. Where there are no tables it is one.
    ///
    /// They begin where tables begin, so that few tables lie in two of them.
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

// Reads all entries, past whatever is damaged, and tells between which keys the damage lies.
//
// LevelDB passes over a block that it cannot read, and its iterator remembers the first error for ever. So an iterator
// is asked at every step, and behind the damage a new one goes on. A new one may meet the same damage at once: when a
// table cannot be opened at all, or when entries of another level lie among the damaged ones. Then the next keys are
// tried, and after too many of them the stretch counts as damaged up to where the next table begins.
//
// Unsafe: a key is copied out of LevelDB's memory, which stays as it is because its iterator stands still meanwhile.

struct ChecksumReader {
    /// So many keys are tried behind a damage.
    private static let maximumTryCount = 1_000
    /// Entries between two calls of `progress`.
    private static let progressEntryCount = 10_000
    /// Behind every key.
    static let end = [UInt8](repeating: 0xFF, count: StoreLimits.maximumKeyByteCount + 1)

    private(set) var entryCount = 0
    private(set) var damages: [(error: EngineError, range: KeyRange)] = []
    private let snapshot: EngineSnapshot
    /// In order.
    private let tableStarts: [[UInt8]]

    init(_ snapshot: EngineSnapshot, tableStarts: [[UInt8]]) {
        self.snapshot = snapshot
        self.tableStarts = tableStarts
    }

    /// Reads everything. `progress` is told now and then up to which key. Throws what is not corruption.
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

    /// Counts entries up to the first error. Returns it with the lowest key that it may have swallowed.
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

    /// Where reading can go on, from where an iterator stands that has met damage; nil when nothing is left.
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
