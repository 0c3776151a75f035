// Clients of several hosts append to the same records at the same time. What they were answered must be that of some
// order of all requests, one after the other, in which every request comes between its beginning and its end.
//
//     STRATUS_SEED=17 make test FILTER=ManyWriterTests                      another choice of records
//     STRATUS_HISTORIES=100 make postgres FILTER=ManyWriterTests            more requests

import Foundation
import StratusCloud
import StratusKit
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

/// What a client asked for and was answered.
struct AppendAct: Sendable {
    /// What it appended; nil if it only read, or if its append was refused.
    var number: Int?
    /// The lists that it read, by record. An append adds its number to each.
    var read: [Int: [Int]]
    /// By one clock of all clients.
    var began: Int
    var ended: Int
}

/// A client that only read: how many numbers one record had.
struct AppendLook: Sendable {
    var record: Int
    var count: Int
    var began: Int
}

/// Finds out whether acts can have come one after the other.
struct AppendChecker {
    let acts: [AppendAct]
    var looks: [AppendLook] = []
    /// What each record has at the end.
    let lists: [Int: [Int]]

    /// What is wrong; nil if nothing is.
    var finding: String? { contentFinding ?? cycleFinding }

    var contentFinding: String? {
        for (record, list) in lists where Set(list).count < list.count { return "record \(record) has a number twice" }
        let appended = acts.filter { $0.number != nil }
        let known = Set(appended.compactMap(\.number))
        for (record, list) in lists {
            if let stray = list.first(where: { !known.contains($0) }) { return "\(stray) was refused, and is there" }
            let missing = appended.first { $0.read[record] != nil && !list.contains($0.number ?? 0) }
            if let missing { return "\(missing.number ?? 0) is lost from record \(record)" }
        }
        for act in acts {
            for (record, seen) in act.read where !(lists[record] ?? []).starts(with: seen) {
                return "an answer has \(seen) for record \(record)"
            }
        }
        return nil
    }

    /// An answer that lacks what was acknowledged before it was asked for. Any number of acts takes a moment.
    var staleFinding: String? {
        for (record, list) in lists {
            let places = Dictionary(list.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
            let saves = acts.compactMap { act in
                act.number.flatMap { places[$0] }.map { (ended: act.ended, count: $0 + 1) }
            }.sorted { $0.ended < $1.ended }
            var (next, count) = (0, 0)
            let read = acts.compactMap { act in
                act.read[record].map { AppendLook(record: record, count: $0.count, began: act.began) }
            }
            for look in (read + looks.filter { $0.record == record }).sorted(by: { $0.began < $1.began }) {
                while next < saves.count, saves[next].ended < look.began {
                    count = max(count, saves[next].count)
                    next += 1
                }
                if look.count < count { return "an answer has \(look.count) of \(count) numbers of record \(record)" }
            }
        }
        return nil
    }

    /// Acts are in order if one has read what another has appended, or appended after it, or ended before it began. An
    /// act that comes before itself shows that there is no order.
    private var cycleFinding: String? {
        var followers: [Set<Int>] = acts.map { _ in [] }
        let writers = Dictionary(
            uniqueKeysWithValues: acts.indices.compactMap { index in acts[index].number.map { ($0, index) } })
        for (index, act) in acts.enumerated() {
            for (record, seen) in act.read {
                let list = lists[record] ?? []
                if let last = seen.last, let writer = writers[last] { followers[writer].insert(index) }
                // The next one that changed the record, which may be the act itself.
                let next = seen.count + (act.number == nil ? 0 : 1)
                if next < list.count, let writer = writers[list[next]], writer != index {
                    followers[index].insert(writer)
                }
            }
            for (other, later) in acts.enumerated() where act.ended < later.began { followers[index].insert(other) }
        }
        var missing = acts.map { _ in 0 }
        for all in followers { for follower in all { missing[follower] += 1 } }
        var ready = acts.indices.filter { missing[$0] == 0 }
        var count = 0
        while let next = ready.popLast() {
            count += 1
            for follower in followers[next] {
                missing[follower] -= 1
                if missing[follower] == 0 { ready.append(follower) }
            }
        }
        return count == acts.count ? nil : "\(acts.count - count) acts have no order"
    }
}

@Suite("Clients of several hosts who write the same records", .timeLimit(.minutes(10)))
struct ManyWriterTests {
    private static let recordCount = 4
    private static let zone = CKRecordZone.ID(zoneName: "Lists")

    private static func options(number: Int) -> Stratus.Options {
        var options = Stratus.Options()
        options.logger = nil
        options.identifiers = .seeded(UInt64(1 + number))
        options.upkeepIntervalSeconds = nil
        return options
    }

    private static func id(_ record: Int) -> CKRecord.ID { CKRecord.ID(recordName: "list \(record)", zoneID: zone) }

    private static func list(_ record: CKRecord) -> [Int] { record["list"] as? [Int] ?? [] }

    /// Lets clients of hosts append and read. Returns what they were answered, and what is there at the end.
    private func run(_ hosts: [Stratus], clientCount: Int, actCount: Int, in test: String) async throws -> AppendChecker
    {
        let account = try await hosts[0].createAccount(.init(), externalID: "alice")
        let databases = hosts.map { $0.container("iCloud.test", signedInAs: account).privateCloudDatabase }
        try await databases[0].save(CKRecordZone(zoneID: Self.zone))
        let empty = (0..<Self.recordCount).map { CKRecord(recordType: "List", recordID: Self.id($0)) }
        _ = try await databases[0].modifyRecords(saving: empty, deleting: [])
        let random = SplitMix64.announced(test)
        let clock = Locked(0)
        let acts = try await withThrowingTaskGroup(of: [AppendAct].self) { group in
            for client in 0..<clientCount {
                let database = databases[client % databases.count]
                group.addTask {
                    var random = random.generator(forCase: client)
                    var acts: [AppendAct] = []
                    for number in 0..<actCount {
                        acts.append(
                            try await Self.act(
                                number: 1 + client * actCount + number, &random, clock, in: database))
                    }
                    return acts
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let all = try await databases[0].records(for: (0..<Self.recordCount).map(Self.id))
        var lists: [Int: [Int]] = [:]
        for record in 0..<Self.recordCount {
            lists[record] = Self.list(try #require(all[Self.id(record)]).get())
        }
        return AppendChecker(acts: acts, lists: lists)
    }

    /// Reads some records at one moment, and appends a number to all of them, or only reads.
    private static func act(
        number: Int, _ random: inout SplitMix64, _ clock: Locked<Int>, in database: CKDatabase
    ) async throws -> AppendAct {
        let isReading = random.isOne(in: 4)
        let chosen =
            isReading ? Array(0..<recordCount) : Array(Set([random.below(recordCount), random.below(recordCount)]))
        let began = tick(clock)
        let found = try await database.records(for: chosen.map(id))
        var act = AppendAct(number: nil, read: [:], began: began, ended: 0)
        var records: [CKRecord] = []
        for record in chosen {
            guard let saved = try found[id(record)]?.get() else { continue }
            act.read[record] = list(saved)
            saved["list"] = list(saved) + [number]
            records.append(saved)
        }
        if !isReading {
            let results = try await database.modifyRecords(
                saving: records, deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: true)
            if results.saveResults.values.allSatisfy({ (try? $0.get()) != nil }) { act.number = number }
        }
        act.ended = tick(clock)
        return act
    }

    private static func tick(_ clock: Locked<Int>) -> Int {
        clock.withLock { time in
            time += 1
            return time
        }
    }

    @Test("[S-04] what clients of four hosts are answered has an order, over a wire")
    func overWire() async throws {
        let memory = MemoryStore()
        let hosts = try await TestThreads.offPool {
            try (0..<4).map { try Stratus(on: TripStore(memory), options: Self.options(number: $0)) }
        }
        let checker = try await run(hosts, clientCount: 8, actCount: 20, in: "writers over a wire")
        #expect(checker.finding == nil)
        #expect(checker.acts.count { $0.number != nil } > 10)
        for host in hosts { await host.close() }
    }

    @Test(
        "[S-04] what clients of four hosts are answered has an order, on PostgreSQL",
        .enabled(if: PostgresTestStore.isServerThere))
    func onPostgres() async throws {
        let place = try PostgresTestStore(reusesTables: true)
        let hosts = try await TestThreads.offPool {
            try (0..<4).map { try Stratus(on: place.open(), options: Self.options(number: $0)) }
        }
        let checker = try await run(
            hosts, clientCount: 8, actCount: 10 * Int(PostgresTestStore.historyCount), in: "writers on PostgreSQL")
        #expect(checker.finding == nil)
        for host in hosts { await host.close() }
    }

    @Test(
        "[S-04] what clients of four hosts are answered has an order if each trip of one host takes 50 ms more",
        .enabled(if: PostgresTestStore.isServerThere))
    func besideSlowHost() async throws {
        let place = try PostgresTestStore(reusesTables: true)
        let proxy = try WireProxy(place.url)
        defer { proxy.stop() }
        // A trip passes the proxy twice.
        proxy.delay(seconds: 0.025)
        let hosts = try await TestThreads.offPool {
            try (0..<3).map { try Stratus(on: place.open(), options: Self.options(number: $0)) }
                + [try Stratus.open(at: proxy.url, options: Self.options(number: 3))]
        }
        let checker = try await run(hosts, clientCount: 8, actCount: 10, in: "writers beside a slow host")
        #expect(checker.finding == nil)
        #expect(checker.acts.count { $0.number != nil } > 10)
        let report = try await TestThreads.offPool { try hosts[3].service.engine.verify() }
        #expect(report.isClean, "\(report.findings)")
        for host in hosts { await host.close() }
    }

    // MARK: The checker

    private static func appended(_ number: Int, _ read: [Int: [Int]], _ began: Int, _ ended: Int) -> AppendAct {
        AppendAct(number: number, read: read, began: began, ended: ended)
    }

    private static func read(_ read: [Int: [Int]], _ began: Int, _ ended: Int) -> AppendAct {
        AppendAct(number: nil, read: read, began: began, ended: ended)
    }

    @Test("the checker finds an update that is lost, twice there, or there although it was refused")
    func findsContent() {
        let acts = [Self.appended(1, [0: []], 1, 2), Self.appended(2, [0: [1]], 3, 4)]
        #expect(AppendChecker(acts: acts, lists: [0: [1, 2]]).finding == nil)
        #expect(AppendChecker(acts: acts, lists: [0: [1]]).finding != nil)
        #expect(AppendChecker(acts: acts, lists: [0: [1, 2, 2]]).finding != nil)
        #expect(AppendChecker(acts: acts, lists: [0: [1, 2, 3]]).finding != nil)
    }

    @Test("the checker finds an answer that an acknowledged append is missing from")
    func findsStale() {
        let acts = [Self.appended(1, [0: []], 1, 2), Self.read([0: []], 3, 4)]
        #expect(AppendChecker(acts: acts, lists: [0: [1]]).finding != nil)
        #expect(AppendChecker(acts: acts, lists: [0: [1]]).staleFinding != nil)
        let look = AppendLook(record: 0, count: 0, began: 3)
        #expect(AppendChecker(acts: Array(acts.prefix(1)), looks: [look], lists: [0: [1]]).staleFinding != nil)
        let beside = [Self.appended(1, [0: []], 1, 4), Self.read([0: []], 2, 3)]
        #expect(AppendChecker(acts: beside, lists: [0: [1]]).finding == nil)
        #expect(AppendChecker(acts: beside, lists: [0: [1]]).staleFinding == nil)
    }

    @Test("the checker finds an answer with half of an append")
    func findsHalf() {
        let acts = [Self.appended(1, [0: [], 1: []], 1, 6), Self.read([0: [1], 1: []], 2, 3)]
        #expect(AppendChecker(acts: acts, lists: [0: [1], 1: [1]]).finding != nil)
    }

    @Test("the checker finds two appends that have not seen each other")
    func findsSkew() {
        let acts = [
            Self.appended(1, [0: []], 1, 6), Self.appended(2, [1: []], 1, 6),
            Self.read([0: [1], 1: []], 2, 3), Self.read([0: [], 1: [2]], 2, 3),
        ]
        #expect(AppendChecker(acts: acts, lists: [0: [1], 1: [2]]).finding != nil)
    }
}
