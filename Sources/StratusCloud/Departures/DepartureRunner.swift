// Deletes an account with all its data, so that a crash at any time leaves nothing half done permanently.
//
//   1. One commit: replace the account and its identities with a departure entry. From now on the person cannot sign
//      in, no request can write for them, and their handles are free.
//   2. Batches: leave the shares that the person has accepted; delete all zones of their private databases (O(1) each),
//      with the entries outside them that exist because of their shares; notify the participants of these; then delete
//      the person's usage and asset counts, subscriptions, devices with waiting notifications, and their user record in
//      every public database.
//   3. After the deleted zones are purged: remove their databases from the directory.
//   4. One commit: delete the departure entry.
//
// Steps 2 to 4 find remaining data and remove it, so they can run again after any interruption.

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

    let service: CloudService
    let departure: Departure
    /// The stamp of all changes, which are the person's.
    let stamp: Stamp
    let tagSalt: UInt32
    /// Counts the work of `workCount` and `fileCount`.
    let meter: WorkMeter?
    /// Called before each commit; throws to stop. Finished work stays.
    let checkpoint: () throws -> Void

    var engine: RecordEngine { service.engine }
    var journal: CommitJournal { service.journal() }
    /// Removes the files of the person's assets; nil if the store has no assets.
    private var collector: AssetCollector? {
        service.assets.map { AssetCollector(engine: engine, store: $0) }
    }

    /// How many entries, zones, shares and records step 2 will read, as far as known before it. Some are deleted with
    /// others.
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
            let publicZone = publicZone(container)
            if let entry = try reader.databaseEntry(publicZone.database) {
                count += try reader.entryCount(
                    in: DatabaseKeys(entry.number).subscriptions(of: departure.userName), counter)
                count += try recordCount(in: publicZone, reader, counter)
            }
        }
        for container in try reader.subscribedContainers() {
            count += try reader.entryCount(
                in: GlobalKeys.subscriptions(of: departure.userName, in: container), counter)
        }
        return count
    }

    /// How many files of assets the last step will read.
    func fileCount() throws -> Int { try collector?.fileCount(of: departure.userName) ?? 0 }

    /// Step 2: makes everything unreachable. `workCount` is its count from before.
    func removeContent(workCount: Int = 0) throws {
        let doneBefore = meter?.done ?? 0
        try inBatches(leaveShares)
        for container in try engine.read({ try $0.containers() }) {
            try removeZones(of: privateDatabase(container))
        }
        // Before the data that determines the recipients is deleted.
        try service.deliverBetween()
        for container in try engine.read({ try $0.containers() }) {
            try abandonReleases(of: privateDatabase(container))
            let publicZone = publicZone(container)
            guard let entry = try engine.read({ try $0.databaseEntry(publicZone.database) }) else { continue }
            try removeEntries(DatabaseKeys(entry.number).subscriptions(of: departure.userName))
            try removeUserRecord(from: publicZone)
        }
        try engine.transact { try $0.delete(GlobalKeys.usage(of: departure.userName)) }
        for range in ownRanges { try removeEntries(range) }
        for container in try engine.read({ try $0.subscribedContainers() }) {
            try removeEntries(GlobalKeys.subscriptions(of: departure.userName, in: container)) { keys, transaction in
                let parts = try keys.map { try GlobalKeys.readSubscriptionKey($0.span) }
                service.subscriptionDirectory.note(parts.map { ($0, nil) }, in: transaction)
            }
        }
        // Some of it was deleted with others.
        meter.map { $0.add(max(0, doneBefore + workCount - $0.done)) }
    }

    /// Steps 3 and 4. Returns false if deleted zones are not purged yet.
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

    /// The person's own ranges: their zones' usage, their assets, waiting notifications, and devices.
    private var ownRanges: [KeyRange] {
        [
            GlobalKeys.zoneUsages(of: departure.userName), GlobalKeys.assets(of: departure.userName),
            GlobalKeys.notifications(for: departure.account), GlobalKeys.devices(of: departure.account),
        ]
    }

    private func privateDatabase(_ container: ContainerName) -> DatabaseID {
        DatabaseID(container: container, owner: departure.userName, scope: .private)
    }

    private func publicZone(_ container: ContainerName) -> ZoneID {
        let database = DatabaseID(container: container, owner: nil, scope: .public)
        return ZoneID(database: database, name: ZoneName(ZoneAddress.defaultZoneName))
    }

    private func removeZones(of database: DatabaseID) throws {
        try inBatches { transaction in
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
    }

    /// Runs `batch` in one transaction after the other until it has no more to do.
    private func inBatches(_ batch: (RecordTransaction) throws -> (count: Int, hasMore: Bool)) throws {
        var hasMore = true
        while hasMore {
            try checkpoint()
            let count: Int
            (count, hasMore) = try engine.transact(batch)
            meter?.add(count)
        }
    }

    /// Lets deleted zones be purged after removing the entries outside them that exist because of their shares. Their
    /// assets need no release, because the whole ledger of the person is deleted.
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

    private func removeEntries(
        _ range: KeyRange, _ didRemove: ([[UInt8]], RecordTransaction) throws -> Void = { _, _ in }
    ) throws {
        try inBatches { transaction in
            let keys = try transaction.store.keys(in: range, limit: Self.entryBatchCount)
            for key in keys { try transaction.delete(key) }
            try didRemove(keys, transaction)
            return (keys.count, keys.count == Self.entryBatchCount)
        }
    }
}

// MARK: Progress

/// The parts of freeing deleted data. `departures` and `entries` may come twice, and then continue.
package enum FreeingPart: String, WorkPart {
    /// Counting the work, before each of the others.
    case counting
    /// Records and shares of deleted zones, which hold assets and acceptances.
    case holders
    /// The data of deleted accounts outside their zones, with the files of their assets.
    case departures
    /// The entries of deleted zones.
    case entries
}

/// The progress of one part of freeing deleted data.
package typealias FreeingProgress = PartProgress<FreeingPart>

/// A part of long work, by its name in messages.
package protocol WorkPart: RawRepresentable<String>, Hashable, Sendable {}

/// The progress of one part of long work. Each part has its own total.
package struct PartProgress<Part: WorkPart>: Hashable, Sendable {
    package typealias Listener = (PartProgress) -> Void

    package var part: Part
    package var doneCount: Int
    /// Nil while it is counted.
    package var totalCount: Int?

    package init(part: Part, doneCount: Int, totalCount: Int?) {
        (self.part, self.doneCount, self.totalCount) = (part, doneCount, totalCount)
    }
}

extension WorkPart {
    /// A listener that reports progress of this part.
    func telling(_ tell: @escaping PartProgress<Self>.Listener) -> (_ done: Int, _ total: Int?) -> Void {
        { tell(PartProgress(part: self, doneCount: $0, totalCount: $1)) }
    }
}

extension WorkCounter {
    /// A counter that reports progress of a part.
    convenience init<Part>(
        _ part: Part, _ tell: @escaping PartProgress<Part>.Listener, shouldContinue: @escaping () -> Bool
    ) {
        self.init { count in
            tell(PartProgress(part: part, doneCount: count, totalCount: nil))
            return shouldContinue() ? .next : .stop
        }
    }
}

// MARK: Requests

/// Thrown to stop the deletion of an account between two commits.
private struct Stopped: Error {}

extension CloudService {
    /// Deletes an account with all its data in every container. When it returns, the data can no longer be reached;
    /// `finishDepartures` removes its bytes from the disk.
    ///
    /// If it throws after deleting the account itself, call it again or call `finishDepartures` to continue. Throws
    /// `unknownItem` if there is no such account and none of its data is left. `progress` gets the parts `counting` and
    /// `departures`: how many entries, zones, shares and records were read.
    package func deleteAccount(_ id: AccountID, progress tell: FreeingProgress.Listener? = nil) throws(CloudError) {
        try answering {
            let departed = try engine.transact { try accountDirectory.depart(id, in: $0) }
            let departure =
                try departed
                ?? engine.read { reader in
                    try accountDirectory.departures(limit: .max, in: reader).first { $0.account == id }
                }
            guard let departure else { throw AccountDirectory.unknownAccount }
            // The account is already deleted, so never stop before the rest is.
            let counter = tell.map { WorkCounter(FreeingPart.counting, $0, shouldContinue: { true }) }
            let workCount = try counter.map { try self.workCount(of: departure, $0) } ?? 0
            let meter = tell.map { WorkMeter(total: workCount, FreeingPart.departures.telling($0)) }
            try runner(departure, meter).removeContent(workCount: workCount)
        }
    }

    /// Continues every unfinished deletion of an account, for example after a crash, and removes the bytes that deleted
    /// accounts left on the disk. `pause`, `rest` and `shouldContinue` are those of `RecordEngine.purgeDeletedZones`,
    /// which it calls.
    ///
    /// `progress` gets the parts `counting`, `departures` and `entries`; entries count from `purgedCount`.
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
            let counter = tell.map {
                WorkCounter(FreeingPart.counting, $0, shouldContinue: { shouldContinue(PurgeProgress()) })
            }
            let workCounts = try departures.map { departure in
                try counter.map { try workCount(of: departure, $0) } ?? 0
            }
            let meter = tell.map { tell in
                // Counts nothing for a directory that cannot be read: the last step throws its error, after everything
                // else is done.
                let fileCount = departures.reduce(0) { $0 + ((try? runner($1).fileCount()) ?? 0) }
                return WorkMeter(
                    total: workCounts.reduce(0, +) + fileCount, FreeingPart.departures.telling(tell))
            }
            do {
                for (departure, workCount) in zip(departures, workCounts) {
                    try runner(departure, meter) {
                        guard shouldContinue(PurgeProgress()) else { throw Stopped() }
                    }.removeContent(workCount: workCount)
                }
            } catch is Stopped {
                return departures.count
            }
            let total = try counter.map { counter in
                try purgedCount + engine.read { try $0.purgeableEntryCount(counter) }
            }
            // What another process purges, `finish` finds unfinished.
            let progress =
                try engine.working(on: .purges) {
                    try engine.purgeDeletedZones(pause: pause, rest: rest) {
                        tell?(
                            FreeingProgress(
                                part: .entries, doneCount: purgedCount + $0.entriesDeleted, totalCount: total))
                        return shouldContinue($0)
                    }
                } ?? PurgeProgress()
            var finishedCount = 0
            for departure in departures {
                do {
                    let runner = runner(departure, meter) {
                        guard shouldContinue(progress) else { throw Stopped() }
                    }
                    try runner.checkpoint()
                    if try runner.finish() { finishedCount += 1 }
                } catch is Stopped {
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

    private func runner(
        _ departure: Departure, _ meter: WorkMeter? = nil, _ checkpoint: @escaping () throws -> Void = {}
    ) -> DepartureRunner {
        DepartureRunner(
            service: self, departure: departure,
            stamp: Stamp(date: environment.clock.now, user: departure.userName),
            tagSalt: environment.identifiers.makeSalt(), meter: meter, checkpoint: checkpoint)
    }
}
