// One opened store. This is the only file of the tool that names the engine below the seam.

import FoundationEssentials
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore

/// A store that is open as long as a verb runs. Clock and identifiers are drawn here.
final class StoreSession {
    /// Whether a store is made where there is none.
    enum Opening {
        case existing
        case creating
    }

    /// A verb runs for seconds and then forgets: what it may take in memory is less than a server's share.
    private static let ancestorCacheByteCount = 32 << 20

    let path: String
    let database: DatabaseID
    let engine: RecordEngine
    private let store: LevelDBStore

    /// Opens the store at `path`.
    ///
    /// Throws `notFound` when there is no directory and none is to be made, and the store's errors: `held`, `notAStore`,
    /// `newerFormat`, `notPermitted`, `diskFull`, `corruption`.
    init(at path: String, database: DatabaseID, _ opening: Opening) throws {
        if opening == .existing {
            do throws(FileError) {
                guard try FileSystem.factsOfTarget(of: Array(path.utf8)).kind == .folder else {
                    throw FileError(number: FileError.notADirectory)
                }
            } catch {
                throw ToolError(
                    error.isAbsence ? .notFound : .refused,
                    "There is no store here: check the path, or make one with 'stratus import-tree'.",
                    ["path": path, "reason": error.reason])
            }
        }
        var options = LevelDBOptions()
        options.createIfMissing = opening == .creating
        self.path = path
        self.database = database
        store = try LevelDBStore.open(at: path, options: options)
        do {
            var options = RecordEngineOptions()
            options.ancestorCacheByteCount = Self.ancestorCacheByteCount
            engine = try RecordEngine(store: store, options: options, incarnation: UUID())
        } catch {
            store.close()
            throw error
        }
    }

    /// Opens the store that the arguments name, runs `body`, and closes it again whatever happens.
    static func with<Result>(
        _ arguments: StoreArguments, _ opening: Opening = .existing, _ body: (StoreSession) throws -> Result
    ) throws -> Result {
        let session = try StoreSession(at: arguments.store, database: arguments.database, opening)
        defer { session.close() }
        return try body(session)
    }

    func close() { store.close() }

    var statistics: StoreStatistics { store.statistics }

    func zone(_ arguments: ZoneArguments) -> ZoneID { ZoneID(database: database, name: ZoneName(arguments.zone)) }

    /// Who writes now, and when.
    func stamp() -> Stamp { Stamp(date: Date(), user: database.owner ?? "_local") }

    func request(_ mutations: [RecordMutation]) -> MutationRequest {
        MutationRequest(mutations, stamp: stamp(), tagSalt: .random(in: .min ... .max))
    }

    /// Writes `mutations` as one durable commit.
    ///
    /// Throws `RequestRefused` with nothing written when a rule stands against it, and the engine's errors.
    @discardableResult
    func apply(_ mutations: [RecordMutation], in zone: ZoneID) throws -> MutationPlan {
        let request = request(mutations)
        return try engine.transact { try $0.apply(request, in: zone) }
    }

    /// Makes the zone if it does not exist. Returns whether it was made.
    @discardableResult
    func createZone(_ zone: ZoneID) throws -> Bool {
        let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: stamp(), databaseIdentity: UUID())
        return try engine.transact { try $0.createZone(zone, birth) }
    }

    /// Reads one zone on one snapshot.
    ///
    /// Throws `unknownZone` when it does not exist.
    func read<Result>(_ zone: ZoneID, _ body: (ZoneReader) throws -> Result) throws -> Result {
        try engine.read { try body($0.existingZone(zone)) }
    }
}

// MARK: - The engine below the seam

extension StoreSession {
    /// LevelDB's files and memory.
    struct Figures {
        var filesByLevel: [Int]
        var memoryByteCount: Int
    }

    func figures() throws -> Figures {
        let figures = try store.figures()
        return Figures(filesByLevel: figures.filesByLevel, memoryByteCount: figures.memoryByteCount)
    }

    /// About how many bytes of files a range takes; what is still in memory is not counted.
    func approximateByteCount(of range: KeyRange) throws -> Int { try store.approximateByteCount(of: range) }

    /// Gives the room of deleted entries in a range back.
    func compact(_ range: KeyRange) throws { try store.compact(range) }

    /// Reads every entry and log against its checksum. Returns how many entries there are, and each damage.
    func verifyChecksums(progress: (Int) -> Void) throws -> (entryCount: Int, damages: [StoreError]) {
        let report = try store.verifyChecksums(progress: progress)
        return (report.entryCount, report.damages)
    }

    /// What a backup consists of.
    struct BackupFigures {
        var entryCount: Int
        var linkedTableCount: Int
        var copiedTableCount: Int
        var logCount: Int
        /// What other backups to the same name have not finished: they run, or were killed.
        var unfinishedPaths: [String]
    }

    /// Copies the store in `source`, open or not, to a new directory, verifies the copy, and gives it new incarnations.
    static func backup(from source: String, to destination: String) throws -> BackupFigures {
        let report = try LevelDBStore.backup(ofStoreAt: source, to: destination) { copy in
            // Positions in the feeds of the one must not be taken for positions in the other.
            var options = RecordEngineOptions()
            options.ancestorCacheByteCount = 0
            try RecordEngine(store: copy, options: options, incarnation: UUID()).renewIncarnations { UUID() }
        }
        return BackupFigures(
            entryCount: report.entryCount, linkedTableCount: report.linkedTableCount,
            copiedTableCount: report.copiedTableCount, logCount: report.logCount,
            unfinishedPaths: report.unfinishedPaths)
    }
}
