// A decoded record, which a store may cache beside the value it was decoded from: whoever reads it next gets it
// without a read and without decoding. Only whole records of one chunk are kept, because the store forgets by the key that
// is written.

import StratusLayout
package import StratusModel
import StratusStore

/// A record handed on by reference: a copy of the value costs a dozen counts of references.
package final class DecodedRecord: Sendable {
    package let stored: StoredRecord

    package init(_ stored: StoredRecord) { self.stored = stored }

    /// The record with the fields asked for, if it passes.
    func record(_ fields: FieldSelection, passing passes: (StoredRecord) -> Bool) -> DecodedRecord? {
        guard passes(stored) else { return nil }
        switch fields {
        case .all: return self
        case .none: return with([:])
        case .only(let keys): return with(stored.record.fields.only(keys))
        }
    }

    private func with(_ fields: RecordFields) -> DecodedRecord {
        var record = stored
        record.record.fields = fields
        return DecodedRecord(record)
    }

    /// What a decoded record takes in memory, from the bytes it was decoded from: texts and lists lie apart, each with a
    /// head of its own.
    static func byteCount(decodedFrom byteCount: Int) -> Int { 512 + 3 * byteCount }
}

extension StoreReader {
    /// The record under this key, if it is cached.
    func decodedRecord(forKey key: [UInt8]) -> DecodedRecord? {
        keptObject(forKey: key) as? DecodedRecord
    }

    /// Offers a record that was decoded whole from a value of so many bytes.
    func keep(_ record: DecodedRecord, decodedFrom byteCount: Int, forKey key: [UInt8]) {
        keep(forKey: key, byteCount: DecodedRecord.byteCount(decodedFrom: byteCount)) { record }
    }
}
