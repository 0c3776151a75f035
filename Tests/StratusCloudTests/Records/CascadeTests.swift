// Cascades that are too long for one commit: the error is that of the deletion that leads to them, and of no other.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("long cascades")
struct CascadeTests {
    /// A bench whose requests allow ten records, with a chain of twelve that cascades from the first.
    private static func bench() throws -> RecordBench {
        let bench = try RecordBench(inMemory: true, requestItemCount: 10)
        try bench.makeNotes()
        try bench.save(.new("r0"))
        for index in 1..<12 { try bench.save(.new("r\(index)", ["owner": .owned(by: "r\(index - 1)")])) }
        return bench
    }

    @Test(
        "[R-03][A-02] in an atomic zone a cascade over the limit fails its deletion with limitExceeded, and nothing is written"
    )
    func atomic() throws {
        let bench = try Self.bench()
        let commits = bench.commitCount
        let answer = try bench.modify(
            [.new("other"), .new("orphan", parent: "missing")], deleting: [.note("r0"), .note("none")])
        #expect(answer.saves.map(\.code) == [.batchRequestFailed, .referenceViolation])
        #expect(answer.deletes.map(\.code) == [.limitExceeded, .batchRequestFailed])
        #expect(answer.deletes[0].error?.innerCode == 2023)
        #expect(answer.deletes[0].error?.fields.keys.sorted() == ["record", "recordLimit"])
        #expect(bench.commitCount == commits)
    }

    @Test("[R-03][A-05] without atomicity a cascade over the limit is skipped, and everything else is written")
    func standingAlone() throws {
        let bench = try Self.bench()
        try bench.save(.new("s0"), .new("s1", ["owner": .owned(by: "s0")]))
        let commits = bench.commitCount
        let answer = try bench.modify(
            [.new("other")], deleting: [.note("s0"), .note("r0"), .note("none")], atomic: false)
        #expect(answer.saves.map(\.code) == [nil])
        #expect(answer.deletes.map(\.code) == [nil, .limitExceeded, nil])
        #expect(bench.commitCount == commits + 1)
        #expect(try bench.exists(.note("other")))
        #expect(try !bench.exists(.note("s1")))
        for index in 0..<12 { #expect(try bench.exists(.note("r\(index)")), "r\(index)") }
        try bench.delete(.note("r2"))
        try bench.delete(.note("r0"))
        #expect(try !bench.exists(.note("r1")))
        #expect(try !bench.exists(.note("r11")))
    }

    @Test("[R-03] a cascade just below the limit counts together with other items, and is limitExceeded beyond it")
    func together() throws {
        let bench = try Self.bench()
        try bench.delete(.note("r10"))
        // Ten records are left: alone they are deleted, with one more item they are not.
        let answer = try bench.modify([.new("other")], deleting: [.note("r0")])
        #expect(answer.saves.map(\.code) == [.batchRequestFailed])
        #expect(answer.deletes.map(\.code) == [.limitExceeded])
        let alone = try bench.modify([.new("other")], deleting: [.note("r0")], atomic: false)
        #expect(alone.saves[0].error == nil)
        #expect(alone.deletes[0].error == nil)
        #expect(try bench.exists(.note("other")))
        #expect(try !bench.exists(.note("r9")))
    }

    @Test(
        "if two deletions exceed the limit together, the second fails; records that both cascade to go with the first")
    func shared() throws {
        let bench = try RecordBench(inMemory: true, requestItemCount: 10)
        try bench.makeNotes()
        try bench.save(.new("a"), .new("b"))
        for index in 0..<6 {
            let both = ClientValue.list([.owned(by: "a"), .owned(by: "b")])
            try bench.save(.new("both\(index)", ["owners": both]))
        }
        try bench.save(.new("b0", ["owner": .owned(by: "b")]), .new("b1", ["owner": .owned(by: "b")]))
        try bench.save(.new("b2", ["owner": .owned(by: "b")]))
        let answer = try bench.modify(deleting: [.note("a"), .note("b")])
        #expect(answer.deletes.map(\.code) == [.batchRequestFailed, .limitExceeded])
        let alone = try bench.modify(deleting: [.note("a"), .note("b")], atomic: false)
        #expect(alone.deletes.allSatisfy { $0.error == nil })
        #expect(try !bench.exists(.note("both5")))
        #expect(try !bench.exists(.note("b2")))
    }

    @Test(
        "[A-05] more saves than one plan allows are saved one by one, and refused together if they must go together")
    func manySaves() throws {
        let bench = try RecordBench(inMemory: true, requestItemCount: 3)
        try bench.makeNotes()
        let saves = (0..<5).map { RecordSave.new("n\($0)") }
        #expect(try bench.modify(saves).saves.allSatisfy { $0.code == .limitExceeded })
        #expect(try bench.modify(saves, atomic: false).saves.allSatisfy { $0.error == nil })
    }

    @Test(
        "[R-03][A-05] a cascade over the store's transaction limit fails its deletion with limitExceeded",
        arguments: [true, false])
    func huge(isAtomic: Bool) async throws {
        let (answer, isWhole) = try await TestThreads.offPool {
            let bench = try RecordBench(runsBodiesTwice: false) { $0.owningReferenceCount = 100_000 }
            try bench.makeNotes()
            let name = String(repeating: "\u{8A9E}", count: 240)
            try bench.save(.new("top"))
            for page in 0..<8 {
                let saves = (0..<400).map { RecordSave.new("\(name)\(page)-\($0)", ["owner": .owned(by: "top")]) }
                _ = try bench.modify(saves).saves.map { try $0.get() }
            }
            let answer = try bench.modify([.new("other")], deleting: [.note("top")], atomic: isAtomic)
            return (answer, try bench.exists(.note("top")) && bench.exists(.note("\(name)7-7")))
        }
        #expect(answer.deletes.map(\.code) == [.limitExceeded])
        let fields = answer.deletes[0].error?.fields
        #expect(fields == ["byteLimit": "\(StoreLimits.maximumTransactionByteCount)", "record": "top"])
        #expect(answer.saves.map(\.code) == [isAtomic ? .batchRequestFailed : nil])
        #expect(isWhole)
    }

    @Test(
        "[A-05] records that exceed one transaction with the server's versions are saved as far as they fit"
    )
    func largeRecords() async throws {
        let (atomic, alone, changed, isClean) = try await TestThreads.offPool {
            let bench = try RecordBench(inMemory: true, runsBodiesTwice: false)
            try bench.makeNotes()
            let body = ClientValue.bytes(.init([UInt8](repeating: 1, count: 900_000)))
            for index in 0..<12 { try bench.save(.new("l\(index)", ["body": body])) }
            let changes = (0..<12).map { RecordSave.new("l\($0)", ["n": .int64(1)]) }
            let atomic = try bench.modify(changes, policy: .changedKeys).saves.map(\.code)
            let alone = try bench.modify(changes, policy: .changedKeys, atomic: false).saves.map(\.code)
            let changed = try (0..<12).map { try bench.fetch(.note("l\($0)")).get().fields["n"] != nil }
            return (atomic, alone, changed, try bench.service.engine.verify().isClean)
        }
        #expect(atomic.allSatisfy { $0 == .limitExceeded })
        #expect(alone.contains(nil))
        #expect(alone.contains(.limitExceeded))
        #expect(changed == alone.map { $0 == nil })
        #expect(isClean)
    }
}
