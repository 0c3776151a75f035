// What a deleted account leaves in public databases: its user record is deleted with all that cascades from it.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("public records of deleted accounts")
struct PublicDepartureTests {
    /// Alice, who is deleted, and Bob, who has written about her.
    private struct Town {
        let bench: AccountBench
        let alice: StoredAccount
        let bob: StoredAccount

        init(isInMemory: Bool = false) throws {
            bench = try AccountBench(isInMemory: isInMemory)
            alice = try bench.service.createAccount(.init(externalID: "alice"))
            bob = try bench.service.createAccount(.init(externalID: "bob"))
            for account in [alice, bob] {
                try save([Self.record(account.userName.text, type: "Users", ["motto": .string("mine")])], by: account)
            }
        }

        static func record(
            _ name: String, type: String = "Note", parent: String? = nil, _ values: [String: ClientValue] = [:]
        ) -> RecordSave {
            RecordSave.new(name, in: .defaultZone, type: type, parent: parent, values)
        }

        func save(_ saves: [RecordSave], by account: StoredAccount? = nil) throws {
            for start in stride(from: 0, to: saves.count, by: 400) {
                let page = Array(saves[start..<min(start + 400, saves.count)])
                let request = ModifyRecordsRequest(saves: page, policy: .allKeys)
                let answer = try bench.service.modifyRecords(request, as: bench.caller(account ?? bob), in: .public)
                for save in answer.saves { _ = try save.get() }
            }
        }

        /// The records that are there, and the names of their fields.
        func fetch(_ names: [String]) throws -> [String: Set<String>] {
            var found: [String: Set<String>] = [:]
            for start in stride(from: 0, to: names.count, by: 400) {
                let page = names[start..<min(start + 400, names.count)]
                let request = FetchRecordsRequest(addresses: page.map { RecordAddress(recordName: $0) })
                let answer = try bench.service.fetchRecords(request, as: bench.caller(bob), in: .public)
                for (name, result) in zip(page, answer.records) {
                    if case .success(let record) = result { found[name] = Set(record.fields.keys) }
                }
            }
            return found
        }

        func problems() throws -> [String] {
            let engine = bench.service.engine
            let assets = try bench.service.verifyAssets().filter { $0.kind != .orphaned }
            return try assets.map { "\($0)" } + AccountVerifier(engine: engine).verify().findings.map { "\($0)" }
                + engine.verify().findings.map { "\($0)" }
        }
    }

    private static func owned(by name: String) -> ClientValue { .owned(by: name, in: .defaultZone) }

    @Test(
        "[R-03] records with a deleteSelf reference to a user record are deleted with the account, at any depth, and no others"
    )
    func cascade() throws {
        let town = try Town()
        let (user, bob) = (town.alice.userName.text, town.bob.userName.text)
        let file = try town.bench.makeFile("file", "content")
        try town.save([
            Town.record("about", ["who": Self.owned(by: user), "file": .asset(.file(path: file))]),
            Town.record("reply", ["to": Self.owned(by: "about"), "other": Self.owned(by: "loop")]),
            Town.record("loop", ["to": Self.owned(by: "reply")]),
            Town.record("list", ["both": .list([Self.owned(by: bob), Self.owned(by: user)])]),
            Town.record("link", ["who": .link(user, in: .defaultZone), "file": .asset(.file(path: file))]),
            Town.record("other", ["who": Self.owned(by: bob)]),
        ])
        try town.save([Town.record(bob, type: "Users", ["friend": Self.owned(by: user)])])
        try town.bench.service.deleteAccount(town.alice.id)
        let names = [user, "about", "reply", "loop", "list", "link", "other", bob]
        let left = try town.fetch(names)
        #expect(left == ["link": ["who", "file"], "other": ["who"], bob: ["motto", "friend"]])
        #expect(try town.problems() == [])
        #expect(try town.bench.service.finishDepartures() == 0)
        #expect(try town.fetch(names) == left)
        try town.bench.service.collectAssets()
        #expect(try town.bench.service.verifyAssets() == [])
    }

    @Test("[R-03][R-08] a record that is the parent of other people's records stays, empty, for as long as they exist")
    func parents() throws {
        let town = try Town()
        let user = town.alice.userName.text
        let owned = Self.owned(by: user)
        // The last name is visited first, more than a batch before "a": "z" is refused until that is deleted too.
        try town.save([Town.record("z", ["who": owned, "text": .string("secret")])])
        try town.save([Town.record("a", parent: "z", ["who": owned])])
        try town.save((0..<250).map { Town.record("n\($0)", ["who": owned]) })
        try town.save([Town.record("kept", ["who": owned, "text": .string("secret")])])
        try town.save([Town.record("child", parent: "kept", ["text": .string("mine")])])
        try town.save([Town.record("child of the user", parent: user, ["text": .string("mine")])])
        for _ in 0..<2 {
            try town.bench.service.deleteAccount(town.alice.id)
            let left = try town.fetch([user, "a", "z", "n0", "n249", "kept", "child", "child of the user"])
            #expect(left == [user: [], "kept": [], "child": ["text"], "child of the user": ["text"]])
            #expect(try town.problems() == [])
        }
        let commits = town.bench.store.statistics.transactionsCommitted
        #expect(try town.bench.service.finishDepartures() == 0)
        // An empty record is not emptied again.
        #expect(town.bench.store.statistics.transactionsCommitted <= commits + 6)
    }

    @Test(
        "[R-03] more than a batch is deleted, also where the store allows less per transaction",
        arguments: [false, true])
    func large(isNarrow: Bool) async throws {
        let left = try await TestThreads.offPool {
            let town = try Town(isInMemory: true)
            let user = town.alice.userName.text
            let direct = (0..<500).map { Town.record("direct \($0)", ["who": Self.owned(by: user)]) }
            let below = (0..<100).map { Town.record("below \($0)", ["who": Self.owned(by: "direct \($0)")]) }
            try town.save(direct)
            try town.save(below)
            let store: any OrderedStore = isNarrow ? NarrowStore(town.bench.store) : town.bench.store
            try town.bench.service(over: store).deleteAccount(town.alice.id)
            let names = [user] + (direct + below).map(\.address.recordName)
            return try town.fetch(names).keys.sorted() + town.problems()
        }
        #expect(left == [])
    }

    @Test(
        "[R-03] if anything fails on the way, resuming deletes everything that refers to the user record with deleteSelf"
    )
    func sweep() async throws {
        let report = try await TestThreads.offPool { try Self.sweptRuns() }
        #expect(report.runCounts.count == StratusTestSupport.FaultPoint.allCases.count)
    }

    private static func sweptRuns() throws -> FaultSweep.Report {
        var made = try Town(isInMemory: true)
        let names = ["about", "reply", "kept", "child"]
        return try FaultSweep.run {
            made = try Town(isInMemory: true)
            let user = made.alice.userName.text
            try made.save([
                Town.record("about", ["who": owned(by: user)]), Town.record("reply", ["to": owned(by: "about")]),
                Town.record("kept", ["who": owned(by: user)]), Town.record("child", parent: "kept"),
            ])
            return OpenStore(made.bench.store)
        } scenario: { store in
            try made.bench.service(over: store).deleteAccount(made.alice.id)
        } verify: { _, fault, _ in
            try made.bench.reopen()
            if try made.bench.service.account(made.alice.id) != nil {
                try made.bench.service.deleteAccount(made.alice.id)
            }
            guard try made.bench.service.finishDepartures() == 0 else { throw ConformanceFailure("\(fault): not done") }
            let left = try made.fetch([made.alice.userName.text] + names)
            let problems = try made.problems()
            guard left == ["kept": [], "child": []], problems.isEmpty else {
                throw ConformanceFailure("\(fault): \(left) \(problems)")
            }
        }
    }
}

/// A store that accepts a hundred entries in a transaction.
private final class NarrowStore: StoreWrapper {
    let wrapped: any OrderedStore

    init(_ wrapped: any OrderedStore) { self.wrapped = wrapped }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        try wrapped.transact(lane: lane) { transaction in
            let result = try body(transaction)
            guard transaction.cost.entriesWritten <= 100 else { throw StoreError(.tooLarge, "planned") }
            return result
        }
    }
}

/// A store that its scenario does not close: the bench does.
private final class OpenStore: StoreWrapper {
    let wrapped: any OrderedStore
    init(_ wrapped: any OrderedStore) { self.wrapped = wrapped }
    func close() {}
}
