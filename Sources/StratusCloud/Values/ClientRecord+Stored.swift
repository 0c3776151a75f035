// Stored records and values as a client is shown them.

import FoundationEssentials
package import StratusModel
import StratusRecords

extension ClientRecord {
    /// A stored record for `viewer`, the user name of the caller, or nil for one who is not signed in. What only some are
    /// told is the caller's to decide: the parent, and who takes part in a share.
    package init(_ stored: StoredRecord, zone: ZoneAddress, viewer: UserName?) {
        self.init(DecodedRecord(stored), RecordShowing(zone: zone, viewer: viewer))
    }
}

extension ClientValue {
    package init(_ value: FieldValue, zone: ZoneAddress) {
        switch value {
        case .string(let text): self = .string(text)
        case .int64(let number): self = .int64(number)
        case .double(let number): self = .double(number)
        case .date(let date): self = .date(date)
        case .bytes(let bytes): self = .bytes(ClientBytes(bytes))
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
