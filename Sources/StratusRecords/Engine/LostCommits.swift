// Whether the server has lost commits that were acknowledged, and what follows.
//
// A feed has numbers. If a commit is lost, a later one gets its number, and a client that has seen the lost one never
// learns of the other. So all positions must expire: every zone gets a new incarnation, and databases another one for
// their positions.
//
// How it works: the entry of the timeline says on which line of its server's history the store was last found whole.
// With each beat a process compares it with the server's timeline, and its last beat with what the store has of it. A
// server that loses commits loses the newest ones, and the last beat is a few seconds old at most. A process vouches
// for a new timeline if a standby had each commit, and if a beat that it gave before is there. If none vouches, or if a
// beat is gone, one process renews all incarnations.
//
// Invariants:
//   1. The entry gets a newer timeline from a process that vouches, or in the last transaction of a renewal.
//   2. A renewal that was interrupted is done again from its beginning: the entry is as it was.
//   3. A process that has lost a beat does nothing if another one has renewed the incarnations since.

package import FoundationEssentials
package import StratusLayout
package import StratusStore

/// What a process knows of its own beats, and of its server.
struct BeatRecord {
    /// What the last look has found.
    private struct Look {
        /// What the server had then, or an older one.
        var timeline: ServerTimeline
        var entry: TimelineEntry?
    }

    /// What is to be done.
    enum Verdict: Equatable {
        case nothing
        /// Write the timeline in place of this entry: the store is whole.
        case note(ServerTimeline, replacing: TimelineEntry?)
        /// Renew the incarnations: commits may be lost.
        case renew(ServerTimeline)
    }

    /// How many times as long as a lease a process waits for another one to vouch.
    private static let waitCount = 3.0

    private let leaseSeconds: Double
    private let began: MonotonicTime
    /// The last beat that was committed, and when.
    private var kept: (beat: UInt64, at: MonotonicTime)?
    /// From which timeline on every beat that was committed is there.
    private var vouchesFrom: ServerTimeline?
    private var hasLost = false
    private var look: Look?
    /// The incarnation in the entry before a beat was lost.
    private var incarnation: UUID?

    init(leaseSeconds: Double, at now: MonotonicTime) {
        self.leaseSeconds = leaseSeconds
        began = now
    }

    /// Notes what the store has of this process's beats. The timeline was taken before.
    mutating func note(_ beat: UInt64?, _ entry: TimelineEntry?, _ timeline: ServerTimeline?, at now: MonotonicTime) {
        look = timeline.map { Look(timeline: $0, entry: entry) }
        guard let kept, beat.map({ $0 < kept.beat }) ?? true else { return }
        vouchesFrom = nil
        // Others remove the entry of a process that gives no beats for long, and emptying a store removes all.
        if beat != nil || kept.at + leaseSeconds > now { hasLost = true }
        self.kept = nil
    }

    /// Notes that a beat was committed. The timeline was taken after that.
    mutating func noteCommit(_ beat: UInt64, _ timeline: ServerTimeline?, at now: MonotonicTime) {
        kept = (beat, now)
        if vouchesFrom == nil { vouchesFrom = timeline }
    }

    mutating func verdict(isReplicated: Bool, at now: MonotonicTime) -> Verdict {
        guard let look else { return .nothing }
        let timeline = look.timeline
        guard let entry = look.entry else {
            hasLost = false
            return .note(timeline, replacing: nil)
        }
        let isCurrent = entry.timeline == timeline
        if hasLost {
            guard isCurrent, entry.incarnation != incarnation else { return .renew(timeline) }
            hasLost = false
        }
        if isCurrent {
            incarnation = entry.incarnation
            return entry.isReplicated == isReplicated ? .nothing : .note(timeline, replacing: entry)
        }
        let isOfSystem = entry.system == timeline.system
        // Another process has found a newer one.
        if isOfSystem, entry.number > timeline.number { return .nothing }
        guard entry.isReplicated else { return .renew(timeline) }
        if isOfSystem, let vouchesFrom, vouchesFrom.system == entry.system, vouchesFrom.number <= entry.number {
            return .note(timeline, replacing: entry)
        }
        return began + Self.waitCount * leaseSeconds <= now ? .renew(timeline) : .nothing
    }
}

extension TimelineEntry {
    fileprivate init(_ timeline: ServerTimeline, isReplicated: Bool, incarnation: UUID?) {
        self.init(
            system: timeline.system, number: timeline.number, isReplicated: isReplicated, incarnation: incarnation)
    }

    fileprivate var timeline: ServerTimeline { ServerTimeline(system: system, number: number) }
}

extension RecordEngine {
    /// Zones in a commit beside other writers of them.
    private static let zoneCount = 50

    /// Renews all incarnations, with draws, if the last beat has found that the server may have lost commits. Call it
    /// after `beat`. Where only this process writes, or no server says its timeline, it does nothing.
    ///
    /// Returns whether all of them were renewed. It stops between two commits when `shouldContinue` says so; the next
    /// call begins again.
    package func renewAfterLoss(draw: () -> UUID, shouldContinue: () -> Bool = { true }) throws -> Bool {
        guard store.isShared else { return false }
        let isReplicated = store.isReplicated
        var isRenewed = false
        switch workLeases.verdict(isReplicated: isReplicated) {
        case .nothing: return false
        case .note(let timeline, let replaced):
            try working(on: .incarnations) {
                try transact { transaction in
                    let found = try transaction.store.timeline()
                    guard found == replaced else { return }
                    let new = TimelineEntry(
                        timeline, isReplicated: isReplicated, incarnation: found?.incarnation)
                    try transaction.set(GlobalKeys.timeline(), to: new.encoded())
                }
            }
        case .renew(let timeline):
            try working(on: .incarnations) {
                guard try renewZones(draw: draw, zonesInCommit: Self.zoneCount, shouldContinue) else { return }
                let new = TimelineEntry(timeline, isReplicated: isReplicated, incarnation: draw())
                try transact { try $0.set(GlobalKeys.timeline(), to: new.encoded()) }
                isRenewed = true
            }
        }
        try giveBack([.incarnations])
        return isRenewed
    }
}

extension RecordReader {
    /// What positions in databases have in place of the store's incarnation, since the server may have lost commits.
    /// Nil if it never did.
    package func renewedIncarnation() throws -> UUID? {
        guard engine.store.isShared else { return nil }
        return try store.timeline()?.incarnation
    }
}

extension StoreReader {
    /// The entry of the timeline; nil where there is none.
    package func timeline() throws -> TimelineEntry? {
        try withValue(forKey: GlobalKeys.timeline()) { try TimelineEntry(decoding: $0) }
    }
}
