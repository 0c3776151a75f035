// Whether the server has lost commits that were acknowledged, and what follows.
//
// A feed has numbers. If a commit is lost, a later one gets its number, and a client that has seen the lost one never
// learns of the other. So all positions in feeds must expire.
//
// How it works: the entry of the timeline names the server's timeline on which no commit was missing, and has an
// incarnation that is a part of every position. Each beat of a process compares, in its own transaction, the timeline
// with the server's, and its last beat with the one in the store: a server that loses commits loses the newest ones,
// and the last beat is a few seconds old at most. A process confirms a new timeline if a standby had each commit, and
// if its own last beat is there. If no process confirms it, or if a beat is gone, the beat writes a new incarnation.
//
// Invariants:
//   1. The transaction that finds the loss is the one that writes the incarnation: neither is lost without the other.
//   2. A process that has lost a beat writes none if another one has done it since.

package import FoundationEssentials
import StratusLayout
import StratusStore

/// What a process knows of its own beats.
struct BeatRecord: Sendable {
    /// What a beat finds in the store and of its server.
    struct Finding {
        /// This process's last beat.
        var beat: UInt64?
        /// Whether others have removed that, because this process stood still for long.
        var isRemoved: Bool
        var entry: TimelineEntry?
        /// Nil where the server does not say.
        var timeline: ServerTimeline?
        var isReplicated: Bool
    }

    private enum Judgement {
        case nothingLost, mayBeLost
        /// Another process may confirm that nothing is lost.
        case undecided
    }

    /// The number of a timeline that is not known.
    private static let unknownNumber: Int64 = 0

    /// Until when other processes may confirm a timeline.
    private let waitEnd: MonotonicTime
    /// The last beat that was committed.
    private var kept: UInt64?
    /// From which timeline on every beat of this process is there.
    private var confirmsFrom: ServerTimeline?
    private var seenIncarnations: Set<UUID> = []

    init(waitEnd: MonotonicTime) { self.waitEnd = waitEnd }

    /// The entry of the timeline after a beat. `renewed` becomes its incarnation if commits may be lost.
    func entry(after found: Finding, renewed: UUID, at now: MonotonicTime) -> TimelineEntry {
        let old = found.entry
        let timeline = found.timeline ?? old?.timeline ?? ServerTimeline(system: 0, number: Self.unknownNumber)
        let new = TimelineEntry(
            system: timeline.system, number: timeline.number, isReplicated: found.isReplicated,
            incarnation: old?.incarnation)
        switch judgement(of: found, at: now) {
        case .nothingLost: return new
        case .undecided: return old ?? new
        case .mayBeLost:
            var renewing = new
            renewing.incarnation = renewed
            return renewing
        }
    }

    /// Notes a beat that was committed.
    mutating func note(_ beat: UInt64, after found: Finding, _ entry: TimelineEntry) {
        if found.beat == nil || hasLostBeat(found) { confirmsFrom = found.timeline }
        kept = beat
        if let incarnation = entry.incarnation { seenIncarnations.insert(incarnation) }
    }

    private func judgement(of found: Finding, at now: MonotonicTime) -> Judgement {
        let isLost = hasLostBeat(found)
        if isLost {
            guard let renewed = found.entry?.incarnation, !seenIncarnations.contains(renewed) else { return .mayBeLost }
        }
        guard let entry = found.entry, entry.number != Self.unknownNumber, let timeline = found.timeline,
            entry.timeline != timeline
        else { return .nothingLost }
        guard entry.isReplicated else { return .mayBeLost }
        if !isLost, let confirmsFrom, timeline.system == entry.system, confirmsFrom.system == entry.system,
            confirmsFrom.number <= entry.number
        {
            return .nothingLost
        }
        return waitEnd <= now ? .mayBeLost : .undecided
    }

    private func hasLostBeat(_ found: Finding) -> Bool {
        guard let kept else { return false }
        guard let beat = found.beat else { return !found.isRemoved }
        return beat < kept
    }
}

extension TimelineEntry {
    fileprivate var timeline: ServerTimeline { ServerTimeline(system: system, number: number) }
}

extension RecordEngine {
    /// Whether beats of this process have made all positions expire since the last call.
    package func takeRenewal() -> Bool { workLeases.takeRenewal() }
}

extension RecordReader {
    /// The incarnation of positions in a feed: that of its zone, or of the store, and the one that the store has since
    /// the server may have lost commits. Where only this process writes it is the first.
    package func positionIncarnation(_ own: UUID) throws -> UUID {
        guard engine.store.isShared, let renewed = try store.timeline()?.incarnation else { return own }
        return own.combined(with: renewed)
    }
}

extension StoreReader {
    /// The entry of the timeline; nil where there is none.
    func timeline() throws -> TimelineEntry? {
        try withValue(forKey: GlobalKeys.timeline()) { try TimelineEntry(decoding: $0) }
    }
}
