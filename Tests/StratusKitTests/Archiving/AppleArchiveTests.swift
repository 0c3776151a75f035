// Archives that carry the names of Apple's classes, built byte by byte as its systems would write them.

import Foundation
import StratusKit
import StratusTesting
import Testing

@Suite struct AppleArchiveTests {
    @Test("class names are registered before any client code runs")
    func registered() {
        #expect(NSKeyedUnarchiver.class(forClassName: "CKRecordID") == CKRecord.ID.self)
        #expect(NSKeyedUnarchiver.class(forClassName: "CKRecord") == CKRecord.self)
        #expect(NSKeyedUnarchiver.class(forClassName: "CKReference") == CKRecord.Reference.self)
    }

    @Test("our archives name Apple's class as the fallback")
    func fallback() throws {
        let data = try ArchiveSamples.archive(ArchiveSamples.recordID)
        #expect(data.range(of: Data("$classhints".utf8)) != nil)
        // A text of ten and one of fourteen ASCII characters.
        #expect(data.range(of: Data([0x5A] + "CKRecordID".utf8)) != nil)
        #expect(data.range(of: Data([0x5E] + "CKRecordZoneID".utf8)) != nil)
    }

    @Test("an archive of system fields with Apple's names decodes")
    func systemFields() throws {
        let data = AppleArchive.systemFields
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = true
        let byFoundation = try #require(CKRecord(coder: unarchiver))
        for record in [byFoundation, try StratusArchive.decode(CKRecord.self, from: data)] {
            #expect(record.recordType == "Note")
            #expect(record.recordID.recordName == "n1")
            #expect(record.recordID.zoneID == CKRecordZone.ID(zoneName: "Notes", ownerName: "__defaultOwner__"))
            #expect(record.recordChangeTag == "k3")
            #expect(record.creationDate == Date(timeIntervalSinceReferenceDate: 100))
            #expect(record.modificationDate == Date(timeIntervalSinceReferenceDate: 200))
            #expect(record.creatorUserRecordID == CKRecord.ID(recordName: "_me"))
            #expect(record.parent == CKRecord.Reference(recordID: record.recordID, action: .none))
        }
    }

    @Test("a group of operations with Apple's class name decodes")
    func operationGroup() throws {
        let objects: [TestList] = [
            .text("$null"),
            .dictionary([("$class", .reference(2)), ("Name", .reference(3)), ("Quantity", .integer(5))]),
            .className("CKOperationGroup"), .text("Sync"),
        ]
        let data = AppleArchive.archive(objects: objects, top: [("root", .reference(1))])
        let byFoundation = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKOperationGroup.self, from: data))
        for group in [byFoundation, try StratusArchive.decode(CKOperationGroup.self, from: data)] {
            #expect(group.name == "Sync")
            #expect(group.quantity == 5)
        }
    }

    @Test("a record that an older version archived as dictionaries of objects decodes")
    func dictionaries() throws {
        let objects: [TestList] =
            AppleArchive.recordObjects + [
                .dictionary([
                    ("$class", .reference(23)), ("NS.keys", .array([.reference(5)])),
                    ("NS.objects", .array([.reference(1)])),
                ]), .className("NSDictionary"),
            ]
        let top = AppleArchive.recordTop + [("StratusValues", TestList.reference(22))]
        let data = AppleArchive.archive(objects: objects, top: top)
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = true
        let byFoundation = try #require(CKRecord(coder: unarchiver))
        for record in [byFoundation, try StratusArchive.decode(CKRecord.self, from: data)] {
            #expect(record["n1"] as? String == "Note")
        }
    }

    @Test("a root object with Apple's class name decodes")
    func rootObject() throws {
        let data = AppleArchive.recordID
        let expected = CKRecord.ID(recordName: "n1", zoneID: CKRecordZone.ID(zoneName: "Notes"))
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.ID.self, from: data) == expected)
        #expect(try StratusArchive.decode(CKRecord.ID.self, from: data) == expected)
    }

    @Test("[X-24] a change token and a cursor from Apple's systems decode, and the server refuses them", .stratus)
    func foreignPlaces() async throws {
        func archive(_ className: String, _ key: String) -> Data {
            AppleArchive.archive(
                objects: [
                    .text("$null"), .dictionary([("$class", .reference(2)), (key, .reference(3))]),
                    .className(className), .bytes([1, 0, 0, 1, 0x86]),
                ], top: [("root", .reference(1))])
        }
        let tokenData = archive("CKServerChangeToken", "ChangeTokenData")
        let token = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: tokenData))
        #expect(try StratusArchive.decode(CKServerChangeToken.self, from: tokenData) == token)
        let copy = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: copy) == token)

        let cursorData = archive("CKQueryCursor", "CursorData")
        let cursor = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQueryOperation.Cursor.self, from: cursorData))
        #expect(try StratusArchive.decode(CKQueryOperation.Cursor.self, from: cursorData) == cursor)

        let database = CKContainer(identifier: "iCloud.foreign").privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        await #expect(throws: CKError.self) { try await database.databaseChanges(since: token) }
        await #expect(throws: CKError.self) {
            try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
        }
        await #expect(throws: CKError.self) { try await database.records(continuingMatchFrom: cursor) }
    }

    @Test("[X-22] a participant from Apple's systems decodes with the person, and a share with its participants")
    func shareOfApple() throws {
        let objects = AppleArchive.shareObjects
        let personData = AppleArchive.archive(objects: objects, top: [("root", .reference(2))])
        let person = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.Participant.self, from: personData))
        for person in [person, try StratusArchive.decode(CKShare.Participant.self, from: personData)] {
            #expect(person.participantID == "guest")
            #expect(person.role == .privateUser)
            #expect(person.permission == .readWrite)
            #expect(person.acceptanceStatus == .accepted)
            #expect(person.userIdentity.hasiCloudAccount)
            #expect(person.userIdentity.userRecordID?.recordName == "_bob")
            #expect(person.userIdentity.lookupInfo?.emailAddress == "bob@example.com")
        }

        let lookupData = AppleArchive.archive(objects: objects, top: [("root", .reference(15))])
        let lookup = try StratusArchive.decode(CKUserIdentity.LookupInfo.self, from: lookupData)
        #expect(lookup.userRecordID?.recordName == "_bob")

        let shareData = AppleArchive.archive(objects: objects, top: [("root", .reference(1))])
        let share = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: shareData))
        for share in [share, try StratusArchive.decode(CKShare.self, from: shareData)] {
            #expect(share.participants.map(\.participantID).sorted() == ["guest", "owner"])
            #expect(share.owner.participantID == "owner")
            #expect(share.currentUserParticipant?.participantID == "owner")
            #expect(share.publicPermission == .readOnly)
            #expect(share.recordChangeTag == "4c")
            #expect(share.url?.absoluteString == "https://www.icloud.com/share/0abc")
        }
    }
}
