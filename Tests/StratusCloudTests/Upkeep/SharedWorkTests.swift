// The background work of two hosts on one store.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("background work of two hosts")
struct SharedWorkTests {
    private static let leaseSeconds = 0.3

    private let memory = MemoryStore()
    /// For everything but the work.
    private let bench: RecordBench
    private let one: CloudService
    private let other: CloudService

    init() throws {
        bench = try RecordBench(store: TripStore(memory))
        one = try Self.host(seed: 2, on: memory, bench.clock)
        other = try Self.host(seed: 3, on: memory, bench.clock)
        try bench.makeNotes()
        try bench.register(bench.alice, "phone", "pad")
        try bench.save(.new("start"))
        try bench.subscribe(.query("q", triggers: .creation))
    }

    private static func host(seed: UInt64, on memory: MemoryStore, _ clock: BenchClock) throws -> CloudService {
        let identifiers = BenchIdentifiers(seed: seed)
        var options = RecordEngineOptions()
        options.limits.workLeaseSeconds = leaseSeconds
        options.sharesWork = true
        return CloudService(
            engine: try RecordEngine(
                store: TripStore(memory), options: options, incarnation: identifiers.makeUUID()),
            environment: CloudEnvironment(clock: clock, identifiers: identifiers))
    }

    /// How many kinds of work a host does.
    private func workCount() throws -> Int {
        try memory.read { reader in
            try reader.collect(GlobalKeys.keyspace(.work)) { try WorkEntry(decoding: $1).holder }.compactMap(\.self)
                .count
        }
    }

    @Test("[N-05] two hosts that deliver at once deliver each notification once")
    func deliversOnce() async throws {
        for round in 0..<20 { try bench.save(.new("note\(round)"), on: "phone") }
        let (one, other) = (one, other)
        try await TestThreads.offPool {
            try TestThreads.run(2) { _ = try ($0 == 0 ? one : other).deliverNotifications() }
        }
        #expect(try bench.outboxCount() == 0)
        let lines = try bench.take(bench.alice, "pad").map(\.line)
        #expect(lines.count == 20)
        #expect(Set(lines).count == 20)
        #expect(try workCount() == 0)
    }

    @Test("[N-05] a host takes the deliveries of a host over that is gone")
    func takesDeliveriesOver() throws {
        try bench.save(.new("a"), on: "phone")
        try memory.transact {
            try $0.set(GlobalKeys.work(.deliveries), to: WorkEntry(holder: UUID(), count: 3).encoded())
        }
        let began = MonotonicTime.now
        #expect(try other.deliverNotifications() == [DeviceAddress(account: bench.alice.id, name: "pad")])
        #expect(began + Self.leaseSeconds <= .now)
        #expect(try bench.take(bench.alice, "pad").map(\.line) == ["q created a"])
        #expect(try workCount() == 0)
    }

    @Test("[Z-04] upkeep leaves deleted zones to the host that removes them, and takes them over when it is gone")
    func takesPurgesOver() throws {
        try bench.save(.new("a"), on: "phone")
        _ = try bench.service.modifyZones(
            ModifyZonesRequest(deletes: [RecordBench.notes]), as: bench.caller(bench.alice, on: nil), in: .private)
        try memory.transact {
            try $0.set(GlobalKeys.work(.purges), to: WorkEntry(holder: UUID(), count: 3).encoded())
        }
        func waitingCount() throws -> Int {
            try memory.read { reader in
                try [GlobalKeyspace.purges, .releases].reduce(0) {
                    try $0 + reader.keys(in: GlobalKeys.keyspace($1)).count
                }
            }
        }
        let pace = UpkeepPace(pause: {})
        try other.performUpkeep(historySeconds: nil, pace)
        #expect(try waitingCount() == 1)
        MonotonicTime.pause(seconds: Self.leaseSeconds)
        try other.performUpkeep(historySeconds: nil, pace)
        #expect(try waitingCount() == 0)
        #expect(try workCount() == 0)
    }
}
