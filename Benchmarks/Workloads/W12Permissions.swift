// W12: may this user read and write this record? The records lie ten levels below the root of a share of a hundred
// participants, and were asked about before. Beside it W3's question of the same records: in which share do they lie?

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum PermissionWorkload: Workload {
    static let name = "W12"
    static let title = "may this user write this record"
    private static let depth = 10
    private static let participantCount = 100
    private static let recordCount = 500

    static func run(_ run: BenchmarkRun) throws {
        let data = FanZoneData(depth: depth, leafCount: recordCount)
        try run.zone(named: FanZoneData.name, data.zone)
        let server = try run.server()
        let zone = StratusSide.zone(ZoneName(FanZoneData.name))
        let guests = try (0..<participantCount).map { try server.guest("participant-\($0)") }
        let url = try server.share(
            data.zone.record(data.top), in: ZoneAddress(zoneName: FanZoneData.name), with: guests)
        for guest in guests { try server.accept(url, by: guest) }
        try run.waitForRest()
        let names = data.leaves.map { data.zone.names[$0] }
        let user = guests[participantCount / 2].account.userName

        let medians = try Stopwatch.medians(
            rounds: 9,
            [
                {
                    try Stopwatch.secondsEach(names.count) {
                        let answers = try server.service.permissions(for: names, in: zone, of: user)
                        guard answers.allSatisfy({ $0 == [.read, .write] }) else {
                            throw PeerError("A participant may not write what they were let in to.")
                        }
                    }
                },
                {
                    try Stopwatch.secondsEach(names.count) {
                        try StratusSide.askShares(run.stratus.engine, names, in: zone)
                    }
                },
            ])
        let subject = "depth \(depth), \(participantCount) participants"
        run.add(
            Figure(
                name, subject, medians[0] * 1e6, "µs", against: "W3 of the same", medians[1] * 1e6,
                ratio: .ourShareOfTheirs, .atMost(3)))
        run.add(Figure(name, subject, count: (1 / medians[0]).rounded(), "checks/s", .atLeast(200_000)))
        let cost = try run.stratus.cost { _ = try server.service.permissions(for: names, in: zone, of: user) }.cost
        run.add(Figure(name, subject, count: Double(cost.reads), "reads for 500", .atMost(4)))
    }
}
