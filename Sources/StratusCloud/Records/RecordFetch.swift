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
    /// Nil on a store that gains nothing from announcements.
    var reads: FetchReads?
    private var zones: [ZoneAddress: FetchedZone] = [:]
    /// The zone of the last record, as the client named it: most requests name only one.
    private var last: (claimed: ZoneAddress, zone: FetchedZone)?

    init(
        service: CloudService, caller: Caller, account: StoredAccount?, database: DatabaseSelector,
        fields: FieldSelection, reader: RecordReader, reads: FetchReads? = nil
    ) {
        self.service = service
        self.caller = caller
        self.account = account
        self.database = database
        self.fields = fields
        self.reader = reader
        self.reads = reads
    }

    mutating func record(_ claimed: RecordAddress) throws -> Result<ClientRecord, CloudError> {
        let zone = zone(claimed.zone)
        let name = RecordName(claimed.recordName)
        if let known = zone.records[name] { return known }
        let result = try Result.item { try found(name, in: zone) }
        zone.records[name] = result
        return result
    }

    private mutating func zone(_ claimed: ZoneAddress) -> FetchedZone {
        if let last, last.claimed == claimed { return last.zone }
        let address = ScopeVerdict.canonical(claimed, caller: account?.userName)
        let zone = zones[address] ?? FetchedZone(address)
        zones[address] = zone
        last = (claimed, zone)
        return zone
    }

    private mutating func found(_ name: RecordName, in fetched: FetchedZone) throws -> ClientRecord {
        if let error = NameRules.recordNameError(name.text) { throw error }
        let view = try view(of: fetched)
        if let decoded = try decodedRecord(name, view) {
            let permissions = try view.access.permissions(for: decoded.stored)
            if permissions.contains(.read) { return try view.presenter.shown(decoded) }
            // In another person's zone, a record that is not shared does not exist for the caller.
            if !view.access.zone.isShared { throw AccessVerdict.denied("READ operation not permitted", name) }
        }
        throw CloudError.recordNotFound(name)
    }

    private mutating func view(of fetched: FetchedZone) throws -> FetchedZone.View {
        if let known = fetched.view { return try known.get() }
        let view = try Result.item { try makeView(of: fetched.address) }
        fetched.view = view
        return try view.get()
    }

    /// The caller's view of a zone. An account that may not be used has only the access of the public.
    private mutating func makeView(of address: ZoneAddress) throws -> FetchedZone.View {
        let isUsable = AccountVerdict.status(of: account) == .available
        let zone = try ScopeVerdict.zone(address, in: database, container: caller.container, caller: account?.userName)
        let access = try ZoneAccess(service, to: zone, caller: isUsable ? account?.userName : nil, in: reader)
        reads?.found(zone)
        guard try access.isZoneVisible() else { throw ScopeVerdict.zoneNotFound(zone.address) }
        return FetchedZone.View(
            access: access, zoneReader: try reader.zone(zone.id),
            presenter: RecordPresenter(service: service, zone: zone, viewer: account, reader: reader))
    }

    private func decodedRecord(_ name: RecordName, _ view: FetchedZone.View) throws -> DecodedRecord? {
        let zone = view.access.zone
        if let zoneReader = view.zoneReader {
            if let decoded = try zoneReader.decodedRecord(name, fields: fields) { return decoded }
        } else if !zone.isDefault {
            throw try ZoneFacts.missing(zone, in: reader)
        }
        return try UserRecords.owner(of: name, in: zone, caller: account, service.accountDirectory, reader: reader)
            .map { DecodedRecord(UserRecords.unsaved(of: $0)) }
    }
}

/// What a request has found in one zone.
private final class FetchedZone {
    /// The caller's view of a zone that they see.
    final class View {
        let access: ZoneAccess
        /// Nil if the first record creates the zone.
        let zoneReader: ZoneReader?
        let presenter: RecordPresenter

        init(access: ZoneAccess, zoneReader: ZoneReader?, presenter: RecordPresenter) {
            self.access = access
            self.zoneReader = zoneReader
            self.presenter = presenter
        }
    }

    let address: ZoneAddress
    /// Nil until the first record with a valid name.
    var view: Result<View, CloudError>?
    var records: [RecordName: Result<ClientRecord, CloudError>] = [:]

    init(_ address: ZoneAddress) { self.address = address }
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
        guard let source = environment.faults, source.isPlanned else { return [:] }
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
