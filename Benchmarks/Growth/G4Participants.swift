// G4: participants of one share, 1 to 100: each size has a root, a chain of ten and leaves of its own.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads

enum ParticipantGrowth: Workload {
    static let name = "G4"
    static let title = "growth: participants of a share"
    private static let counts = [1, 2, 5, 10, 20, 50, 100]
    private static let note = """
        The share itself holds its participants, as in CloudKit: accepting writes the share again, and reading it returns everybody \
        with their name, which is one look at an account each: both grow with the participants. Entries do not: each participant's \
        acceptance is a key of its own, and *may they write this record* asks for that key alone.
        """

    static func run(_ run: BenchmarkRun) throws {
        let stores = try GrowthStores(run, "participants")
        let server = try stores.server()
        let guests = try (0..<100).map { try server.guest("participant-\($0)") }
        var check = GrowthCurve("may they write a record, again", .flat())
        var accept = GrowthCurve("accept, the last of them", .linear(each: 1, constant: 24))
        var fetch = GrowthCurve("fetch the share", .linear(each: 1, constant: 8))
        for (index, count) in counts.enumerated() {
            let data = FanZoneData(depth: 10, leafCount: 100, seed: 400 + UInt64(index))
            try stores.load(data.zone, 0..<data.zone.count, withPeer: false)
            // The last ones accept one after the other, so that acceptances can be timed.
            let late = min(Stopwatch.roundCount, count)
            let people = Array(guests[..<count])
            let url = try server.share(data.zone.record(data.top), in: stores.address, with: people)
            for guest in people.dropLast(late) { try server.accept(url, by: guest) }
            var seconds: [Double] = []
            var cost = StoreCost()
            for guest in people.suffix(late) {
                cost = try stores.stratus.cost {
                    seconds.append(try Stopwatch.seconds { try server.accept(url, by: guest) })
                }.cost
            }
            accept.add(count, Stopwatch.median(seconds), cost)
            let names = data.leaves.map { data.zone.names[$0] }
            let user = people[count / 2].account.userName
            try check.measure(count, on: stores.stratus, items: names.count) {
                let answers = try server.service.permissions(for: names, in: stores.zone, of: user)
                guard answers.allSatisfy({ $0 == [.read, .write] }) else { throw PeerError("A guest may not write.") }
            }
            let share = ServerSide.shareAddress(data.zone.record(data.top), in: stores.address)
            try fetch.measure(count, on: stores.stratus) {
                _ = try server.service.fetchRecords(
                    FetchRecordsRequest(addresses: [share]), as: server.owner, in: .private
                ).records[0].get()
            }
        }
        run.add([check, accept, fetch], name, title, per: "participants", note: note)
        try stores.remove()
    }
}
