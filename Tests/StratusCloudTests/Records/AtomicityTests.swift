// Whole zones or single items, and how failures spread.

import StratusCloud
import StratusModel
import StratusStore
import Testing

@Suite("atomic and other requests")
struct AtomicityTests {
    @Test("[A-01][A-02] a failure fails its zone, which writes nothing; another zone of the request is written")
    func perZone() throws {
        let bench = try RecordBench()
        let other = ZoneAddress(zoneName: "Other")
        try bench.makeNotes()
        try bench.makeZone(other)
        try bench.save(.new("a"))
        let commits = bench.commitCount
        let answer = try bench.modify(
            [.new("a"), .new("b"), .new("x", in: other)],
            deleting: [.note("gone"), RecordAddress(recordName: "y", zone: other)])
        #expect(answer.saves.map(\.code) == [.serverRecordChanged, .batchRequestFailed, nil])
        #expect(answer.saves[1].error?.innerCode == 2024)
        #expect(answer.deletes.map(\.code) == [.batchRequestFailed, nil])
        #expect(bench.commitCount == commits + 1)
        #expect(try !bench.exists(.note("b")))
        #expect(try bench.exists(RecordAddress(recordName: "x", zone: other)))
    }

    @Test("[A-01] the default zone and the public database are never atomic, whatever is requested")
    func notTransactional() throws {
        let bench = try RecordBench()
        for database in [DatabaseSelector.private, .public] {
            try bench.save(.new("a", in: .defaultZone), in: database)
            let answer = try bench.modify(
                [.new("a", in: .defaultZone), .new("b", in: .defaultZone)], atomic: true, in: database)
            #expect(answer.saves.map(\.code) == [.serverRecordChanged, nil])
            #expect(try bench.fetch(RecordAddress(recordName: "b"), in: database).error == nil)
        }
    }

    @Test("[A-05] without atomicity, each record of a custom zone succeeds or fails alone, in one commit")
    func standingAlone() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("a"))
        let commits = bench.commitCount
        let answer = try bench.modify(
            [.new("c", parent: "b"), .new("a"), .new("b"), .new("d", parent: "missing")],
            deleting: [.note("gone")], atomic: false)
        #expect(answer.saves.map(\.code) == [nil, .serverRecordChanged, nil, .referenceViolation])
        #expect(answer.deletes.map(\.code) == [nil])
        #expect(bench.commitCount == commits + 1)
        #expect(try bench.fetch(.note("c")).get().parent == .parent("b"))
    }

    @Test("[A-05] without atomicity, deletes run children first, and a refused one does not stop the others")
    func deletingAlone() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("p"), .new("c", parent: "p"), .new("d", parent: "c"), .new("q"), .new("e", parent: "q"))
        let answer = try bench.modify(
            deleting: [.note("q"), .note("p"), .note("c"), .note("d")], atomic: false)
        #expect(answer.deletes.map(\.code) == [.referenceViolation, nil, nil, nil])
        #expect(try bench.exists(.note("q")))
        #expect(try !bench.exists(.note("p")))
    }

    @Test("[A-02] every failing item of an atomic zone has its own error")
    func culprits() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("stale"), .new("typed", ["n": .int64(1)]))
        var misused = RecordSave.new("misused")
        misused.misuse = "Invalid key"
        let answer = try bench.modify([
            .new("stale"), misused, .new("orphan", parent: "missing"), .new("fine"),
            .new("wrong", ["n": .string("text")]),
        ])
        #expect(
            answer.saves.map(\.code) == [
                .serverRecordChanged, .invalidArguments, .referenceViolation, .batchRequestFailed, .invalidArguments,
            ])
        #expect(answer.saves[1].error?.message == "Invalid key")
        #expect(answer.saves[4].error?.innerCode == 2006)
    }

    @Test("[A-03][S-11] a record named twice fails the whole operation, also in zones that are not atomic")
    func duplicates() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let other = RecordSave.new("other", in: .defaultZone)
        let own = RecordAddress(
            recordName: "a", zone: ZoneAddress(zoneName: "Notes", ownerName: bench.alice.userName.text))
        let commits = bench.commitCount
        for atomic in [true, false] {
            #expect(
                try thrown { _ = try bench.modify([.new("a"), other, .new("a")], atomic: atomic) }.code
                    == .invalidArguments)
            #expect(
                try thrown { _ = try bench.modify([other], deleting: [.note("a"), .note("a")], atomic: atomic) }.code
                    == .invalidArguments)
            #expect(
                try thrown { _ = try bench.modify([.new("a"), other], deleting: [own], atomic: atomic) }.code
                    == .invalidArguments)
        }
        #expect(bench.commitCount == commits)
    }

    @Test("[A-11] the order of items does not matter: children before parents, parents deleted before children")
    func order() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        try bench.save(.new("c", parent: "b"), .new("b", parent: "a"), .new("a"))
        #expect(try bench.fetch(.note("c")).get().parent == .parent("b"))
        try bench.delete(.note("a"), .note("c"), .note("b"))
        #expect(try !bench.exists(.note("b")))
    }

    @Test("a request of 400 records is one commit")
    func oneCommit() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        for (database, zone) in [
            (DatabaseSelector.private, RecordBench.notes), (.private, .defaultZone), (.public, .defaultZone),
        ] {
            let commits = bench.commitCount
            let saves = (0..<400).map { RecordSave.new("r\($0)", in: zone, ["n": .int64(Int64($0))]) }
            let answer = try bench.modify(saves, in: database)
            #expect(answer.saves.allSatisfy { $0.error == nil })
            #expect(bench.commitCount == commits + 1)
        }
        #expect(bench.events.value.last?.commitCount == 1)
        #expect(bench.events.value.last?.itemCount == 400)
    }

    @Test("[R-11] a child of a failed parent: 31 if the parent is missing, 25 and 1 after its parent's 25 and 31")
    func spreading() throws {
        for atomic in [true, false] {
            let bench = try RecordBench()
            try bench.makeNotes()
            let broken = try bench.modify(
                [.new("grandchild", parent: "child"), .new("child", parent: "top"), .new("top", parent: "missing")],
                atomic: atomic)
            #expect(broken.saves.map(\.code) == [.internalError, .internalError, .referenceViolation])
            _ = try bench.service.changeAccount(bench.alice.id) { $0.quotaByteCount = 100 }
            let full = try bench.modify(
                [.new("c", parent: "p"), .new("p", ["body": .string(String(repeating: "x", count: 500))])],
                atomic: atomic)
            #expect(full.saves.map(\.code) == [.quotaExceeded, .quotaExceeded])
            let both = try bench.modify(
                [.new("q", parent: "missing", ["body": .string(String(repeating: "x", count: 500))])], atomic: atomic)
            #expect(both.saves.map(\.code) == [.referenceViolation])
        }
    }
}
