// Deleting accounts with all their data.

package import StratusModel
package import StratusRecords

/// Ends the deletion of an account between two commits.
private struct NobodyWaits: Error {}

extension CloudService {
    /// Deletes an account with all its data in every container. When it returns nothing of the data can be reached any
    /// more; its bytes are removed from the disk by `finishDepartures`.
    ///
    /// Where it throws after the account itself is gone, calling it again or `finishDepartures` goes on. Throws
    /// `unknownItem` when there is no such account, nor anything left of it. `progress` is told of the parts `counting` and
    /// `departures`: how many entries, zones, shares and records were looked at.
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
