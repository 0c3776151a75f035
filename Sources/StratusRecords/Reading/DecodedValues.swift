// The values that readers decode from one key: the state of a record, a whole record, a hierarchy node. A store may
// cache the last two with their values, so the next reader needs neither a read nor decoding.

package import StratusLayout
package import StratusModel
import StratusStore
import Synchronization

/// The state of a record: live, deleted, or never seen. Indirect, because a load reads mostly absent records and passes
/// them on many times.
package enum StoredState: Sendable {
    case absent
    indirect case deleted(Tombstone)
    indirect case live(LiveRecord)
}

/// A live record as the planner needs it, without its fields.
package struct LiveRecord: Sendable {
    package var header: RecordHeader
    package var facts: RecordFacts
    package var chunkCount: Int
    /// The whole record, if requested: the indexes for queries follow from its fields.
    package var stored: StoredRecord?
}

extension StoredState {
    /// Decodes the value at a record's key, without the references and fields of a record that is split into chunks.
    init(decoding value: Span<UInt8>, name: RecordName, withFields: Bool = false) throws {
        if try RecordCodec.isTombstone(value) {
            self = .deleted(try Tombstone(decoding: value))
            return
        }
        let chunkCount = try RecordCodec.chunkCount(in: value)
        let (header, references) =
            try chunkCount > 1 ? (RecordHeader(decoding: value), []) : RecordCodec.headerAndReferences(in: value)
        let facts = RecordFacts(
            name: name, type: header.type, changeSequence: header.system.changeSequence,
            references: references.map { SourceReference(field: $0.field, reference: $0.reference) })
        var live = LiveRecord(header: header, facts: facts, chunkCount: chunkCount)
        if withFields, chunkCount == 1 { live.stored = try RecordCodec.decode(name, value) }
        self = .live(live)
    }
}

// Only whole records of one chunk are cached, because the store forgets by the key that is written.

/// A record passed by reference: a copy of the value would retain a dozen objects.
package final class DecodedRecord: Sendable {
    package let stored: StoredRecord

    package init(_ stored: StoredRecord) { self.stored = stored }

    /// The record with the requested fields, if it passes.
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

    /// The memory of a decoded record, estimated from its encoded size: texts and lists are objects of their own.
    static func byteCount(decodedFrom byteCount: Int) -> Int { 512 + 3 * byteCount }
}

// If the ancestor cache is off or too small, a walk up uses nodes that the store keeps.

/// A node passed by reference.
final class KeptNode: Sendable {
    /// One in so many uses says that the node is used often.
    private static let usesPerFill = 8

    let node: ParentEntry
    private let useCount = Atomic(0)

    init(_ node: ParentEntry) { self.node = node }

    /// Counts a use, and returns whether it is the eighth, sixteenth and so on.
    var isOftenUsed: Bool { useCount.add(1, ordering: .relaxed).newValue.isMultiple(of: Self.usesPerFill) }

    /// The memory of a node, estimated: two names are objects of their own.
    static func byteCount(decodedFrom byteCount: Int) -> Int { 168 + byteCount }
}
