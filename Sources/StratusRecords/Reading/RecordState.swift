// What a single read of a record's key tells: live, deleted, or never seen.

package import StratusLayout
import StratusModel

/// What lies at a record's key.
package enum RecordState: Sendable {
    case absent
    case deleted(Tombstone)
    case live(LiveRecord)
}

/// What the planner must know of a live record, without its fields.
package struct LiveRecord: Sendable {
    package var header: RecordHeader
    package var facts: RecordFacts
    package var chunkCount: Int

    package init(header: RecordHeader, facts: RecordFacts, chunkCount: Int) {
        self.header = header
        self.facts = facts
        self.chunkCount = chunkCount
    }
}

extension RecordState {
    /// Reads the value at a record's key. The references of a record that is split into chunks are left out.
    init(decoding value: Span<UInt8>, name: RecordName) throws {
        if try RecordCodec.isTombstone(value) {
            self = .deleted(try Tombstone(decoding: value))
            return
        }
        let header = try RecordHeader(decoding: value)
        let chunkCount = try RecordCodec.chunkCount(in: value)
        let references = chunkCount > 1 ? [] : try RecordCodec.references(in: value)
        let facts = RecordFacts(
            name: name, type: header.type, changeSequence: header.system.changeSequence,
            references: references.map { SourceReference(field: $0.field, reference: $0.reference) })
        self = .live(LiveRecord(header: header, facts: facts, chunkCount: chunkCount))
    }
}
