// If anything fails on the way, nothing is delivered twice and nothing is lost.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("subscriptions: faults on the way")
struct DeliveryFaultTests {
    /// A store in which commits have left undelivered notifications for Alice's phone and pad and for Bob's phone.
    ///
    /// The bench closes its store when it is deallocated, so its user must keep the bench.
    private static func prepared() throws -> RecordBench {
        let bench = try RecordBench(inMemory: true, runsBodiesTwice: false)
        try bench.service.changeAccount(bench.bob.id) { $0.handles.insert(.email("bob@example.com")) }
        try bench.makeNotes()
        try bench.register(bench.alice, "phone", "pad")
        try bench.register(bench.bob, "phone")
        try bench.save(.new("start"))
        try bench.subscribe(
            .query("q", triggers: .creation), .query("once", triggers: [.creation, .once]), .zone("z"))
        try bench.subscribe(.database("s"), by: bench.bob, in: .shared)
        try bench.share("in", as: "Share", with: bench.bob, "bob@example.com")
        try bench.save(.new("a", parent: "in"))
        try bench.save(.new("b"))
        return bench
    }

    private static func devices(of bench: RecordBench) -> [DeviceAddress] {
        [
            DeviceAddress(account: bench.alice.id, name: "phone"), DeviceAddress(account: bench.alice.id, name: "pad"),
            DeviceAddress(account: bench.bob.id, name: "phone"),
        ]
    }

    private static func service(on store: any OrderedStore, seed: UInt64) throws -> CloudService {
        let identifiers = BenchIdentifiers(seed: seed)
        return CloudService(
            engine: try RecordEngine(store: store, incarnation: identifiers.makeUUID()),
            environment: CloudEnvironment(clock: BenchClock(), identifiers: identifiers))
    }

    /// The notifications after everything has been delivered and taken.
    private static func told(_ service: CloudService, _ devices: [DeviceAddress]) throws -> [[String]] {
        _ = try service.deliverNotifications()
        return try devices.map { try service.takeNotifications(for: $0, limit: .max).map(\.line).sorted() }
    }

    private static func findings(
        _ points: [StratusTestSupport.FaultPoint], _ expected: [[String]], doubles: Bool
    ) throws -> (findings: [String], runCount: Int) {
        let benches = Locked<[RecordBench]>([])
        let problems = Locked<[String]>([])
        let report = try FaultSweep.run(
            points,
            makeStore: {
                let bench = try prepared()
                benches.withLock { $0 = [bench] }
                return bench.store
            },
            scenario: { store in
                let service = try service(on: store, seed: 5)
                // As a process that ends: a store that others share would wait for it.
                defer { service.engine.leave() }
                if doubles {
                    // The planted fault: queues are filled in one commit, and the outbox emptied in another.
                    let entries = try service.engine.read { reader in
                        var entries: [([UInt8], [UInt8])] = []
                        try reader.store.scan(GlobalKeys.keyspace(.outbox)) { key, value in
                            entries.append(([UInt8](copying: key), [UInt8](copying: value)))
                            return .next
                        }
                        return entries
                    }
                    _ = try service.deliverNotifications()
                    try service.engine.transact { for (key, value) in entries { try $0.set(key, to: value) } }
                    try service.engine.transact { for (key, _) in entries { try $0.delete(key) } }
                } else {
                    _ = try service.deliverNotifications()
                }
            },
            verify: { store, fault, _ in
                let service = try service(on: store, seed: 6)
                // Notifications that the faulty delivery has sent are taken first, so that repeated ones are seen.
                let devices = devices(of: benches.value[0])
                let before = try devices.map { try service.takeNotifications(for: $0, limit: .max).map(\.line) }
                let after = try told(service, devices)
                let all = zip(before, after).map { ($0 + $1).sorted() }
                let wrong = try SubscriptionVerifier(engine: service.engine).verify().findings.map(\.description)
                if all != expected || !wrong.isEmpty {
                    problems.withLock { $0.append("\(fault): \(all) \(wrong)") }
                }
            })
        return (problems.value, report.runCounts.values.reduce(0, +))
    }

    @Test("[N-05][N-04] wherever delivery fails, everyone is notified once, and a one-time subscription fires once")
    func sweep() async throws {
        let found = try await TestThreads.offPool { () -> ([String], Int, Int) in
            let bench = try Self.prepared()
            let expected = try Self.told(Self.service(on: bench.store, seed: 5), Self.devices(of: bench))
            guard expected.map(\.count) == [5, 5, 1] else { return (["\(expected)"], 0, 0) }
            let points: [StratusTestSupport.FaultPoint] = [.write, .commitNotApplied, .commitApplied, .read, .scanStep]
            let (findings, runCount) = try Self.findings(points, expected, doubles: false)
            let planted = try Self.findings([.write], expected, doubles: true)
            return (findings, runCount, planted.findings.count)
        }
        #expect(found.0 == [])
        #expect(found.1 > 30)
        #expect(found.2 > 0, "the planted fault was not found")
    }

    @Test("an unreadable entry does not block others, is reported as damaged, and found by verifying")
    func damage() throws {
        let bench = try RecordBench.forSubscriptions()
        try bench.subscribe(.database("d"))
        try bench.save(.new("a"))
        let key = GlobalKeys.outbox(DatabaseNumber(1), counter: 0, index: 0)
        try bench.service.engine.transact { try $0.set(key, to: [9, 9]) }
        try bench.save(.new("b"))
        #expect(try thrown { _ = try bench.service.deliverNotifications() }.code == .internalError)
        #expect(try bench.service.waitingDevices().count == 2)
        #expect(try bench.outboxCount() == 1)
        #expect(try bench.subscriptionFindings().count == 1)
        // It is met again, and not reported again.
        #expect(try bench.service.deliverNotifications().count == 2)
        // What works on releases and departures does not stop at it.
        try bench.service.deleteAccount(bench.alice.id)
        try bench.service.engine.transact { try $0.delete(key) }
        #expect(try bench.subscriptionFindings() == [])
    }

    @Test("each unreadable entry is reported once, one in each call")
    func reportedOnce() throws {
        let bench = try RecordBench.forSubscriptions()
        func damage(_ counter: UInt64) throws {
            let key = GlobalKeys.outbox(DatabaseNumber(1), counter: counter, index: 0)
            try bench.service.engine.transact { try $0.set(key, to: [9, 9]) }
        }
        func report() throws -> String? {
            do {
                _ = try bench.service.deliverNotifications()
                return nil
            } catch { return error.cause }
        }
        for counter in [0, 1] as [UInt64] { try damage(counter) }
        let first = try #require(try report())
        let second = try #require(try report())
        #expect(first != second)
        #expect(try report() == nil)
        try damage(2)
        #expect(try report() != nil)
        #expect(try report() == nil)
        #expect(try bench.outboxCount() == 3)
    }

    @Test(
        "the verifier finds orphaned subscriptions and devices, queues with wrong counts, and unreadable entries")
    func verifying() throws {
        let bench = try RecordBench.forSubscriptions()
        try bench.subscribe(.database("d"))
        try bench.save(.new("a"))
        try bench.deliver()
        #expect(try bench.subscriptionFindings() == [])
        let engine = bench.service.engine
        func finding(_ key: [UInt8], _ value: [UInt8]?) throws -> [String] {
            let old = try engine.read { try $0.store.value(forKey: key) }
            try engine.transact { if let value { try $0.set(key, to: value) } else { try $0.delete(key) } }
            defer {
                _ = try? engine.transact { if let old { try $0.set(key, to: old) } else { try $0.delete(key) } }
            }
            return try bench.subscriptionFindings()
        }
        let parts = SubscriptionKeyParts(
            container: RecordBench.container, user: "_nobody", database: 2, id: "d")
        let silent = SubscriptionEntry(subject: .database(recordType: nil), template: nil).encoded()
        #expect(try finding(GlobalKeys.subscription(parts), silent).count == 1)
        #expect(try finding(GlobalKeys.subscription(parts), [1, 2]).count == 1)
        #expect(try finding(GlobalKeys.device(of: "nobody", "x"), DeviceEntry().encoded()).count == 1)
        let device = GlobalKeys.device(of: bench.alice.id, "phone")
        #expect(try finding(device, DeviceEntry(next: 5, count: 2, badge: 0).encoded()).count == 1)
        #expect(try finding(device, nil).count == 1)
        let value = try #require(try engine.read { try $0.store.value(forKey: device) })
        let last = try DeviceEntry(decoding: value.span).next - 1
        let waiting = GlobalKeys.notification(for: bench.alice.id, "phone", order: last)
        #expect(try finding(waiting, nil).count == 1)
        #expect(try finding(waiting, [1]).count == 1)
        #expect(try finding(GlobalKeys.outbox(DatabaseNumber(1), counter: 1, index: 0), [1]).count == 1)
        #expect(try bench.subscriptionFindings() == [])
    }
}
