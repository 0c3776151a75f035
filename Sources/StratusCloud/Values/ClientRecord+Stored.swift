// Stored records as a client is shown them: names become addresses of the client's zone, the caller's own user name
// becomes the one that stands for the caller (D-02).

import FoundationEssentials
package import StratusModel

extension ClientRecord {
    /// A stored record for `viewer`, the user name of the caller, or nil for one who is not signed in. What only some are
    /// told is the caller's to decide: the parent, and who takes part in a share.
    package init(
        _ stored: __shared StoredRecord, zone: ZoneAddress, viewer: UserName?, hidesParent: Bool = false,
        sharing: ClientShare? = nil
    ) {
        func reference(_ name: RecordName) -> ClientReference {
            ClientReference(target: RecordAddress(recordName: name.text, zone: zone), action: .none)
        }
        func shown(_ user: UserName) -> String {
            if let viewer, user == viewer { ZoneAddress.currentUser } else { user.text }
        }
        self.init(
            address: RecordAddress(recordName: stored.record.name.text, zone: zone), type: stored.record.type.text,
            changeTag: stored.system.changeTag, creationDate: stored.system.created.date,
            modificationDate: stored.system.modified.date, creatorUserName: shown(stored.system.created.user),
            lastModifiedUserName: shown(stored.system.modified.user),
            parent: hidesParent ? nil : stored.record.parent.map(reference),
            share: stored.record.share.map(reference), fields: ClientFields(of: stored.record, zone: zone),
            sharing: sharing)
    }

    /// The record without the contents of its assets, as a conflict carries it (S-07).
    package var withoutContent: ClientRecord {
        var record = self
        record.fields = fields.withoutContent
        return record
    }
}

extension ClientValue {
    package init(_ value: FieldValue, zone: ZoneAddress) {
        switch value {
        case .string(let text): self = .string(text)
        case .int64(let number): self = .int64(number)
        case .double(let number): self = .double(number)
        case .date(let date): self = .date(date)
        case .bytes(let bytes): self = .bytes(.init(bytes))
        case .location(let location): self = .location(location)
        case .reference(let reference):
            self = .reference(
                ClientReference(
                    target: RecordAddress(recordName: reference.target.text, zone: zone), action: reference.action))
        case .asset(let asset): self = .asset(.content(asset))
        case .list(let items): self = .list(items.map { ClientValue($0, zone: zone) })
        }
    }

    /// The value with assets that have no contents.
    var withoutContent: ClientValue {
        switch self {
        case .asset: .asset(.missing)
        case .list(let items): .list(items.map(\.withoutContent))
        default: self
        }
    }
}
