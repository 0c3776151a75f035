// Deleting an account with all its data, and what remains if something fails on the way.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("deleting accounts")
struct DepartureTests {
    private static let containers: [ContainerName] = ["iCloud.com.example.app", "iCloud.com.example.other"]

    fileprivate static let deadAcceptance = AcceptanceEntry(
        container: containers[0], owner: "_somebody", zone: "Gone", role: .privateUser, permission: .readOnly,
        participant: "p", since: 1, date: Date(timeIntervalSinceReferenceDate: 0)
    ).encoded()

    /// Two people with private zones in two containers, user records, subscriptions, acceptances and usage.
    private struct Town {
        let bench: AccountBench
        let alice: StoredAccount
        let bob: StoredAccount

        init(isInMemory: Bool = false) throws {
            bench = try AccountBench(isInMemory: isInMemory)
            alice = try bench.service.createAccount(
                .init(externalID: "alice", handles: [.email("alice@example.com"), .phone("+491")]))
            bob = try bench.service.createAccount(.init(externalID: "bob", handles: [.email("bob@example.com")]))
            for account in [alice, bob] {
                for container in DepartureTests.containers {
                    for zone in ["_defaultZone", "Notes"] {
                        try fill(AccountBench.zone(zone, of: account.userName, in: container), of: account)
                    }
                    try fillPublic(container, of: account)
                }
                try bench.service.engine.transact { transaction in
                    // Of a zone that no longer exists.
                    let key = GlobalKeys.acceptance(user: account.userName, zone: UUID(), share: "Share-1")
                    try transaction.set(key, to: DepartureTests.deadAcceptance)
                }
            }
        }

        private func fill(_ zone: ZoneID, of account: StoredAccount) throws {
            let engine = bench.service.engine
            try bench.makeZone(zone, by: account.userName, in: engine)
            let records = (0..<5).map { index in
                Record(
                    name: RecordName("r\(index)"), type: "T", fields: ["text": Field(.string("of \(account.userName)"))]
                )
            }
            try bench.save(records, in: zone, engine: engine)
        }

        private func fillPublic(_ container: ContainerName, of account: StoredAccount) throws {
            let engine = bench.service.engine
            let database = DatabaseID(container: container, owner: nil, scope: .public)
            let zone = ZoneID(database: database, name: "_defaultZone")
            try bench.makeZone(zone, by: "_app", in: engine)
            let record = Record(
                name: RecordName(account.userName.text), type: "Users", fields: ["motto": Field(.string("mine"))])
            let child = Record(name: RecordName("child of \(account.userName)"), type: "T", parent: record.name)
            let owner = RecordReference(target: record.name, action: .deleteSelf)
            let owned = Record(
                name: RecordName("owned by \(account.userName)"), type: "T",
                fields: ["motto": Field(.string("hers")), "owner": Field(.reference(owner))])
            // In one container a record has the user record as its parent, in the other one is deleted with it.
            let records = [record, container == DepartureTests.containers[0] ? owned : child]
            try bench.save(records, in: zone, by: account.userName, engine: engine)
            try engine.transact { transaction in
                let number = try #require(try transaction.databaseEntry(database)).number
                try transaction.set(DatabaseKeys(number).subscription(user: account.userName, id: "s"), to: [1])
            }
        }

        /// Every key of the store as a line.
        func lines() throws -> [String] {
            try bench.store.read { reader in
                var lines: [String] = []
                try reader.scan(KeyRange(from: [], upTo: [UInt8](repeating: 0xFF, count: 32))) { key, value in
                    lines.append("\(KeyDescription.text(of: key)) = \(ValueDescription.text(of: value, forKey: key))")
                    return .next
                }
                return lines
            }
        }

        /// The fault in the store after Alice is deleted and Bob untouched; nil if there is none.
        func problem() throws -> String? {
            let service = bench.service
            for id in [try service.account("alice"), try service.account(externalID: "alice")] where id != nil {
                return "the account is there"
            }
            let traces = try lines().filter { $0.contains(alice.userName.text) || $0.contains(alice.id.text) }
            // Public records are the app's: their indexes and histories name their creator, parent and name.
            let publicZones = try publicNumbers().map { "db \($0) / zone " }
            let left = traces.filter { line in !publicZones.contains { line.hasPrefix($0) } }
            if !left.isEmpty { return "left behind: \(left.joined(separator: "\n"))" }
            if traces.contains(where: { $0.contains("motto") }) { return "the user record is not empty" }
            guard try service.account(handle: .email("bob@example.com")) == bob else { return "Bob is gone" }
            let usage = try service.verifyUsage(of: bob.userName)
            guard usage.isExact, usage.total.foundByteCount > 0, usage.zones.count == 4 else { return "\(usage)" }
            let findings = try AccountVerifier(engine: service.engine).verify().findings
            if !findings.isEmpty { return "\(findings)" }
            let report = try service.engine.verify()
            return report.isClean ? nil : "\(report.findings)"
        }

        private func publicNumbers() throws -> [UInt64] {
            try bench.service.engine.read { reader in
                try reader.databases().filter { $0.id.scope == .public }.map { $0.entry.number.rawValue }
            }
        }
    }

    @Test("deleting an account removes its data in every container, and no other account's data")
    func everything() throws {
        let town = try Town()
        let service = town.bench.service
        try service.deleteAccount(town.alice.id)
        // From now on nothing is reachable.
        for container in Self.containers {
            let database = DatabaseID(container: container, owner: town.alice.userName, scope: .private)
            #expect(try service.engine.read { try $0.zones(in: database) }.isEmpty)
        }
        #expect(try service.usage(of: town.alice.userName) == 0)
        let caller = town.bench.caller(town.alice)
        #expect(cloudError { try service.requireAccount(caller) }?.code == .notAuthenticated)
        #expect(try service.engine.read { try service.accountDirectory.departures(in: $0) }.count == 1)
        // Then the bytes are deleted.
        #expect(try service.finishDepartures() == 0)
        #expect(try town.problem() == nil)
        #expect(cloudError { try service.deleteAccount(town.alice.id) }?.code == .unknownItem)
        try town.bench.reopen()
        #expect(try town.problem() == nil)
        // The same person may come back, as a new account.
        let again = try town.bench.service.createAccount(
            .init(externalID: "alice", handles: [.email("alice@example.com")]))
        #expect(again.id != town.alice.id)
        #expect(again.userName != town.alice.userName)
    }

    @Test("finishing a deletion waits for the purge, which can be stopped and resumed")
    func stopped() throws {
        let town = try Town()
        let service = town.bench.service
        try service.deleteAccount(town.alice.id)
        #expect(try service.finishDepartures(shouldContinue: { _ in false }) == 1)
        #expect(try service.finishDepartures(shouldContinue: { $0.commits < 1 }) == 1)
        try town.bench.reopen()
        #expect(try town.bench.service.finishDepartures() == 0)
        #expect(try town.problem() == nil)
        #expect(try town.bench.service.finishDepartures() == 0)
    }

    @Test("an interrupted deletion reports how much remains, part by part, and completes")
    func progress() throws {
        let town = try Town()
        let service = town.bench.service
        _ = try service.engine.transact { try service.accountDirectory.depart(town.alice.id, in: $0) }
        var told: [FreeingPart: [FreeingProgress]] = [:]
        _ = try service.purge(UpkeepPace(pause: {})) { told[$0.part, default: []].append($0) }
        #expect(try town.problem() == nil)
        for (part, told) in told {
            let (dones, totals) = (told.map(\.doneCount), try told.map { try #require($0.totalCount) })
            #expect(dones == dones.sorted(), "\(part)")
            #expect(totals == totals.sorted(), "\(part)")
            #expect(dones.last == totals.last, "\(part)")
        }
        // The total is known before it begins.
        let departures = try #require(told[.departures])
        #expect(departures[0].doneCount == 0)
        #expect(departures[0].totalCount == departures.last?.totalCount)
        #expect(departures[0].totalCount == 14)
        let entries = try #require(told[.entries]?.last)
        #expect(entries.doneCount > 10)
    }

    @Test("a deletion can be stopped between any two of its commits, and the next call finishes it")
    func stopping() throws {
        var stop = 0
        while true {
            let town = try Town()
            let service = town.bench.service
            _ = try service.engine.transact { try service.accountDirectory.depart(town.alice.id, in: $0) }
            var askCount = 0
            let left = try service.finishDepartures(shouldContinue: { _ in
                askCount += 1
                return askCount <= stop
            })
            if left > 0 { #expect(try service.finishDepartures() == 0) }
            #expect(try town.problem() == nil, "stopped at \(stop)")
            guard left > 0 else { break }
            stop += 1
        }
        // There is a checkpoint for each kind of thing that an account leaves.
        #expect(stop > 10)
    }

    @Test("a database with more zones and entries than a batch is removed too")
    func large() throws {
        let bench = try AccountBench()
        let service = bench.service
        let account = try service.createAccount(.init())
        for index in 0..<450 {
            try bench.makeZone(
                AccountBench.zone("z\(index)", of: account.userName), by: account.userName, in: service.engine)
        }
        try service.engine.transact { transaction in
            for index in 0..<2_500 {
                let zone = UUID(
                    uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(index >> 8), UInt8(index & 0xFF)))
                try transaction.set(
                    GlobalKeys.acceptance(user: account.userName, zone: zone, share: "S"), to: Self.deadAcceptance)
            }
        }
        try service.deleteAccount(account.id)
        #expect(try service.finishDepartures() == 0)
        let keyCount = try bench.store.read { reader in
            var count = 0
            try reader.scan(KeyRange(from: [], upTo: [UInt8](repeating: 0xFF, count: 32))) { _, _ in
                count += 1
                return .next
            }
            // A store that hosts share has what they do.
            for keyspace in [GlobalKeyspace.work, .hosts, .runs, .timeline] {
                try reader.scan(GlobalKeys.keyspace(keyspace)) { _, _ in
                    count -= 1
                    return .next
                }
            }
            return count
        }
        // The format and the counters.
        #expect(keyCount == 2)
    }

    @Test("if anything fails during a deletion, the account exists whole or not at all, and resuming leaves nothing")
    func sweep() throws {
        let current = Locked<Town?>(nil)
        let report = try FaultSweep.run(
            makeStore: {
                let town = try Town(isInMemory: true)
                current.withLock { $0 = town }
                return KeptOpenStore(town.bench.store)
            },
            scenario: { store in
                guard let town = current.value else { return }
                let service = try town.bench.service(over: store)
                try service.deleteAccount(town.alice.id)
                guard try service.finishDepartures() == 0 else { throw ConformanceFailure("not finished") }
            },
            verify: { _, fault, thrown in
                guard let town = current.value, thrown != nil else {
                    throw ConformanceFailure("no error came of \(fault)")
                }
                try town.bench.reopen()
                let service = town.bench.service
                if let account = try service.account(externalID: "alice") {
                    // Nothing has changed yet.
                    let usage = try service.verifyUsage(of: account.userName)
                    guard account == town.alice, usage.isExact, usage.zones.count == 4 else {
                        throw ConformanceFailure("half done after \(fault): \(usage)")
                    }
                    try service.deleteAccount(account.id)
                } else if try service.account(town.alice.id) != nil {
                    throw ConformanceFailure("the account lost its identifier after \(fault)")
                }
                guard try service.finishDepartures() == 0 else { throw ConformanceFailure("not finished: \(fault)") }
                if let problem = try town.problem() { throw ConformanceFailure("after \(fault): \(problem)") }
            })
        #expect(report.runCounts.keys.count == FaultPoint.allCases.count, "\(report.runCounts)")
        print("deleting an account: \(report.runCounts)")
    }

    @Test("if anything fails while an account is created or changed, the account and its indexes agree")
    func changeSweep() throws {
        let current = Locked<AccountBench?>(nil)
        let report = try FaultSweep.run(
            makeStore: {
                let bench = try AccountBench(isInMemory: true)
                try bench.service.createAccount(.init(externalID: "bob", handles: [.email("bob@example.com")]))
                current.withLock { $0 = bench }
                return KeptOpenStore(bench.store)
            },
            scenario: { store in
                guard let bench = current.value else { return }
                let service = try bench.service(over: store)
                let id = try service.createAccount(.init(externalID: "alice", handles: [.email("a@example.com")])).id
                try service.changeAccount(id) { $0.handles = [.email("a2@example.com"), .phone("+491")] }
            },
            verify: { _, fault, thrown in
                guard let bench = current.value, thrown != nil else {
                    throw ConformanceFailure("no error came of \(fault)")
                }
                try bench.reopen()
                let findings = try AccountVerifier(engine: bench.service.engine).verify().findings
                guard findings.isEmpty else { throw ConformanceFailure("after \(fault): \(findings)") }
            })
        #expect(report.runCounts[.commitApplied] == 2)
        #expect(report.runCounts[.write, default: 0] > 4)
    }
}

/// A store that its scenario does not close: the bench does.
private final class KeptOpenStore: StoreWrapper {
    let wrapped: any OrderedStore
    init(_ wrapped: any OrderedStore) { self.wrapped = wrapped }
    func close() {}
}
