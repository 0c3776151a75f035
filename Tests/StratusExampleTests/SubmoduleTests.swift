// A program that imports parts of the frameworks by the names of their headers, as many do: each imports the whole
// framework.

import CloudKit.CKRecord
import CloudKit.CKSubscription
import CoreLocation.CLLocation
import StratusTesting
import Testing

@Suite("Imports of submodules", .stratus)
struct SubmoduleTests {
    @Test("an import of a submodule brings the whole framework and Foundation")
    func imports() async throws {
        let database = CKContainer(identifier: "iCloud.parts").privateCloudDatabase
        let place = CKRecord(recordType: "Place", recordID: CKRecord.ID(recordName: "cafe"))
        place["seen"] = Date(timeIntervalSinceReferenceDate: 5)
        place["where"] = CLLocation(latitude: 52.5, longitude: 13.4)
        try await database.save(place)
        let stored = try await database.record(for: place.recordID)
        #expect(stored["seen"] as? Date == Date(timeIntervalSinceReferenceDate: 5))
        #expect((stored["where"] as? CLLocation)?.coordinate.latitude == 52.5)
        #expect(CKDatabaseSubscription(subscriptionID: "all").subscriptionType == .database)
    }
}
