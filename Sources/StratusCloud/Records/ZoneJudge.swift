// Judges each item of a zone alone, in a transaction or in a snapshot: access, policy and tag, merge, references, sizes.
// What it says of one item does not depend on the others.

import StratusModel
import StratusRecords

struct ZoneJudge {
    let service: CloudService
    let request: ZoneRequest
    let account: Account
    let reader: RecordReader
    /// Nil where the zone is made by its first record.
    let zone: ZoneReader?
    let intake: AssetIntake

    /// The record as the save would store it. Throws the item's error as `CloudError`.
    func judged(_ item: ItemSave) throws -> JudgedSave {
        if let error = item.error { throw error }
        let save = item.save
        let stored = try zone?.record(item.name)
        let owner = try userRecordOwner(of: item.name)
        let refusal = AccessVerdict.saveRefusal(
            type: RecordType(save.type), name: item.name, existing: stored,
            permissions: try stored.map { try access.permissions(for: $0, in: reader) }
                ?? access.permissions(toCreate: RecordType(save.type), in: reader),
            caller: account.userName, userRecordOwner: owner?.userName)
        if let refusal { throw refusal }
        let before = stored ?? owner.map { UserRecords.unsaved(of: $0) }
        switch SaveVerdict(save, policy: request.policy, storedTag: before?.system.changeTag) {
        case .refused(let reason):
            throw reason.error(item.name, serverRecord: try before.flatMap { try shown($0) })
        case .write(let keys, let parent):
            let claims = FieldClaims(
                zone: request.zone, caller: account.userName, intake: intake.contents(for: item, of: request))
            let record = try save.merged(into: before?.record, keys: keys, parent: parent, claims, service.options)
            return JudgedSave(
                name: item.name, record: record, old: stored, created: stored == nil ? before?.system.created : nil,
                quotaError: item.quotaError)
        }
    }

    /// Throws the item's error as `CloudError`.
    func judge(_ item: ItemDelete) throws {
        if let error = item.error { throw error }
        let owner = try userRecordOwner(of: item.name)
        guard request.zone.isPublic || owner != nil || service.options.unknownRecordDeletionFails else { return }
        let stored = try zone?.record(item.name)
        let refusal = AccessVerdict.deleteRefusal(
            name: item.name, existing: stored,
            permissions: try stored.map { try access.permissions(for: $0, in: reader) } ?? .all,
            userRecordOwner: owner?.userName)
        if let refusal { throw refusal }
        if stored == nil, service.options.unknownRecordDeletionFails {
            throw SaveVerdict.Reason.deleted.error(item.name, serverRecord: nil)
        }
    }

    /// What the caller is answered whose save was written: of a record that may not be read only what was sent.
    func answer(_ stored: StoredRecord, to save: RecordSave) throws -> ClientRecord {
        if let record = try shown(stored) { return record }
        let sentKeys = save.sentKeys(request.policy)
        var record = ClientRecord(stored, zone: request.zone.address, viewer: account.userName)
        record.fields = record.fields.filter { sentKeys.contains($0.key) }
        return record
    }

    /// A stored record as the caller may see it; nil for one that may not be read.
    private func shown(_ stored: StoredRecord) throws -> ClientRecord? {
        guard try access.permissions(for: stored, in: reader).contains(.read) else { return nil }
        return ClientRecord(stored, zone: request.zone.address, viewer: account.userName)
    }

    private var access: ZoneAccess {
        ZoneAccess(service.schemaKeeper, to: request.zone, caller: account.userName)
    }

    private func userRecordOwner(of name: RecordName) throws -> Account? {
        try UserRecords.owner(
            of: name, in: request.zone, caller: account, service.accountDirectory, reader: reader)
    }
}
