// What a single read of a record's key tells: live, deleted, or never seen.

package import StratusLayout
package import StratusModel

/// What lies at a record's key. Indirect, because most of what a load asks for is absent, and is handed on and on.
package enum RecordState: Sendable {
    case absent
    indirect case deleted(Tombstone)
    indirect case live(LiveRecord)
}

/// What the planner must know of a live record, without its fields.
package struct LiveRecord: Sendable {
    package var header: RecordHeader
    package var facts: RecordFacts
    package var chunkCount: Int
    /// The whole record, where it was asked for: the indexes for queries follow from its fields.
    package var stored: StoredRecord?

    package init(header: RecordHeader, facts: RecordFacts, chunkCount: Int) {
        self.header = header
        self.facts = facts
        self.chunkCount = chunkCount
    }
}

extension RecordState {
    /// Reads the value at a record's key. The references and fields of a record that is split into
    /// chunks are left out.
    init(decoding value: Span<UInt8>, name: RecordName, withFields: Bool = false) throws {
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
        var live = LiveRecord(header: header, facts: facts, chunkCount: chunkCount)
        if withFields, chunkCount == 1 { live.stored = try RecordCodec.decode(name, value) }
        self = .live(live)
    }
}
