// Deleting accounts with all their data.

package import StratusModel
package import StratusRecords

extension CloudService {
    /// Deletes an account with all its data in every container. When it returns nothing of the data can be reached any
    /// more; its bytes are removed from the disk by `finishDepartures`.
    ///
    /// Where it throws after the account itself is gone, calling it again or `finishDepartures` goes on. Throws
    /// `unknownItem` when there is no such account, nor anything left of it.
    package func deleteAccount(_ id: AccountID) throws(CloudError) {
        try answering {
            let departed = try engine.transact { try accountDirectory.depart(id, in: $0) }
            let departure =
                try departed
                ?? engine.read { reader in
                    try accountDirectory.departures(limit: .max, in: reader).first { $0.account == id }
                }
            guard let departure else { throw AccountDirectory.unknownAccount }
            try runner(departure).removeContent()
        }
    }

    /// Goes on with every deletion of an account that has not come to its end: after a crash, and to remove the bytes
    /// that deleted accounts left on the disk. `pause`, `rest` and `shouldContinue` are those of
    /// `RecordEngine.purgeDeletedZones`, which it calls.
    ///
    /// Returns how many deletions are not finished.
    @discardableResult
    package func finishDepartures(
        pause: () -> Void = {}, rest: (_ seconds: Double) -> Void = { _ in },
        shouldContinue: (PurgeProgress) -> Bool = { _ in true }
    ) throws(CloudError) -> Int {
        try answering {
            let departures = try engine.read { try accountDirectory.departures(in: $0) }
            guard !departures.isEmpty else { return 0 }
            for departure in departures {
                guard shouldContinue(PurgeProgress()) else { return departures.count }
                try runner(departure).removeContent()
            }
            let progress = try engine.purgeDeletedZones(pause: pause, rest: rest, shouldContinue: shouldContinue)
            var finishedCount = 0
            for departure in departures {
                guard shouldContinue(progress) else { break }
                if try runner(departure).finish() { finishedCount += 1 }
                rest(BackgroundRest.shortSeconds)
            }
            return departures.count - finishedCount
        }
    }

    private func runner(_ departure: Departure) -> DepartureRunner {
        DepartureRunner(
            engine: engine, departure: departure,
            stamp: Stamp(date: environment.clock.now, user: departure.userName),
            tagSalt: environment.identifiers.makeSalt(), assetLedger: assetLedger, acceptances: acceptanceDirectory,
            journal: journal(), deliver: { try self.deliverBetween() },
            collector: assets.map { AssetCollector(engine: engine, store: $0) })
    }
}
