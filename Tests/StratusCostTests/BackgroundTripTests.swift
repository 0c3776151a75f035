// The trips of the feeds of databases, of deliveries and of upkeep over a wire, exactly. See `TripTests`.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("trips of feeds, deliveries and upkeep over a wire")
struct BackgroundTripTests {
    private static var pace: UpkeepPace { UpkeepPace(pause: {}) }

    // MARK: Feeds of databases

    @Test("a page of the private database's feed takes a trip for the database and one for its changes")
    func privatePage() async throws {
        let request = TripRequest { bench in
            try bench.saveZones((0..<20).map { "z\($0)" })
        } run: { bench, _ in
            let changed = try bench.databasePage().changed
            #expect(changed.count == 21)
        }
        TripRequest.expect(try await request.trips(), warm: 2, cold: 3)
    }

    @Test("deleted zones, however many, take the private database's feed one trip more")
    func privatePageWithDeletions() async throws {
        let tokens = Locked<[UInt8]?>(nil)
        let request = TripRequest { bench in
            try bench.saveZones((0..<30).map { "z\($0)" })
            let token = try bench.databasePage().token
            tokens.withLock { $0 = token }
            try bench.deleteZones((0..<20).map { "z\($0)" })
        } run: { bench, _ in
            let deleted = try bench.databasePage(after: tokens.withLock { $0 }).deleted
            #expect(deleted.count == 20)
        }
        TripRequest.expect(try await request.trips(isCountedAlike: false), warm: 3, cold: 4)
    }

    @Test("a page of the shared database's feed takes a trip for what was accepted and one for all zones")
    func sharedPage() async throws {
        let request = TripRequest { bench in
            try bench.saveZones((0..<10).map { "z\($0)" })
            for number in 0..<10 { try bench.share(nil, in: ZoneAddress(zoneName: "z\(number)")) }
        } run: { bench, _ in
            let changed = try bench.databasePage(byGuest: true).changed
            #expect(changed.count == 10)
        }
        TripRequest.expect(try await request.trips(), warm: 2, cold: 5)
    }

    // MARK: Deliveries

    @Test("delivering the news of many commits to two people with two devices each takes few trips")
    func delivery() async throws {
        let request = TripRequest { bench in
            try bench.saveTree(depth: 2, width: 3)
            try bench.share("t")
            try bench.subscribe(bench.owner, to: .private)
            try bench.subscribe(bench.guest, to: .shared)
        } prepareRun: { bench, name in
            for number in 0..<10 { try bench.modify([TripBench.note("\(name) \(number)", below: "t 0")]) }
        } run: { bench, _ in
            let devices = try bench.service.deliverNotifications()
            #expect(devices.count == 4)
        }
        TripRequest.expect(try await request.trips(), warm: 8, cold: 9)
    }

    // MARK: Upkeep

    @Test("purging a zone takes a trip to find it, one for its keys, one to delete them, and two to find no other")
    func purge() async throws {
        let request = TripRequest { bench in
            try bench.saveZones(TripRequest.runNames)
        } prepareRun: { bench, name in
            let zone = ZoneAddress(zoneName: name)
            try bench.modify((0..<20).map { TripBench.note("n\($0)", in: zone) })
            try bench.deleteZones([name])
            try bench.service.releaseAssets(Self.pace)
        } run: { bench, _ in
            let progress = try bench.service.engine.purgeDeletedZones(pause: {})
            #expect(progress.zonesFinished == 1)
        }
        TripRequest.expect(try await request.trips(isCountedAlike: false), warm: 5, cold: 5)
    }

    @Test("releasing the assets of a deleted zone takes no trip for each record")
    func release() async throws {
        let request = TripRequest { bench in
            try bench.saveZones(TripRequest.runNames)
        } prepareRun: { bench, name in
            let zone = ZoneAddress(zoneName: name)
            try bench.modify(
                (0..<40).map { number in
                    var note = TripBench.note("n\(number)", in: zone)
                    let file = try bench.file("content \(number) of \(name)")
                    note.fields["file"] = ClientField(.asset(.file(path: file)))
                    note.changedKeys.insert("file")
                    return note
                })
            try bench.share("n0", in: zone)
            try bench.deleteZones([name])
        } run: { bench, _ in
            let progress = try bench.service.releaseAssets(Self.pace)
            #expect(progress.assetsReleased == 40)
        }
        TripRequest.expect(try await request.trips(), warm: 10, cold: 10)
    }

    @Test("looking for expired history takes no trip for each zone that has none and that the host has met")
    func nothingExpired() async throws {
        let request = TripRequest { bench in
            try bench.saveZones((0..<40).map { "z\($0)" })
        } run: { bench, _ in
            try bench.service.performUpkeep(historySeconds: 1_000, Self.pace)
        }
        TripRequest.expect(try await request.trips(), warm: 12, cold: 54)
    }

    @Test("looking for the newest expired change among 1,000 takes few trips")
    func expired() async throws {
        let request = TripRequest { bench in
            for start in 0..<5 { try bench.modify((0..<200).map { TripBench.note("n\(start) \($0)") }) }
        } run: { bench, _ in
            try bench.service.performUpkeep(historySeconds: 1_000, Self.pace)
        }
        TripRequest.expect(try await request.trips(), warm: 15, cold: 17)
    }
}
