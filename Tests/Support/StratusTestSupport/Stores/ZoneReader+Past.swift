// One look into a zone's past. The products keep a `ZoneHistory` for many.

import StratusLayout
package import StratusModel
package import StratusRecords

extension ZoneReader {
    /// The place of a record right after the write with this sequence; nil if it did not exist then.
    ///
    /// Throws `expired` when the sequence is older than the purge horizon.
    package func pastNode(_ name: RecordName, asOf sequence: UInt64) throws -> PastNode? {
        _ = try changes(after: sequence, limit: 1)
        return try ZoneHistory(self, now: header().sequence).node(name, at: sequence)
    }
}
