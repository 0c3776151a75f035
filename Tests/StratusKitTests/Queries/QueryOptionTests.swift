// What a host decides of queries.

import Foundation
import StratusKit
import Testing

@Suite struct QueryOptionTests {
    @Test("[Q-07] the unit of a radius is a metre, or what the host says", arguments: [(nil, 0), (1_000.0, 1)])
    func distanceUnit(metres: Double?, foundCount: Int) async throws {
        var options = Stratus.Options()
        if let metres { options.queryDistanceUnitMetres = metres }
        let store = try Stratus.inMemory(options: options)
        let account = try store.createAccount(.init(), externalID: "somebody")
        let database = store.container("iCloud.com.example.places", signedInAs: account).privateCloudDatabase
        let place = CKRecord(recordType: "Place")
        // A little more than a kilometre from the centre.
        place["spot"] = CLLocation(latitude: 0, longitude: 0.01)
        _ = try await database.save(place)
        let predicate = NSPredicate(
            format: "distanceToLocation:fromLocation:(spot, %@) < 2", CLLocation(latitude: 0, longitude: 0))
        let found = try await database.records(matching: CKQuery(recordType: "Place", predicate: predicate))
        #expect(found.matchResults.count == foundCount)
    }
}
