// A change of a share on its way through a zone's transaction: what its record and its entries are to say.

import StratusModel

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
