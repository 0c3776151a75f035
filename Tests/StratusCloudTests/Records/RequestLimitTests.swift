// Limits of requests, records and names, and bad input: each has the documented error, and nothing is written.

import Foundation
import StratusCloud
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite("limits of requests")
struct RequestLimitTests {
    @Test("[L-01][L-02] more than 400 items or 2 MB fail the whole request with limitExceeded")
    func requests() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let commits = bench.commitCount
        let saves = (0..<400).map { RecordSave.new("r\($0)") }
        #expect(try thrown { _ = try bench.modify(saves, deleting: [.note("x")]) }.code == .limitExceeded)
        let fetch = FetchRecordsRequest(addresses: (0...400).map { .note("r\($0)") })
        #expect(
            try thrown { _ = try bench.service.fetchRecords(fetch, as: bench.caller(bench.alice), in: .private) }.code
                == .limitExceeded)
        let body = ClientValue.bytes(.init([UInt8](repeating: 1, count: 700_000)))
        let large = (0..<3).map { RecordSave.new("l\($0)", ["body": body]) }
        let error = try thrown { _ = try bench.modify(large) }
        #expect(error.code == .limitExceeded)
        #expect(error.innerCode == 2023)
        #expect(bench.commitCount == commits)
        #expect(try bench.modify(Array(large.prefix(2))).saves.allSatisfy { $0.error == nil })
        // Values that a client holds but does not send do not count.
        let held = try (0..<2).map { RecordSave.change(try bench.fetch(.note("l\($0)")).get(), ["n": .int64(1)]) }
        #expect(try bench.modify(held + [large[2]]).saves.allSatisfy { $0.error == nil })
    }

    @Test("[L-03] a record over 1 MB fails with limitExceeded, also when merged with the server's version")
    func records() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        let half = ClientValue.bytes(.init([UInt8](repeating: 1, count: 600_000)))
        let answer = try bench.modify([
            .new("a", ["body": .bytes(.init([UInt8](repeating: 1, count: 1_100_000)))]), .new("b"),
        ])
        #expect(answer.saves.map(\.code) == [.limitExceeded, .batchRequestFailed])
        #expect(answer.saves[0].error?.message == "record too large")
        let saved = try bench.save(.new("c", ["one": half]))[0]
        #expect(try bench.modify([.change(saved, ["two": half])]).saves[0].code == .limitExceeded)
        #expect(try bench.fetch(.note("c")).get() == saved)
        let whole = try bench.save(.new("d", ["body": .bytes(.init([UInt8](repeating: 2, count: 1 << 20 - 100)))]))[0]
        #expect(try bench.fetch(.note("d")).get() == whole)
    }

    /// Lists whose items are charged little, and how many items are too many for a record.
    enum ShortItems: CaseIterable {
        case empty, oneByte, numbers, assets

        var count: Int {
            switch self {
            case .empty: 1_100_000
            case .oneByte: 650_000
            case .numbers: 134_000
            case .assets: 30_000
            }
        }

        func list(count: Int, path: String) -> ClientValue {
            let item: ClientValue =
                switch self {
                case .empty: .string("")
                case .oneByte: .string("a")
                case .numbers: .int64(1)
                case .assets: .asset(.file(path: path))
                }
            return .list(Array(repeating: item, count: count))
        }
    }

    @Test(
        "[L-03][A-05] very many short items exceed the limit of their record only, without affecting other records",
        arguments: ShortItems.allCases)
    func shortItems(items: ShortItems) async throws {
        let (alone, atomic, fitting) = try await TestThreads.offPool {
            let bench = try RecordBench(inMemory: true, runsBodiesTwice: false)
            try bench.makeNotes()
            let path = try bench.file("one", [1])
            let large = RecordSave.new("a", ["list": items.list(count: items.count, path: path)])
            let small = RecordSave.new("a", ["list": items.list(count: items.count * 8 / 10, path: path)])
            return (
                try bench.modify([large, .new("b")], atomic: false).saves.map { $0.error },
                try bench.modify([large, .new("c")]).saves.map { $0.error },
                try bench.modify([small]).saves.map { $0.error }
            )
        }
        #expect(alone.map { $0?.code } == [.limitExceeded, nil])
        #expect(alone[0]?.innerCode == 2023)
        #expect(atomic.map { $0?.code } == [.limitExceeded, .batchRequestFailed])
        #expect(fitting.map { $0?.code } == [nil])
    }

    @Test("[L-01][S-16] an empty list item counts one byte, for a request and for the quota")
    func emptyItems() throws {
        let bench = try RecordBench(inMemory: true) { $0.requestByteCount = 500 }
        try bench.makeNotes()
        func save(_ count: Int) -> RecordSave {
            .new("a", ["list": .list(Array(repeating: .string(""), count: count))])
        }
        #expect(try thrown { _ = try bench.modify([save(500)]) }.code == .limitExceeded)
        let before = try bench.service.usage(of: bench.alice.userName)
        try bench.save(save(400))
        #expect(try bench.service.usage(of: bench.alice.userName) - before > 400)
    }

    @Test("[L-06] a record with more than 256 fields fails with limitExceeded")
    func fields() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        func values(_ count: Int) -> [String: ClientValue] {
            Dictionary(uniqueKeysWithValues: (0..<count).map { ("f\($0)", .int64(1)) })
        }
        #expect(try bench.modify([.new("a", values(257))]).saves[0].code == .limitExceeded)
        #expect(try bench.modify([.new("a", values(256))]).saves[0].error == nil)
    }

    @Test("[L-07] a record name has 1 to 255 Unicode characters, compared by bytes")
    func recordNames() throws {
        let bench = try RecordBench()
        try bench.makeNotes()
        for name in ["", String(repeating: "a", count: 256), String(repeating: "🙂", count: 128)] {
            #expect(try bench.modify([.new(name)]).saves[0].code == .invalidArguments)
            #expect(try bench.modify(deleting: [.note(name)]).deletes[0].code == .invalidArguments)
            #expect(try bench.fetch(.note(name)).code == .invalidArguments)
            #expect(try bench.modify([.new("a", ["link": .link(name)])]).saves[0].code == .invalidArguments)
        }
        let names = [
            "é", "e\u{301}", String(repeating: "é", count: 255), "\0", "a/b", String(repeating: "🙂", count: 127),
        ]
        #expect(try bench.modify(names.map { .new($0) }).saves.allSatisfy { $0.error == nil })
        #expect(try bench.fetch(.note("é")).get().address.recordName.utf8.elementsEqual("é".utf8))
    }

    @Test("[L-09] types and fields begin with a letter, followed by letters, digits and underscores")
    func schemaNames() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        for type in ["", "_Note", "1Note", "No te", "Nöte", String(repeating: "a", count: 256)] {
            let error = try bench.modify([.new("a", type: type)]).saves[0].error
            #expect(error?.code == .invalidArguments, "\(type)")
            #expect(error?.fields == ["record": "a", "recordType": String(type.prefix(255))])
        }
        for key in ["_key", "1", "a b", "a.b", String(repeating: "k", count: 256)] {
            let error = try bench.modify([.new("a", type: "T", [key: .int64(1)])]).saves[0].error
            #expect(error?.code == .invalidArguments, "\(key)")
            #expect(error?.fields == ["record": "a", "recordType": "T", "field": String(key.prefix(255))])
            #expect(error?.message.hasPrefix("The field's name is invalid. Use a letter, then") == true)
        }
        #expect(try bench.modify([.new("a", type: "N_1", ["k_2": .int64(1)])]).saves[0].error == nil)
    }

    @Test("[X-25] a misuse that the client recorded fails its save with its text")
    func misuse() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        var save = RecordSave.new("a")
        save.misuse = "recordKey (a b) contains invalid characters"
        let error = try bench.modify([save], atomic: false).saves[0].error
        #expect(error?.code == .invalidArguments)
        #expect(error?.message == "recordKey (a b) contains invalid characters")
    }

    @Test("[X-23] a record that another account fetched cannot be saved")
    func fetchedByAnother() throws {
        let bench = try RecordBench(inMemory: true)
        var save = RecordSave.new("a", in: .defaultZone)
        save.origin = RecordOrigin(container: RecordBench.container, database: .private, account: bench.bob.id)
        #expect(try bench.modify([save]).saves[0].code == .invalidArguments)
        save.origin?.account = bench.alice.id
        #expect(try bench.modify([save]).saves[0].error == nil)
    }

    @Test(
        "[X-23] a record of another container or database cannot be saved under any policy, nor anything in its request",
        arguments: SavePolicy.allCases)
    func foreign(policy: SavePolicy) throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        try bench.save(.new("a", ["n": .int64(1)]))
        let commits = bench.commitCount
        let (here, alice) = (RecordBench.container, bench.alice.id)
        for origin in [
            RecordOrigin(container: "iCloud.other", database: .private, account: alice),
            RecordOrigin(container: here, database: .public, account: alice),
            RecordOrigin(container: here, database: .public, account: nil),
        ] {
            var save = RecordSave.new("a", ["n": .int64(2)])
            save.origin = origin
            let answer = try bench.modify([save, .new("b")], policy: policy)
            #expect(answer.saves.map(\.code) == [.invalidArguments, .batchRequestFailed])
        }
        #expect(bench.commitCount == commits)
        #expect(try bench.fetch(.note("a")).get().fields["n"] == ClientField(.int64(1)))
        #expect(try !bench.exists(.note("b")))
    }

    @Test("[S-14] lists of mixed kinds, nested lists and empty lists without a type are refused")
    func lists() throws {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        for list in [ClientValue.list([.int64(1), .string("a")]), .list([.list([.int64(1)])])] {
            #expect(try bench.modify([.new("a", ["list": list])]).saves[0].code == .invalidArguments)
        }
        #expect(try bench.modify([.new("a", ["list": .list([])])]).saves[0].code == .invalidArguments)
        let typed = try bench.modify([.new("a", ["list": .list([])]), .new("b", ["list": .list([.int64(1)])])])
        #expect(typed.saves.map(\.code) == [nil, nil])
    }

    @Test("a request without items succeeds without a commit")
    func empty() throws {
        let bench = try RecordBench(inMemory: true)
        let commits = bench.commitCount
        #expect(try bench.modify().saves.isEmpty)
        #expect(bench.commitCount == commits)
    }
}
