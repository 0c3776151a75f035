// Servers that are lost while callers of the full service write: every acknowledged save is there once, no answer is
// old, and the store is whole.
//
//     make failover                losing a server three times
//     make failover ROUNDS=50      the long one

import Foundation
import StratusCloud
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

/// Callers of two hosts that append to the same records, until they are stopped.
private final class FailoverCallers: Sendable {
    static let callerCount = 16
    /// At each host some only read: savers wait where commits do, and would miss what is old.
    private static let readerCount = 2
    private static let recordCount = 12
    private static let zone = CKRecordZone.ID(zoneName: "Lists")

    private struct State {
        var acts: [AppendAct] = []
        var looks: [AppendLook] = []
        /// Appends whose answer said that they may be there or not.
        var unknown: [AppendAct] = []
        var failureCount = 0
        /// By host: how many saves were acknowledged.
        var counts: [Int]
        var lastSave = Date()
        var longestPause = 0.0
        var isOver = false
    }

    private let databases: [CKDatabase]
    private let clock = Locked(0)
    private let state: Locked<State>

    init(_ databases: [CKDatabase]) {
        self.databases = databases
        state = Locked(State(counts: databases.map { _ in 0 }))
    }

    private static func id(_ record: Int) -> CKRecord.ID { CKRecord.ID(recordName: "list \(record)", zoneID: zone) }

    func prepare() async throws {
        try await databases[0].save(CKRecordZone(zoneID: Self.zone))
        let empty = (0..<Self.recordCount).map { CKRecord(recordType: "List", recordID: Self.id($0)) }
        _ = try await databases[0].modifyRecords(saving: empty, deleting: [])
    }

    /// Runs all callers until `stop`.
    func run(_ random: SplitMix64) async {
        await withTaskGroup(of: Void.self) { group in
            for caller in 0..<Self.callerCount {
                group.addTask {
                    var random = random.generator(forCase: caller)
                    var number = caller
                    while !self.state.withLock({ $0.isOver }) {
                        number += Self.callerCount
                        await self.act(number, caller % self.databases.count, &random)
                    }
                }
            }
            for reader in 0..<(Self.readerCount * databases.count) {
                group.addTask {
                    var random = random.generator(forCase: Self.callerCount + reader)
                    while !self.state.withLock({ $0.isOver }) {
                        await self.look(random.below(Self.recordCount), reader % self.databases.count)
                    }
                }
            }
        }
    }

    func stop() { state.withLock { $0.isOver = true } }

    /// How many saves each host has acknowledged.
    var counts: [Int] { state.withLock { $0.counts } }

    var unknownCount: Int { state.withLock { $0.unknown.count } }

    /// The longest time in which nothing was acknowledged, since it was last asked for.
    func takeLongestPause() -> Double {
        state.withLock { state in
            defer { state.longestPause = 0 }
            return state.longestPause
        }
    }

    private func tick() -> Int {
        clock.withLock { time in
            time += 1
            return time
        }
    }

    /// Reads one or two records and appends a number to them.
    private func act(_ number: Int, _ host: Int, _ random: inout SplitMix64) async {
        let chosen = Set([random.below(Self.recordCount), random.below(Self.recordCount)])
        var act = AppendAct(number: nil, read: [:], began: tick(), ended: 0)
        do {
            let found = try await databases[host].records(for: chosen.map(Self.id))
            var records: [CKRecord] = []
            for record in chosen {
                guard let saved = try found[Self.id(record)]?.get() else { continue }
                let list = saved["list"] as? [Int] ?? []
                act.read[record] = list
                saved["list"] = list + [number]
                records.append(saved)
            }
            act.number = number
            let results = try await databases[host].modifyRecords(
                saving: records, deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: true)
            for result in results.saveResults.values { _ = try result.get() }
            act.ended = tick()
            noteSave(act, at: host)
        } catch {
            act.ended = tick()
            let isUnknown = (error as? CKError)?.code == .serverResponseLost
            state.withLock { state in
                state.failureCount += 1
                if isUnknown { return state.unknown.append(act) }
                act.number = nil
                if !act.read.isEmpty { state.acts.append(act) }
            }
        }
    }

    /// Reads one record.
    private func look(_ record: Int, _ host: Int) async {
        let began = tick()
        guard let found = try? await databases[host].record(for: Self.id(record)) else { return }
        let count = (found["list"] as? [Int] ?? []).count
        state.withLock { $0.looks.append(AppendLook(record: record, count: count, began: began)) }
    }

    private func noteSave(_ act: AppendAct, at host: Int) {
        state.withLock { state in
            let now = Date()
            state.longestPause = max(state.longestPause, now.timeIntervalSince(state.lastSave))
            state.lastSave = now
            state.acts.append(act)
            state.counts[host] += 1
        }
    }
}

extension FailoverCallers {
    /// What was answered and what is there now.
    func checker() async throws -> AppendChecker {
        let all = try await databases[0].records(for: (0..<Self.recordCount).map(Self.id))
        var lists: [Int: [Int]] = [:]
        for record in 0..<Self.recordCount {
            lists[record] = try #require(all[Self.id(record)]).get()["list"] as? [Int] ?? []
        }
        let there = Set(lists.values.joined())
        let looks = state.withLock { $0.looks }
        var (acts, unknown) = state.withLock { ($0.acts, $0.unknown) }
        for index in unknown.indices {
            // One that is there was acknowledged by nobody, so nothing comes after it.
            unknown[index].ended = .max
            if let number = unknown[index].number, !there.contains(number) { unknown[index].number = nil }
        }
        return AppendChecker(acts: acts + unknown, looks: looks, lists: lists)
    }
}

@Suite(
    "Servers that are lost", .serialized, .enabled(if: TestCluster.isThere), .timeLimit(.minutes(180)))
struct FailoverTests {
    /// How a server is lost.
    private enum Loss: Int, CaseIterable {
        /// The server that takes writes, with all that looks after it.
        case leader
        /// What looks after it. The server lives on, and takes connections that write.
        case patroni
        /// The standby that confirms commits, and then the leader.
        case standbyThenLeader
    }

    private static let counter = "iCloud.com.example.counter"

    private static func open(_ url: String) async throws -> Stratus {
        var options = Stratus.Options()
        options.logger = nil
        return try await Stratus.open(at: url, options: options)
    }

    @Test("whichever server is lost while 16 callers save, what was acknowledged is there once, and no answer is old")
    func rounds() async throws {
        let cluster = try #require(TestCluster.current)
        let proxies = try cluster.serverURLs.map { try WireProxy($0) }
        for proxy in proxies {
            proxy.plan(each: [.cutBefore, .cutAfterForwarding, .cutAfterAnswer, .doubled], every: 50)
            proxy.delay(seconds: 0.001)
        }
        let hosts = [
            try await Self.open(cluster.url), try await Self.open(cluster.url(through: proxies.map(\.url))),
        ]
        let account = try await hosts[0].account(externalID: "alice", createIfMissing: .init())
        let callers = FailoverCallers(
            hosts.map { $0.container("iCloud.test", signedInAs: account).privateCloudDatabase })
        try await callers.prepare()
        let random = SplitMix64.announced("servers that are lost")
        async let running: Void = callers.run(random)
        var saved = 0
        do {
            for round in 0..<TestCluster.roundCount {
                saved = try await TestThreads.offPool { try lose(in: round, of: cluster, callers, proxies) }
            }
        } catch {
            callers.stop()
            throw error
        }
        callers.stop()
        await running
        let checker = try await callers.checker()
        #expect(checker.contentFinding == nil)
        #expect(checker.staleFinding == nil)
        #expect(try await numberCount(at: hosts[0]) >= saved)
        let engine = try hosts[0].service.engine
        #expect(try await TestThreads.offPool { try engine.verify().findings }.isEmpty)
        // Nothing was lost, so no change token has expired.
        let own = UUID()
        #expect(try await TestThreads.offPool { try engine.read { try $0.positionIncarnation(own) } } == own)
        print(
            "\(callers.counts.reduce(0, +)) saves were acknowledged, of \(callers.unknownCount) nobody knew,"
                + " \(checker.looks.count) records were read.")
        for host in hosts { await host.close() }
        for proxy in proxies { proxy.stop() }
    }

    /// Loses a server and kills a host. Returns how many records that host has acknowledged.
    private func lose(
        in round: Int, of cluster: TestCluster, _ callers: FailoverCallers, _ proxies: [WireProxy]
    ) throws -> Int {
        let child = try CountingHost("cloud", cluster.url)
        let first = child.waitForNumber(1)
        #expect(first > 0)
        _ = callers.takeLongestPause()
        let loss = Loss.allCases[round % Loss.allCases.count]
        var lost: [Int] = []
        if loss == .standbyThenLeader {
            let standby = try #require(try cluster.standby())
            try cluster.kill(standby)
            lost.append(standby)
            try waitForSaves(callers)
            // Patroni replaces a leader by a standby that it has written down, which it does a moment later.
            try wait("No other standby confirms commits.") { try cluster.standby().map { $0 != standby } ?? false }
            for proxy in proxies { proxy.cutAll() }
        }
        let leader = try #require(try cluster.leader())
        if loss == .patroni { try cluster.killPatroni(of: leader) } else { try cluster.kill(leader) }
        lost.append(leader)
        try wait("No server has replaced the leader.") { try cluster.leader().map { $0 != leader } ?? false }
        // A single server acknowledges nothing.
        while lost.count > 1 { try cluster.revive(lost.removeFirst()) }
        try waitForSaves(callers)
        print("Round \(round): \(loss), longest pause \(callers.takeLongestPause()) s")
        child.send(SIGKILL)
        let last = child.finish().compactMap { Int($0) }.last ?? first
        if loss == .patroni { try cluster.kill(leader) }
        for node in lost { try cluster.revive(node) }
        try cluster.settle()
        return last
    }

    private func wait(_ complaint: StaticString, until isTrue: () throws -> Bool) throws {
        let end = MonotonicTime.now + 120
        while try !isTrue() {
            guard end > .now else { throw StoreError(.unavailable, complaint) }
            MonotonicTime.pause(seconds: 0.1)
        }
    }

    /// Waits until each host has acknowledged some saves more.
    private func waitForSaves(_ callers: FailoverCallers) throws {
        let before = callers.counts
        try wait("A host has saved nothing for two minutes.") {
            zip(callers.counts, before).allSatisfy { $0 >= $1 + 30 }
        }
    }

    /// How many records the hosts that were killed have left.
    private func numberCount(at host: Stratus) async throws -> Int {
        let account = try #require(try await host.account(externalID: "counter"))
        let database = host.container(Self.counter, signedInAs: account).privateCloudDatabase
        let zone = CKRecordZone.ID(zoneName: "Numbers")
        var (count, token, isMoreComing) = (0, CKServerChangeToken?.none, true)
        while isMoreComing {
            let changes = try await database.recordZoneChanges(inZoneWith: zone, since: token)
            count += changes.modificationResultsByID.count
            (token, isMoreComing) = (changes.changeToken, changes.moreComing)
        }
        return count
    }
}
