// LevelDB's side of an opened store: the store itself, its files, holders, scratch directories, repair. This is the
// only file of the tool that imports StratusLevelDB.

import CStratusSystem
import FoundationEssentials
import StratusKit
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore

/// An open engine with the record layer above it.
final class StoreFiles {
    /// Smaller than a server's cache, because a verb runs only for seconds.
    private static let ancestorCacheByteCount = 32 << 20
    /// For uncompressed blocks, and for records that are read again.
    static let cacheByteCount = 24 << 20
    /// For writes, and the same again for the names of new zones.
    static let writeBufferByteCount = 8 << 20

    private static var options: LevelDBOptions {
        var options = LevelDBOptions(formatVersion: StoreFormat.number)
        options.keptByteCount = cacheByteCount / 4
        options.blockCacheByteCount = cacheByteCount - options.keptByteCount
        options.writeBufferByteCount = writeBufferByteCount
        options.freshByteCount = writeBufferByteCount
        return options
    }

    let engine: RecordEngine
    private let store: LevelDBStore

    private init(_ store: LevelDBStore, _ engine: RecordEngine) {
        self.store = store
        self.engine = engine
    }

    /// The files of an engine that `Stratus` has opened.
    init(ofOpen engine: RecordEngine, path: String) throws {
        guard let store = engine.store as? LevelDBStore else {
            throw ToolError(.refused, "The store is not a LevelDB store: the tool cannot use it.", ["path": path])
        }
        self.store = store
        self.engine = engine
    }

    /// Opens the store at `path` with the engine only. Opened for reading, it refuses transactions. `olderFormat` says
    /// what to do with a store of an older format.
    ///
    /// Throws the store's errors: `held`, `notAStore`, `newerFormat`, `notPermitted`, `diskFull`, `corruption`.
    static func open(_ path: String, isReading: Bool, olderFormat: OlderFormat) throws -> StoreFiles {
        var options = options
        options.createIfMissing = false
        options.opensOlderFormats = olderFormat != .refused
        let store = try LevelDBStore.open(at: path, options: options)
        do {
            let reading = ReadingStore(store)
            let engine = try engine(on: isReading ? reading : store, olderFormat)
            reading.seal()
            return StoreFiles(store, engine)
        } catch {
            store.close()
            throw error
        }
    }

    /// Opens the store at `path` for the copier, or creates it: it may be an unfinished copy. One that is resumed may
    /// have an older format; `adoptFormat` gives it this software's.
    ///
    /// Throws the store's errors.
    static func openTarget(
        _ path: String, resuming: Bool
    ) throws -> (store: any OrderedStore, adoptFormat: () throws -> Void) {
        var options = options
        options.opensOlderFormats = resuming
        let store = try LevelDBStore.open(at: path, options: options)
        return (store, { try store.adoptFormat() })
    }

    private static func engine(on store: any OrderedStore, _ olderFormat: OlderFormat) throws -> RecordEngine {
        var options = RecordEngineOptions()
        options.olderFormat = olderFormat
        options.ancestorCacheByteCount = ancestorCacheByteCount
        return try RecordEngine(store: store, options: options, incarnation: UUID.drawn())
    }

    func close() { store.close() }

    /// The last commit, if opening dropped it: a crash cut it off before it was acknowledged.
    var droppedCommit: [String: String]? { store.droppedCommit?.fields }

    // MARK: Other processes

    /// A process that has a store open.
    typealias Holder = (processID: Int32, command: String)

    /// The other process that has the store open. Locks nothing.
    static func holder(of path: String) throws -> Holder? {
        try LevelDBStore.holder(ofStoreAt: path).map { ($0.processID, $0.command) }
    }

    /// The format of the store at `path`; nil if there is no store.
    static func format(of path: String) throws -> Int? { try LevelDBStore.formatVersion(ofStoreAt: path) }

    /// The error for a store that no host serves. `message` is used if no process has the store open.
    static func notServed(_ path: String, _ message: String) throws -> ToolError {
        guard let holder = try holder(of: path) else { return ToolError(.refused, message, ["path": path]) }
        return ToolError(
            .refused, "The process that has the store serves no socket: its host must set Stratus.Options.servesTool.",
            ["path": path, "holderProcessID": "\(holder.processID)", "holderCommand": holder.command])
    }

    /// Finishes emptying a store, if a killed process has begun it. Returns whether there was anything to do.
    static func finishEmptying(_ path: String) throws -> Bool {
        // Opening the store reports a marker that cannot be read.
        guard (try? LevelDBStore.isBeingEmptied(path)) == true else { return false }
        var options = options
        options.opensOlderFormats = true
        try LevelDBStore.open(at: path, options: options).close()
        return true
    }

    /// Removes the unfinished copies of killed processes from a folder. Returns their paths.
    static func sweepUnfinishedCopies(in folder: String) -> [String] {
        LevelDBStore.sweepUnfinishedCopies(in: folder)
    }

    /// Whether the creation of a store began and has not ended.
    static func isBegun(_ path: String) -> Bool { LevelDBStore.isBegun(path) }

    /// Removes a store that this process has created, unless another process has opened it. Pass the path that created
    /// it: resolving it in another way could lead to another store. Returns whether nothing of it is left.
    @discardableResult
    static func removeMade(_ path: String) -> Bool {
        (try? Disk.facts(of: path)) == nil || LevelDBStore.removeMade(path)
    }

    /// Copies LevelDB's files of a store, which another process may have open and write, into an empty directory.
    /// Returns how many tables could not be linked. `progress` gets the number of finished tables, and of all.
    static func copyToRead(
        _ source: String, into directory: String, progress: (_ done: Int, _ total: Int) -> Void
    ) throws -> Int {
        try LevelDBStore.copyToRead(source, into: directory, formatVersion: StoreFormat.number, progress: progress)
            .copiedTableCount
    }

    /// A temporary directory. If the process is killed, the next verb removes it.
    struct Scratch: Sendable {
        /// The use of the directory, which is the prefix of its name.
        enum Purpose: String, CaseIterable {
            case reading = "stratus-reading-"
            case importing = "stratus-importing-"
            case measuring = "stratus-measuring-"
        }

        private let directory: PrivateDirectory

        private init(_ directory: PrivateDirectory) { self.directory = directory }

        /// Creates a directory. A signal that ends the process removes it.
        ///
        /// Throws if it cannot be created in `folder`.
        static func make(in folder: String, for purpose: Purpose) throws -> Scratch {
            try StopSignal.making {
                let scratch = Scratch(try PrivateDirectory.make(in: folder, prefix: purpose.rawValue))
                StopSignal.beforeEnd { scratch.remove() }
                return scratch
            }
        }

        var path: String { directory.path }

        func remove() { directory.remove() }

        /// Removes the directories of dead processes.
        static func sweep(_ folder: String) {
            for purpose in Purpose.allCases { PrivateDirectory.sweep(folder, prefix: purpose.rawValue) }
        }
    }

    // MARK: Files

    /// The numbers and sizes of LevelDB's tables, level 0 first, and the size of its memory.
    func figures() throws -> (filesByLevel: [Int], bytesByLevel: [Int], memoryByteCount: Int) {
        let figures = try store.figures()
        let levelCount = figures.filesByLevel.count
        let bytesByLevel = Self.bytesByLevel(figures.tableListText, levelCount: levelCount)
        return (figures.filesByLevel, bytesByLevel, figures.memoryByteCount)
    }

    /// Adds up the sizes in LevelDB's list of tables: "--- level 1 ---" and, for each table, " number:bytes[keys".
    static func bytesByLevel(_ list: String, levelCount: Int) -> [Int] {
        var sums = [Int](repeating: 0, count: levelCount)
        var level = 0
        for line in list.utf8.split(separator: UInt8(ascii: "\n")) {
            if line.starts(with: "--- level ".utf8) {
                level = Int(Substring(line.dropFirst(10).prefix { $0 != UInt8(ascii: " ") })) ?? levelCount
                continue
            }
            let size = line.drop { $0 != UInt8(ascii: ":") }.dropFirst().prefix { $0 != UInt8(ascii: "[") }
            if sums.indices.contains(level) { sums[level] += Int(Substring(size)) ?? 0 }
        }
        return sums
    }

    /// The approximate size of a range in files, without data still in memory.
    func approximateByteCount(of range: KeyRange) throws -> Int { try store.approximateByteCount(of: range) }

    /// Removes deleted entries from the files, slice by slice. Before each slice and after the last, `progress` gets
    /// the number of processed bytes, and of all; if it throws, compaction stops.
    ///
    /// Throws the error of LevelDB's background work: `corruption` names the damaged place.
    func compact(
        sliceByteCount: Int = LevelDBStore.compactionByteCount, progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> (before: Int, after: Int) {
        try Self.namingKeys { try store.compact(.everything, sliceByteCount: sliceByteCount, progress: progress) }
    }

    /// Checks every entry and log against its checksum. Returns the number of entries, and each damage. `progress` gets
    /// the approximate number of bytes read, and of all.
    func verifyChecksums(progress: (Int, Int) -> Void) throws -> (entryCount: Int, damages: [StoreError]) {
        let report = try Self.namingKeys { try store.verifyChecksums(progress: progress) }
        return (report.entryCount, report.damages.map { $0.describingKeys })
    }

    /// Runs calls that bypass the record layer. Their errors name keyspaces and keys as that layer does.
    private static func namingKeys<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            throw error.describingKeys
        }
    }

    /// Zones of a salvaged store whose indexes could not be rebuilt, with the reason.
    typealias Unmended = [(zone: ZoneID, error: StoreError)]

    /// Gets the part of a repair in words that follow the verb, how much of it is done, and the total: 0 if it is
    /// unknown, nil if there are no updates until the part is done.
    typealias RepairListener = (_ part: String, _ done: Int, _ total: Int?) -> Void

    /// Creates a new store from the readable parts of a damaged one, which stays unchanged. Its zones get new
    /// incarnations and new indexes.
    static func repairLosingDamagedData(
        of source: String, to destination: String, progress: @escaping RepairListener
    ) throws -> Unmended {
        var unmended: Unmended = []
        try namingKeys {
            try LevelDBStore.repairLosingDamagedData(
                ofStoreAt: source, to: destination, options: options,
                prepare: { unmended = try renewed($0, progress) },
                progress: {
                    switch $0 {
                    case .copying(let done, let total): progress("(copying files)", done, total)
                    case .salvaging: progress("the copied files (LevelDB reports no progress)", 0, nil)
                    case .syncing(let done, let total): progress("(writing files to the disk)", done, total)
                    }
                }, making: { try StopSignal.making($0) })
        }
        return unmended
    }

    /// How many zone names are in memory at a time.
    private static let zonesAtOnce = 1_000

    /// Rebuilds the indexes of a salvaged store. Returns the zones where that failed.
    private static func renewed(_ store: LevelDBStore, _ progress: @escaping RepairListener) throws -> Unmended {
        let engine = try engine(on: store, .migrated)
        // Each zone gets its incarnation when it is rebuilt, so that a lost header does not affect the other zones.
        try engine.renewOwnIncarnation(to: UUID.drawn())
        let counts = try engine.read { try $0.placeAndRecordCount() }
        let meter = ZoneMeter(WorkMeter(total: counts.zones + counts.records) { progress("indexes", $0, $1) })
        var unmended: Unmended = []
        var last: ZoneID?
        repeat {
            let page = try engine.read { try $0.zones(after: last, limit: zonesAtOnce) }
            for zone in page {
                meter.beginRebuild(recordCount: try engine.read { try $0.existingZone(zone).recordBound() })
                do {
                    try engine.rebuild(zone, incarnation: UUID.drawn(), progress: meter.update)
                } catch let error as StoreError {
                    unmended.append((zone, error))
                }
                meter.end()
            }
            last = page.last
        } while last != nil
        return unmended
    }
}

/// Unfinished copies of stores, which a signal removes. Files are removed by `DraftFile`.
///
/// Invariants:
///   1. A copy that has its final name, or is complete, is never removed. A directory is renamed before anything in it
///      is removed; the renaming fails if the verb was faster, and a verb that still writes finds the whole directory
///      gone.
///   2. A removed directory is not created again before the process ends: verbs create such directories only inside
///      `StopSignal.making`, and LevelDB creates no directories.
///   3. If the process is killed meanwhile, the remaining name is one that the next verb recognises as an unfinished
///      copy.
extension StoreFiles {
    private static let removalAttemptCount = 50

    /// Removes unfinished copies of this process before a signal ends it. They are called
    /// "<destination>.incomplete-<process>-<number>". Writes a note if it removes one.
    static func removeUnfinishedCopiesAtEnd(of destination: String) {
        let place = URL(fileURLWithPath: AbsolutePath.of(destination)).standardizedFileURL
        let folder = place.deletingLastPathComponent().path
        let prefix = "\(place.lastPathComponent).incomplete-\(ProcessInfo.processInfo.processIdentifier)-"
        StopSignal.beforeEnd {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            var isRemoved = false
            for name in names where name.hasPrefix(prefix) && !name.hasSuffix(LevelDBStore.takenCopySuffix) {
                if removeUnfinishedCopy("\(folder)/\(name)") { isRemoved = true }
            }
            if isRemoved { StopSignal.noteRemoval(of: destination) }
        }
    }

    /// Returns whether the copy existed and is gone.
    private static func removeUnfinishedCopy(_ path: String) -> Bool {
        let aside = path + LevelDBStore.takenCopySuffix
        let (from, to) = (Array(path.utf8), Array(aside.utf8))
        guard cfiletree_rename(from.span, to.span) == 0 else { return false }
        for _ in 0..<removalAttemptCount {
            if LevelDBStore.removeUnfinishedCopy(aside) { return true }
            // The verb may have been creating a file when the directory was renamed.
            Blocking.pause()
        }
        return false
    }
}
