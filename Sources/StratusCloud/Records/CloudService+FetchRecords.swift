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
        try reporting(.fetchRecords, caller, itemCount: request.addresses.count) { event in
            try RequestLimits.checkItemCount(request.addresses.count, options)
            if database != .public { try requireAccount(caller) }
            let faults = plannedFaults(request.addresses, caller)
            let fields = request.desiredKeys.map { FieldSelection.only(Set($0.map { FieldKey($0) })) } ?? .all
            let records = try engine.read { reader in
                // Public data is shown to everybody, whatever the standing of the account (S-17).
                let account = try caller.account.flatMap { try accountDirectory.account($0, in: reader) }
                var fetch = RecordFetch(
                    service: self, caller: caller, account: account, database: database, fields: fields,
                    reader: reader)
                return try request.addresses.map { try faults[$0].map { .failure($0) } ?? fetch.record($0) }
            }
            event.count(records)
            return FetchRecordsResponse(records: records)
        }
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

/// One request's look-ups in one snapshot.
private struct RecordFetch {
    let service: CloudService
    let caller: Caller
    let account: Account?
    let database: DatabaseSelector
    let fields: FieldSelection
    let reader: RecordReader
    private var known: [RecordAddress: Result<ClientRecord, CloudError>] = [:]

    init(
        service: CloudService, caller: Caller, account: Account?, database: DatabaseSelector, fields: FieldSelection,
        reader: RecordReader
    ) {
        self.service = service
        self.caller = caller
        self.account = account
        self.database = database
        self.fields = fields
        self.reader = reader
    }

    mutating func record(_ claimed: RecordAddress) throws -> Result<ClientRecord, CloudError> {
        let address = ScopeVerdict.canonical(claimed, caller: account?.userName)
        if let known = known[address] { return known }
        let result: Result<ClientRecord, CloudError>
        do {
            result = .success(try found(address))
        } catch let error as CloudError { result = .failure(error) }
        known[address] = result
        return result
    }

    private func found(_ address: RecordAddress) throws -> ClientRecord {
        if let error = NameRules.recordNameError(address.recordName) { throw error }
        let zone = try ScopeVerdict.zone(
            address.zone, in: database, container: caller.container, caller: account?.userName)
        let name = RecordName(address.recordName)
        if let stored = try storedRecord(name, zone) {
            return ClientRecord(stored, zone: zone.address, viewer: account?.userName)
        }
        throw CloudError(
            .unknownItem, inner: CloudError.InnerCode.unknownItem, "Record not found", ["record": name.text])
    }

    private func storedRecord(_ name: RecordName, _ zone: ResolvedZone) throws -> StoredRecord? {
        if let zoneReader = try reader.zone(zone.id) {
            if let stored = try zoneReader.record(name, fields: fields) { return stored }
        } else if !zone.isDefault {
            throw try ZoneFacts.missing(zone, in: reader)
        }
        return try UserRecords.owner(of: name, in: zone, caller: account, service.accountDirectory, reader: reader)
            .map { UserRecords.unsaved(of: $0) }
    }
}
