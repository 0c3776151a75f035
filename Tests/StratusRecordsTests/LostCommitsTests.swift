// Positions in feeds expire when a server may have lost commits, and only then.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("Commits that a server has lost")
struct LostCommitsTests {
    private let server = LossyServer()
    private let clock = HandClock()
    private let first: Host
    private let second: Host

    init() throws {
        first = try Host(on: server, clock)
        second = try Host(on: server, clock)
        for host in [first, second] { try #require(try host.beat() == .nothing) }
    }

    @Test("a host writes down the timeline of its server, and whether a standby has each commit")
    func notes() throws {
        #expect(try server.entry == TimelineEntry(system: 7, number: 1, isReplicated: true, incarnation: nil))
        server.change { $0.isReplicated = false }
        #expect(try first.beat() == .nothing)
        #expect(try server.entry == TimelineEntry(system: 7, number: 1, isReplicated: false, incarnation: nil))
    }

    @Test("[T-09] after a promotion that has lost nothing, positions stay")
    func promotion() throws {
        server.promote()
        for host in [second, first, second] { #expect(try host.beat() == .nothing) }
        #expect(try server.entry?.number == 2)
    }

    @Test("[T-09] after a promotion that has lost a beat, positions expire once, whichever hosts look")
    func lossyPromotion() throws {
        server.keep()
        #expect(try first.beat() == .nothing)
        server.turnBack()
        server.promote()
        #expect(try first.beat() == .expired)
        for host in [second, first, second] { #expect(try host.beat() == .nothing) }
        #expect(try server.entry?.number == 2)
    }

    @Test("[T-09] after the promotion of a standby that commits did not wait for, positions expire once")
    func asynchronousPromotion() throws {
        server.change { $0.isReplicated = false }
        #expect(try first.beat() == .nothing)
        server.promote()
        #expect(try second.beat() == .expired)
        for host in [first, second] { #expect(try host.beat() == .nothing) }
    }

    @Test("[T-09] a new leader that has no standby yet expires nothing, if commits at the former one had one")
    func leaderWithoutStandby() throws {
        server.change { $0.isReplicated = false }
        server.promote()
        for host in [first, second, first] { #expect(try host.beat() == .nothing) }
        server.change { $0.isReplicated = true }
        for host in [first, second, first] { #expect(try host.beat() == .nothing) }
    }

    @Test("[T-09] after a backup was restored under open hosts, on the same timeline, positions expire once each time")
    func restoredVolume() throws {
        server.keep()
        for _ in 0..<3 {
            for host in [first, second] { #expect(try host.beat() == .nothing) }
            server.turnBack()
            #expect(try first.beat() == .expired)
            for host in [second, first, second] { #expect(try host.beat() == .nothing) }
        }
    }

    @Test("[T-09] hosts that were opened after the backup notice that it was restored, however long it took")
    func restoredBeforeOpening() throws {
        server.keep()
        let hosts = [try Host(on: server, clock), try Host(on: server, clock)]
        for host in hosts { #expect(try host.beat() == .nothing) }
        server.turnBack()
        clock.advance(seconds: 600)
        #expect(try hosts[0].beat() == .expired)
        for host in hosts { #expect(try host.beat() == .nothing) }
    }

    @Test("[T-09] a loss while the beat waits for its commit is found by that beat")
    func lossWithinBeat() throws {
        server.keep()
        #expect(try first.beat() == .nothing)
        server.turnBackAtNextCommit()
        #expect(try first.beat() == .expired)
    }

    @Test("[T-09] a backup without a timeline's entry expires positions")
    func oldBackup() throws {
        let server = LossyServer()
        server.keep()
        let host = try Host(on: server, clock)
        #expect(try host.beat() == .nothing)
        server.turnBack()
        #expect(try host.beat() == .expired)
    }

    @Test("[T-09] a server that says no timeline expires positions if it has lost a beat")
    func withoutTimeline() throws {
        server.change { $0.timeline = nil }
        #expect(try first.beat() == .nothing)
        server.keep()
        #expect(try first.beat() == .nothing)
        server.turnBack()
        #expect(try first.beat() == .expired)
        #expect(try server.entry?.number == 1)
    }

    @Test("[T-09] a store that came from another system, such as a copied cluster, expires positions after a while")
    func otherSystem() throws {
        server.change { $0.timeline = ServerTimeline(system: 8, number: 1) }
        #expect(try first.beat() == .nothing)
        clock.advance(seconds: 31)
        #expect(try first.beat() == .expired)
        #expect(try second.beat() == .nothing)
    }

    @Test("[T-09] a host that was opened after the promotion waits for one that confirms it")
    func waits() throws {
        server.promote()
        let late = try Host(on: server, clock)
        #expect(try late.beat() == .nothing)
        #expect(try server.entry?.number == 1)
        #expect(try first.beat() == .nothing)
        #expect(try server.entry?.number == 2)
        clock.advance(seconds: 31)
        #expect(try late.beat() == .nothing)
    }

    @Test("[T-09] if no host confirms a promotion, positions expire after three times the time of a lease")
    func waitsInVain() throws {
        server.promote()
        let late = try Host(on: server, clock)
        clock.advance(seconds: 26)
        #expect(try late.beat() == .nothing)
        clock.advance(seconds: 2)
        #expect(try late.beat() == .expired)
    }

    @Test("a host that stood still until the others have removed its beat loses nothing by it")
    func stoodStill() throws {
        #expect(try first.beat() == .nothing)
        for _ in 0..<30 { #expect(try second.beat() == .nothing) }
        #expect(try server.beatCount == 1)
        #expect(try first.beat() == .nothing)
    }

    @Test("[T-09] a host that lost a beat, and ended, leaves no position that skips a change")
    func endsAfterwards() throws {
        server.keep()
        #expect(try first.beat() == .nothing)
        server.turnBack()
        #expect(try first.beat() == .expired)
        let next = try Host(on: server, clock)
        #expect(try next.beat() == .nothing)
        #expect(try server.entry?.incarnation != nil)
    }
}

/// A process that shares the store.
private struct Host {
    enum Outcome {
        case nothing
        case expired
    }

    private static let own = UUID()
    private let engine: RecordEngine
    private let clock: HandClock

    init(on server: LossyServer, _ clock: HandClock) throws {
        self.clock = clock
        var options = RecordEngineOptions()
        options.monotonicNow = { clock.now }
        engine = try RecordEngine(store: server, options: options, incarnation: UUID())
    }

    private var position: UUID { get throws { try engine.read { try $0.positionIncarnation(Self.own) } } }

    /// Beats three seconds later. Whether positions have expired by it.
    func beat() throws -> Outcome {
        clock.advance(seconds: 3)
        let before = try position
        try engine.beat()
        let hasExpired = try position != before
        #expect(engine.takeRenewal() == hasExpired)
        return hasExpired ? .expired : .nothing
    }
}

/// A server that says its timeline, and loses commits.
private final class LossyServer: StoreWrapper {
    struct State {
        fileprivate var memory = MemoryStore()
        fileprivate var kept = MemoryStore()
        fileprivate var losesAtCommit = false
        var timeline: ServerTimeline? = ServerTimeline(system: 7, number: 1)
        var isReplicated = true
    }

    private let state = Locked(State())

    var wrapped: any OrderedStore { TripStore(state.value.memory) }
    var timeline: ServerTimeline? { state.value.timeline }
    var isReplicated: Bool { state.value.isReplicated }

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    func promote() { state.withLock { $0.timeline?.number += 1 } }

    /// Keeps a copy of what the server has.
    func keep() { state.withLock { $0.kept = Self.copy($0.memory) } }

    /// Loses all commits since the copy was made.
    func turnBack() { state.withLock { $0.memory = Self.copy($0.kept) } }

    /// Does so when the next transaction begins.
    func turnBackAtNextCommit() { state.withLock { $0.losesAtCommit = true } }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        if state.withLock({ exchange(&$0.losesAtCommit, with: false) }) { turnBack() }
        return try wrapped.transact(lane: lane, body)
    }

    var entry: TimelineEntry? {
        get throws { try read { try $0.withValue(forKey: GlobalKeys.timeline()) { try TimelineEntry(decoding: $0) } } }
    }

    /// How many processes have a beat.
    var beatCount: Int { get throws { try read { try $0.keys(in: GlobalKeys.keyspace(.hosts)).count } } }

    private static func copy(_ store: MemoryStore) -> MemoryStore {
        let copy = MemoryStore()
        do {
            try store.read { reader in
                try copy.transact { writer in
                    try reader.scan(.everything) { key, value in
                        try writer.set(key, to: value)
                        return .next
                    }
                }
            }
        } catch { Issue.record("The store in memory was not copied: \(error)") }
        return copy
    }
}
