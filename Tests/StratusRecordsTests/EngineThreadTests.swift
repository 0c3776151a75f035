// Two writers and eight readers over one zone. What each reader saw is compared afterwards with the oracle's state at
// the sequence of the reader's snapshot: the writers' requests are replayed in the order of their sequences.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("threads over one zone")
struct EngineThreadTests {
    private static let writerCount = 2
    private static let readerCount = 8
    private static let subjects = [
        HistorySubject.inMemory[0], HistorySubject.inMemory[4], HistorySubject.onLevelDB[0],
    ]

    @Test("every reader's answers match its snapshot", arguments: 0..<subjects.count)
    func readersAndWriters(index: Int) async throws {
        let log = try await TestThreads.offPool {
            let subject = Self.subjects[index]
            let place = try subject.makePlace()
            let log = try ThreadLog(store: place.open(), cacheByteCount: subject.ancestorCacheByteCount)
            try TestThreads.run(Self.writerCount + Self.readerCount) { thread in
                if thread < Self.writerCount {
                    try log.write(as: thread, besideReaders: Self.readerCount)
                } else {
                    try log.read(as: thread)
                }
            }
            try log.check()
            log.engine.store.close()
            place.remove()
            return log
        }
        // The same answers are false for another snapshot, or with another share.
        for lie in ObservationLie.allCases {
            await #expect(throws: HistoryFailure.self, "\(lie)") {
                try await TestThreads.offPool { try log.check(telling: lie) }
            }
        }
    }
}

/// What a reader received for one record.
private struct Observation: Sendable {
    var sequence: UInt64
    var name: RecordName
    var ancestors: [RecordName]?
    var share: OracleMembership?
}

/// A planted fault in what readers saw, so that the check is shown to detect it.
private enum ObservationLie: CaseIterable {
    /// Every answer is attributed to the snapshot before its own, as from a cache that is too new.
    case tooNew
    /// One record is said to be in another share.
    case otherShare

    /// `sequences` are those at which commits ended, in order.
    func tell(_ observations: inout [Observation], of sequences: [UInt64]) {
        switch self {
        case .tooNew:
            let before = Dictionary(uniqueKeysWithValues: zip(sequences.dropFirst(), sequences))
            for index in observations.indices {
                let own = observations[index].sequence
                observations[index].sequence = before[own] ?? own
            }
        case .otherShare:
            guard let index = observations.firstIndex(where: { $0.ancestors != nil }) else { return }
            observations[index].share = OracleMembership(root: "nobody", share: "nobody's")
        }
    }
}

/// The snapshots that readers took: writers wait for one now and then, so that both proceed together on any machine.
private final class SnapshotCount: @unchecked Sendable {
    // Unchecked because all of it is read and written under its condition's lock.
    private let condition = NSCondition()
    private var count = 0
    private var endedReaderCount = 0

    func note() { change { count += 1 } }
    func noteEndOfReader() { change { endedReaderCount += 1 } }

    /// Returns when another snapshot was taken, or no reader is left.
    func waitForNext(of readerCount: Int) {
        condition.lock()
        defer { condition.unlock() }
        let before = count
        while count == before, endedReaderCount < readerCount { condition.wait() }
    }

    private func change(_ body: () -> Void) {
        condition.lock()
        body()
        condition.broadcast()
        condition.unlock()
    }
}

/// What threads did to one zone and saw of it.
private final class ThreadLog: Sendable {
    private static let commitCount = 150
    private static let zone = HistoryContent.zones[0]
    private static let names = "abcdefghijklmnop".map { RecordName(String($0)) }
    private static let limits = OracleLimits(depth: 10_000, itemCount: 4_000)

    private struct Written: Sendable {
        var sequence: UInt64
        var time: Int
        var items: [HistoryItem]
    }

    let engine: RecordEngine
    private let written = Locked<[Written]>([])
    private let seen = Locked<[Observation]>([])
    private let finishedWriters = Locked(0)
    private let snapshots = SnapshotCount()

    init(store: any OrderedStore, cacheByteCount: Int) throws {
        var options = RecordEngineOptions()
        options.ancestorCacheByteCount = cacheByteCount
        engine = try RecordEngine(store: store, options: options, incarnation: HistoryContent.identity(0))
        try engine.transact { _ = try $0.createZone(Self.zone, HistoryContent.birth(1)) }
    }

    func write(as writer: Int, besideReaders readerCount: Int) throws {
        defer { finishedWriters.withLock { $0 += 1 } }
        var random = SplitMix64(seed: UInt64(writer) + 100)
        for number in 0..<Self.commitCount {
            if number.isMultiple(of: 10) { snapshots.waitForNext(of: readerCount) }
            var taken: Set<RecordName> = []
            let items = (0..<3).compactMap { _ -> HistoryItem? in
                guard let name = Self.names.randomElement(using: &random), taken.insert(name).inserted else {
                    return nil
                }
                if Int.random(in: 0..<8, using: &random) == 0 { return .delete(name) }
                let parent = Int.random(in: 0..<4, using: &random) == 0 ? nil : Self.names.randomElement(using: &random)
                let share: RecordName? = Int.random(in: 0..<6, using: &random) == 0 ? "s" : nil
                return .save(name: name, parent: parent, share: share, content: number % 50)
            }
            let time = number * 2 + writer
            let request = HistoryRequest(zone: 0, items: items).mutationRequest(time: time)
            do {
                let plan = try engine.transact { try $0.apply(request, in: Self.zone) }
                guard !plan.isEmpty else { continue }
                let entry = Written(sequence: plan.header.sequence, time: time, items: items)
                written.withLock { $0.append(entry) }
            } catch is RequestRefused {}
        }
    }

    func read(as reader: Int) throws {
        var random = SplitMix64(seed: UInt64(reader))
        var observations: [Observation] = []
        var isLast = false
        defer { snapshots.noteEndOfReader() }
        while !isLast {
            isLast = finishedWriters.withLock { $0 } == 2
            try engine.read { snapshot in
                snapshots.note()
                let zone = try snapshot.existingZone(Self.zone)
                let sequence = try zone.header().sequence
                // Enough of one moment; every other one is looked at.
                guard observations.count < 2_400 || observations.last?.sequence != sequence else { return }
                for _ in 0..<6 {
                    guard let name = Self.names.randomElement(using: &random) else { continue }
                    let ancestors = try zone.ancestors(of: name)
                    let share = ancestors == nil ? nil : try zone.shareMembership(of: name)
                    observations.append(
                        Observation(
                            sequence: sequence, name: name, ancestors: ancestors,
                            share: share.map { OracleMembership(root: $0.root, share: $0.share) }))
                }
            }
        }
        let all = observations
        seen.withLock { $0 += all }
    }

    /// Replays the writes and compares what readers saw, with or without a planted fault. Other threads have ended.
    ///
    /// Throws `HistoryFailure` for the first answer that is not the oracle's.
    func check(telling lie: ObservationLie? = nil) throws {
        let states = try replayed()
        var observations = seen.withLock { $0 }
        guard Set(observations.map(\.sequence)).count > 3 else {
            throw HistoryFailure("the readers saw too few moments to prove anything")
        }
        lie?.tell(&observations, of: states.keys.sorted())
        for observation in observations {
            guard let state = states[observation.sequence] else {
                throw HistoryFailure("no commit ended at \(observation.sequence)")
            }
            let isLive = state.live[observation.name] != nil
            let ancestors = isLive ? state.ancestors(of: observation.name) : nil
            guard observation.ancestors == ancestors else {
                throw HistoryFailure("\(observation): the oracle's ancestors are \(String(describing: ancestors))")
            }
            guard case .answer(let share) = state.membership(of: observation.name, depthLimit: 10_000) else { continue }
            guard observation.share == share else {
                throw HistoryFailure("\(observation): the oracle's share is \(String(describing: share))")
            }
        }
    }

    /// The zone after each commit by its sequence, and empty at 0.
    private func replayed() throws -> [UInt64: OracleZone] {
        var oracle = OracleStore()
        _ = oracle.createZone(Self.zone, birth: 1)
        var states: [UInt64: OracleZone] = [0: oracle.zones[Self.zone] ?? OracleZone(birth: 1, databaseCounter: 1)]
        let entries = written.withLock { $0 }.sorted { $0.sequence < $1.sequence }
        guard entries.count > Self.commitCount / 4 else {
            throw HistoryFailure("\(entries.count) commits are too few to prove anything")
        }
        for entry in entries {
            let outcome = oracle.apply(
                entry.items.map(\.oracleItem), in: Self.zone, stamp: HistoryContent.stamp(entry.time),
                limits: Self.limits)
            guard let outcome, outcome.verdict == .accepted, outcome.zone.sequence == entry.sequence else {
                throw HistoryFailure("commit \(entry.sequence) is not what the oracle makes of it")
            }
            states[entry.sequence] = outcome.zone
        }
        return states
    }
}
