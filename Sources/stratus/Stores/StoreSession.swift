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

    /// Opens the store that the arguments name, runs `body`, and closes the store, also after an error.
    static func with<Result>(
        _ arguments: some StoreOptions, _ opening: Opening, _ body: (StoreSession) throws -> Result
    ) throws -> Result {
        try with(arguments, arguments.database, opening, body)
    }

    /// Does the same with a database that the arguments do not name.
    static func with<Result>(
        _ arguments: some StoreOptions, _ database: DatabaseChoice, _ opening: Opening,
        _ body: (StoreSession) throws -> Result
    ) throws -> Result {
        let session = try StoreSession(at: arguments.store, database, opening)
        defer { session.close() }
        if let copy = session.opened.copy { Console.readsCopy(of: copy.date) }
        if !arguments.json { for note in session.opened.notes { Console.note(note) } }
        return try body(session)
    }

    /// Does the same for a verb that prints as it goes. Its output is written when the store is closed.
    static func with(
        _ arguments: some StoreOptions, _ opening: Opening, _ body: (StoreSession, Console) throws -> Void
    ) throws {
        let console = Console(usesJSON: arguments.json)
        try with(arguments, opening) { try body($0, console) }
        try console.flush()
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
            let pace = UpkeepPace(pause: { Blocking.pause() }, shouldContinue: { !StopSignal.isRequested })
            return try service.purge(pace) { progress($0.part.words, $0.doneCount, $0.totalCount ?? 0) }
        }
        // What was removed until then, where it is stopped.
        var purged = PurgeProgress()
        let done = try served.purgeDeletedZones(
            progress: { told in
                let part = FreeingProgress.Part(rawValue: told.part ?? FreeingProgress.Part.entries.rawValue)
                if part == .entries { purged.entriesDeleted = told.doneCount }
                progress(part?.words ?? "what was deleted", told.doneCount, told.totalCount ?? 0)
            }, isStopping: { StopSignal.isRequested })
        return done ?? purged
    }

    /// The same where people see how far it has come.
    func purge(_ console: Console) throws -> PurgeProgress {
        let progress = ProgressLine("removing", total: nil, on: console)
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
                }, isStopping: { StopSignal.isRequested })
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

    /// Reads one zone on one snapshot, with what the acting person sees of it.
    ///
    /// Throws `unknownZone` if the zone does not exist.
    func read<Result>(
        _ arguments: ZoneArguments, _ acting: ActingArguments, _ body: (ZoneReader, Sight) throws -> Result
    ) throws -> Result {
        let id = try zone(arguments)
        let sight = try sight(of: id, acting)
        return try read(id) { try body($0, sight) }
    }

    /// The error for a zone that there is not, with the zone that may have been meant.
    func noZone(_ zone: ZoneID, _ reader: RecordReader) throws -> RecordsError {
        let names = try reader.zones(in: zone.database).map(\.name.text)
        var fields = ["zone": zone.name.text]
        if let nearest = NearestName.of(zone.name.text, among: names) { fields["nearest"] = nearest }
        return RecordsError(.unknownZone, "No such zone: 'stratus zones' lists those there are.", fields)
    }
}

// The engine's files of an opened store.

extension StoreSession {
    func figures() throws -> StoreFiles.Figures { try files.figures() }

    /// About how many bytes of files a range takes; what is still in memory is not counted.
    func approximateByteCount(of range: KeyRange) throws -> Int { try files.approximateByteCount(of: range) }

    /// Gives the room of deleted entries back, slice by slice of the keys, here or by the host that has the store. Returns
    /// about how large the files were before, and are after. `progress` is told now and then how many bytes of files were
    /// looked at, and of how many.
    ///
    /// Throws `interrupted` where the verb was asked to stop: what is compacted stays. Else what has failed the engine's
    /// background work: `corruption` names where damage lies.
    func compact(progress: (_ done: Int, _ total: Int?) -> Void) throws -> (before: Int, after: Int) {
        if let served {
            let compacted = try served.compact(
                progress: { progress($0.doneCount, $0.totalCount) }, isStopping: { StopSignal.isRequested })
            guard let files = compacted else { throw StopSignal.interrupted }
            return (files.byteCountBefore, files.byteCountAfter)
        }
        return try files.compact { done, total in
            progress(done, total)
            // Behind the last slice nothing is left to go on with.
            if done < total { try StopSignal.safePoint() }
        }
    }

    /// Reads every entry and log against its checksum. Returns how many entries there are, and each damage.
    func verifyChecksums(
        progress: (_ byteCount: Int, _ total: Int) -> Void
    ) throws -> (entryCount: Int, damages: [RecordsError]) {
        try files.verifyChecksums(progress: progress)
    }
}

// What a verb writes: through the face where there is one, so that the server's rules hold, else below it. Everything that
// changes records keeps the count of what their owner holds.

extension StoreSession {
    /// What is to change, by whom and when. Drawn before a transaction, whose body may run twice.
    func request(_ mutations: [RecordMutation], in zone: ZoneID) -> MutationRequest {
        let stamp = Stamp(date: Date(), user: zone.database.owner ?? "_local")
        return MutationRequest(mutations, stamp: stamp, tagSalt: SystemRandom.salt())
    }

    /// Writes `mutations` as one durable commit.
    ///
    /// Throws `RequestRefused` with nothing written when a rule stands against it, and the engine's errors.
    @discardableResult
    func apply(_ mutations: [RecordMutation], in zone: ZoneID) throws -> MutationPlan {
        let request = request(mutations, in: zone)
        return try engine.transact { try apply(request, in: zone, $0) }
    }

    /// The same inside a transaction. What the owner holds is counted where they have an account.
    @discardableResult
    func apply(_ request: MutationRequest, in zone: ZoneID, _ transaction: RecordTransaction) throws -> MutationPlan {
        guard let owner = account?.userName else { return try transaction.apply(request, in: zone) }
        let stored = try transaction.existingZone(zone)
        var change: Int64 = 0
        for mutation in request.mutations {
            if let old = try stored.record(mutation.name)?.record { change -= QuotaLedger.byteCount(of: old) }
            if case .save(let record) = mutation { change += QuotaLedger.byteCount(of: record) }
        }
        let plan = try transaction.apply(request, in: zone)
        try QuotaLedger.charge(
            byteCount: change, to: owner, zone: plan.header.identity, limit: nil, in: transaction)
        return plan
    }

    /// Deletes records as one durable commit: through the face where there is one, so that their assets and what refers to
    /// them go too.
    ///
    /// Throws `ItemsRefused` or, below the face, `RequestRefused`, with nothing deleted, when a rule stands against it.
    func delete(_ names: [RecordName], in zone: ZoneID) throws {
        if let client = try client(of: zone) { return try client.delete(names) }
        try apply(names.map { .delete($0) }, in: zone)
    }

    /// Makes the zone if it does not exist. Returns whether it was made.
    @discardableResult
    func createZone(_ zone: ZoneID, _ acting: ActingArguments? = nil) throws -> Bool {
        guard try engine.read({ try $0.zone(zone) == nil }) else { return false }
        try (acting.map { try client(of: zone, $0) } ?? existingClient(of: zone)).makeZone()
        return true
    }

    /// Deletes a zone with all its records. Returns whether there was one; its entries are left to be purged.
    func deleteZone(_ zone: ZoneID, _ acting: ActingArguments? = nil) throws -> Bool {
        guard try engine.read({ try $0.zone(zone) != nil }) else { return false }
        guard let client = try acting?.person == nil ? client(of: zone) : acting.map({ try client(of: zone, $0) })
        else {
            return try engine.transact { try $0.deleteZone(zone, releasingAssetsOf: zone.database.owner) }
        }
        try client.deleteZone()
        return true
    }
}
