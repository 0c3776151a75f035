// Deleting accounts with all their data.

package import StratusModel
package import StratusRecords

extension CloudService {
    /// Deletes an account with all its data in every container. When it returns nothing of the data can be reached any
    /// more; its bytes are removed from the disk by `finishDepartures`.
    ///
    /// Where it throws after the account itself is gone, calling it again or `finishDepartures` goes on. Throws
    /// `unknownItem` when there is no such account, nor anything left of it. `progress` is told how many entries, zones, shares
    /// and records were looked at, and of how many.
    package func deleteAccount(_ id: AccountID, progress: WorkMeter.Listener? = nil) throws(CloudError) {
        try answering {
            let departed = try engine.transact { try accountDirectory.depart(id, in: $0) }
            let departure =
                try departed
                ?? engine.read { reader in
                    try accountDirectory.departures(limit: .max, in: reader).first { $0.account == id }
                }
            guard let departure else { throw AccountDirectory.unknownAccount }
            let workCount = try progress == nil ? 0 : self.workCount(of: departure)
            let meter = progress.map { WorkMeter(total: workCount, $0) }
            try runner(departure, meter).removeContent(workCount: workCount)
        }
    }

    /// Goes on with every deletion of an account that has not come to its end: after a crash, and to remove the bytes
    /// that deleted accounts left on the disk. `pause`, `rest` and `shouldContinue` are those of
    /// `RecordEngine.purgeDeletedZones`, which it calls.
    ///
    /// `progress` is told of the parts `departures` and `entries`; entries count on from `purgedCount`.
    ///
    /// Returns how many deletions are not finished.
    @discardableResult
    package func finishDepartures(
        pause: () -> Void = {}, rest: (_ seconds: Double) -> Void = { _ in },
        shouldContinue: (PurgeProgress) -> Bool = { _ in true }, progress tell: FreeingProgress.Listener? = nil,
        purgedCount: Int = 0
    ) throws(CloudError) -> Int {
        try answering {
            let departures = try engine.read { try accountDirectory.departures(in: $0) }
            guard !departures.isEmpty else { return 0 }
            let workCounts = try tell == nil ? departures.map { _ in 0 } : departures.map { try workCount(of: $0) }
            let meter = tell.map {
                WorkMeter(
                    total: workCounts.reduce(0, +) + fileCount(of: departures),
                    FreeingProgress.Part.departures.telling($0))
            }
            for (departure, workCount) in zip(departures, workCounts) {
                guard shouldContinue(PurgeProgress()) else { return departures.count }
                try runner(departure, meter).removeContent(workCount: workCount)
            }
            let total = try tell == nil ? 0 : purgedCount + engine.read { try $0.purgeableEntryCount() }
            let progress = try engine.purgeDeletedZones(pause: pause, rest: rest) {
                tell?(FreeingProgress(part: .entries, doneCount: purgedCount + $0.entriesDeleted, totalCount: total))
                return shouldContinue($0)
            }
            var finishedCount = 0
            for departure in departures {
                guard shouldContinue(progress) else { break }
                if try runner(departure, meter).finish() { finishedCount += 1 }
                rest(BackgroundRest.shortSeconds)
            }
            return departures.count - finishedCount
        }
    }

    private func workCount(of departure: Departure) throws -> Int {
        try engine.read { try runner(departure).workCount(in: $0) }
    }

    /// What cannot be read counts as nothing: the last step tells of it, when everything else is done.
    private func fileCount(of departures: [Departure]) -> Int {
        departures.reduce(0) { $0 + ((try? runner($1).fileCount()) ?? 0) }
    }

    private func runner(_ departure: Departure, _ meter: WorkMeter? = nil) -> DepartureRunner {
        DepartureRunner(
            engine: engine, departure: departure,
            stamp: Stamp(date: environment.clock.now, user: departure.userName),
            tagSalt: environment.identifiers.makeSalt(), assetLedger: assetLedger, acceptances: acceptanceDirectory,
            journal: journal(), deliver: { try self.deliverBetween() },
            collector: assets.map { AssetCollector(engine: engine, store: $0) }, meter: meter)
    }
}
