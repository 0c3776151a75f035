// Which process does background work, where several processes may write the store.
//
// How it works: an entry for each kind of work names the process that does it, and has a generation. A process that
// takes the work raises the generation. Every transaction of the work reads the entry. Each process regularly raises a
// number of its own, its beat. A process whose monotonic clock shows that another process's beat has not changed for
// long enough may take that process's work.
//
// Invariants:
//   1. A transaction of a round commits only under the generation with which the round began, or took the work. So a
//      process that was paused and overtaken commits nothing, whatever became of the work meanwhile.
//   2. A process has beaten before it takes work.
//   3. The entry of the work is announced at the beginning of a transaction and read at its end: it costs no trip.
//   4. Where only this process writes, there are no such entries.
// What a process remembers here only says what to try: the entries decide.

import FoundationEssentials
package import StratusLayout
import StratusStore

/// The background work of this process among those that write the store.
final class WorkLeases: Sendable {
    private struct State {
        /// The generations with which this process has taken work.
        var held: [BackgroundWork: UInt64] = [:]
        var roundCounts: [BackgroundWork: Int] = [:]
        var beat: UInt64 = 0
        var record: BeatRecord
        /// Whether a beat has made positions expire since the last `takeRenewal`.
        var hasRenewed = false
        /// When the next beat is due; nil before the first one.
        var nextBeat: MonotonicTime?
        var others: [UUID: Seen] = [:]
        /// Whether the last beat has failed.
        var hasFailed = false
    }

    /// A beat of another process, and since when it is known.
    private struct Seen {
        var beat: UInt64
        var since: MonotonicTime
    }

    /// The beats that are due in the time after which others may take a process's work.
    private static let beatCount = 4.0
    /// How many times that time the entry of a process stays after its last beat. A process that was only paused writes
    /// its entry again.
    private static let keptCount = 6.0

    /// For how many times that time, after this process opened the store, others may confirm a new timeline.
    private static let confirmingCount = 3.0

    let host: UUID
    private let seconds: Double
    private let now: @Sendable () -> MonotonicTime
    private let state: Locked<State>
    /// Held during a beat: without it, beats of two threads would arrive in any order.
    private let beating = Monitor()

    init(host: UUID, _ options: RecordEngineOptions) {
        self.host = host
        seconds = options.limits.workLeaseSeconds
        now = options.monotonicNow
        state = Locked(State(record: BeatRecord(waitEnd: now() + Self.confirmingCount * seconds)))
    }

    // MARK: Beats

    /// Raises this process's beat, and looks at those of the others.
    func beat(in store: any OrderedStore) throws { try beating.withLock { try raiseOrNoteFailure(in: store) } }

    /// The same, if that is due.
    func beatIfDue(in store: any OrderedStore) throws {
        guard isBeatDue else { return }
        // Another thread may do it meanwhile.
        try beating.withLock { if isBeatDue { try raiseOrNoteFailure(in: store) } }
    }

    private func raiseOrNoteFailure(in store: any OrderedStore) throws {
        do {
            try raise(in: store)
            state.withLock { $0.hasFailed = false }
        } catch {
            state.withLock { $0.hasFailed = true }
            throw error
        }
    }

    private func raise(in store: any OrderedStore) throws {
        let found = try store.read { reader in
            try reader.collect(GlobalKeys.keyspace(.hosts)) { key, value in
                (try GlobalKeys.readHostKey(key), try HostEntry(decoding: value).beat)
            }
        }
        let (known, record) = state.withLock { ($0.others.mapValues(\.beat), $0.record) }
        let (mine, gone) = state.withLock { state in note(found, &state) }
        let isReplicated = store.isReplicated
        let renewed = host.combined(with: UUID(number: mine))
        let (finding, entry) = try store.transact { writer in
            writer.announceBeat(of: host)
            let own = try writer.beat(of: host)
            let isRemoved =
                try own == nil
                && known.contains { other, beat in
                    // It has beaten since, so this process may have been paused for long.
                    try writer.beat(of: other).map { $0 > beat } ?? false
                }
            let old = try writer.timeline()
            // Everything read has this timeline: if the server is on an older one, the commit is refused.
            let finding = BeatRecord.Finding(
                beat: own, isRemoved: isRemoved, entry: old, timeline: store.timeline, isReplicated: isReplicated)
            let new = record.entry(after: finding, renewed: renewed, at: now())
            if new != old { try writer.set(GlobalKeys.timeline(), to: new.encoded()) }
            try writer.set(GlobalKeys.host(host), to: HostEntry(beat: mine).encoded())
            for (other, beat) in gone where try writer.beat(of: other) == beat {
                try writer.delete(GlobalKeys.host(other))
            }
            return (finding, new)
        }
        let next = now() + seconds / Self.beatCount
        state.withLock { state in
            state.nextBeat = next
            state.record.note(mine, after: finding, entry)
            if entry.incarnation == renewed { state.hasRenewed = true }
        }
    }

    func takeRenewal() -> Bool { state.withLock { exchange(&$0.hasRenewed, with: false) } }

    /// Notes the beats that were found. Returns this process's next one, and entries to remove.
    private func note(_ found: [(UUID, UInt64)], _ state: inout State) -> (mine: UInt64, gone: [(UUID, UInt64)]) {
        let now = now()
        var (others, gone): ([UUID: Seen], [(UUID, UInt64)]) = ([:], [])
        for (other, beat) in found where other != host {
            let known = state.others[other].flatMap { $0.beat == beat ? $0 : nil }
            let seen = known ?? Seen(beat: beat, since: now)
            others[other] = seen
            if seen.since + Self.keptCount * seconds <= now { gone.append((other, beat)) }
        }
        state.others = others
        state.beat += 1
        return (state.beat, gone)
    }

    /// Whether other processes were there at the last look.
    var sawOthers: Bool { state.withLock { !$0.others.isEmpty } }

    /// Whether other processes may know of this one, and can be reached.
    var canLeave: Bool { state.withLock { $0.nextBeat != nil && !$0.hasFailed } }

    private var isBeatDue: Bool { state.withLock { $0.nextBeat.map { $0 <= now() } ?? true } }

    /// Whether a process has given no sign of life for so long that its work may be taken.
    func isGone(_ other: UUID, in reader: any StoreReader) throws -> Bool {
        let found = try reader.withValue(forKey: GlobalKeys.host(other)) { try HostEntry(decoding: $0) }
        guard let found else { return true }
        return state.withLock { state in
            guard let seen = state.others[other], seen.beat == found.beat else { return false }
            return seen.since + seconds <= now()
        }
    }

    /// Takes what an entry gives to one process, unless another one that is alive has it. Returns the generation under
    /// which this process has it now; nil if it has not.
    func take(
        _ key: [UInt8], _ found: WorkEntry?, takingOver: Bool = false, in writer: any StoreTransaction
    ) throws -> UInt64? {
        if let found, found.holder == host { return found.generation }
        if let holder = found?.holder, !takingOver, try !isGone(holder, in: writer) { return nil }
        let next = (found?.generation ?? 0) &+ 1
        try writer.set(key, to: WorkEntry(holder: host, generation: next).encoded())
        return next
    }

    // MARK: Rounds

    /// Begins a round. Returns the generation with which this process has the work; nil if it has not taken it.
    func begin(_ work: BackgroundWork) -> UInt64? {
        state.withLock { state in
            state.roundCounts[work, default: 0] += 1
            return state.held[work]
        }
    }

    func end(_ work: BackgroundWork) { state.withLock { $0.roundCounts[work, default: 1] -= 1 } }

    func noteTaken(_ work: BackgroundWork, _ generation: UInt64) { state.withLock { $0.held[work] = generation } }

    func noteLost(_ work: BackgroundWork, _ generation: UInt64) {
        state.withLock { if $0.held[work] == generation { $0.held[work] = nil } }
    }

    /// Gives work back that no round of this process is doing. A store that fails keeps it with this process.
    func giveBack(_ works: [BackgroundWork], in store: any OrderedStore, leaving: Bool) throws {
        let held = state.withLock { state in
            works.filter { state.held[$0] != nil && state.roundCounts[$0, default: 0] == 0 }
                .map { ($0, exchange(&state.held[$0], with: nil)) }
        }
        guard !held.isEmpty || leaving else { return }
        let host = host
        do {
            try store.transact { writer in
                for (work, generation) in held {
                    let found = try writer.withValue(forKey: GlobalKeys.work(work)) { try WorkEntry(decoding: $0) }
                    guard var entry = found, entry.holder == host, entry.generation == generation else { continue }
                    entry.holder = nil
                    try writer.set(GlobalKeys.work(work), to: entry.encoded())
                }
                if leaving { try writer.delete(GlobalKeys.host(host)) }
            }
        } catch {
            state.withLock { state in
                for (work, generation) in held where state.held[work] == nil { state.held[work] = generation }
            }
            throw error
        }
    }
}

extension StoreReader {
    /// The last beat of a process; nil if none is there.
    fileprivate func beat(of host: UUID) throws -> UInt64? {
        try withValue(forKey: GlobalKeys.host(host)) { try HostEntry(decoding: $0).beat }
    }
}

/// A round of background work by this process, on one thread.
final class WorkRound: @unchecked Sendable {  // because one thread at a time uses it: the one that runs the round
    /// The round that the thread works for. Transactions of its engine are the work's.
    @TaskLocal private static var current: WorkRound?

    private let engine: RecordEngine
    private let work: BackgroundWork
    private let thread = ThreadIdentity.current
    /// Whether the round may take the work from a process that is alive.
    private let takesOver: Bool
    /// The generation under which its transactions commit; nil until the first one has.
    private var generation: UInt64?
    /// What the running transaction commits under.
    private var claimed: UInt64?
    /// Whether the running transaction is refused.
    private var isRefused = false
    /// Whether another process has the work.
    private(set) var isLost = false

    private var leases: WorkLeases { engine.workLeases }

    init(_ work: BackgroundWork, of engine: RecordEngine, takesOver: Bool) {
        self.work = work
        self.engine = engine
        self.takesOver = takesOver
    }

    /// Runs the body of the round.
    func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        let held = leases.begin(work)
        // Under the old generation, a round that takes over would be refused if another process has taken the work.
        generation = takesOver ? nil : held
        defer { leases.end(work) }
        return try Self.$current.withValue(self, operation: body)
    }

    /// The round that the thread works for on an engine.
    static func current(of engine: RecordEngine) -> WorkRound? {
        // A task that was started within the round does not belong to it.
        guard let current, current.engine === engine, current.thread == .current else { return nil }
        return current
    }

    // MARK: One transaction, in the order of calls

    /// Beats, if that is due: others must not take this process for gone.
    func prepare() throws { try leases.beatIfDue(in: engine.store) }

    /// Begins the body, which may run twice.
    func begin(in transaction: RecordTransaction) {
        isRefused = false
        transaction.willRead(work)
    }

    /// Ends the body: checks that the work is this process's, or takes it.
    ///
    /// Throws `held` if another process has it, or has had it since the round began.
    func claim(in writer: any StoreTransaction) throws {
        let found = try writer.withValue(forKey: GlobalKeys.work(work)) { try WorkEntry(decoding: $0) }
        if let generation {
            guard found == WorkEntry(holder: leases.host, generation: generation) else { throw refusal() }
            claimed = generation
        } else {
            let taken = try leases.take(GlobalKeys.work(work), found, takingOver: takesOver, in: writer)
            guard let taken else { throw refusal() }
            claimed = taken
        }
    }

    private func refusal() -> StoreError {
        isRefused = true
        return StoreError(
            .held, "Another host has taken over this background work, and continues it: nothing has to be done.",
            ["work": "\(work)"])
    }

    func didCommit() {
        generation = claimed
        if let claimed { leases.noteTaken(work, claimed) }
    }

    /// A refusal that a conflict has undone does not count: the body ran again.
    func didFail() {
        guard isRefused else { return }
        isLost = true
        if let generation { leases.noteLost(work, generation) }
    }
}

extension RecordEngine {
    /// Runs a round of background work: every transaction within `body`, on this thread, is a part of it. Returns nil
    /// if another process does the work, or has taken it over meanwhile; what was committed before stays. Where only
    /// this process writes, it runs `body` and does nothing else.
    ///
    /// A round that takes over takes the work from any process: for a caller that needs it done before it goes on.
    ///
    /// Throws what `body` throws.
    @discardableResult
    package func working<Result>(
        on work: BackgroundWork, takingOver: Bool = false, _ body: () throws -> Result
    ) throws -> Result? {
        guard store.isShared else { return try body() }
        let round = WorkRound(work, of: self, takesOver: takingOver)
        do {
            return try round.run(body)
        } catch {
            // By the round, because the floors above may have turned the refusal into another error.
            if round.isLost { return nil }
            throw error
        }
    }

    /// Whether another process that is alive has this work, as far as this snapshot shows. A transaction decides.
    package func isElsewhere(_ work: BackgroundWork, in reader: RecordReader) throws -> Bool {
        guard store.isShared else { return false }
        let found = try reader.store.withValue(forKey: GlobalKeys.work(work)) { try WorkEntry(decoding: $0) }
        guard let holder = found?.holder, holder != workLeases.host else { return false }
        return try !workLeases.isGone(holder, in: reader.store)
    }

    /// Gives a sign of life to the other processes that write the store, and looks for theirs, if that is due. Call it
    /// regularly. Where only this process writes it does nothing.
    package func beat() throws {
        if store.isShared { try workLeases.beatIfDue(in: store) }
    }

    /// Whether other processes have the store open, or have died less than a minute ago. It reads their beats now.
    ///
    /// The remains of a crash look like the work of another process. So list them first, then call this, and remove
    /// them only if it returns false.
    package func isOpenElsewhere() throws -> Bool {
        guard store.isShared else { return false }
        try workLeases.beat(in: store)
        return workLeases.sawOthers
    }

    /// Whether this process may run a long-lived operation: no other process that is alive runs it. Where only this
    /// process writes it may.
    package func takeRun(of id: String) throws -> Bool {
        guard store.isShared else { return true }
        try workLeases.beatIfDue(in: store)
        let key = GlobalKeys.run(of: id)
        return try transact { transaction in
            try transaction.writing { writer in
                let found = try writer.withValue(forKey: key) { try WorkEntry(decoding: $0) }
                return try workLeases.take(key, found, in: writer) != nil
            }
        }
    }

    /// Lets other processes run a long-lived operation that this one has run.
    package func endRun(of id: String) throws {
        guard store.isShared else { return }
        let key = GlobalKeys.run(of: id)
        try transact { transaction in
            let found = try transaction.store.withValue(forKey: key) { try WorkEntry(decoding: $0) }
            if found?.holder == workLeases.host { try transaction.delete(key) }
        }
    }

    /// Lets other processes do this work, except what a round of this process is doing.
    package func giveBack(_ works: [BackgroundWork]) throws {
        guard store.isShared else { return }
        try workLeases.giveBack(works, in: store, leaving: false)
    }

    /// Lets other processes know that this one is about to close the store. If that fails, they find out.
    package func leave() {
        guard store.isShared, workLeases.canLeave else { return }
        try? workLeases.giveBack(BackgroundWork.allCases, in: store, leaving: true)
    }
}
