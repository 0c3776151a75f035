// Looking records up by name in one snapshot, for one caller.

import StratusLayout
import StratusModel
import StratusRecords

/// One request's look-ups in one snapshot.
struct RecordFetch {
    let service: CloudService
    let caller: Caller
    let account: Account?
    let database: DatabaseSelector
    let fields: FieldSelection
    let reader: RecordReader
    private var known: [RecordAddress: Result<ClientRecord, CloudError>] = [:]
    private var zones: [ZoneAddress: Result<ZoneAccess, CloudError>] = [:]

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

    private mutating func found(_ address: RecordAddress) throws -> ClientRecord {
        if let error = NameRules.recordNameError(address.recordName) { throw error }
        let access = try access(to: address.zone)
        let name = RecordName(address.recordName)
        if let decoded = try decodedRecord(name, access.zone) {
            let permissions = try access.permissions(for: decoded.stored)
            if permissions.contains(.read) {
                return try RecordView(service: service, zone: access.zone, viewer: account, reader: reader).shown(
                    decoded)
            }
            // In another's zone a record that is not shared is not there.
            if !access.zone.isShared, let refusal = AccessVerdict.readRefusal(name: name, permissions: permissions) {
                throw refusal
            }
        }
        throw CloudError(
            .unknownItem, inner: CloudError.InnerCode.unknownItem, "Record not found", ["record": name.text])
    }

    /// An account that may not be used is nobody's: it is shown what the world is shown.
    private mutating func access(to address: ZoneAddress) throws -> ZoneAccess {
        if let known = zones[address] { return try known.get() }
        let isUsable = AccountVerdict.status(of: account) == .available
        let result: Result<ZoneAccess, CloudError>
        do {
            let zone = try ScopeVerdict.zone(
                address, in: database, container: caller.container, caller: account?.userName)
            let access = try ZoneAccess(service, to: zone, caller: isUsable ? account?.userName : nil, in: reader)
            guard try access.isZoneVisible() else { throw ScopeVerdict.zoneNotFound(zone.address) }
            result = .success(access)
        } catch let error as CloudError { result = .failure(error) }
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
