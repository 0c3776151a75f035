// What one does to a store besides reading and writing it: look at its figures, compact, check, repair.
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
    /// meanwhile. Throws `.closed`. LevelDB does not say here what damage it met on the way: the next transaction fails
    /// with it.
    package func compact(_ range: KeyRange) throws {
        try withDatabase { $0.compact(from: range.lower, upTo: range.upper) }
    }

    /// Reads every entry of every table and every live log against its checksum, without filling the cache, and goes on
    /// behind damage. `progress` gets the entries read so far, now and then. Throws what is not corruption.
    package func verifyChecksums(progress: (_ entryCount: Int) -> Void = { _ in }) throws -> LevelDBChecksumReport {
        try withDatabase { database in
            let snapshot = EngineSnapshot(database, fillsCache: false)
            defer { snapshot.destroy() }
            var report = LevelDBChecksumReport()
            for segment in try segments() {
                do {
                    report.entryCount += try Self.entryCount(snapshot, segment)
                } catch let error as EngineError {
                    let damage = CorruptionCandidates.error(error, in: path, segment)
                    guard error.isCorruption else { throw damage }
                    report.damages.append(damage)
                }
                progress(report.entryCount)
            }
            for file in CorruptionCandidates.damagedLogs(in: path) {
                report.damages.append(
                    StoreError(
                        .corruption, "A log of the store is damaged: restore a backup, or repair the store.",
                        ["path": path, "candidateFiles": file]))
            }
            return report
        }
    }

    /// Salvages what LevelDB can read of a store that does not open, and **drops what it cannot read, silently**. Old
    /// versions of values may come back. Take a copy of the directory first; verify and rebuild everything afterwards.
    ///
    /// Throws `.held`, `.notAStore`, and what LevelDB says.
    package static func repairLosingDamagedData(at path: String, options: LevelDBOptions = LevelDBOptions()) throws {
        let directory = try StoreDirectory.claimDamaged(path, formatVersion: options.formatVersion)
        defer { directory.release() }
        let engineOptions = EngineOptions(options, createIfMissing: false)
        do {
            try EngineDatabase.repair(path: path, options: engineOptions)
        } catch {
            throw error.storeError(["path": path])
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

    /// The whole of all keys, cut where tables begin, so that damage can be told to lie in one stretch or another.
    private func segments() throws -> [KeyRange] {
        let source = try Manifest.read(in: path)
        let tables = Manifest(source.manifest)?.tables.values.map(\.smallestKey) ?? []
        let end = [UInt8](repeating: 0xFF, count: StoreLimits.maximumKeyByteCount + 1)
        let cuts = Set(tables + [[]]).sorted { $0.lexicographicallyPrecedes($1) } + [end]
        return zip(cuts, cuts.dropFirst()).map { KeyRange(from: $0, upTo: $1) }
    }

    private static func entryCount(_ snapshot: EngineSnapshot, _ range: KeyRange) throws(EngineError) -> Int {
        let iterator = snapshot.makeIterator()
        defer { iterator.destroy() }
        var count = 0
        iterator.seek(range.lower)
        unsafe range.upper.withEngineBytes { upper in
            while iterator.isValid, unsafe iterator.key.compare(upper) < 0 {
                count += 1
                iterator.moveForward()
            }
        }
        try iterator.check()
        return count
    }
}
