// Identifiers, references, zones and places.

import Foundation
import StratusKit
import Testing

@Suite struct IdentifierTests {
    @Test("[C-01] identifiers and references are equal by value; a reference's action counts")
    func equality() {
        let zoneID = CKRecordZone.ID(zoneName: "z", ownerName: "o")
        #expect(zoneID == CKRecordZone.ID(zoneName: "z", ownerName: "o"))
        #expect(zoneID != CKRecordZone.ID(zoneName: "z"))
        let recordID = CKRecord.ID(recordName: "r", zoneID: zoneID)
        let same = CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "z", ownerName: "o"))
        #expect(recordID == same)
        #expect(recordID.hash == same.hash)
        #expect(Set([recordID, same]).count == 1)
        #expect(recordID != CKRecord.ID(recordName: "r"))
        #expect([recordID: 1][same] == 1)
        let reference = CKRecord.Reference(recordID: recordID, action: .none)
        #expect(reference == CKRecord.Reference(recordID: same, action: .none))
        #expect(reference != CKRecord.Reference(recordID: same, action: .deleteSelf))
    }

    @Test("names are compared by their bytes")
    func bytes() {
        #expect(CKRecord.ID(recordName: "\u{E9}") != CKRecord.ID(recordName: "e\u{301}"))
    }

    @Test("omitted parts are a new name, the default zone, the signed-in user")
    func defaults() {
        let recordID = CKRecord.ID()
        #expect(UUID(uuidString: recordID.recordName) != nil)
        #expect(recordID.zoneID == CKRecordZone.ID.default)
        #expect(recordID != CKRecord.ID())
        #expect(CKRecordZone.ID().zoneName == "_defaultZone")
        #expect(CKRecordZone.ID(zoneName: "z").ownerName == CKCurrentUserDefaultName)
    }

    @Test("[C-01] zones are equal only to themselves")
    func zoneIdentity() throws {
        let zone = CKRecordZone(zoneName: "z")
        let copy = try #require(zone.copy() as? CKRecordZone)
        #expect(zone == zone)
        #expect(copy != zone)
        #expect(copy.zoneID == zone.zoneID)
    }

    @Test("[C-11] the default zone is one object; zones created here have no capabilities and no share")
    func zones() {
        #expect(CKRecordZone.default() === CKRecordZone.default())
        #expect(CKRecordZone.default().zoneID == CKRecordZone.ID.default)
        for zone in [CKRecordZone.default(), CKRecordZone(zoneName: "z")] {
            #expect(zone.capabilities.isEmpty)
            #expect(zone.share == nil)
            #expect(zone.encryptionScope == .perRecord)
        }
    }

    @Test("[C-18] lookup information is equal by value")
    func lookupInfo() {
        #expect(CKUserIdentity.LookupInfo(emailAddress: "a") == CKUserIdentity.LookupInfo(emailAddress: "a"))
        #expect(CKUserIdentity.LookupInfo(emailAddress: "a") != CKUserIdentity.LookupInfo(phoneNumber: "a"))
        #expect(CKUserIdentity.LookupInfo.lookupInfos(withEmails: ["a", "b"]).map(\.emailAddress) == ["a", "b"])
        #expect(CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: ["1"]).map(\.phoneNumber) == ["1"])
        let recordID = CKRecord.ID(recordName: "_u")
        #expect(CKUserIdentity.LookupInfo.lookupInfos(with: [recordID]).map(\.userRecordID) == [recordID])
    }

    @Test("the distance of two locations is measured on the surface of the Earth")
    func distance() {
        let berlin = CLLocation(latitude: 52.52, longitude: 13.405)
        let paris = CLLocation(latitude: 48.8566, longitude: 2.3522)
        #expect((872_000...883_000).contains(berlin.distance(from: paris)))
        #expect(berlin.distance(from: berlin) == 0)
        let poles = CLLocation(latitude: 90, longitude: 0).distance(from: CLLocation(latitude: -90, longitude: 120))
        #expect((20_000_000...20_030_000).contains(poles))
    }

    @Test("raw values are those of Apple's framework")
    func rawValues() {
        #expect(CKRecord.ReferenceAction.none.rawValue == 0)
        #expect(CKRecord.ReferenceAction.deleteSelf.rawValue == 1)
        #expect(CKRecordZone.Capabilities.fetchChanges.rawValue == 1)
        #expect(CKRecordZone.Capabilities.atomic.rawValue == 2)
        #expect(CKRecordZone.Capabilities.sharing.rawValue == 4)
        #expect(CKRecordZone.Capabilities.zoneWideSharing.rawValue == 8)
        #expect(CKRecordZone.EncryptionScope.perZone.rawValue == 1)
    }
}
