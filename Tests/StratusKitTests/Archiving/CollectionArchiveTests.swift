// Collections of CloudKit's objects from archives, by the class of their elements.

import Foundation
import StratusKit
import StratusTesting
import Testing

@Suite struct CollectionArchiveTests {
    private let ids = ["a", "b"].map { CKRecord.ID(recordName: $0) }

    @Test("[T-01] a dictionary of zone tokens decodes, and the server accepts its tokens", .stratus)
    func tokens() async throws {
        let database = CKContainer.default().privateCloudDatabase
        var tokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
        for name in ["One", "Two"] {
            let zone = try await database.save(CKRecordZone(zoneName: name))
            tokens[zone.zoneID] = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil).changeToken
        }
        let archive = try NSKeyedArchiver.archivedData(
            withRootObject: NSDictionary(dictionary: tokens), requiringSecureCoding: true)
        let decoded = try #require(
            try NSKeyedUnarchiver.unarchivedDictionary(
                ofKeyClass: CKRecordZone.ID.self, objectClass: CKServerChangeToken.self, from: archive))
        #expect(decoded == tokens)
        for (zoneID, token) in decoded {
            let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
            #expect(changes.modificationResultsByID.isEmpty)
            #expect(!changes.moreComing)
        }
    }

    @Test("an array decodes in its order")
    func array() throws {
        let archive = try NSKeyedArchiver.archivedData(
            withRootObject: NSArray(array: ids), requiringSecureCoding: true)
        let decoded = try NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClass: CKRecord.ID.self, from: archive)
        #expect(decoded == ids)
    }

    @Test("an archive of another type is nil or an error, and data that is not an archive is an error")
    func others() throws {
        let single = try NSKeyedArchiver.archivedData(withRootObject: ids[0], requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClass: CKRecord.ID.self, from: single) == nil)
        #expect(throws: (any Error).self) {
            try NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClass: CKRecord.ID.self, from: Data([1, 2, 3]))
        }
        #expect(throws: (any Error).self) {
            try NSKeyedUnarchiver.unarchivedDictionary(
                ofKeyClass: NSString.self, objectClass: CKRecord.ID.self, from: Data())
        }
    }
}
