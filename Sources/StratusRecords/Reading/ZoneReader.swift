// Reads one zone in one snapshot: records by name, their nodes in the hierarchy, and the change feed. Inside a
// transaction it also sees what that transaction and the commits in flight have written.

package import StratusLayout
package import StratusModel
package import StratusStore
import Synchronization

/// Reads one zone. Valid only inside the `read` or `transact` call that created it.
package final class ZoneReader {
    package let id: ZoneID
    package let keys: ZoneKeys
    package let limits: RecordLimits
    package let store: any StoreReader
    let transaction: (any StoreTransaction)?
    let cache: AncestorCache
    let cacheZone: CacheZone
    /// Reused for every key, so that a walk does not allocate a key a level.
    var keyBuffer: [UInt8] = []
    private lazy var parentsRange = keys.keyspace(.parents)

    init(
        id: ZoneID, keys: ZoneKeys, store: any StoreReader, transaction: (any StoreTransaction)?, cache: AncestorCache,
        limits: RecordLimits
    ) {
        self.id = id
        self.keys = keys
        self.store = store
        self.transaction = transaction
        self.cache = cache
        self.limits = limits
        self.cacheZone = CacheZone(database: keys.database.rawValue, zone: keys.zone.rawValue)
    }

    /// The zone's counters.
    ///
    /// Throws `StoreError.corruption` when the zone has no header.
    package func header() throws -> ZoneHeader {
        guard let header = try store.withValue(forKey: keys.header(), { try ZoneHeader(decoding: $0) }) else {
            throw StoreError(
                .corruption, "A zone is listed but has no header: restore the store from a backup.",
                ["zone": id.name.text])
        }
        return header
    }

    /// The state of a record: live, deleted or absent. One read, with or without the fields.
    package func state(of name: RecordName, withFields: Bool = false) throws -> StoredState {
        keyBuffer.removeAll(keepingCapacity: true)
        keys.record(name, into: &keyBuffer)
        let state = try store.withValue(forKey: keyBuffer) { value in
            try StoredState(decoding: value, name: name, withFields: withFields)
        }
        guard let state else { return .absent }
        guard case .live(var live) = state, live.chunkCount > 1 else { return state }
        guard store.showsOneMoment else {
            return try atOneMoment { try $0.state(of: name, withFields: withFields) }
        }
        let value = try wholeValue(of: name, chunkCount: live.chunkCount)
        live.facts.references = try RecordCodec.headerAndReferences(in: value.span).references
            .map { SourceReference(field: $0.field, reference: $0.reference) }
        if withFields { live.stored = try RecordCodec.decode(name, value.span) }
        return .live(live)
    }

    /// A record with the requested fields, or nil if no live record has this name.
    ///
    /// One store read for a record of up to 100,000 bytes.
    package func record(_ name: RecordName, fields: FieldSelection = .all) throws -> StoredRecord? {
        try decodedRecord(name, fields: fields)?.stored
    }

    /// The same record by reference.
    package func decodedRecord(_ name: RecordName, fields: FieldSelection = .all) throws -> DecodedRecord? {
        try record(name, testing: [], likely: true, fields: fields) { _ in true }
    }

    /// A record that passes a test of some fields, with the requested fields; nil if there is none or it does not pass.
    /// A record is decoded in two steps, tested fields first, unless it is `likely` to pass. The test must not read
    /// from the store.
    package func record(
        _ name: RecordName, testing tested: Set<FieldKey>, likely: Bool, fields: FieldSelection,
        _ passes: (StoredRecord) -> Bool
    ) throws -> DecodedRecord? {
        keyBuffer.removeAll(keepingCapacity: true)
        keys.record(name, into: &keyBuffer)
        return try recordAtKey(name, testing: tested, likely: likely, fields: fields, passes)
    }

    /// The same for the record whose name ends another key of the zone, from `nameOffset` on.
    func record(
        namedIn key: Span<UInt8>, from nameOffset: Int, testing tested: Set<FieldKey>, likely: Bool,
        fields: FieldSelection, _ passes: (StoredRecord) -> Bool
    ) throws -> DecodedRecord? {
        keyBuffer.removeAll(keepingCapacity: true)
        keys.record(namedIn: key, from: nameOffset, into: &keyBuffer)
        return try recordAtKey(nil, testing: tested, likely: likely, fields: fields, passes)
    }

    /// The record whose key is in the buffer. If its name is needed and not given, it is decoded from the key.
    private func recordAtKey(
        _ given: RecordName?, testing tested: Set<FieldKey>, likely: Bool, fields: FieldSelection,
        _ passes: (StoredRecord) -> Bool
    ) throws -> DecodedRecord? {
        if let cached = store.keptObject(forKey: keyBuffer) as? DecodedRecord {
            return cached.record(fields, passing: passes)
        }
        let name = try given ?? nameAtKey()
        var found: DecodedRecord?
        var (byteCount, chunkCount) = (0, 1)
        _ = try store.visitValue(forKey: keyBuffer) { value in
            switch try RecordValueKind(of: value) {
            case .tombstone: return
            case .firstChunk: chunkCount = try RecordCodec.chunkCount(in: value)
            default:
                byteCount = value.count
                found = try Self.decoded(name, value, tested, likely, fields, passes).map(DecodedRecord.init)
            }
        }
        guard chunkCount > 1 else {
            if let found { keep(found, fields, decodedFrom: byteCount) }
            return found
        }
        guard store.showsOneMoment else {
            return try atOneMoment { zone in
                try zone.record(name, testing: tested, likely: likely, fields: fields, passes)
            }
        }
        let value = try wholeValue(of: name, chunkCount: chunkCount)
        return try Self.decoded(name, value.span, tested, likely, fields, passes).map(DecodedRecord.init)
    }

    /// Offers the record whose key is in the buffer to later readers, if it has all its fields. A transaction offers
    /// none: it has read the record to write it.
    private func keep(_ record: DecodedRecord, _ fields: FieldSelection, decodedFrom byteCount: Int) {
        guard transaction == nil, case .all = fields else { return }
        store.keep(forKey: keyBuffer, byteCount: DecodedRecord.byteCount(decodedFrom: byteCount)) { record }
    }

    /// Reads what belongs together, such as the chunks of a record, in one moment. The body may run again.
    func atOneMoment<Result>(_ body: (ZoneReader) throws -> Result) throws -> Result {
        try store.atOneMoment { reader in
            try body(
                ZoneReader(id: id, keys: keys, store: reader, transaction: nil, cache: cache, limits: limits))
        }
    }

    private func nameAtKey() throws -> RecordName {
        let key = keyBuffer
        return try keys.readRecordKey(key.span).name
    }

    private static func decoded(
        _ name: RecordName, _ value: Span<UInt8>, _ tested: Set<FieldKey>, _ likely: Bool, _ fields: FieldSelection,
        _ passes: (StoredRecord) -> Bool
    ) throws -> StoredRecord? {
        if likely, tested.isEmpty || fields == .all {
            let wanted = try RecordCodec.decode(name, value, fields: fields)
            return passes(wanted) ? wanted : nil
        }
        let probe = try RecordCodec.decode(name, value, fields: tested.isEmpty ? .none : .only(tested))
        guard passes(probe) else { return nil }
        switch fields {
        case .none where tested.isEmpty: return probe
        case .only(let keys) where keys == tested: return probe
        default: return try RecordCodec.decode(name, value, fields: fields)
        }
    }

    /// The place of a record in the hierarchy, or nil if no live record has this name.
    package func node(_ name: RecordName) throws -> ParentEntry? {
        keyBuffer.removeAll(keepingCapacity: true)
        keys.parent(of: name, into: &keyBuffer)
        let mayUseCache = transaction?.hasUnpublishedWrite(forKey: keyBuffer) != true
        if mayUseCache, let node = cache.node(zone: cacheZone, name: name, at: store.version) { return node }
        // Nodes that do not fit into the cache are kept by the store with their entries.
        let isKeptByStore = cache.isTooSmall
        if isKeptByStore, let kept = store.keptObject(forKey: keyBuffer) as? KeptNode {
            // A node that is read often belongs in the cache, where walks up follow links.
            if mayUseCache, kept.isOftenUsed {
                cache.fill(zone: cacheZone, name: name, node: kept.node, at: store.version)
            }
            return kept.node
        }
        var byteCount = 0
        let read = try store.withValue(forKey: keyBuffer) { value in
            byteCount = value.count
            return try ParentEntry(decoding: value)
        }
        guard let node = read else { return nil }
        if mayUseCache { cache.fill(zone: cacheZone, name: name, node: node, at: store.version) }
        if isKeptByStore {
            store.keep(forKey: keyBuffer, byteCount: KeptNode.byteCount(decodedFrom: byteCount)) { KeptNode(node) }
        }
        return node
    }

    /// The indexes for queries that the zone has for a type. Every save of the type and every query ask for them.
    package func queryIndexes(of type: RecordType) throws -> QueryIndexesEntry {
        let key = keys.queryIndexes(of: type)
        if let kept = store.keptObject(forKey: key) as? KeptIndexes { return kept.entry }
        var byteCount = 0
        let read = try store.withValue(forKey: key) { value in
            byteCount = value.count
            return try QueryIndexesEntry(decoding: value)
        }
        guard let entry = read else { return QueryIndexesEntry() }
        store.keep(forKey: key, byteCount: KeptIndexes.byteCount(decodedFrom: byteCount)) { KeptIndexes(entry) }
        return entry
    }

    /// The number of share roots at or below a record with this parent.
    package func shareCount(of name: RecordName, under parent: RecordName?) throws -> UInt64 {
        keyBuffer.removeAll(keepingCapacity: true)
        keys.shareCount(parent: parent, name: name, into: &keyBuffer)
        return try store.withValue(forKey: keyBuffer) { try CountEntry(decoding: $0).count } ?? 0
    }

    /// Whether this reader sees the published hierarchy: no write to it is in flight.
    var isHierarchyPublished: Bool {
        transaction?.hasUnpublishedWrite(in: parentsRange) != true
    }

    /// Chunks beyond the number in the first one are skipped here. The verifier reports them.
    private func wholeValue(of name: RecordName, chunkCount: Int) throws -> [UInt8] {
        try RecordChunks.join(
            store.collect(keys.recordWithChunks(name), limit: chunkCount) { _, value in [UInt8](copying: value) })
    }
}

extension StoreReader {
    /// Whether the range holds any key. One seek.
    package func hasEntries(in range: KeyRange) throws -> Bool {
        try first(in: range) { _, _ in true } ?? false
    }

    /// Visits the entries of a range, at most `limit` of them.
    package func forEach(
        in range: KeyRange, limit: Int = .max, _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> Void
    ) throws {
        try scan(range, .forward, limit: limit) { key, value in
            try visit(key, value)
            return .next
        }
    }

    /// What `read` returns for the entries of a range, at most `limit` of them.
    package func collect<Value>(
        _ range: KeyRange, limit: Int = .max, _ read: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> Value
    ) throws -> [Value] {
        var values: [Value] = []
        try forEach(in: range, limit: limit) { values.append(try read($0, $1)) }
        return values
    }

    /// What `read` returns for the first entry of a range; nil if the range is empty. One seek.
    package func first<Value>(
        in range: KeyRange, _ read: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> Value
    ) throws -> Value? {
        var value: Value?
        try scan(range, .forward, limit: 1) { key, bytes in
            value = try read(key, bytes)
            return .stop
        }
        return value
    }

    /// The first keys of a range.
    package func keys(in range: KeyRange, limit: Int = .max) throws -> [[UInt8]] {
        try collect(range, limit: limit) { key, _ in [UInt8](copying: key) }
    }
}

extension ZoneReader {
    /// Visits the records and tombstones after `last`, in the order of their keys: the name, the record, and the number
    /// of entries that were read for it. There is no record if it was deleted or has changed after `end`.
    ///
    /// Reads at most `limit` entries, and returns how many it read. It makes progress only if `limit` is above the
    /// number of chunks of any record. Throws `.corruption` for a record whose chunks are not all there.
    package func walk(
        after last: RecordName?, changedUpTo end: UInt64, fields: FieldSelection, limit: Int,
        _ visit: (_ name: RecordName, _ record: DecodedRecord?, _ entryCount: Int) throws -> ScanStep
    ) throws -> Int {
        var (readCount, chunks, chunkCount) = (0, [[UInt8]](), 1)
        // The record whose chunks are being read, and the last one that was read whole.
        var (started, finished): (RecordName?, RecordName?) = (nil, last)
        func show(_ name: RecordName, _ record: DecodedRecord?, _ entryCount: Int) throws -> ScanStep {
            finished = name
            let isOld = record.map { $0.stored.system.changeSequence <= end } ?? false
            return try visit(name, isOld ? record : nil, entryCount)
        }
        try store.scan(keys.records(after: last), .forward, limit: limit) { key, value in
            readCount += 1
            let (name, chunkIndex) = try keys.readRecordKey(key)
            if let current = started {
                guard name == current, chunkIndex == chunks.count else { throw Self.missingChunks(of: current) }
                chunks.append([UInt8](copying: value))
                guard chunks.count == chunkCount else { return .next }
                started = nil
                let whole = try RecordChunks.join(chunks)
                return try show(name, DecodedRecord(RecordCodec.decode(name, whole.span, fields: fields)), chunkCount)
            }
            guard chunkIndex == nil else {
                // The verifier reports what follows the last chunk.
                guard name == finished else { throw Self.missingChunks(of: name) }
                return .next
            }
            switch try RecordValueKind(of: value) {
            case .tombstone: return try show(name, nil, 1)
            case .firstChunk:
                (started, chunks, chunkCount) = (name, [[UInt8](copying: value)], try RecordCodec.chunkCount(in: value))
                return .next
            default: return try show(name, DecodedRecord(RecordCodec.decode(name, value, fields: fields)), 1)
            }
        }
        if let started, readCount < limit { throw Self.missingChunks(of: started) }
        return readCount
    }

    private static func missingChunks(of name: RecordName) -> StoreError {
        StoreError(
            .corruption, "Chunks of the record are missing: check or restore the store.", ["record": name.text],
            damage: .entry)
    }
}

/// The place of a record in the hierarchy at some sequence.
package struct PastNode: Hashable, Sendable {
    package var parent: RecordName?
    package var share: RecordName?
}

extension ZoneReader {
    /// The latest write of every record written after `sequence`, oldest first, at most `limit` of them (T-06).
    ///
    /// Throws `expired` when the sequence is older than the purge horizon: then read the whole zone (T-09).
    package func changes(after sequence: UInt64, limit: Int = .max) throws -> [LatestWrite] {
        let horizon = try header().horizon
        guard sequence == 0 || sequence >= horizon else {
            throw StoreError(
                .expired, "The changes since then are no longer known: read the whole zone again.",
                ["sequence": "\(sequence)", "horizon": "\(horizon)", "zone": id.name.text])
        }
        return try changes(in: keys.changes(after: sequence), limit: limit, withPlaces: true)
    }

    /// The latest writes after `sequence`, up to and including `last`, oldest first, at most `limit` of them, with or
    /// without the places of saved records. The caller must check that the history goes back that far.
    package func changes(
        after sequence: UInt64, upTo last: UInt64, limit: Int, withPlaces: Bool
    ) throws -> [LatestWrite] {
        try changes(in: keys.changes(after: sequence, upTo: last), limit: limit, withPlaces: withPlaces)
    }

    private func changes(in range: KeyRange, limit: Int, withPlaces: Bool) throws -> [LatestWrite] {
        var parent: RecordName?
        return try store.collect(range, limit: limit) { key, value in
            let entry =
                try withPlaces
                ? ChangeEntry(decoding: value, lastParent: parent) : ChangeEntry(withoutPlace: value)
            if case .saved(.below(let found?)) = entry.kind { parent = found }
            return LatestWrite(sequence: try keys.readChangeKey(key), name: entry.name, kind: entry.kind)
        }
    }
}

// The values that readers decode from one key: the state of a record, a whole record, a hierarchy node. A store may
// cache the last two with their values, so the next reader needs neither a read nor decoding.

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
            place: ChangeEntry.SavedPlace(parent: header.parent, share: header.share),
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

/// The indexes of a type, passed by reference.
private final class KeptIndexes: Sendable {
    let entry: QueryIndexesEntry

    init(_ entry: QueryIndexesEntry) { self.entry = entry }

    /// The memory of an entry, estimated: a field takes at least three bytes, and in a dictionary about 64.
    static func byteCount(decodedFrom byteCount: Int) -> Int { 64 + 24 * byteCount }
}
