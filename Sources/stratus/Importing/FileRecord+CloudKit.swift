// A file's record as CloudKit has it.

import Foundation
import StratusKit
import StratusModel

extension CKRecord {
    /// A record with what is to change of `stored`, or with everything where nothing is stored. Saved with the policy
    /// `changedKeys` it leaves alone what the server has besides: the place of the record, its mark as the root of a share.
    convenience init(_ record: StratusModel.Record, changing stored: StratusModel.Record?, in client: ZoneClient) {
        self.init(recordType: record.type.text, recordID: client.recordID(record.name))
        for (key, field) in record.fields where stored?.fields[key] != field { set(field.value, forKey: key.text) }
        for key in (stored?.fields ?? [:]).keys where record.fields[key] == nil { setObject(nil, forKey: key.text) }
        if stored == nil, let parent = record.parent { setParent(client.recordID(parent)) }
    }

    /// Sets a value of one of the kinds that a file's fields have.
    private func set(_ value: FieldValue, forKey key: String) {
        switch value {
        case .string(let text): self[key] = text
        case .int64(let number): self[key] = number
        case .date(let date): self[key] = date
        case .bytes(let bytes): self[key] = Data(bytes)
        case .double, .location, .reference, .asset, .list: preconditionFailure("No file has such a field.")
        }
    }
}
