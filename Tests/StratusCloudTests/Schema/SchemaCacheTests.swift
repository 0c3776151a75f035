// A known type costs no read, and no answer is ever that of an older schema.

import Foundation
import StratusCloud
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("the cache of schemas")
struct SchemaCacheTests {
    @Test(
        "[S-13] a record of a known type costs no read or write of the schema, not even the first after its commit")
    func costs() throws {
        let store = FaultInjectingStore(MemoryStore())
        let fixture = try SchemaFixture(on: store)
        try fixture.admit(note("a", .string("x")))
        let (reads, writes) = (store.count(of: .read), store.count(of: .write))
        for _ in 0..<10 { #expect(try fixture.admit(note("a", .string("y"))).isEmpty) }
        #expect(store.count(of: .read) == reads)
        #expect(store.count(of: .write) == writes)
        let other = try SchemaFixture(on: store.wrapped)
        #expect(try other.admit(note("a", .string("y"))).isEmpty)
    }

    @Test("what an aborted transaction learnt is not known afterwards")
    func undone() throws {
        struct Undo: Error {}
        let fixture = try SchemaFixture()
        #expect(throws: Undo.self) {
            try fixture.engine.transact { transaction in
                let container = SchemaFixture.container
                let errors = try fixture.keeper.admit(
                    [note("a", .string("x"))], container: container, mode: .development, in: transaction)
                #expect(errors.isEmpty)
                let known = try fixture.keeper.admit(
                    [note("a", .int64(1))], container: container, mode: .development, in: transaction)
                #expect(known.count == 1)
                throw Undo()
            }
        }
        #expect(try fixture.admit(note("a", .int64(1))).isEmpty)
        #expect(try fixture.fieldType("a") == FieldType(.int64))
    }

    @Test("a fault in any operation of learning leaves store and cache consistent")
    func faults() throws {
        try FaultSweep.run {
            MemoryStore()
        } scenario: { store in
            let fixture = try SchemaFixture(on: store)
            try fixture.admit(note("a", .string("x")), note("b", .int64(1)))
            try fixture.admit(note("c", .string("x")), note("a", .string("y")))
        } verify: { store, _, _ in
            let fixture = try SchemaFixture(on: store)
            let fields = try fixture.schema().types["Note"]?.fields ?? [:]
            #expect([[], ["a", "b"], ["a", "b", "c"]].contains(Set(fields.keys)))
            #expect(try fixture.admit(note("a", .string("z")), note("b", .int64(1))).isEmpty)
        }
    }

    enum Engine: CaseIterable {
        case memory, levelDB
    }

    private struct StaleAnswer: Error {
        let key: FieldKey
        let admitted: ScalarType
        let stored: FieldType?
    }

    @Test(
        "while threads learn fields and an import removes them, every answer matches the schema of its commit",
        arguments: Engine.allCases)
    func threads(engine: Engine) throws {
        let scratch = try AssetScratch()
        let store: any OrderedStore =
            engine == .memory ? MemoryStore() : try LevelDBStore.open(at: scratch.path + "/store")
        defer { store.close() }
        let fixture = try SchemaFixture(on: store)
        let seed = SplitMix64.announced("schema threads")
        var schema = ContainerSchema()
        schema.types["Note"] = RecordTypeSchema(name: "Note")
        let empty = schema
        let refusalCount = Locked(0)
        try TestThreads.run(6) { thread in
            var random = seed.generator(forCase: thread)
            for _ in 0..<120 {
                if thread == 0 {
                    try fixture.engine.transact { transaction in
                        try fixture.keeper.replaceSchema(
                            of: SchemaFixture.container, with: empty, mode: .development, in: transaction)
                    }
                    continue
                }
                let key = FieldKey("f\(random.below(4))")
                let (value, type): (FieldValue, ScalarType) =
                    random.isOne(in: 2) ? (.string("x"), .string) : (.int64(1), .int64)
                try fixture.engine.transact { transaction in
                    let errors = try fixture.keeper.admit(
                        [note(key, value)], container: SchemaFixture.container, mode: .development, in: transaction)
                    // Read past the cache, commits in flight included.
                    let schema = try fixture.keeper.schema(of: SchemaFixture.container, in: transaction)
                    let stored = schema.types["Note"]?.fields[key]?.type
                    if !errors.isEmpty { refusalCount.withLock { $0 += 1 } }
                    guard (stored == FieldType(type)) == errors.isEmpty else {
                        throw StaleAnswer(key: key, admitted: type, stored: stored)
                    }
                }
            }
        }
        #expect(refusalCount.value > 0)
    }
}
