// One opened store, with the engine only or with CloudKit's API above it.
//
// Invariants: a directory is opened once, so that both layers use the same store; every change of records updates the
// quota of their owner.

import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// A store that is open while a verb runs. Dates and random identifiers for the store come from here.
final class StoreSession {
    /// The store's directory, or its address without passwords.
    let path: String
    let engine: RecordEngine
    let choice: DatabaseChoice
    let opened: OpenedStore
    /// Whether the store has no files of its own.
    let isOnServer: Bool
    /// The account of the database's owner, if there is one.
    private(set) var account: StoredAccount?

    /// Opens the store at a path or a URL.
    ///
    /// Throws `notFound` if there is no store and `opening` creates none, and the store's errors: `held`, `notAStore`,
    /// `newerFormat`, `notPermitted`, `diskFull`, `corruption`.
    convenience init(at place: String, _ choice: DatabaseChoice, _ opening: Opening) throws {
        let address = StoreAddress(parsing: place)
        if case .directory(let path) = address, !opening.mayCreate { try StorePath.require(path) }
        try self.init(address, choice, opening, OpenedStore.open(address, opening))
    }

    /// A session over an open store, which it closes, also if it throws.
    init(_ address: StoreAddress, _ choice: DatabaseChoice, _ opening: Opening, _ opened: OpenedStore) throws {
        path = address.shown
        isOnServer = address.isServer
        self.choice = choice
        self.opened = opened
        engine = opened.engine
        do {
            if opening.mayCreate, let id = choice.owner.newExternalID,
                try engine.read({ try choice.owner.account(in: $0) }) == nil
            {
                _ = try opened.host?.account(externalID: id, createIfMissing: .init())
            }
            account = try engine.read { try choice.owner.account(in: $0) }
        } catch {
            close()
            throw error
        }
    }

    /// Opens the store that the arguments name, runs `body`, and closes the store, also after an error. `database` is
    /// one that the arguments do not name.
    static func with<Result>(
        _ arguments: some StoreOptions, in database: DatabaseChoice? = nil, _ opening: Opening,
        _ body: (StoreSession) throws -> Result
    ) throws -> Result {
        let session = try StoreSession(at: arguments.store, database ?? arguments.database, opening)
        defer { session.close() }
        if let copy = session.opened.copy { Console.readsCopy(of: copy.date) }
        session.opened.showNotes(usesJSON: arguments.json)
        if !session.engine.store.snapshotsLast {
            Console.note("note: the store is read over several moments")
            Console.readsSeveralMoments(since: Date())
        }
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

    /// Closes the store after running requests have finished, and removes its copy.
    func close() {
        opened.close()
        opened.copy?.remove()
    }

    /// LevelDB's files.
    ///
    /// Throws `refused` if another process has them, and where a server has the store.
    var files: StoreFiles {
        get throws {
            guard !isOnServer else {
                throw ToolError(.refused, "A server has the store: there are no files to work on.", ["store": path])
            }
            guard let files = opened.files else {
                throw ToolError(.refused, "Another process has the store's files open: stop it first.", ["path": path])
            }
            return files
        }
    }

    /// What the server that has the store says of it; nil for a store in a directory.
    var serverFigures: StoreServer.Figures? { get throws { try opened.serverFigures?() } }

    /// The host's socket, if the store is used through one.
    var served: ServedStore? { opened.served }
    /// When the copy that is read was begun; nil if the store itself is read.
    var copyDate: Date? { opened.copy?.date }
    /// The directory that is read.
    var readPath: String { opened.copy?.path ?? path }

    /// The contents of assets, for reading. A copy has them only if the store was opened with asset contents.
    var assets: AssetStore { opened.contents ?? LiveCopy.assets(in: readPath) }

    /// Gets the progress of work in parts: the part in words that follow a verb, how much of it is done, and the total,
    /// or 0 if it is unknown.
    typealias PartListener = (_ part: String, _ done: Int, _ total: Int) -> Void

    /// How upkeep waits between its commits, and when it stops.
    var pace: UpkeepPace {
        UpkeepPace(pause: { Blocking.pause() }, shouldContinue: { !StopSignal.isRequested })
    }

    /// Removes the remaining entries of deleted zones and accounts. Stops if a signal asks the verb to stop.
    ///
    /// Throws `notFound` if the store was opened with the engine only.
    func purge(progress: @escaping PartListener) throws -> PurgeProgress {
        guard let served else {
            return try service.purge(pace) { progress($0.part.words, $0.doneCount, $0.totalCount ?? 0) }
        }
        // The result if it is stopped.
        var purged = PurgeProgress()
        let done = try served.purgeDeletedZones(
            progress: { work in
                let part = FreeingPart(rawValue: work.part ?? FreeingPart.entries.rawValue)
                if part == .entries { purged.entriesDeleted = work.doneCount }
                progress(part?.words ?? "deleted data", work.doneCount, work.totalCount ?? 0)
            }, isStopping: { StopSignal.isRequested })
        return done ?? purged
    }

    /// Does the same and shows the progress.
    func purge(_ console: Console) throws -> PurgeProgress {
        let progress = ProgressLine("removing", on: console)
        return try purge { progress.update($0, $1, of: $2) }
    }

    /// Rebuilds the indexes of a zone.
    func rebuild(_ zone: ZoneID, incarnation: UUID, progress: @escaping PartListener) throws {
        if let served {
            let isDone = try served.rebuild(
                zone, incarnation: incarnation,
                progress: { work in
                    let step = work.part.flatMap { RebuildProgress.Step(rawValue: $0) }
                    let part = step?.words(of: zone.name) ?? "zone \(zone.name.text)"
                    progress(part, work.doneCount, work.totalCount ?? 0)
                }, isStopping: { StopSignal.isRequested })
            if isDone { return }
            throw ToolError(
                .interrupted,
                "Interrupted; the process that has the store finishes it. Until then the zone takes no requests.",
                ["zone": zone.name.text])
        }
        try engine.rebuild(zone, incarnation: incarnation) {
            progress($0.step.words(of: $0.zone), $0.doneCount, $0.totalCount ?? 0)
        }
    }

    /// The numbers of databases, zones and records, as the zones' headers count them.
    var placeAndRecordCount: (databases: Int, zones: Int, records: Int) {
        get throws { try engine.read(.wholeStore) { try $0.placeAndRecordCount() } }
    }

    /// The database that the verb works in.
    ///
    /// Throws `notFound` if the owner has no account.
    var database: DatabaseID {
        get throws { try choice.database(of: account) }
    }

    func zone(_ arguments: ZoneArguments) throws -> ZoneID {
        try zone(ZoneName(choice.zone ?? (choice.isPublic ? ZoneArguments.defaultZone : arguments.zone)))
    }

    /// The zone, which must exist.
    ///
    /// Throws `unknownZone` with the most similar name.
    func existingZone(_ arguments: ZoneArguments) throws -> ZoneID {
        let id = try zone(arguments)
        try read(id) { _ in }
        return id
    }

    func zone(_ name: ZoneName) throws -> ZoneID { ZoneID(database: try database, name: name) }

    /// The server's rules.
    var service: CloudService {
        get throws { try host.service }
    }

    /// Reads one zone on one snapshot.
    ///
    /// Throws `unknownZone` if the zone does not exist.
    func read<Result>(_ zone: ZoneID, _ body: (ZoneReader) throws -> Result) throws -> Result {
        try engine.read { try body($0.knownZone(zone)) }
    }

    /// Reads one zone on one snapshot, with what the acting person sees of it. For a verb that may read all of it, the
    /// scope is the whole store.
    ///
    /// Throws `unknownZone` if the zone does not exist.
    func read<Result>(
        _ arguments: ZoneArguments, _ acting: ActingArguments, _ scope: ReadScope = .page,
        _ body: (ZoneReader, Sight) throws -> Result
    ) throws -> Result {
        let id = try zone(arguments)
        let sight = try sight(of: id, acting)
        return try engine.read(scope) { try body($0.knownZone(id), sight) }
    }
}

extension RecordReader {
    /// A zone that a person names.
    ///
    /// Throws `unknownZone` with the most similar name if it does not exist.
    func knownZone(_ id: ZoneID) throws -> ZoneReader {
        guard let zone = try zone(id) else { throw try noZone(id) }
        return zone
    }

    /// The error for a zone that does not exist, with the most similar name.
    func noZone(_ id: ZoneID) throws -> StoreError {
        var fields = ["zone": id.name.text]
        fields["nearest"] = NearestName.of(id.name.text, among: try zones(in: id.database).map(\.name.text))
        return StoreError(.unknownZone, "There is no such zone: 'stratus zones' lists all zones.", fields)
    }
}

// MARK: - Files

extension StoreSession {
    /// Removes deleted entries from the files, slice by slice, in this process or in the host that has the store.
    /// Returns the approximate sizes before and after. `progress` gets the number of processed bytes, and of all.
    ///
    /// Throws `interrupted` if a signal asks the verb to stop: finished compactions stay. Throws the error of LevelDB's
    /// background work: `corruption` names the damaged place.
    func compact(progress: (_ done: Int, _ total: Int?) -> Void) throws -> (before: Int, after: Int) {
        if let served {
            let compacted = try served.compact(
                progress: { progress($0.doneCount, $0.totalCount) }, isStopping: { StopSignal.isRequested })
            guard let files = compacted else { throw StopSignal.interrupted }
            return (files.byteCountBefore, files.byteCountAfter)
        }
        return try files.compact { done, total in
            progress(done, total)
            // After the last slice there is nothing to continue.
            if done < total { try StopSignal.safePoint() }
        }
    }
}

// MARK: - Writing

extension StoreSession {
    /// A request with its date and random salt, which are drawn before the transaction because its body may run twice.
    func request(_ mutations: [RecordMutation], in zone: ZoneID) -> MutationRequest {
        let stamp = Stamp(date: Date(), user: zone.database.owner ?? "_local")
        return MutationRequest(mutations, stamp: stamp, tagSalt: RandomIdentifiers().makeSalt())
    }

    /// Writes `mutations` as one durable commit.
    ///
    /// Throws `RequestRefused` if a rule forbids it; then nothing is written. Throws the engine's errors.
    @discardableResult
    func apply(_ mutations: [RecordMutation], in zone: ZoneID) throws -> MutationPlan {
        let request = request(mutations, in: zone)
        return try engine.transact { try apply(request, in: zone, $0) }
    }

    /// Applies a request inside a transaction, and updates the quota of the owner's account.
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

    /// Whether the owner of the database can use CloudKit's API: not if the store was opened with the engine only, nor
    /// without an account.
    private var ownerIsClient: Bool { opened.host != nil && account != nil }

    /// Deletes records as one durable commit: through CloudKit's API if the person has an account, so that assets and
    /// records that refer to them are deleted too.
    ///
    /// Throws `ItemsRefused`, or `RequestRefused` without an account, if a rule forbids it; then nothing is deleted.
    func delete(_ names: [RecordName], in zone: ZoneID, _ acting: ActingArguments? = nil) throws {
        if acting?.person != nil || ownerIsClient { return try client(of: zone, acting).delete(names) }
        try apply(names.map { .delete($0) }, in: zone)
    }

    /// Creates the zone if it does not exist. Returns whether it is new.
    @discardableResult
    func createZone(_ zone: ZoneID, _ acting: ActingArguments? = nil) throws -> Bool {
        guard try engine.read({ try $0.zone(zone) == nil }) else { return false }
        try client(of: zone, acting).makeZone()
        return true
    }

    /// Deletes a zone with all its records. Returns whether it existed. Purging removes its entries later.
    func deleteZone(_ zone: ZoneID, _ acting: ActingArguments? = nil) throws -> Bool {
        guard try engine.read({ try $0.zone(zone) != nil }) else { return false }
        guard acting?.person != nil || ownerIsClient else {
            return try engine.transact { try $0.deleteZone(zone, releasingAssetsOf: zone.database.owner) }
        }
        try client(of: zone, acting).deleteZone()
        return true
    }
}
