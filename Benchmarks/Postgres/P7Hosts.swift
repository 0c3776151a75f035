// P7: several hosts of one store, each with connections of its own, beside one host with as many callers: saves into
// one zone, how long the slowest wait, saves by unrelated owners, and how soon another host is woken.

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

    static func run(_ run: BenchmarkRun, _ bench: PostgresBench) throws {
        try bench.settle()
        let hosts = try (0..<hostCount).map { _ in try bench.host() }
        defer { for host in hosts { host.store.close() } }
        try addOneZone(run, bench, hosts)
        try addOwners(run, bench, hosts)
        try addWakeUps(run, bench, hosts)
    }

    /// How many saves a second the callers do who are spread over some hosts.
    private static func rate(
        _ hosts: [ServedStore], _ bench: PostgresBench, _ savesEach: Int, _ latencies: Latencies? = nil,
        _ place: @escaping @Sendable (_ caller: Int) -> (zone: ZoneAddress, caller: Caller?)
    ) throws -> Double {
        try Callers.rate(callerCount, timesEach: savesEach) { number in
            let item = bench.numbers.next()
            let (zone, caller) = place(number / savesEach)
            let host = hosts[number / savesEach % hosts.count]
            let seconds = try Stopwatch.seconds {
                try host.server.save([ServerSide.save(item.record.name, item.content, in: zone)], as: caller)
            }
            latencies?.add([seconds])
        }
    }

    private static func conflicts(_ hosts: [ServedStore]) -> Int {
        hosts.reduce(0) { $0 + $1.store.statistics.conflicts }
    }

    private static func addOneZone(_ run: BenchmarkRun, _ bench: PostgresBench, _ hosts: [ServedStore]) throws {
        let savesEach = run.scale.isQuick ? 10 : 25
        let latencies = Latencies()
        let before = conflicts(hosts)
        let rounds = 5
        let medians = try Stopwatch.medians(
            rounds: rounds,
            [
                { try rate(hosts, bench, savesEach, latencies) { _ in (PostgresBench.zone, nil) } },
                { try rate([hosts[0]], bench, savesEach) { _ in (PostgresBench.zone, nil) } },
            ])
        let subject = "4 hosts with 16 callers each in one zone"
        run.add(
            Figure(
                name, subject, medians[0], "saves/s", against: "one host with 64", medians[1],
                ratio: .ourShareOfTheirs, .atLeast(0.5)))
        run.add(
            Figure(
                name, "\(subject): a save, p99", count: latencies.quantile(0.99) * 1_000, "ms",
                .atMost(200)))
        let saves = Double(callerCount * savesEach * rounds)
        run.add(Figure(name, subject, count: Double(conflicts(hosts) - before) / saves, "conflicts a save", .none))
    }

    private static let ownZone = ZoneAddress(zoneName: "own")

    private static func addOwners(_ run: BenchmarkRun, _ bench: PostgresBench, _ hosts: [ServedStore]) throws {
        let owners = try (0..<512).map { try hosts[0].server.guest("host-owner-\($0)").caller }
        _ = try Callers.rate(32, timesEach: owners.count / 32) { number in
            let server = hosts[number % hosts.count].server
            try server.createZone(ownZone, of: owners[number])
            let saves = (0..<40).map { _ in
                let item = bench.numbers.next()
                return ServerSide.save(item.record.name, item.content, in: ownZone)
            }
            try server.save(saves, as: owners[number])
        }
        let chosen = stride(from: 0, to: owners.count, by: owners.count / callerCount).map { owners[$0] }
        let before = conflicts(hosts)
        let savesEach = run.scale.isQuick ? 10 : 25
        _ = try rate(hosts, bench, savesEach) { (ownZone, chosen[$0]) }
        run.add(
            Figure(
                name, "64 unrelated owners of 512 at 4 hosts, \(callerCount * savesEach) saves",
                count: Double(conflicts(hosts) - before), "conflicts", .atMost(0)))
    }

    /// From the return of a commit at one host to the call of a watcher at another.
    private static func addWakeUps(_ run: BenchmarkRun, _ bench: PostgresBench, _ hosts: [ServedStore]) throws {
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
