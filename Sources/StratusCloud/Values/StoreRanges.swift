// What requests of all kinds read from the store or the record layer in the same way: whether a range has entries, the
// keys of a range, and the fields that a client desires.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension StoreReader {
    /// Whether a range has an entry: one seek.
    func hasEntry(in range: KeyRange) throws -> Bool {
        try !keys(in: range, limit: 1).isEmpty
    }

    /// The first keys of a range.
    func keys(in range: KeyRange, limit: Int = .max) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        try scan(range, .forward, limit: limit) { key, _ in
            keys.append([UInt8](copying: key))
            return .next
        }
        return keys
    }
}

extension FieldSelection {
    /// The fields with the desired keys; all fields if there are none. The participants of a share are not a field, and
    /// always included.
    static func desired(_ keys: Set<String>?) -> FieldSelection {
        keys.map { .only(Set($0.map { FieldKey($0) }).union([ShareContent.fieldKey])) } ?? .all
    }
}
