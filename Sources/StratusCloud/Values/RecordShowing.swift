// How the stored records of one zone are told to one caller: names become addresses of the client's zone, the caller's own
// user name becomes the one that stands for the caller (D-02). All records of an answer have it in common.

import StratusModel
import StratusRecords

/// Tells stored records. What only some are told of a share is not here.
final class RecordShowing: Sendable {
    let zone: ZoneAddress
    /// The user name of the caller; nil for one who is not signed in.
    private let viewer: UserName?
    /// Whether what lies above a root of a share is not told.
    private let hidesParentsOfRoots: Bool

    init(zone: ZoneAddress, viewer: UserName?, hidesParentsOfRoots: Bool = false) {
        self.zone = zone
        self.viewer = viewer
        self.hidesParentsOfRoots = hidesParentsOfRoots
    }

    func address(_ name: RecordName) -> RecordAddress { RecordAddress(recordName: name.text, zone: zone) }

    func reference(_ name: RecordName) -> ClientReference { ClientReference(target: address(name), action: .none) }

    func name(of user: UserName) -> String {
        if let viewer, user == viewer { ZoneAddress.currentUser } else { user.text }
    }

    func parent(of record: __shared Record) -> ClientReference? {
        guard let parent = record.parent, !hidesParentsOfRoots || record.share == nil else { return nil }
        return reference(parent)
    }

    /// All of it, without who takes part in a share.
    func told(_ decoded: DecodedRecord) -> ToldRecord {
        let record = ClientRecord(decoded, self)
        return ToldRecord(
            address: record.address, type: record.type, changeTag: record.changeTag,
            creationDate: record.creationDate, modificationDate: record.modificationDate,
            creatorUserName: record.creatorUserName, lastModifiedUserName: record.lastModifiedUserName,
            parent: record.parent, share: record.share, fields: record.fields)
    }
}
