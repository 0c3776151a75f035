// What an engine says of a store that it cannot use.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("Store format")
struct StoreFormatTests {
    @Test("a store of a newer format is refused, naming both formats")
    func newerFormat() throws {
        let store = MemoryStore()
        let entry = FormatEntry(version: FormatEntry.currentVersion + 1, incarnation: UUID())
        try store.transact { try $0.set(GlobalKeys.format(), to: entry.encoded()) }
        let error = #expect(throws: StoreError.self) { _ = try RecordEngine(store: store, incarnation: UUID()) }
        #expect(error?.code == .newerFormat)
        #expect(error?.fields["found"] == "4")
        #expect(error?.fields["supported"] == "3")
    }

    @Test("a store of an older format must be migrated, naming both formats, and is not changed")
    func olderFormat() throws {
        let store = MemoryStore()
        _ = try RecordEngine(store: store, incarnation: UUID())
        let before = store.entryCount
        let error = #expect(throws: StoreError.self) {
            try StoreFormat.check(store, incarnation: UUID(), supported: FormatEntry.currentVersion + 1)
        }
        #expect(error?.code == .olderFormat)
        #expect(error?.fields["found"] == "3")
        #expect(error?.fields["supported"] == "4")
        #expect(store.entryCount == before)
    }

    @Test("migration on request updates an older format, and keeps the incarnation and everything else")
    func migration() throws {
        let (store, incarnation) = (MemoryStore(), UUID())
        let older = FormatEntry(version: 1, incarnation: incarnation)
        try store.transact { try $0.set(GlobalKeys.format(), to: older.encoded()) }
        func version() throws -> UInt64? {
            try store.read { try $0.withValue(forKey: GlobalKeys.format()) { try FormatEntry(decoding: $0).version } }
        }
        #expect(try StoreFormat.check(store, incarnation: UUID(), olderFormat: .kept) == incarnation)
        #expect(try version() == 1)
        #expect(try StoreFormat.check(store, incarnation: UUID(), olderFormat: .migrated) == incarnation)
        #expect(try version() == 3)
        #expect(try StoreFormat.check(store, incarnation: UUID()) == incarnation)
    }

    @Test("the marker of a store on disk has the layout's number")
    func markerNumber() {
        #expect(UInt64(StoreFormat.number) == FormatEntry.currentVersion)
    }

    @Test("a store with another program's keys is refused and not changed")
    func foreign() throws {
        let store = MemoryStore()
        try store.transact { try $0.set([1, 2, 3], to: [4]) }
        let error = #expect(throws: StoreError.self) { _ = try RecordEngine(store: store, incarnation: UUID()) }
        #expect(error?.code == .notAStore)
        #expect(store.entryCount == 1)
    }

    @Test("damaged bytes are corruption, never a missing record")
    func damaged() throws {
        let sample = try SampleZone.filled()
        let zone = try sample.keys()
        try sample.plant([9, 9, 9], at: zone.record("alone"))
        let error = #expect(throws: StoreError.self) {
            _ = try sample.engine.read { try $0.existingZone(sample.id).record("alone") }
        }
        #expect(error?.code == .corruption)
        try sample.plant([9], at: zone.parent(of: "alone"))
        let second = #expect(throws: StoreError.self) {
            _ = try sample.engine.read { try $0.existingZone(sample.id).shareMembership(of: "alone") }
        }
        #expect(second?.code == .corruption)
    }

    @Test("a request over a limit is refused before anything is read or written", arguments: 0..<5)
    func limits(index: Int) throws {
        let sample = try SampleZone()
        let long = String(repeating: "x", count: 256)
        let fields = Dictionary(uniqueKeysWithValues: (0...256).map { (FieldKey("f\($0)"), Field(.int64(1))) })
        let large = Field(.bytes([UInt8](repeating: 1, count: 1_300_000)))
        let mutation: RecordMutation =
            switch index {
            case 0: .save("")
            case 1: .save(RecordName(long))
            case 2: .save("a", under: RecordName(long))
            case 3: .save(Record(name: "a", type: "T", fields: RecordFields(fields)))
            default: .save(Record(name: "a", type: "T", fields: ["large": large]))
            }
        let before = try sample.entries().map(\.value)
        let error = #expect(throws: StoreError.self) { try sample.apply(mutation) }
        #expect(error?.code == .invalidRequest)
        #expect(try sample.entries().map(\.value) == before)
    }
}
