// What a verb writes: through the face where there is one, so that the server's rules hold, else below it. Everything that
// changes records keeps the count of what their owner holds.

import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords

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
