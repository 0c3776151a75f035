// Positions expire when a server may have lost commits, and only then.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("Commits that a server has lost")
struct LostCommitsTests {
    private static let zone = ZoneID(
        database: DatabaseID(container: "c", owner: "alice", scope: .private), name: "sample")

    private let server = LossyServer()
    private let first: Host
    private let second: Host
    private let clock = HandClock()

    init() throws {
        first = try Host(on: server, clock)
        second = try Host(on: server, clock)
        try first.engine.transact { try $0.createZone(Self.zone, HistoryContent.birth(1)) }
        for host in [first, second] { #expect(try !host.look()) }
    }

    private var zoneIncarnation: UUID {
        get throws {
            try #require(try first.engine.read { try $0.zone(Self.zone)?.header().incarnation })
        }
    }

    private var storeIncarnation: UUID? { get throws { try first.engine.read { try $0.renewedIncarnation() } } }

    private var entry: TimelineEntry? {
        get throws {
            try server.read { try $0.withValue(forKey: GlobalKeys.timeline()) { try TimelineEntry(decoding: $0) } }
        }
    }

    /// Checks whether the positions of before `body` have expired after it.
    private func expect(
        expired isExpired: Bool, _ location: SourceLocation = #_sourceLocation, after body: () throws -> Void
    ) throws {
        let (zone, store) = (try zoneIncarnation, try storeIncarnation)
        try body()
        #expect(try (zoneIncarnation != zone) == isExpired, sourceLocation: location)
        #expect(try (storeIncarnation != store) == isExpired, sourceLocation: location)
    }

    @Test("a host writes down the timeline of its server")
    func notes() throws {
        #expect(try entry == TimelineEntry(system: 7, number: 1, isReplicated: true, incarnation: nil))
        server.setReplicated(false)
        try expect(expired: false) { () throws in #expect(try !first.look()) }
        #expect(try entry?.isReplicated == false)
    }

    @Test("[T-09] after a promotion that has lost nothing, positions stay")
    func promotion() throws {
        try expect(expired: false) { () throws in
            server.promote()
            #expect(try !second.look())
            #expect(try !first.look())
        }
        #expect(try entry?.number == 2)
    }

    @Test("[T-09] after a promotion that has lost a beat, positions expire once, whichever hosts look")
    func lossyPromotion() throws {
        try expect(expired: true) { () throws in
            server.keep()
            #expect(try !first.look())
            server.turnBack()
            server.promote()
            #expect(try first.look())
        }
        try expect(expired: false) { () throws in
            for host in [second, first, second] { #expect(try !host.look()) }
        }
        #expect(try entry?.number == 2)
    }

    @Test("[T-09] after the promotion of a standby that commits did not wait for, positions expire")
    func asynchronousPromotion() throws {
        server.setReplicated(false)
        #expect(try !first.look())
        try expect(expired: true) { () throws in
            server.promote()
            #expect(try second.look())
            #expect(try !first.look())
        }
    }

    @Test("[T-09] after a backup was restored under open hosts, on the same timeline, positions expire")
    func restoredVolume() throws {
        server.keep()
        for host in [first, second] { #expect(try !host.look()) }
        try expect(expired: true) { () throws in
            server.turnBack()
            #expect(try first.look())
        }
        try expect(expired: false) { () throws in #expect(try !second.look()) }
    }

    @Test("[T-09] another system than before, such as a copy in another cluster, expires positions")
    func otherSystem() throws {
        try expect(expired: true) { () throws in
            server.move(to: ServerTimeline(system: 8, number: 1))
            // It was alive before, but on a server that says nothing of this one.
            clock.advance(seconds: 31)
            #expect(try first.look())
        }
    }

    @Test("[T-09] a host that was opened after the promotion waits for one that vouches")
    func waits() throws {
        server.promote()
        let late = try Host(on: server, clock)
        try expect(expired: false) { () throws in #expect(try !late.look()) }
        #expect(try entry?.number == 1)
        #expect(try !first.look())
        #expect(try entry?.number == 2)
        clock.advance(seconds: 31)
        try expect(expired: false) { () throws in #expect(try !late.look()) }
    }

    @Test("[T-09] if no host vouches, positions expire after three times the time of a lease")
    func waitsInVain() throws {
        server.promote()
        let late = try Host(on: server, clock)
        clock.advance(seconds: 26)
        try expect(expired: false) { () throws in #expect(try !late.look()) }
        clock.advance(seconds: 2)
        try expect(expired: true) { () throws in #expect(try late.look()) }
    }

    @Test("a host that was away until the others have removed its entry loses nothing by it")
    func awayForLong() throws {
        for _ in 0..<30 {
            clock.advance(seconds: 3)
            #expect(try !second.look())
        }
        try expect(expired: false) { () throws in #expect(try !first.look()) }
    }

    @Test("[T-09] a renewal that was stopped is done by the next look")
    func stopped() throws {
        server.keep()
        #expect(try !first.look())
        server.turnBack()
        try expect(expired: false) { () throws in #expect(try !first.look(isStopped: true)) }
        try expect(expired: true) { () throws in #expect(try first.look()) }
    }

    @Test("[T-09] while one host renews, another one waits, and then does nothing")
    func leased() throws {
        server.keep()
        for host in [first, second] { #expect(try !host.look()) }
        server.turnBack()
        try expect(expired: true) { () throws in
            var isRunning = false
            let isRenewed = try first.look { () throws in
                guard !isRunning else { return true }
                isRunning = true
                // The first commit of the renewal takes the work.
                try first.engine.working(on: .incarnations) { try first.engine.transact { _ in } }
                #expect(try !second.look())
                return true
            }
            #expect(isRenewed)
        }
        try expect(expired: false) { () throws in #expect(try !second.look()) }
    }

    @Test("an emptied store has nothing to expire")
    func emptied() throws {
        server.empty()
        #expect(try !first.look())
    }
}

/// A process that shares the store.
private struct Host {
    let engine: RecordEngine
    private let clock: HandClock

    init(on server: LossyServer, _ clock: HandClock) throws {
        self.clock = clock
        var options = RecordEngineOptions()
        options.monotonicNow = { clock.now }
        engine = try RecordEngine(store: server, options: options, incarnation: UUID())
    }

    /// What a host does every three seconds. Returns whether it has renewed the incarnations.
    func look(isStopped: Bool = false) throws -> Bool { try look { !isStopped } }

    func look(_ shouldContinue: () throws -> Bool) throws -> Bool {
        clock.advance(seconds: 3)
        try engine.beat()
        var failure: (any Error)?
        let isRenewed = try engine.renewAfterLoss(draw: { UUID() }) {
            do { return try shouldContinue() } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
        return isRenewed
    }
}

/// A server that says its timeline, and loses commits.
private final class LossyServer: StoreWrapper {
    private struct State {
        var memory = MemoryStore()
        var kept = MemoryStore()
        var timeline = ServerTimeline(system: 7, number: 1)
        var isReplicated = true
    }

    private let state = Locked(State())

    var wrapped: any OrderedStore { TripStore(state.value.memory) }
    var timeline: ServerTimeline? { state.value.timeline }
    var isReplicated: Bool { state.value.isReplicated }

    func setReplicated(_ isReplicated: Bool) { state.withLock { $0.isReplicated = isReplicated } }
    func promote() { state.withLock { $0.timeline.number += 1 } }
    func move(to timeline: ServerTimeline) { state.withLock { $0.timeline = timeline } }
    func empty() { state.withLock { $0.memory = MemoryStore() } }

    /// Keeps a copy of what the server has.
    func keep() { state.withLock { $0.kept = Self.copy($0.memory) } }

    /// Loses all commits since the copy was made.
    func turnBack() { state.withLock { $0.memory = Self.copy($0.kept) } }

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
