// A save after judging, and how a sent record is merged into the stored one.
//
// The forms of a record on the way through a save: `RecordSave` (the client's claim) → `ItemSave` (with its place in
// the request) → `JudgedSave` (tag compared, values merged, not yet decided together with the other items) →
// `StoredRecord`. Those of a share: `ShareClaim` → `ShareDraft` (its old and new content) → `ShareTransition` (what
// `ShareWriter` writes).

import StratusLayout
import StratusModel
import StratusStore

/// A save that passed judging, with the record that it would store and the one that it replaces.
struct JudgedSave {
    let name: RecordName
    /// Its share mark is set and cleared with the share (SH-03).
    var record: Record
    /// The stored record; nil for a new one, and for a user record before its first save.
    let old: StoredRecord?
    /// For a user record before its first save, when and by whom it was created.
    var created: Stamp?
    /// Set if its owner had no room for it, so its files were not stored: it must not be written.
    var quotaError: CloudError?
    /// The change of the share, if the record is one.
    var share: ShareDraft?

    /// By how many bytes the save changes the zone's size.
    var byteCountChange: Int64 {
        QuotaLedger.byteCount(of: record).addingCapped(-(old.map { QuotaLedger.byteCount(of: $0.record) } ?? 0))
    }
}

extension RecordSave {
    /// The parent that the save names.
    ///
    /// Throws `invalidArguments` for a record of another zone and for an action (C-09).
    func parentName(_ claims: FieldClaims) throws(CloudError) -> RecordName? {
        guard let parent else { return nil }
        guard RecordType(type) != ShareContent.recordType else {
            throw CloudError(.invalidArguments, "A share has no parent.", ["record": address.recordName])
        }
        guard parent.action == .none else {
            throw CloudError(
                .invalidArguments, "A parent reference has the action none.", ["record": address.recordName])
        }
        return try claims.target(parent, key: "parent")
    }

    /// The stored record, or a new one, with the sent values of `keys`.
    ///
    /// Throws `invalidArguments` (L-09, R-01) and the errors of assets, `limitExceeded` for too many fields or bytes
    /// (L-03, L-06).
    func merged(
        into stored: Record?, keys: Set<String>, setsParent: Bool, _ claims: FieldClaims, _ options: CloudOptions
    ) throws(CloudError) -> Record {
        let name = RecordName(address.recordName)
        var record = stored ?? Record(name: name, type: RecordType(type))
        if setsParent { record.parent = try parentName(claims) }
        record.fields.reserveCapacity(keys.count)
        if stored == nil, let error = SchemaNames.error(of: record.type, record: address.recordName) { throw error }
        for key in keys {
            let fieldKey = FieldKey(key)
            if let error = SchemaNames.error(of: fieldKey, in: RecordType(type), record: address.recordName) {
                throw error
            }
            guard let sent = fields[key] else {
                record.fields[fieldKey] = nil
                continue
            }
            // A value that the client has neither set nor holds the content of stays as stored (S-06, S-07).
            if stored != nil, !changedKeys.contains(key), sent.value.claimsContent { continue }
            let value = try claims.value(sent.value, key: key, stored: stored?.fields[fieldKey]?.value)
            record.fields[fieldKey] = Field(value, isEncrypted: sent.isEncrypted)
        }
        try record.checkSize(options)
        return record
    }
}

extension Record {

    func checkSize(_ options: CloudOptions) throws(CloudError) {
        guard fields.count <= SchemaVerdict.maximumFieldCount else {
            throw CloudError.overLimit(
                "The record has too many fields. Split it into several records.",
                limit: SchemaVerdict.maximumFieldCount, ["record": name.text, "fields": "\(fields.count)"])
        }
        try check(contentByteCount, limit: options.recordByteCount)
        // This includes the overhead of short items and assets, so that no record can fail the commit of another.
        let storedByteCount: Int
        do throws(StoreError) { storedByteCount = try RecordCodec.fieldsByteCount(of: self) } catch {
            throw CloudError(.invalidArguments, "The record holds a value that cannot be stored.", cause: "\(error)")
        }
        try check(storedByteCount, limit: LayoutLimits.maximumFieldsByteCount)
    }

    private func check(_ byteCount: Int, limit: Int) throws(CloudError) {
        guard byteCount > limit else { return }
        throw CloudError.overLimit("record too large", limit: limit, ["record": name.text, "bytes": "\(byteCount)"])
    }
}

/// The change of a share by a save. It is a class, because every save has a reference to one and nearly all are nil.
final class ShareDraft: Sendable {
    /// Nil for a new share.
    let old: ShareContent?
    let revision: ShareRevision
    /// The owners of the handles by which people were invited.
    let handleOwners: [Handle: UserName]

    init(old: ShareContent?, _ revision: ShareRevision, handleOwners: [Handle: UserName] = [:]) {
        (self.old, self.revision, self.handleOwners) = (old, revision, handleOwners)
    }

    var new: ShareContent { revision.content }
    /// The root of a new share; nil for an existing share and for one of a whole zone.
    var newRoot: RecordName? { old == nil ? new.root : nil }
}

/// A conflict with another share that prevents sharing or moving a record.
struct SharingConflict: Sendable {
    /// The rule that is broken.
    let rule: String
    /// The record that would be in two shares; nil if a whole zone would be.
    let record: RecordName?
    /// The root of the other share; nil if that shares the whole zone.
    let root: RecordName?
    /// The other share.
    let share: RecordName

    /// `existing` is the other share as the caller sees it.
    func error(_ existing: ClientRecord?) -> CloudError {
        let subject = record.map { "The record \($0)" } ?? "The zone"
        let way = root.map { "the record \($0) is the root of the share \(share)" } ?? "the zone is shared by \(share)"
        var fields = ["rule": rule, "share": share.text]
        fields["record"] = record?.text
        fields["root"] = root?.text
        return CloudError(
            .alreadyShared, text: "\(subject) cannot be in two shares (\(rule)): \(way).", fields,
            serverRecord: existing)
    }
}
