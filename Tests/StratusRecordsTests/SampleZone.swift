// A small zone with something in every index and in every kind of history, and the raw keys under it.

import FoundationEssentials
import StratusLayout
import StratusModel
@testable import StratusRecords
import StratusStore
import StratusTestSupport

/// An engine with one zone of sample records, in memory or on the chosen store.
struct SampleZone {
    let store: any OrderedStore
    let engine: RecordEngine
    let id: ZoneID

    static let stamp = Stamp(date: Date(timeIntervalSinceReferenceDate: 1000), user: "alice")

    init(cacheByteCount: Int = 1 << 20, depthLimit: Int = 10_000) throws {
        store = try TestStores.make()
        var options = RecordEngineOptions()
        options.ancestorCacheByteCount = cacheByteCount
        options.limits.hierarchyDepth = depthLimit
        engine = try RecordEngine(store: store, options: options, incarnation: UUID())
        id = ZoneID(database: DatabaseID(container: "c", owner: "alice", scope: .private), name: "sample")
        let birth = ZoneBirth(
            identity: UUID(), incarnation: UUID(), stamp: Self.stamp, databaseIdentity: UUID())
        try engine.transact { [id] in try $0.createZone(id, birth) }
    }

    /// Folders, a share root, moved and deleted records, references, and a record in several chunks.
    static func filled() throws -> SampleZone {
        let sample = try SampleZone()
        try sample.apply(.save("top"), .save("shared", under: "top"), .save("other", under: "top"))
        try sample.apply(.save("shared", under: "top", share: "Share-1"), .save("file", under: "shared"))
        try sample.apply(.save("moved", under: "shared"), .save("gone", under: "other"), .save("alone"))
        try sample.apply(.save("moved", under: "other"), .delete("gone"))
        try sample.apply(.save("once", under: "other", share: "Share-2"))
        try sample.apply(.save("once", under: "other"))
        let reference = Field(.reference(RecordReference(target: "file", action: .deleteSelf)))
        let large = Field(.bytes([UInt8](repeating: 7, count: 101_000)))
        let record = Record(
            name: "large", type: "Note", parent: "shared", fields: ["target": reference, "content": large])
        try sample.apply(.save(record))
        return sample
    }

    @discardableResult
    func apply(_ mutations: RecordMutation...) throws -> MutationPlan {
        let request = MutationRequest(mutations, stamp: Self.stamp, tagSalt: 7)
        return try engine.transact { [id] in try $0.apply(request, in: id) }
    }

    /// What the store has, in a store in memory: for tests that make each of its operations fail.
    func copied() throws -> MemoryStore {
        let copy = MemoryStore()
        try store.read { reader in
            try copy.transact { writer in
                try reader.scan(.everything) { key, value in
                    try writer.set([UInt8](copying: key), to: [UInt8](copying: value))
                    return .next
                }
            }
        }
        return copy
    }

    /// The keys of the zone, in order.
    func keys() throws -> ZoneKeys {
        try engine.read { [id] in try $0.existingZone(id).keys }
    }

    /// Every key and value of the zone.
    func entries() throws -> [(key: [UInt8], value: [UInt8])] {
        let range = try keys().all
        return try store.read { reader in
            var entries: [(key: [UInt8], value: [UInt8])] = []
            try reader.scan(range) { key, value in
                entries.append(([UInt8](copying: key), [UInt8](copying: value)))
                return .next
            }
            return entries
        }
    }

    /// Changes a key behind the engine's back; nil deletes it.
    func plant(_ value: [UInt8]?, at key: [UInt8]) throws {
        try store.transact { writer in
            if let value { try writer.set(key, to: value) } else { try writer.delete(key) }
        }
        let zone = try keys()
        engine.ancestorCache.forget(
            zone: CacheZone(database: zone.database.rawValue, zone: zone.zone.rawValue), version: 1 << 40)
    }
}

extension RecordMutation {
    static func save(_ name: RecordName, under parent: RecordName? = nil, share: RecordName? = nil) -> RecordMutation {
        .save(Record(name: name, type: "Item", parent: parent, share: share))
    }
}
