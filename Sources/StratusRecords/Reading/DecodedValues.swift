// What a single read of a record's key tells: live, deleted, or never seen.

package import StratusLayout
package import StratusModel
import StratusStore
import Synchronization

/// What lies at a record's key. Indirect, because most of what a load asks for is absent, and is handed on and on.
package enum StoredState: Sendable {
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
}

extension StoredState {
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

// A decoded record, which a store may cache beside the value it was decoded from: whoever reads it next gets it
// without a read and without decoding. Only whole records of one chunk are kept, because the store forgets by the key that
// is written.

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

// A hierarchy node that a store may keep beside the entry it was decoded from, as it keeps decoded records: where the ancestor
// cache is off, or has no room for all that is asked for, a walk up then costs no read of the engine for what was read before.

/// A node handed on by reference.
final class KeptNode: Sendable {
    /// Of so many uses one says that the node is used often.
    private static let usesPerFill = 8

    let node: HierarchyNode
    private let useCount = Atomic(0)

    fileprivate init(_ node: HierarchyNode) { self.node = node }

    /// Notes a use. Whether it is the eighth, sixteenth and so on.
    var isOftenUsed: Bool { useCount.add(1, ordering: .relaxed).newValue.isMultiple(of: Self.usesPerFill) }

    /// What it takes in memory: two names lie apart, each with a head of its own.
    fileprivate static func byteCount(decodedFrom byteCount: Int) -> Int { 168 + byteCount }
}

extension StoreReader {
    /// The node of the parent entry under this key, if it is kept.
    func keptNode(forKey key: [UInt8]) -> KeptNode? { keptObject(forKey: key) as? KeptNode }

    /// Offers a node that was decoded from an entry of so many bytes.
    func keep(_ node: HierarchyNode, decodedFrom byteCount: Int, forKey key: [UInt8]) {
        keep(forKey: key, byteCount: KeptNode.byteCount(decodedFrom: byteCount)) { KeptNode(node) }
    }
}
