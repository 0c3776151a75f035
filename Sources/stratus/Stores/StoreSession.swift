// One opened store, with the engine alone or with CloudKit's face above it.
//
// Invariants: a directory is opened once, so that both floors see the same store; everything that changes records keeps
// the count of what their owner holds.

import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// A store that is open as long as a verb runs. Clock and identifiers are drawn here.
final class StoreSession {
    let path: String
    let engine: RecordEngine
    let choice: DatabaseChoice
    private let opened: OpenedStore
    /// The owner of the database, if the store knows them.
    private(set) var account: StratusModel.Account?

    /// Opens the store at `path`.
    ///
    /// Throws `notFound` when there is no directory and none is to be made, and the store's errors: `held`, `notAStore`,
    /// `newerFormat`, `notPermitted`, `diskFull`, `corruption`.
    init(at path: String, _ choice: DatabaseChoice, _ opening: Opening) throws {
        if !opening.mayCreate { try StorePath.require(path) }
        self.path = path
        self.choice = choice
        opened = try OpenedStore.open(path, opening)
        engine = opened.engine
        do {
            if opening.mayCreate, let id = choice.owner.newExternalID,
                try engine.read({ try choice.findOwner(in: $0) }) == nil
            {
                _ = try opened.host?.account(externalID: id, createIfMissing: .init())
            }
            account = try engine.read { try choice.findOwner(in: $0) }
        } catch {
            close()
            throw error
        }
    }

    /// Opens the store that the arguments name, runs `body`, and closes it again whatever happens.
    static func with<Result>(
        _ arguments: StoreArguments, _ opening: Opening, _ body: (StoreSession) throws -> Result
    ) throws -> Result {
        let session = try StoreSession(at: arguments.store, arguments.database, opening)
        defer { session.close() }
        if let copy = session.opened.copy { Console.readsCopy(of: copy.date) }
        if !arguments.json { for note in session.opened.notes { Console.note(note) } }
        return try body(session)
    }

    /// Closes the store. Requests under way are finished first.
    func close() {
        opened.close()
        opened.copy?.remove()
    }

    /// LevelDB's files.
    ///
    /// Throws `refused` where they are another process's.
    var files: StoreFiles {
        get throws {
            guard let files = opened.files else {
                throw ToolError(.refused, "The store's files are another process's: stop it first.", ["path": path])
            }
            return files
        }
    }

    /// What the store has done; where another process has it, for everybody.
    var statistics: StoreStatistics { engine.store.statistics }
    /// The calls of hosts; nil where the store was opened with the engine alone.
    var availableHost: (any StoreHost)? { opened.host }
    /// The store at the other end of its host's socket, where it is that.
    var served: ServedStore? { opened.served }
    /// Whether change tokens are of no use to anybody else: what is read is a copy of a store that has no secret for them, so
    /// that the copy was given one of its own.
    var forgetsTokens: Bool {
        get throws { try copyDate != nil && service.tokenKeeper.hasMadeSecret }
    }
    /// When the copy was begun that is read; nil where the store itself is.
    var copyDate: Date? { opened.copy?.date }
    /// What opening the store, or its copy, has dropped of it.
    var droppedCommit: [String: String]? { opened.files?.droppedCommit }
    /// Where the engine's files lie that are read.
    var readPath: String { opened.copy?.path ?? path }

    /// The files of assets, to be looked at: nothing is taken in and nothing removed. Of a store that another process holds
    /// they are there where it was opened with them.
    var assets: AssetStore {
        LiveCopy.assets(in: readPath)
    }

    /// What is told of work in parts: what is gone over, in words that follow a verb, how much is done, and of how much; 0
    /// where that is not known.
    typealias PartListener = (_ part: String, _ done: Int, _ total: Int) -> Void

    /// Removes what deleted zones and accounts have left behind. It stops where the verb was asked to.
    ///
    /// Throws `notFound` where the store was opened with the engine alone.
    func purge(progress: @escaping PartListener) throws -> PurgeProgress {
        guard let served else {
            let pace = UpkeepPace(pause: { Waiting.aLittle() }, shouldContinue: { !Interruption.isRequested })
            return try service.purge(pace) { progress($0.part.words, $0.doneCount, $0.totalCount ?? 0) }
        }
        // What was removed until then, where it is stopped.
        var purged = PurgeProgress()
        let done = try served.purgeDeletedZones(
            progress: { told in
                let part = FreeingProgress.Part(rawValue: told.part ?? FreeingProgress.Part.entries.rawValue)
                if part == .entries { purged.entriesDeleted = told.doneCount }
                progress(part?.words ?? "what was deleted", told.doneCount, told.totalCount ?? 0)
            }, isStopping: { Interruption.isRequested })
        return done ?? purged
    }

    /// The same where people see how far it has come.
    func purge(_ console: Console) throws -> PurgeProgress {
        let progress = Progress("removing", total: nil, on: console)
        defer { progress.finish() }
        return try purge { progress.update($0, $1, of: $2) }
    }

    /// Makes the indexes of a zone anew. `progress` is told what of it is gone over, how much, and of how much.
    func rebuild(_ zone: ZoneID, incarnation: UUID, progress: @escaping PartListener) throws {
        if let served {
            let isDone = try served.rebuild(
                zone, incarnation: incarnation,
                progress: { told in
                    let step = told.part.flatMap { RebuildProgress.Step(rawValue: $0) }
                    let part = step?.words(of: zone.name) ?? "zone \(zone.name.text)"
                    progress(part, told.doneCount, told.totalCount ?? 0)
                }, isStopping: { Interruption.isRequested })
            if isDone { return }
            throw ToolError(
                .interrupted,
                "Interrupted; the process that has the store finishes it, because the zone takes no requests meanwhile.",
                ["zone": zone.name.text])
        }
        try engine.rebuild(zone, incarnation: incarnation) { progress($0.part, $0.doneCount, $0.totalCount ?? 0) }
    }

    /// How many databases, zones and records there are, as zones count them.
    var placeAndRecordCount: (databases: Int, zones: Int, records: Int) {
        get throws { try engine.read { try $0.placeAndRecordCount() } }
    }

    /// The database that the verb works in.
    ///
    /// Throws `notFound` when nobody has the account it belongs to.
    var database: DatabaseID {
        get throws { try choice.database(of: account) }
    }

    func zone(_ arguments: ZoneArguments) throws -> ZoneID {
        try zone(ZoneName(choice.zone ?? (choice.isPublic ? ZoneArguments.defaultZone : arguments.zone)))
    }

    /// The same for a zone that must be there.
    ///
    /// Throws `unknownZone`, with the nearest that there is.
    func existingZone(_ arguments: ZoneArguments) throws -> ZoneID {
        let id = try zone(arguments)
        try read(id) { _ in }
        return id
    }

    func zone(_ name: ZoneName) throws -> ZoneID { ZoneID(database: try database, name: name) }

    /// The zone as a client has it; nil where the store was opened without the face, or for an owner without account.
    func client(of zone: ZoneID) throws -> ZoneClient? {
        guard let host = opened.host, let account, let found = try host.account(id: account.id.text) else { return nil }
        return ZoneClient(host.container(zone.database.container.text, signedInAs: found), zone, as: account)
    }

    /// The same for what only clients do.
    ///
    /// Throws `notFound` where the database's owner has no account.
    func existingClient(of zone: ZoneID) throws -> ZoneClient {
        guard let client = try client(of: zone) else { throw choice.noAccount }
        return client
    }

    /// The server's rules, for what hosts look up.
    var service: CloudService {
        get throws { try host.service }
    }

    /// Reads one zone on one snapshot.
    ///
    /// Throws `unknownZone` when it does not exist.
    func read<Result>(_ zone: ZoneID, _ body: (ZoneReader) throws -> Result) throws -> Result {
        try engine.read { reader in
            guard let found = try reader.zone(zone) else { throw try noZone(zone, reader) }
            return try body(found)
        }
    }

    /// The error for a zone that there is not, with the zone that may have been meant.
    func noZone(_ zone: ZoneID, _ reader: RecordReader) throws -> RecordsError {
        let names = try reader.zones(in: zone.database).map(\.name.text)
        var fields = ["zone": zone.name.text]
        if let nearest = NearestName.of(zone.name.text, among: names) { fields["nearest"] = nearest }
        return RecordsError(.unknownZone, "No such zone: 'stratus zones' lists those there are.", fields)
    }
}
