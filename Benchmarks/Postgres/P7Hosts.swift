// P7: several hosts of one store, each a process of its own, beside one host with as many callers: saves into one zone,
// how long the slowest wait, and saves by unrelated owners. Then how soon another host is woken, between two hosts of
// this process, which have one clock.

import Foundation
import StratusCloud
import StratusModel
import StratusPostgres
import StratusRecords
import StratusStore
import StratusWorkloads

enum HostsWorkload: PostgresWorkload {
    static let name = "P7"
    static let title = "several hosts of one store"
    private static let hostCount = 4
    private static let callerCount = 64
    /// Numbers of records that each process has for itself.
    private static let numberCount = 1_000_000

    static func run(_ run: BenchmarkRun, _ bench: PostgresBench) throws {
        try bench.settle()
        var hosts: [HostProcess] = []
        defer { for host in hosts { host.stop() } }
        for index in 1...hostCount { hosts.append(try bench.hostProcess(first: index * numberCount)) }
        try addOneZone(run, hosts)
        for recordsEach in [1, 40] { try addOwners(run, bench, hosts, recordsEach: recordsEach) }
        try addWakeUps(run, bench, (0..<2).map { _ in try bench.host() })
    }

    /// What callers saved who are spread over some hosts, and in how many seconds.
    private static func save(
        at hosts: [HostProcess], _ savesEach: Int, by owners: [String] = []
    ) throws -> (answers: [HostAnswer], seconds: Double) {
        let share = callerCount / hosts.count
        var answers: [HostAnswer] = []
        let seconds = try Stopwatch.seconds {
            for (index, host) in hosts.enumerated() {
                let own = owners.isEmpty ? [] : Array(owners[(index * share)..<((index + 1) * share)])
                try host.start(HostTask(callerCount: share, savesEach: savesEach, owners: own))
            }
            answers = try hosts.map { try $0.answer() }
        }
        return (answers, seconds)
    }

    private static func addOneZone(_ run: BenchmarkRun, _ hosts: [HostProcess]) throws {
        let savesEach = run.scale.isQuick ? 10 : 25
        let latencies = Latencies()
        var conflicts = 0
        let medians = try Stopwatch.medians(
            rounds: 5,
            [
                {
                    let (answers, seconds) = try save(at: hosts, savesEach)
                    for answer in answers {
                        latencies.add(answer.saves)
                        conflicts += answer.conflicts
                    }
                    return Double(callerCount * savesEach) / seconds
                },
                { Double(callerCount * savesEach) / (try save(at: [hosts[0]], savesEach).seconds) },
            ])
        let subject = "4 processes with 16 callers each in one zone"
        run.add(
            Figure(
                name, subject, medians[0], "saves/s", against: "one process with 64", medians[1],
                ratio: .ourShareOfTheirs, .atLeast(0.5)))
        run.add(
            Figure(
                name, "\(subject): a save, p99", count: latencies.quantile(0.99) * 1_000, "ms",
                .atMost(200)))
        run.add(
            Figure(
                name, subject, count: Double(conflicts) / Double(latencies.count), "conflicts a save", .none))
    }

    /// Owners who have nothing in common, spread over the hosts. PostgreSQL finds conflicts by pages of an index, and
    /// where zones are nearly empty, the entries of several owners are on one page.
    private static func addOwners(
        _ run: BenchmarkRun, _ bench: PostgresBench, _ hosts: [HostProcess], recordsEach: Int
    ) throws {
        let names = (0..<512).map { "host-owner-\(recordsEach)-\($0)" }
        let server = bench.postgres.server
        let owners = try names.map { try server.guest($0).caller }
        _ = try Callers.rate(32, timesEach: owners.count / 32) { number in
            try server.createZone(HostCommand.ownZone, of: owners[number])
            let saves = (0..<recordsEach).map { _ in
                let item = bench.numbers.next()
                return ServerSide.save(item.record.name, item.content, in: HostCommand.ownZone)
            }
            try server.save(saves, as: owners[number])
        }
        let chosen = stride(from: 0, to: names.count, by: names.count / callerCount).map { names[$0] }
        let savesEach = run.scale.isQuick ? 10 : 25
        let subject = "64 unrelated owners of 512 at 4 processes, \(recordsEach) records each"
        // With its first save each host reads who the owner is.
        for (what, savesEach, bar) in [
            ("the first save of each", 1, Bar.none), ("\(callerCount * savesEach) saves", savesEach, .atMost(0)),
        ] {
            let conflicts = try save(at: hosts, savesEach, by: chosen).answers.reduce(0) { $0 + $1.conflicts }
            run.add(Figure(name, "\(subject), \(what)", count: Double(conflicts), "conflicts", bar))
        }
    }

    /// From the return of a commit at one host to the call of a watcher at another.
    private static func addWakeUps(_ run: BenchmarkRun, _ bench: PostgresBench, _ hosts: [ServedStore]) throws {
        defer { for host in hosts { host.store.close() } }
        let woken = DispatchSemaphore(value: 0)
        let watch = hosts[1].store.watchOthers(PostgresBench.announced) { woken.signal() }
        defer { watch.end() }
        let key = PostgresBench.announced.lower + [0]
        // Nothing tells when the connection has begun to listen.
        repeat {
            try hosts[0].store.transact { try $0.set(key, to: [1]) }
        } while woken.wait(timeout: .now() + 1) != .success
        let latencies = Latencies()
        for number in 0..<(run.scale.isQuick ? 20 : 100) {
            try hosts[0].store.transact { try $0.set(PostgresBench.announced.lower + [1], to: [UInt8(number)]) }
            latencies.add([Stopwatch.seconds { woken.wait() }])
        }
        for (what, part) in [("median", 0.5), ("longest", 1)] {
            run.add(
                Figure(
                    name, "another host is woken by the server, \(what)", count: latencies.quantile(part) * 1_000, "ms",
                    .atMost(100)))
        }
    }
}
