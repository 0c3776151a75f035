// Deleting an account with all its data, so that a crash at any moment leaves nothing half done for good.
//
//   1. One commit: the account and everything that leads to it go; a departure entry takes its place. From here on the
//      person cannot sign in, nobody can write for them, and their handles are free.
//   2. Batches: they leave the shares they have accepted; all zones of their private databases are deleted (O(1) each),
//      with all that lies outside them because of their shares; what they used is forgotten, with it what zones deleted
//      before still count of their assets; what they subscribed to goes, their devices with what waits for them, and their
//      user record in every public database. Before those who had accepted are forgotten they are told.
//   3. When the deleted zones have been purged: their databases go from the directory.
//   4. One commit: the departure entry goes.
//
// Steps 2 to 4 look for what is left and remove it, so they can be run again from anywhere.

import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// Steps 2 to 4 for one departed person.
struct DepartureRunner {
    /// Zones deleted in one commit.
    static let zoneBatchCount = 200
    /// Entries deleted in one commit.
    static let entryBatchCount = 1_000

    let engine: RecordEngine
    let departure: Departure
    /// What the deletion of the user record is stamped with.
    let stamp: Stamp
    let tagSalt: UInt32
    let assetLedger: AssetLedger
    let acceptances: AcceptanceDirectory
    let journal: CommitJournal
    /// Delivers what the departure leaves behind, before what says whom it concerns goes.
    let deliver: () throws -> Void
    /// Removes the files of the person's assets; nil where there are none.
    let collector: AssetCollector?
    /// Is told of everything that `workCount` and `fileCount` count.
    let meter: WorkMeter?
    /// Asked before each commit, to throw where nobody waits any longer: what is done stays.
    let checkpoint: () throws -> Void

    /// How many entries, zones, shares and records step 2 has to look at, as far as is known before it. Some go with
    /// others of them.
    func workCount(in reader: RecordReader, _ counter: WorkCounter) throws -> Int {
        var count = try ownRanges.reduce(0) { try $0 + reader.entryCount(in: $1, counter) }
        count += try reader.entryCount(in: GlobalKeys.acceptances(of: departure.userName), counter)
        for container in try reader.containers() {
            let database = privateDatabase(container)
            try reader.visitZones(in: database) { zone in
                count += try 1 + reader.entryCount(in: zone.keys.types(of: ShareContent.recordType), counter)
                return .next
            }
            if let number = try reader.databaseEntry(database)?.number {
                count += try reader.releases(in: number).reduce(0) {
                    try $0 + ShareReleaser.shareCount(of: $1, in: reader, counter)
                }
            }
            if let entry = try reader.databaseEntry(publicDatabase(container)) {
                count += try reader.entryCount(
                    in: DatabaseKeys(entry.number).subscriptions(of: departure.userName), counter)
                count += try publicDeparture(container).workCount(in: reader, counter)
            }
        }
        for container in try reader.subscribedContainers() {
            count += try reader.entryCount(
                in: GlobalKeys.subscriptions(of: departure.userName, in: container), counter)
        }
        return count
    }

    /// How many files of assets the last step has to look at.
    func fileCount() throws -> Int { try collector?.fileCount(of: departure.userName) ?? 0 }

    /// Step 2: makes everything unreachable. `workCount` is what was counted of it before.
    func removeContent(workCount: Int = 0) throws {
        let doneBefore = meter?.done ?? 0
        try ShareDeparture(
            engine: engine, acceptances: acceptances, journal: journal, user: departure.userName, stamp: stamp,
            tagSalt: tagSalt, meter: meter, checkpoint: checkpoint
        ).run()
        for container in try engine.read({ try $0.containers() }) {
            try removeZones(of: privateDatabase(container))
        }
        try deliver()
        for container in try engine.read({ try $0.containers() }) {
            try abandonReleases(of: privateDatabase(container))
            try removePublic(in: container)
        }
        try engine.transact { try $0.delete(GlobalKeys.usage(of: departure.userName)) }
        for range in ownRanges { try removeEntries(range) }
        for container in try engine.read({ try $0.subscribedContainers() }) { try removeSubscriptions(in: container) }
        // Some of it went with others.
        meter.map { $0.add(max(0, doneBefore + workCount - $0.done)) }
    }

    /// Steps 3 and 4. Returns false while deleted zones are still to be purged.
    func finish() throws -> Bool {
        for container in try engine.read({ try $0.containers() }) {
            let database = privateDatabase(container)
            let isPurging = try engine.read { reader in
                try reader.databaseEntry(database).map { try reader.isPurging($0.number) } ?? false
            }
            guard !isPurging else { return false }
            while try !engine.transact({ try $0.removeDatabase(database, limit: Self.entryBatchCount) }) {}
        }
        try collector?.forgetOwner(departure.userName) {
            meter?.add($0)
            try checkpoint()
        }
        try engine.transact { try $0.delete(GlobalKeys.departure(of: departure.userName)) }
        return true
    }

    /// What is the person's alone: what their zones use, their assets, what waits for their devices, and those.
    private var ownRanges: [LayoutRange] {
        [
            GlobalKeys.zoneUsages(of: departure.userName), GlobalKeys.assets(of: departure.userName),
            GlobalKeys.notifications(for: departure.account), GlobalKeys.devices(of: departure.account),
        ]
    }

    private func privateDatabase(_ container: ContainerName) -> DatabaseID {
        DatabaseID(container: container, owner: departure.userName, scope: .private)
    }

    private func publicDatabase(_ container: ContainerName) -> DatabaseID {
        DatabaseID(container: container, owner: nil, scope: .public)
    }

    private func removeZones(of database: DatabaseID) throws {
        var hasMore = true
        while hasMore {
            try checkpoint()
            let count: Int
            (count, hasMore) = try engine.transact { transaction in
                let zones = try transaction.zones(in: database, limit: Self.zoneBatchCount + 1)
                let batch = zones.prefix(Self.zoneBatchCount)
                for zone in batch {
                    try QuotaLedger.release(zone: zone.entry.identity, of: departure.userName, in: transaction)
                    let id = ZoneID(database: database, name: zone.name)
                    let holdsShares = try ShareReleaser.holdsShares(transaction.existingZone(id))
                    _ = try journal.deleteZone(
                        id, holdsShares: holdsShares, releasingAssetsOf: holdsShares ? departure.userName : nil,
                        in: transaction)
                }
                return (batch.count, zones.count > batch.count)
            }
            meter?.add(count)
        }
    }

    /// Lets deleted zones be purged as soon as nothing lies outside them because of their shares: of assets nothing is
    /// to be taken out of a ledger that goes as a whole.
    private func abandonReleases(of database: DatabaseID) throws {
        guard let number = try engine.read({ try $0.databaseEntry(database)?.number }) else { return }
        let releaser = ShareReleaser(engine: engine)
        while true {
            let releases = try engine.read { try $0.releases(in: number, limit: Self.zoneBatchCount) }
            guard !releases.isEmpty else { return }
            try checkpoint()
            for release in releases { try releaser.releaseShares(of: release, didLook: { meter?.add($0) }) }
            try engine.transact { transaction in
                for release in releases where try transaction.isPending(release) {
                    try transaction.advance(release, to: nil)
                }
            }
        }
    }

    /// The person's user record with what is deleted with it, and what they subscribed to, in a container's public
    /// database.
    private func removePublic(in container: ContainerName) throws {
        guard let entry = try engine.read({ try $0.databaseEntry(publicDatabase(container)) }) else { return }
        try removeEntries(DatabaseKeys(entry.number).subscriptions(of: departure.userName))
        try publicDeparture(container).run()
    }

    private func publicDeparture(_ container: ContainerName) -> PublicDeparture {
        PublicDeparture(
            engine: engine,
            zone: ZoneID(database: publicDatabase(container), name: ZoneName(ZoneAddress.defaultZoneName)),
            userRecord: RecordName(departure.userName.text), stamp: stamp, tagSalt: tagSalt, assetLedger: assetLedger,
            journal: journal, meter: meter, checkpoint: checkpoint)
    }

    private func removeSubscriptions(in container: ContainerName) throws {
        let directory = journal.directory
        try removeEntries(GlobalKeys.subscriptions(of: departure.userName, in: container)) { keys, transaction in
            let parts = try keys.map { try GlobalKeys.readSubscriptionKey($0.span) }
            directory.note(parts.map { ($0, nil) }, in: transaction)
        }
    }

    private func removeEntries(
        _ range: LayoutRange, _ didRemove: ([[UInt8]], RecordTransaction) throws -> Void = { _, _ in }
    ) throws {
        var count = Self.entryBatchCount
        while count == Self.entryBatchCount {
            try checkpoint()
            count = try engine.transact { transaction in
                var keys: [[UInt8]] = []
                try transaction.store.scan(range.keyRange, .forward, limit: Self.entryBatchCount) { key, _ in
                    keys.append([UInt8](copying: key))
                    return .next
                }
                for key in keys { try transaction.delete(key) }
                try didRemove(keys, transaction)
                return keys.count
            }
            meter?.add(count)
        }
    }
}

// How far freeing what was deleted has come: part by part, each with a total of its own.

/// How far one part of freeing what was deleted has come.
package struct FreeingProgress: Hashable, Sendable {
    /// What is gone over. `departures` and `entries` may come twice, and go on where they were left.
    package enum Part: String, Sendable {
        /// What there is to do, before each of the others.
        case counting
        /// Records and shares of deleted zones: assets and acceptances count because of them.
        case holders
        /// What deleted accounts had outside their zones, with the files of their assets.
        case departures
        /// The entries of deleted zones.
        case entries
    }

    package typealias Listener = (FreeingProgress) -> Void

    package var part: Part
    package var doneCount: Int
    /// Nil while it is counted.
    package var totalCount: Int?

    package init(part: Part, doneCount: Int, totalCount: Int?) {
        (self.part, self.doneCount, self.totalCount) = (part, doneCount, totalCount)
    }
}

extension FreeingProgress.Part {
    /// What tells of this part alone.
    func telling(_ tell: @escaping FreeingProgress.Listener) -> WorkMeter.Listener {
        { tell(FreeingProgress(part: self, doneCount: $0, totalCount: $1)) }
    }
}

extension WorkCounter {
    /// A counter that tells of the part `counting`.
    convenience init(_ tell: @escaping FreeingProgress.Listener, shouldContinue: @escaping () -> Bool) {
        self.init { count in
            tell(FreeingProgress(part: .counting, doneCount: count, totalCount: nil))
            return shouldContinue() ? .next : .stop
        }
    }
}

// Deleting accounts with all their data.

/// Ends the deletion of an account between two commits.
private struct NobodyWaits: Error {}

extension CloudService {
    /// Deletes an account with all its data in every container. When it returns nothing of the data can be reached any
    /// more; its bytes are removed from the disk by `finishDepartures`.
    ///
    /// Where it throws after the account itself is gone, calling it again or `finishDepartures` goes on. Throws
    /// `unknownItem` when there is no such account, nor anything left of it. `progress` is told of the parts `counting`
    /// and `departures`: how many entries, zones, shares and records were looked at.
    package func deleteAccount(_ id: AccountID, progress tell: FreeingProgress.Listener? = nil) throws(CloudError) {
        try answering {
            let departed = try engine.transact { try accountDirectory.depart(id, in: $0) }
            let departure =
                try departed
                ?? engine.read { reader in
                    try accountDirectory.departures(limit: .max, in: reader).first { $0.account == id }
                }
            guard let departure else { throw AccountDirectory.unknownAccount }
            // The account is gone already: what is left of it is to go, whoever waits.
            let counter = tell.map { WorkCounter($0, shouldContinue: { true }) }
            let workCount = try counter.map { try self.workCount(of: departure, $0) } ?? 0
            let meter = tell.map { WorkMeter(total: workCount, FreeingProgress.Part.departures.telling($0)) }
            try runner(departure, meter).removeContent(workCount: workCount)
        }
    }

    /// Goes on with every deletion of an account that has not come to its end: after a crash, and to remove the bytes
    /// that deleted accounts left on the disk. `pause`, `rest` and `shouldContinue` are those of
    /// `RecordEngine.purgeDeletedZones`, which it calls.
    ///
    /// `progress` is told of the parts `counting`, `departures` and `entries`; entries count on from `purgedCount`.
    ///
    /// Returns how many deletions are not finished.
    @discardableResult
    package func finishDepartures(
        pause: () -> Void = {}, rest: (_ seconds: Double) -> Void = { _ in },
        shouldContinue: @escaping (PurgeProgress) -> Bool = { _ in true },
        progress tell: FreeingProgress.Listener? = nil, purgedCount: Int = 0
    ) throws(CloudError) -> Int {
        try answering {
            let departures = try engine.read { try accountDirectory.departures(in: $0) }
            guard !departures.isEmpty else { return 0 }
            let counter = tell.map { WorkCounter($0, shouldContinue: { shouldContinue(PurgeProgress()) }) }
            let workCounts = try departures.map { departure in
                try counter.map { try workCount(of: departure, $0) } ?? 0
            }
            let meter = tell.map {
                WorkMeter(
                    total: workCounts.reduce(0, +) + fileCount(of: departures),
                    FreeingProgress.Part.departures.telling($0))
            }
            do {
                for (departure, workCount) in zip(departures, workCounts) {
                    try runner(departure, meter) {
                        guard shouldContinue(PurgeProgress()) else { throw NobodyWaits() }
                    }.removeContent(workCount: workCount)
                }
            } catch is NobodyWaits {
                return departures.count
            }
            let total = try counter.map { counter in
                try purgedCount + engine.read { try $0.purgeableEntryCount(counter) }
            }
            let progress = try engine.purgeDeletedZones(pause: pause, rest: rest) {
                tell?(FreeingProgress(part: .entries, doneCount: purgedCount + $0.entriesDeleted, totalCount: total))
                return shouldContinue($0)
            }
            var finishedCount = 0
            for departure in departures {
                do {
                    let runner = runner(departure, meter) {
                        guard shouldContinue(progress) else { throw NobodyWaits() }
                    }
                    try runner.checkpoint()
                    if try runner.finish() { finishedCount += 1 }
                } catch is NobodyWaits {
                    break
                }
                rest(BackgroundRest.shortSeconds)
            }
            return departures.count - finishedCount
        }
    }

    private func workCount(of departure: Departure, _ counter: WorkCounter) throws -> Int {
        try engine.read { try runner(departure).workCount(in: $0, counter) }
    }

    /// What cannot be read counts as nothing: the last step tells of it, when everything else is done.
    private func fileCount(of departures: [Departure]) -> Int {
        departures.reduce(0) { $0 + ((try? runner($1).fileCount()) ?? 0) }
    }

    private func runner(
        _ departure: Departure, _ meter: WorkMeter? = nil, _ checkpoint: @escaping () throws -> Void = {}
    ) -> DepartureRunner {
        DepartureRunner(
            engine: engine, departure: departure,
            stamp: Stamp(date: environment.clock.now, user: departure.userName),
            tagSalt: environment.identifiers.makeSalt(), assetLedger: assetLedger, acceptances: acceptanceDirectory,
            journal: journal(), deliver: { try self.deliverBetween() },
            collector: assets.map { AssetCollector(engine: engine, store: $0) }, meter: meter, checkpoint: checkpoint)
    }
}
