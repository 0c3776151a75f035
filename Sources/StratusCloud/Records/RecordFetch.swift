// Fetches records by name: one snapshot, and one store read for a record of up to 100,000 bytes.

import StratusLayout
import StratusModel
import StratusRecords

/// The look-ups of one request, in one snapshot, for one caller.
struct RecordFetch {
    let service: CloudService
    let caller: Caller
    let account: StoredAccount?
    let database: DatabaseSelector
    let fields: FieldSelection
    let reader: RecordReader
    var known: [RecordAddress: Result<ClientRecord, CloudError>] = [:]
    var zones: [ZoneAddress: Result<ZoneAccess, CloudError>] = [:]
    /// Nil where announcing gains nothing.
    var reads: FetchReads?

    mutating func record(_ claimed: RecordAddress) throws -> Result<ClientRecord, CloudError> {
        let address = ScopeVerdict.canonical(claimed, caller: account?.userName)
        if let known = known[address] { return known }
        let result = try Result.item { try found(address) }
        known[address] = result
        return result
    }

    private mutating func found(_ address: RecordAddress) throws -> ClientRecord {
        if let error = NameRules.recordNameError(address.recordName) { throw error }
        let access = try access(to: address.zone)
        let name = RecordName(address.recordName)
        if let decoded = try decodedRecord(name, access.zone) {
            let permissions = try access.permissions(for: decoded.stored)
            if permissions.contains(.read) {
                return try RecordPresenter(service: service, zone: access.zone, viewer: account, reader: reader).shown(
                    decoded)
            }
            // In another person's zone, a record that is not shared does not exist for the caller.
            if !access.zone.isShared { throw AccessVerdict.denied("READ operation not permitted", name) }
        }
        throw CloudError.recordNotFound(name)
    }

    /// An account that may not be used gets what the public gets.
    private mutating func access(to address: ZoneAddress) throws -> ZoneAccess {
        if let known = zones[address] { return try known.get() }
        let isUsable = AccountVerdict.status(of: account) == .available
        let result = try Result.item {
            let zone = try ScopeVerdict.zone(
                address, in: database, container: caller.container, caller: account?.userName)
            let access = try ZoneAccess(service, to: zone, caller: isUsable ? account?.userName : nil, in: reader)
            reads?.found(zone)
            guard try access.isZoneVisible() else { throw ScopeVerdict.zoneNotFound(zone.address) }
            return access
        }
        zones[address] = result
        return try result.get()
    }

    private func decodedRecord(_ name: RecordName, _ zone: ResolvedZone) throws -> DecodedRecord? {
        if let zoneReader = try reader.zone(zone.id) {
            if let decoded = try zoneReader.decodedRecord(name, fields: fields) { return decoded }
        } else if !zone.isDefault {
            throw try ZoneFacts.missing(zone, in: reader)
        }
        return try UserRecords.owner(of: name, in: zone, caller: account, service.accountDirectory, reader: reader)
            .map { DecodedRecord(UserRecords.unsaved(of: $0)) }
    }
}

extension CloudService {
    /// Fetches records by name. An address that is named twice is read once.
    ///
    /// Throws for the request as a whole: `limitExceeded` (L-01); `notAuthenticated` and similar errors, unless the
    /// database is the public one (S-17); a planned fault; the store's failures. The item of a missing record fails
    /// with `unknownItem` (S-19), that of a missing zone with `zoneNotFound` or `userDeletedZone`.
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
        try requestLimits().check(itemCount: request.addresses.count)
        let claimed = try database == .public ? nil : claimedAccount(of: caller)
        let fields = FieldSelection.desired(request.desiredKeys)
        let records = try engine.read { reader in
            var reads = FetchReads(reader, database)
            reads?.announce(request.addresses, by: caller, user: claimed?.userName)
            // Every caller may read public data, regardless of the account's status (S-17).
            let account =
                try database == .public
                ? caller.account.flatMap { try accountDirectory.account($0, in: reader) }
                : accountDirectory.requireAccount(of: caller, in: reader)
            var fetch = RecordFetch(
                service: self, caller: caller, account: account, database: database, fields: fields, reader: reader,
                reads: reads)
            return try request.addresses.map { try faults[$0].map { .failure($0) } ?? fetch.record($0) }
        }
        return FetchRecordsResponse(records: records)
    }

    /// The planned faults of the zones and records, looked up outside the snapshot.
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
