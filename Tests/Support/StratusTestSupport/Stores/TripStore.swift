// A store at the other end of a wire, without a server: sessions on a store in memory. Transactions run without locks;
// a commit reads everything again that its session has read, and is refused with a conflict if any answer has changed.
// So it is serialisable, and conflicts happen as on a server.
//
// It counts and describes its trips, takes as long for each as it is asked to, and fails those that a test plans.

package import StratusStore
internal import Foundation
internal import StratusLayout

/// A failure of one trip.
package struct TripFault: Sendable {
    package enum Point: Sendable {
        /// The beginning of a transaction. Every kind of fault means that no connection comes in the caller's time.
        case beginning
        case fetch
        case commit
    }

    package enum Kind: Sendable {
        /// Another transaction was first. Nothing is committed.
        case conflict
        /// The connection is lost before the server has done anything.
        case lost
        /// The connection is lost when a commit was done. The store finds out that it was.
        case lostAnswer
        /// Running again does not help.
        case fatal(StoreError.Code)
    }

    package var point: Point
    package var kind: Kind
    /// Which trip of that kind fails, from 1, counted from the moment at which the fault is planned.
    package var occurrence: Int
    package var repetitions: Int

    package init(_ point: Point, _ kind: Kind, at occurrence: Int = 1, repetitions: Int = 1) {
        self.point = point
        self.kind = kind
        self.occurrence = occurrence
        self.repetitions = repetitions
    }
}

/// A store whose reads and commits are trips.
package final class TripStore: StoreWrapper {
    /// A mistake of the server or its engine, to show which check finds it.
    package enum Plant: Sendable {
        /// Says of every page that its range has no other entries.
        case claimsCompletePages
        /// Does a commit when the one after the next has returned.
        case returnsBeforeCommits
    }

    package struct Options: Sendable {
        /// How long a trip takes.
        package var tripSeconds = 0.0
        /// Every n-th commit meets a conflict.
        package var conflictInterval: Int?
        package var wire = WireOptions()
        package var plant: Plant?

        package init() {}
    }

    package let wrapped: any OrderedStore
    private let source: TripSource

    package init(_ memory: MemoryStore = MemoryStore(), options: Options = Options()) {
        source = TripSource(memory, options)
        wrapped = WireStore(source, options: options.wire)
    }

    /// Makes a trip fail, in addition to earlier plans that have not struck.
    package func plan(_ fault: TripFault) { source.plan(fault) }

    /// One line for each trip since the last call.
    package func takeLog() -> [String] { source.takeLog() }

    /// The most counted bytes of the writes of one commit.
    package var largestCommitByteCount: Int { source.largestCommitByteCount }

    /// Entries that commits inserted, and entries that were there although an insert said that they are not.
    package var inserts: (done: Int, refused: Int) { source.inserts }

    /// Where entries have other writers than those below.
    package var divisions: Set<[UInt8]> { source.divisions }

    package var statistics: StoreStatistics {
        var statistics = wrapped.statistics
        statistics.unknownOutcomes += source.lostAnswerCount
        return statistics
    }
}

/// The server's side.
private final class TripSource: WireSource {
    private struct State: Sendable {
        var faults: [TripFault] = []
        var commitCount = 0
        var pauseCount: UInt64 = 0
        var log: [String] = []
        var lostAnswerCount = 0
        var largestCommitByteCount = 0
        var inserts = (done: 0, refused: 0)
        var divisions: Set<[UInt8]> = []
        /// For a planted fault.
        var laterCommits: [WrittenEntries] = []

        /// The planned fault that strikes now, if one does.
        mutating func takeFault(_ point: TripFault.Point) -> TripFault.Kind? {
            var kind: TripFault.Kind?
            for index in faults.indices where faults[index].point == point {
                faults[index].occurrence -= 1
                let strikes = faults[index].occurrence <= 0 && faults[index].repetitions > 0
                guard strikes, kind == nil else { continue }
                faults[index].repetitions -= 1
                kind = faults[index].kind
            }
            faults.removeAll { $0.repetitions == 0 }
            return kind
        }
    }

    let memory: MemoryStore
    let options: TripStore.Options
    private let state = Locked(State())
    /// A log that nobody takes forgets its beginning.
    private static let logLimit = 1_000

    init(_ memory: MemoryStore, _ options: TripStore.Options) {
        self.memory = memory
        self.options = options
    }

    func beginReading(_ scope: ReadScope, for caller: WireCaller) -> any WireSession {
        TripSession(self, writes: false)
    }

    func beginWriting(lane: StoreLane?, for caller: WireCaller) throws -> any WireSession {
        if state.withLock({ $0.takeFault(.beginning) }) != nil {
            Thread.sleep(forTimeInterval: max(0, caller.deadline - now()))
            throw StoreError(.unavailable, "A planned fault: no connection was free.")
        }
        return TripSession(self, writes: true)
    }

    func now() -> Double { ProcessInfo.processInfo.systemUptime }

    func pause(attempt: Int) {
        var random = SplitMix64(
            seed: state.withLock { state in
                state.pauseCount += 1
                return state.pauseCount
            })
        let most = min(20_000, 50 << min(attempt, 10))
        usleep(UInt32.random(in: 0...UInt32(most), using: &random))
    }

    func plan(_ fault: TripFault) { state.withLock { $0.faults.append(fault) } }

    func takeLog() -> [String] {
        state.withLock { state in
            defer { state.log = [] }
            return state.log
        }
    }

    var largestCommitByteCount: Int { state.withLock { $0.largestCommitByteCount } }
    var inserts: (done: Int, refused: Int) { state.withLock { $0.inserts } }
    var divisions: Set<[UInt8]> { state.withLock { $0.divisions } }
    var lostAnswerCount: Int { state.withLock { $0.lostAnswerCount } }

    /// Makes a trip: takes its time, notes it, and returns how it fails.
    func travel(_ point: TripFault.Point, _ description: @autoclosure () -> String) -> TripFault.Kind? {
        if options.tripSeconds > 0 { Thread.sleep(forTimeInterval: options.tripSeconds) }
        let line = description()
        return state.withLock { state in
            if state.log.count == Self.logLimit { state.log.removeFirst() }
            state.log.append(line)
            if point == .commit {
                state.commitCount += 1
                if let interval = options.conflictInterval, state.commitCount % interval == 0 { return .conflict }
            }
            return state.takeFault(point)
        }
    }

    /// For a planted fault: does the commit two before this one.
    func commitLater(_ entries: WrittenEntries) throws {
        let earlier = state.withLock { state in
            state.laterCommits.append(entries)
            return state.laterCommits.count > 2 ? state.laterCommits.removeFirst() : WrittenEntries()
        }
        try memory.transact { transaction in
            for key in earlier.deletes { try transaction.delete(key) }
            for (key, value) in earlier.sets + earlier.inserts { try transaction.set(key, to: value) }
        }
    }

    func note(commitOf byteCount: Int) {
        state.withLock { $0.largestCommitByteCount = max($0.largestCommitByteCount, byteCount) }
    }

    func noteInserts(done: Int, refused: Int = 0) {
        state.withLock { state in
            state.inserts.done += done
            state.inserts.refused += refused
        }
    }

    func note(_ divisions: [[UInt8]: Bool]) {
        state.withLock { state in
            for (bound, isDivided) in divisions {
                if isDivided { state.divisions.insert(bound) } else { state.divisions.remove(bound) }
            }
        }
    }

    func noteLostAnswer() { state.withLock { $0.lostAnswerCount += 1 } }
}

/// A connection in use.
private final class TripSession: WireSession {
    private struct Conflict: Error {}

    private let source: TripSource
    private let writes: Bool
    private var snapshot: (any StoreReader)?
    /// What was read, so that the commit can read it again.
    private var reads: [(plan: ReadPlan, answer: FetchedReads)] = []
    private(set) var failure: WireFailure?
    private var hasEnded = false

    /// The largest page of a scan, besides its limit.
    private static let pageByteCount = 4 << 20

    init(_ source: TripSource, writes: Bool) {
        self.source = source
        self.writes = writes
    }

    func fetch(_ plan: ReadPlan) throws -> FetchedReads {
        precondition(!hasEnded && failure == nil, "A session that has ended or failed is only abandoned.")
        precondition(!plan.isEmpty, "A trip that asks for nothing is none.")
        if let kind = source.travel(.fetch, Self.description(of: plan)) { throw fail(kind) }
        let snapshot = try self.snapshot ?? source.memory.makeSnapshot()
        self.snapshot = snapshot
        var answer = try Self.answer(plan, from: snapshot)
        if writes { reads.append((plan, answer)) }
        if case .claimsCompletePages? = source.options.plant {
            for index in answer.pages.indices { answer.pages[index].isComplete = true }
        }
        return answer
    }

    func commit(_ entries: WrittenEntries) throws {
        precondition(!hasEnded && failure == nil && writes, "This session cannot commit.")
        let count = entries.inserts.count + entries.sets.count + entries.deletes.count
        let kind = source.travel(.commit, "commit of \(count) writes")
        if let kind, !kind.isAfterTheCommit { throw fail(kind) }
        if case .returnsBeforeCommits? = source.options.plant {
            hasEnded = true
            return try source.commitLater(entries)
        }
        do {
            try source.memory.transact { transaction in
                try validate(at: transaction.version)
                for key in entries.deletes { try transaction.delete(key) }
                for (key, value) in entries.sets { try transaction.set(key, to: value) }
                try Self.insert(entries.inserts, transaction, source)
                source.note(commitOf: transaction.countedByteCount)
            }
        } catch is Conflict {
            throw fail(.conflict)
        }
        if kind != nil { source.noteLostAnswer() }
        source.note(entries.divisions)
        hasEnded = true
    }

    /// As a server with a unique index: one entry that is there refuses the commit.
    private static func insert(
        _ entries: [(key: [UInt8], value: [UInt8])], _ transaction: any StoreTransaction, _ source: TripSource
    ) throws {
        for (key, value) in entries {
            guard try transaction.value(forKey: key) == nil else {
                source.noteInserts(done: 0, refused: 1)
                throw Conflict()
            }
            try transaction.set(key, to: value)
        }
        source.noteInserts(done: entries.count)
    }

    func abandon() {
        precondition(!hasEnded, "A session ends once.")
        hasEnded = true
        snapshot = nil
    }

    /// Throws `Conflict` if the newest commit answers differently. Nothing is committed meanwhile.
    private func validate(at version: StoreVersion) throws {
        guard let snapshot, snapshot.version != version else { return }
        let newest = try source.memory.makeSnapshot()
        for (plan, answer) in reads where try !Self.isEqual(answer, Self.answer(plan, from: newest)) {
            throw Conflict()
        }
    }

    private func fail(_ kind: TripFault.Kind) -> WireFailure {
        let failure: WireFailure =
            switch kind {
            case .conflict: .conflict(StoreError(.conflict, "A planned fault: somebody else was first."))
            case .lost, .lostAnswer: .lost(StoreError(.inputOutput, "A planned fault: the connection was lost."))
            case .fatal(let code): .fatal(StoreError(code, "A planned fault: running again does not help."))
            }
        self.failure = failure
        return failure
    }

    private static func answer(_ plan: ReadPlan, from snapshot: any StoreReader) throws -> FetchedReads {
        let pages = try plan.scans.map { scan in
            var page = FetchedPage(entries: [], isComplete: true)
            var byteCount = 0
            try snapshot.scan(scan.range, scan.direction, limit: scan.limit) { key, value in
                page.entries.append(([UInt8](copying: key), [UInt8](copying: value)))
                byteCount += key.count + value.count
                page.isComplete = page.entries.count < scan.limit && byteCount < pageByteCount
                return page.isComplete ? .next : .stop
            }
            return page
        }
        return FetchedReads(values: try snapshot.values(forKeys: plan.keys), pages: pages)
    }

    private static func isEqual(_ left: FetchedReads, _ right: FetchedReads) -> Bool {
        left.values == right.values
            && left.pages.elementsEqual(right.pages) { left, right in
                left.isComplete == right.isComplete
                    && left.entries.elementsEqual(right.entries) { $0.key == $1.key && $0.value == $1.value }
            }
    }

    private static func description(of plan: ReadPlan) -> String {
        let keys = plan.keys.map { KeyDescription.text(of: $0) }
        let scans = plan.scans.map { scan in
            "\(scan.direction) \(scan.limit) from \(KeyDescription.text(of: scan.range.lower))"
        }
        return "fetch " + (keys + scans).joined(separator: "; ")
    }
}

extension TripFault.Kind {
    fileprivate var isAfterTheCommit: Bool { if case .lostAnswer = self { true } else { false } }
}
