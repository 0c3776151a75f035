// The engine of an opened store, and its files. This is the only file of the tool that names the engine below the seam.

import FoundationEssentials
import StratusKit
import StratusLayout
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore

/// An open engine with the record layer above it.
final class StoreFiles {
    /// A verb runs for seconds and then forgets: what it may take in memory is less than a server's share.
    private static let ancestorCacheByteCount = 32 << 20
    /// For uncompressed blocks, and records that are read again.
    static let cacheByteCount = 24 << 20
    /// For what is written, and as much again for the names of new zones.
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

    /// The engine that the face has opened.
    init(ofOpen engine: RecordEngine, path: String) throws {
        guard let store = engine.store as? LevelDBStore else {
            throw ToolError(.refused, "The store is of another kind than the tool knows.", ["path": path])
        }
        self.store = store
        self.engine = engine
    }

    /// Opens the store at `path`, with the engine alone. One that is opened for reading takes no transactions. `olderFormat`
    /// says what becomes of one of an older format.
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

    private static func engine(on store: any OrderedStore, _ olderFormat: OlderFormat) throws -> RecordEngine {
        var options = RecordEngineOptions()
        options.olderFormat = olderFormat
        options.ancestorCacheByteCount = ancestorCacheByteCount
        return try RecordEngine(store: store, options: options, incarnation: UUID.drawn())
    }

    func close() { store.close() }

    /// The last commit, where it was dropped when the store was opened: it was never acknowledged, and a crash took part of it.
    var droppedCommit: [String: String]? { store.droppedCommit?.fields }

    var statistics: StoreStatistics { store.statistics }

    // MARK: Other processes

    /// A process that has a store open.
    struct Holder {
        let processID: Int32
        let command: String
    }

    /// Who else has the store open. Nothing is locked.
    static func holder(of path: String) throws -> Holder? {
        try LevelDBStore.holder(ofStoreAt: path).map { Holder(processID: $0.processID, command: $0.command) }
    }

    /// The format of the store at `path`; nil where there is none.
    static func format(of path: String) throws -> Int? { try LevelDBStore.formatVersion(ofStoreAt: path) }

    /// Why no host can be asked; `message` is for where no process has the store open.
    static func notServed(_ path: String, _ message: String) throws -> ToolError {
        guard let holder = try holder(of: path) else { return ToolError(.refused, message, ["path": path]) }
        return ToolError(
            .refused, "The process that has the store serves no socket: its host asks for one by Options.servesTool.",
            ["path": path, "holderProcessID": "\(holder.processID)", "holderCommand": holder.command])
    }

    /// Finishes the emptying of a store that a process has begun which was killed. Returns whether there was anything to do.
    static func finishEmptying(_ path: String) throws -> Bool {
        // Opening says what is wrong with a marker that cannot be read.
        guard (try? LevelDBStore.isBeingEmptied(path)) == true else { return false }
        var options = options
        options.opensOlderFormats = true
        try LevelDBStore.open(at: path, options: options).close()
        return true
    }

    /// Removes the copies of stores in a folder that processes have not finished which were killed. Returns their paths.
    static func sweepUnfinishedCopies(in folder: String) -> [String] {
        LevelDBStore.sweepUnfinishedCopies(in: folder)
    }

    /// Removes a store that this process has made and that is not to stay. One that somebody has opened stays. The path is
    /// the one that it was made by: resolving it otherwise could lead to another store.
    /// Returns whether nothing of it is left.
    @discardableResult
    static func removeMade(_ path: String) -> Bool {
        (try? Disk.facts(of: Array(path.utf8))) == nil || LevelDBStore.removeMade(path)
    }

    /// How an unfinished copy is removed.
    static let copyRemoval = UnfinishedWork.Removal(
        suffix: LevelDBStore.takenCopySuffix, remove: { LevelDBStore.removeUnfinishedCopy($0) })

    /// Copies the engine's files of a store that may be open elsewhere, and written, into an empty directory. Returns how
    /// many tables could not be shared with it. `progress` is told how many are there, and of how many.
    static func copyToRead(
        _ source: String, into directory: String, progress: (_ done: Int, _ total: Int) -> Void
    ) throws -> Int {
        try LevelDBStore.copyToRead(source, into: directory, formatVersion: StoreFormat.number, progress: progress)
            .copiedTableCount
    }

    /// A directory of this process that the next one removes where this one dies.
    struct Scratch: Sendable {
        /// What is done in it: its name begins so.
        enum Purpose: String, CaseIterable {
            case reading = "stratus-reading-"
            case importing = "stratus-importing-"
            case measuring = "stratus-measuring-"
        }

        private let directory: PrivateDirectory

        private init(_ directory: PrivateDirectory) { self.directory = directory }

        /// Makes one, which is removed before a signal ends the process, too.
        ///
        /// Throws where `folder` takes none.
        static func make(in folder: String, for purpose: Purpose) throws -> Scratch {
            try StopSignal.making {
                let scratch = Scratch(try PrivateDirectory.make(in: folder, prefix: purpose.rawValue))
                StopSignal.beforeEnd { scratch.remove() }
                return scratch
            }
        }

        var path: String { directory.path }

        func remove() { directory.remove() }

        /// Removes those of processes that have died.
        static func sweep(_ folder: String) {
            for purpose in Purpose.allCases { PrivateDirectory.sweep(folder, prefix: purpose.rawValue) }
        }
    }

    // MARK: Files

    /// LevelDB's files and memory.
    struct Figures {
        var filesByLevel: [Int]
        /// Of the tables, level 0 first.
        var bytesByLevel: [Int]
        var memoryByteCount: Int
    }

    func figures() throws -> Figures {
        let figures = try store.figures()
        return Figures(
            filesByLevel: figures.filesByLevel,
            bytesByLevel: Self.bytesByLevel(figures.tableListText, levelCount: figures.filesByLevel.count),
            memoryByteCount: figures.memoryByteCount)
    }

    /// Sums up LevelDB's list of tables: "--- level 1 ---" and, for each table, " number:bytes[keys".
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

    /// About how many bytes of files a range takes; what is still in memory is not counted.
    func approximateByteCount(of range: KeyRange) throws -> Int { try store.approximateByteCount(of: range) }

    /// Gives the room of deleted entries back, slice by slice of the keys. `progress` is told before each slice and behind
    /// the last one how many bytes of files were looked at, and of how many; where it throws nothing more is done.
    ///
    /// Throws what has failed the engine's background work: `corruption` names where damage lies.
    func compact(
        sliceByteCount: Int = LevelDBStore.compactionByteCount, progress: (_ done: Int, _ total: Int) throws -> Void
    ) throws -> (before: Int, after: Int) {
        try Self.namingKeys { try store.compact(.everything, sliceByteCount: sliceByteCount, progress: progress) }
    }

    /// Reads every entry and log against its checksum. Returns how many entries there are, and each damage. `progress` is
    /// told about how many bytes of files were read, and of how many.
    func verifyChecksums(progress: (Int, Int) -> Void) throws -> (entryCount: Int, damages: [RecordsError]) {
        let report = try Self.namingKeys { try store.verifyChecksums(progress: progress) }
        return (report.entryCount, report.damages.map { RecordsError(wrapping: $0) })
    }

    /// Runs what goes past the record layer; errors name keyspaces and keys as that layer's do.
    private static func namingKeys<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            throw RecordsError(wrapping: error)
        }
    }

    /// What is not mended in a store that was salvaged: zones whose indexes could not be made anew, with the reason.
    typealias Unmended = [(zone: ZoneID, error: RecordsError)]

    /// What is told of a repair: what is done, in words that follow the verb, how much of it, and of how much; 0 where that is
    /// not known, and nil where nothing more is told until it is done.
    typealias RepairListener = (_ part: String, _ done: Int, _ total: Int?) -> Void

    /// Makes a new store of what can be read of a damaged one, which is left as it is. Its zones get new incarnations and
    /// their indexes are made anew.
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
                    case .salvaging: progress("what was copied, of which LevelDB tells nothing", 0, nil)
                    case .syncing(let done, let total): progress("(writing files to the disk)", done, total)
                    }
                }, making: { try StopSignal.making($0) })
        }
        return unmended
    }

    /// Zones whose names are in memory at a time.
    private static let zonesAtOnce = 1_000

    /// Makes the indexes of a salvaged store anew. Returns where that failed.
    private static func renewed(_ store: LevelDBStore, _ progress: @escaping RepairListener) throws -> Unmended {
        let engine = try engine(on: store, .migrated)
        // Each zone gets one as it is rebuilt. One whose header is lost must not keep the others from being saved.
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
                } catch let error as RecordsError {
                    unmended.append((zone, error))
                }
                meter.end()
            }
            last = page.last
        } while last != nil
        return unmended
    }
}
