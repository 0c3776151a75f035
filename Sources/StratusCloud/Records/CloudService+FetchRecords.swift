// Fetching records by name: one snapshot, one store read for a record of up to 100,000 bytes.

import StratusLayout
import StratusModel
import StratusRecords

extension CloudService {
    /// Fetches records by name. An address that is named twice is read once.
    ///
    /// Throws, for the request as a whole: `limitExceeded` (L-01), `notAuthenticated` and the like, where the database is
    /// not the public one (S-17), a planned fault, and the store's failures. A record that is not there is its item's
    /// `unknownItem` (S-19), a zone that is not there `zoneNotFound` or `userDeletedZone`.
    package func fetchRecords(
        _ request: FetchRecordsRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> FetchRecordsResponse {
        guard !request.isUnasked else {
            return try answering { try fetched(request, as: caller, in: database, faults: [:]) }
        }
        return try reporting(.fetchRecords, caller, itemCount: request.addresses.count) { event in
            let faults = plannedFaults(request.addresses, caller)
            let response = try fetched(request, as: caller, in: database, faults: faults)
            event.count(response.records)
            return response
        }
    }

    private func fetched(
        _ request: FetchRecordsRequest, as caller: Caller, in database: DatabaseSelector,
        faults: [RecordAddress: CloudError]
    ) throws -> FetchRecordsResponse {
        try RequestLimits.checkItemCount(request.addresses.count, options)
        if database != .public { try requireAccount(caller) }
        // Who takes part in a share is no field of it, and always told.
        let fields =
            request.desiredKeys.map { keys in
                FieldSelection.only(Set(keys.map { FieldKey($0) }).union([ShareContent.fieldKey]))
            } ?? .all
        let records = try engine.read { reader in
            // Public data is shown to everybody, whatever the standing of the account (S-17).
            let account = try caller.account.flatMap { try accountDirectory.account($0, in: reader) }
            var fetch = RecordFetch(
                service: self, caller: caller, account: account, database: database, fields: fields, reader: reader)
            return try request.addresses.map { try faults[$0].map { .failure($0) } ?? fetch.record($0) }
        }
        return FetchRecordsResponse(records: records)
    }

    /// The planned faults of the zones and records, asked for outside the snapshot.
    private func plannedFaults(_ addresses: [RecordAddress], _ caller: Caller) -> [RecordAddress: CloudError] {
        guard let source = environment.faults else { return [:] }
        var zones: [ZoneAddress: CloudError?] = [:]
        var faults: [RecordAddress: CloudError] = [:]
        var seen: Set<RecordAddress> = []
        for address in addresses where seen.insert(address).inserted {
            let zone = zones[address.zone] ?? source.error(at: .zone(address.zone, caller, .fetchRecords))
            zones[address.zone] = .some(zone)
            faults[address] = zone ?? source.error(at: .record(address, caller, .fetchRecords))
        }
        return faults
    }
}
