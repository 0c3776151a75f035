// The verifier of subscriptions finds the planted faults, and nothing else.

import FoundationEssentials
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("verifying subscriptions")
struct SubscriptionVerifierTests {
    private let bench: RecordBench
    /// An entry of each keyspace, as the server wrote it.
    private let subscription: (key: [UInt8], value: [UInt8])
    private let notification: (key: [UInt8], value: [UInt8])
    private let outbox: (key: [UInt8], value: [UInt8])

    /// Alice's phone has a notification waiting; her last write is still to be delivered.
    init() throws {
        bench = try RecordBench.forSubscriptions()
        try bench.subscribe(.database("d"))
        try bench.save(.new("a"), on: "pad")
        try bench.deliver()
        try bench.save(.new("b"), on: "pad")
        subscription = try Self.first(GlobalKeys.keyspace(.subscriptions), bench)
        notification = try Self.first(GlobalKeys.keyspace(.notifications), bench)
        outbox = try Self.first(GlobalKeys.keyspace(.outbox), bench)
    }

    private static func first(_ range: KeyRange, _ bench: RecordBench) throws -> (key: [UInt8], value: [UInt8]) {
        var found: (key: [UInt8], value: [UInt8])?
        try bench.service.engine.read { reader in
            try reader.store.scan(range, .forward, limit: 1) { key, value in
                found = ([UInt8](copying: key), [UInt8](copying: value))
                return .stop
            }
        }
        return try #require(found)
    }

    private func findings() throws -> [SubscriptionFinding] {
        try SubscriptionVerifier(engine: bench.service.engine).verify().findings
    }

    /// The findings while entries are changed, which are restored afterwards.
    private func findings(planting faults: [([UInt8], [UInt8]?)]) throws -> [SubscriptionFinding] {
        let engine = bench.service.engine
        func set(_ entries: [([UInt8], [UInt8]?)]) throws {
            try engine.transact { transaction in
                for (key, value) in entries {
                    if let value { try transaction.set(key, to: value) } else { try transaction.delete(key) }
                }
            }
        }
        let before = try engine.read { reader in try faults.map { ($0.0, try reader.store.value(forKey: $0.0)) } }
        try set(faults)
        let found = try findings()
        try set(before)
        return found
    }

    private func line(_ key: [UInt8]) -> String { KeyDescription.text(of: key) }

    @Test("every planted fault is found and classified correctly")
    func planted() throws {
        let phone = GlobalKeys.device(of: bench.alice.id, "phone")
        let ghosts = GlobalKeys.subscription(
            SubscriptionKeyParts(container: RecordBench.container, user: "_ghost", database: 2, id: "d"))
        let guessed = GlobalKeys.subscription(
            SubscriptionKeyParts(
                container: RecordBench.container, user: bench.alice.userName, database: 2,
                id: "00000000-0000-4000-8000-000000000000"))
        let ghostsPhone = GlobalKeys.device(of: "ghost", "phone")
        let lost = GlobalKeys.notification(for: bench.alice.id, "watch", order: 1)
        let second = GlobalKeys.notification(for: bench.alice.id, "watch", order: 2)
        let identity = GlobalKeys.identity(.userRecord, bench.alice.userName.text)
        let faults: [(planted: [([UInt8], [UInt8]?)], expected: [SubscriptionFinding])] = [
            ([], []),
            ([(ghosts, subscription.value)], [.ownerless(line(ghosts))]),
            ([(guessed, subscription.value)], [.predictable(line(guessed))]),
            ([(ghostsPhone, DeviceEntry().encoded())], [.ownerless(line(ghostsPhone))]),
            // However many wait for it.
            (
                [(lost, notification.value), (second, notification.value)],
                [.dangling(line(GlobalKeys.device(of: bench.alice.id, "watch")))]
            ),
            ([(notification.key, nil)], [.miscounted(line(phone), counted: 1, found: 0)]),
            ([(phone, DeviceEntry(next: 5, count: 3).encoded())], [.miscounted(line(phone), counted: 3, found: 1)]),
            // A name that points to no account is reported by the verifier of accounts: its data stays.
            ([(identity, nil)], []),
        ]
        for (planted, expected) in faults { #expect(try findings(planting: planted) == expected) }
        for key in [subscription.key, notification.key, phone, outbox.key] {
            let found = try findings(planting: [(key, [0xff])])
            #expect(found.map(\.kind) == [.unreadable])
            #expect(found.map(\.place) == [line(key)])
        }
        #expect(try findings() == [])
    }

    @Test("entries of a person who is being removed are not orphans until the removal is done")
    func departing() throws {
        let ghosts = GlobalKeys.subscription(
            SubscriptionKeyParts(container: RecordBench.container, user: "_ghost", database: 2, id: "d"))
        let device = GlobalKeys.device(of: "ghost", "phone")
        let departure = GlobalKeys.departure(of: "_ghost")
        let left = [(ghosts, subscription.value), (device, DeviceEntry().encoded())]
        #expect(try findings(planting: left.map { ($0.0, .some($0.1)) }).count == 2)
        let leaving = left + [(departure, AccountIDEntry(account: "ghost").encoded())]
        #expect(try findings(planting: leaving.map { ($0.0, .some($0.1)) }) == [])
    }

    @Test("a store that cannot be read ends the verification with its error, wherever reading fails")
    func failedReads() throws {
        let counting = FaultInjectingStore(bench.service.engine.store)
        let engine = try RecordEngine(store: counting, incarnation: UUID())
        let error = StoreError(.inputOutput, "A planned fault: reading failed.")
        for point in [FaultPoint.read, .scanStep] {
            let before = counting.count(of: point)
            _ = try SubscriptionVerifier(engine: engine).verify()
            let count = counting.count(of: point) - before
            #expect(count > 2)
            for occurrence in 1...count {
                counting.arm(Fault(point, at: occurrence, error))
                #expect(throws: error, "\(point) \(occurrence)") { try SubscriptionVerifier(engine: engine).verify() }
            }
        }
    }

    @Test("of very many faults, the first of each kind are kept and all are counted")
    func manyFaults() throws {
        let kept = VerifierReport<SubscriptionFault>.maximumCount
        let engine = bench.service.engine
        try engine.transact { transaction in
            for number in 0..<(kept + 30) {
                try transaction.set(
                    GlobalKeys.device(of: AccountID("ghost \(number)"), "phone"), to: DeviceEntry().encoded())
            }
            try transaction.set(
                GlobalKeys.device(of: bench.alice.id, "phone"), to: DeviceEntry(next: 2, count: 2).encoded())
        }
        let report = try SubscriptionVerifier(engine: engine).verify()
        #expect(report.count == kept + 31)
        #expect(report.unkeptCount == 30)
        #expect(report.findings.count { $0.kind == .ownerless } == kept)
        #expect(report.findings.count { $0.kind == .miscounted } == 1)
    }
}
