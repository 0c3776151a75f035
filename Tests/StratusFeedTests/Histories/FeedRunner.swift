// Runs a history of feeds on a store, only by CloudKit's calls, and compares every page with what the reader may see at
// that moment, and every complete replica with all that they may see.

import Foundation
import StratusKit
import StratusSharingSupport
import StratusTestSupport

/// What a history answered and what it left.
struct FeedRun {
    var transcript: [String]
    var entries: NamedEntries

    /// What is not the same in both, the first answer or the first entry; nil if all is.
    func difference(to other: FeedRun) -> String? {
        guard transcript != other.transcript else { return entries.difference(to: other.entries) }
        let pair = zip(transcript, other.transcript).first { $0 != $1 }
        return pair.map { "\($0), and \($1)" } ?? "\(transcript.count) answers, and \(other.transcript.count)"
    }
}

/// One run of a history.
struct FeedRunner {
    private let history: FeedHistory
    private let clock: Stratus.ManualClock
    private var performer: SharingPerformer
    private let oracle = FeedOracle()
    private let source: FeedSource
    private var readers: [Int: FeedReader] = [:]
    private var replays: FeedReplays
    /// How every act and every reading was answered.
    private var transcript: [String] = []

    /// Where the history and the oracle differ; nil if they never do.
    static func failure(
        of history: FeedHistory, in directory: URL? = nil, fault: FeedFault? = nil
    ) async throws -> FeedFailure? {
        var runner = try FeedRunner(history, directory, fault)
        let town = runner.performer.town
        var failure: FeedFailure?
        do { try await runner.run() } catch let error as FeedFailure { failure = error }
        if directory != nil { await town.close() }
        return failure
    }

    /// Runs a history, and returns what it answered and what it left. Throws where the history and the oracle differ.
    static func run(_ history: FeedHistory, in directory: URL? = nil) async throws -> FeedRun {
        var runner = try FeedRunner(history, directory, nil)
        let town = runner.performer.town
        try await runner.run()
        let entries = try await TestThreads.offPool { try town.entries() }
        if directory != nil { await town.close() }
        return FeedRun(transcript: runner.transcript, entries: entries)
    }

    private init(_ history: FeedHistory, _ directory: URL?, _ fault: FeedFault?) throws {
        self.history = history
        let clock = Stratus.ManualClock()
        self.clock = clock
        performer = try SharingPerformer(in: directory) { $0.clock = .manual(clock) }
        source = FeedSource(performer: performer, fault: fault, oracle: oracle)
        replays = FeedReplays(source, zones: history.zones)
    }

    private mutating func run() async throws {
        for step in history.steps {
            do { try await carryOut(step) } catch let failure as FeedFailure {
                throw FeedFailure(step: step, message: failure.message)
            }
        }
        do { try await compareTags() } catch let failure as FeedFailure {
            throw FeedFailure(step: history.steps.last, message: failure.message)
        }
    }

    private mutating func carryOut(_ step: FeedStep) async throws {
        switch step {
        case .act(let act):
            try await carryOut(act)
            try await replays.replay(at: clock.now)
        case .begin(let reader, let user, let place, let from):
            let old = from.flatMap { readers[$0] }
            let isSame = old?.user == user && old?.place == place
            readers[reader] = isSame ? old : FeedReader(user: user, place: place)
        case .page(let reader, let limit): _ = try await read(reader, limit: limit, isOnePage: true)
        case .finish(let reader, let limit): try await finish(reader, limit: limit)
        case .operate(let reader, let limit):
            try await read(reader, limit: limit) { try await $0.allPages(for: $1, limit: limit) }
        case .upkeep:
            try upkeep()
            try await replays.replay(at: clock.now)
        case .age(let days):
            clock.advance(by: Double(days) * 24 * 3600)
            try upkeep()
            try await replays.replay(at: clock.now)
        }
    }

    private mutating func carryOut(_ act: SharingStep) async throws {
        let outcome = await performer.carryOut(act)
        transcript.append("\(act): \(outcome)")
        let answers = oracle.apply(act)
        guard answers.contains(outcome) else {
            let wanted = answers.map(\.description).sorted().joined(separator: " or ")
            throw FeedFailure(step: nil, message: "it is \(outcome), and not \(wanted)")
        }
        guard outcome.isDone else { return }
        switch act {
        case .share(let user, let zone, _, let share): try await learnURL(of: share, user, zone)
        case .shareZone(let user, let zone): try await learnURL(of: SharingHistory.zoneShare, user, zone)
        default: break
        }
    }

    private mutating func learnURL(of share: String, _ user: Int, _ zone: Int) async throws {
        let saved = try await performer.town.people[user].shareRecord(share, in: performer.place(zone))
        if let url = saved.url { performer.learn(url, of: share, zone) }
    }

    private func upkeep() throws {
        try performer.town.store.performUpkeep()
        let findings = try performer.town.findings()
        guard findings.isEmpty else {
            throw FeedFailure(step: nil, message: "the store does not verify: \(findings.joined(separator: "; "))")
        }
    }

    // MARK: Reading

    private mutating func finish(_ number: Int, limit: Int) async throws {
        for _ in 0..<FeedSource.maximumPageCount {
            guard try await read(number, limit: limit, isOnePage: true) else { return }
        }
        throw FeedFailure(step: nil, message: "there is more after \(FeedSource.maximumPageCount) pages")
    }

    /// Whether more is coming.
    private mutating func read(_ number: Int, limit: Int, isOnePage: Bool) async throws -> Bool {
        try await read(number, limit: limit) { try await $0.page(for: $1, limit: limit) }
    }

    @discardableResult
    private mutating func read(
        _ number: Int, limit: Int, _ ask: (FeedSource, FeedReader) async throws -> FeedAnswer
    ) async throws -> Bool {
        guard var reader = readers[number] else { return false }
        defer { readers[number] = reader }
        let answer = try await ask(source, reader)
        transcript.append("reader \(number): \(answer)")
        let outcome = try source.outcome(answer, of: reader, at: clock.now)
        guard case .pages(let pages) = answer else {
            if outcome == .refused(.changeTokenExpired) { reader.forget() }
            return false
        }
        for page in pages { try reader.take(page, limit: limit, oracle) }
        if reader.isAtEnd || reader.sinceDate == nil { reader.sinceDate = clock.now }
        return pages.last?.isMoreComing ?? false
    }

    /// Replicas at the end have exactly the versions that can be fetched.
    private func compareTags() async throws {
        var fetched: [String: [String: String]] = [:]
        for (_, reader) in readers.sorted(by: { $0.key < $1.key }) {
            guard case .zone(let zone) = reader.place, reader.isAtEnd, reader.readMoment == oracle.moment,
                !oracle.isSuspended(reader.user)
            else { continue }
            let key = "\(reader.user) \(zone)"
            if fetched[key] == nil { fetched[key] = try await tags(for: reader, zone) }
            for (name, told) in reader.replica where fetched[key]?[name] != told.tag {
                throw FeedFailure(
                    step: nil, message: "\(reader.user) holds an old version of \(reader.place) \(name)")
            }
        }
    }

    private func tags(for reader: FeedReader, _ zone: Int) async throws -> [String: String] {
        let person = performer.town.people[reader.user]
        let place = performer.place(zone)
        let ids = reader.replica.keys.map { person.recordID($0, in: place) }
        var tags: [String: String] = [:]
        for (id, result) in try await person.database(place).records(for: ids) {
            tags[id.recordName] = try? result.get().recordChangeTag
        }
        return tags
    }
}
