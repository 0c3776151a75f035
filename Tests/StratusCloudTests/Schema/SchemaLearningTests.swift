// What a request teaches: only the fields of its saved records (S-13).

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("learning from requests")
struct SchemaLearningTests {
    private static func types(_ bench: RecordBench) throws -> [RecordType: Set<FieldKey>] {
        try bench.service.engine.read { reader in
            try bench.service.schemaKeeper.schema(of: RecordBench.container, in: reader).types.mapValues {
                Set($0.fields.keys)
            }
        }
    }

    private static let long = ClientValue.string(String(repeating: "x", count: 2_000))

    @Test(
        "[S-13] a record that the quota refuses teaches nothing, and a record saved with it does",
        arguments: [true, false])
    func quota(isAtomic: Bool) throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("a"))
        _ = try bench.service.changeAccount(bench.alice.id) { $0.quotaByteCount = 1_000 }
        let answer = try bench.modify(
            [.new("b", ["small": .int64(1)]), .new("c", type: "Large", ["large": Self.long])], atomic: isAtomic)
        #expect(answer.saves.map(\.code) == [isAtomic ? .quotaExceeded : nil, .quotaExceeded])
        #expect(try Self.types(bench) == (isAtomic ? ["Note": []] : ["Note": ["small"]]))
        // Another request may still give the field another type.
        #expect(try bench.modify([.new("d", type: "Large", ["large": .int64(1)])]).saves[0].error == nil)
    }

    @Test("[S-13] a record refused for its zone, its parent or a limit teaches nothing", arguments: [true, false])
    func others(isAtomic: Bool) throws {
        let bench = try RecordBench { $0.owningReferenceCount = 1 }
        try bench.makeNotes()
        try bench.save(.new("a"), .new("top"), .new("r", ["owner": .owned(by: "top")]))
        let before = try Self.types(bench)
        for save in [
            RecordSave.new("a", ["f1": .int64(1)]), .new("b", parent: "missing", ["f2": .int64(1)]),
            .new("c", ["owner": .owned(by: "top"), "f3": .int64(1)]), .new("d", type: "T4", parent: "d"),
        ] {
            #expect(try bench.modify([save], atomic: isAtomic).saves[0].error != nil)
        }
        #expect(try Self.types(bench) == before)
    }

    @Test("[S-13][S-14] if the first of two records is refused, the second decides a new field's type")
    func second() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("a"))
        _ = try bench.service.changeAccount(bench.alice.id) { $0.quotaByteCount = 1_000 }
        let answer = try bench.modify([.new("b", ["f": Self.long]), .new("c", ["f": .int64(1)])], atomic: false)
        #expect(answer.saves.map(\.code) == [.quotaExceeded, nil])
        #expect(try bench.modify([.new("d", ["f": .string("x")])]).saves[0].error?.innerCode == 2006)
    }
}
