// Writing a record without saving it: for what a floor above keeps in a record of which its readers must not be told.

import StratusLayout
package import StratusModel
import StratusStore

extension RecordTransaction {
    /// Writes other fields under the tag, the dates and the change that a record has. No feed tells of it, no history
    /// remembers it, and whoever has read the record may go on changing it.
    ///
    /// Only fields may differ that hold no reference and are in no index. Chunks of the old value and of the new carry the
    /// same change: they never meet, because both are written whole.
    ///
    /// Throws `unknownZone`, `rebuilding` as `carryOut`, and `invalidRequest` where the record is not there, or has been
    /// saved since it was read.
    package func rewrite(_ stored: StoredRecord, in id: ZoneID) throws {
        let zone = try existingZone(id)
        try requireWholeIndexes(of: zone)
        let name = stored.record.name
        guard case .live(let live) = try zone.state(of: name), live.header.system == stored.system else {
            throw RecordsError(
                .invalidRequest, "The record was saved since it was read: read it again.",
                ["record": name.text, "zone": id.name.text])
        }
        let chunks = try RecordChunks.split(
            RecordCodec.encoded(stored), record: name, changeSequence: stored.system.changeSequence)
        for (index, chunk) in chunks.enumerated() {
            try set(index == 0 ? zone.keys.record(name) : zone.keys.recordChunk(name, index: index), to: chunk)
        }
        for index in chunks.count..<max(chunks.count, live.chunkCount) {
            try delete(zone.keys.recordChunk(name, index: index))
        }
    }
}
