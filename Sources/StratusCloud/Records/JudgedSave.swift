// A save whose tag was compared and whose values were merged: what will be stored in place of what.

import StratusLayout
import StratusModel

/// A save that may be carried out.
struct JudgedSave {
    let name: RecordName
    /// Its share mark is set and cleared with the share (SH-03).
    var record: Record
    /// The record as it lies in the store; nil for a new one, and for a user record that nobody has saved.
    let old: StoredRecord?
    /// When and by whom a user record was created that nobody has saved.
    var created: Stamp?
    /// That its owner had no room for it when its files were not taken in: it must not be written.
    var quotaError: CloudError?
    /// What becomes of the share, where the record is one.
    var share: ShareDraft?

    /// By how much more the zone holds when it is written.
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

    /// The stored record, or a new one, with the values of `keys` in place of its own.
    ///
    /// Throws `invalidArguments` (L-09, R-01) and the errors of assets, `limitExceeded` for too many fields or bytes (L-03,
    /// L-06).
    func merged(
        into stored: Record?, keys: Set<String>, parent change: SaveVerdict.ParentChange, _ claims: FieldClaims,
        _ options: CloudOptions
    ) throws(CloudError) -> Record {
        let name = RecordName(address.recordName)
        var record = stored ?? Record(name: name, type: RecordType(type))
        if change == .asSent { record.parent = try parentName(claims) }
        record.fields.reserveCapacity(keys.count)
        if stored == nil, !SchemaNames.isValid(record.type) {
            throw CloudError(
                .invalidArguments, inner: CloudError.InnerCode.schema,
                "The record type has no valid name: a letter, then letters, digits and underscores, at most 255.",
                ["record": address.recordName, "recordType": Self.shown(type)])
        }
        for key in keys {
            let fieldKey = FieldKey(key)
            guard SchemaNames.isValid(fieldKey) else {
                throw CloudError(
                    .invalidArguments, inner: CloudError.InnerCode.schema,
                    "The field has no valid name: a letter, then letters, digits and underscores, at most 255.",
                    ["record": address.recordName, "recordType": Self.shown(type), "field": Self.shown(key)])
            }
            guard let sent = fields[key] else {
                record.fields[fieldKey] = nil
                continue
            }
            // What the client has neither set nor holds the content of stays as it is stored (S-06, S-07).
            if stored != nil, !changedKeys.contains(key), sent.value.claimsContent { continue }
            let value = try claims.value(sent.value, key: key, stored: stored?.fields[fieldKey]?.value)
            record.fields[fieldKey] = Field(value, isEncrypted: sent.isEncrypted)
        }
        try record.checkSize(options)
        return record
    }

    /// What an error tells of a name, which may be as long as the client likes.
    private static func shown(_ name: String) -> String { String(name.prefix(NameRules.maximumCharacterCount)) }
}

extension Record {
    /// Fields of one record type, and so of one record (L-06).
    static let maximumFieldCount = 256

    func checkSize(_ options: CloudOptions) throws(CloudError) {
        guard fields.count <= Self.maximumFieldCount else {
            throw CloudError(
                .limitExceeded, inner: CloudError.InnerCode.limit,
                "The record has too many fields: split it over several records.",
                ["record": name.text, "fields": "\(fields.count)", "limit": "\(Self.maximumFieldCount)"])
        }
        try check(contentByteCount, limit: options.recordByteCount)
        // What short items and assets cost beside their content counts here: no record may fail another one's commit.
        let storedByteCount: Int
        do throws(LayoutError) { storedByteCount = try RecordCodec.fieldsByteCount(of: self) } catch {
            throw CloudError(.invalidArguments, "The record holds a value that cannot be stored.", cause: "\(error)")
        }
        try check(storedByteCount, limit: LayoutLimits.maximumFieldsByteCount)
    }

    private func check(_ byteCount: Int, limit: Int) throws(CloudError) {
        guard byteCount > limit else { return }
        throw CloudError(
            .limitExceeded, inner: CloudError.InnerCode.limit, "record too large",
            ["record": name.text, "bytes": "\(byteCount)", "limit": "\(limit)"])
    }
}

// A change of a share on its way through a zone's transaction: what its record and its entries are to say.

/// A class, because nearly every save has none and carries it along.
final class ShareDraft: Sendable {
    /// Nil for a new share.
    let old: ShareContent?
    let new: ShareContent
    /// Those who are invited by this change.
    let invited: [ParticipantID]
    /// Those of them who had asked for access.
    let approved: [UserName]
    /// Whose the handles are by which people were invited.
    let handleOwners: [Handle: UserName]

    init(
        old: ShareContent?, new: ShareContent, invited: [ParticipantID] = [], approved: [UserName] = [],
        handleOwners: [Handle: UserName] = [:]
    ) {
        self.old = old
        self.new = new
        self.invited = invited
        self.approved = approved
        self.handleOwners = handleOwners
    }

    /// The root that a new share makes one; nil for a share that is there and for one of a whole zone.
    var newRoot: RecordName? { old == nil ? new.root : nil }
}

/// Why a record cannot be shared, or be moved: another share is in the way.
struct SharingConflict: Sendable {
    /// The rule that is broken.
    let rule: String
    /// The record that would be in two shares; nil where a whole zone is to be shared.
    let record: RecordName?
    /// The root in the way; nil where the zone is shared whole.
    let root: RecordName?
    /// The share in the way.
    let share: RecordName

    /// `existing` is the share in the way as the caller sees it.
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
