// Archives that carry the names of Apple's classes, built byte by byte as its systems would write them.

import Foundation
import StratusKit
import Testing

@Suite struct AppleArchiveTests {
    @Test("class names are registered before any code of a client runs")
    func registered() {
        #expect(NSKeyedUnarchiver.class(forClassName: "CKRecordID") == CKRecord.ID.self)
        #expect(NSKeyedUnarchiver.class(forClassName: "CKRecord") == CKRecord.self)
        #expect(NSKeyedUnarchiver.class(forClassName: "CKReference") == CKRecord.Reference.self)
    }

    @Test("our archives name Apple's class as the one to fall back on")
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
            #expect(group.name == "Sync" && group.quantity == 5)
        }
    }

    @Test("a record that an older version archived, as dictionaries of objects, decodes")
    func dictionaries() throws {
        let objects: [TestList] =
            AppleArchive.recordObjects + [
                .dictionary([
                    ("$class", .reference(22)), ("NS.keys", .array([.reference(5)])),
                    ("NS.objects", .array([.reference(1)])),
                ]), .className("NSDictionary"),
            ]
        let top = AppleArchive.recordTop + [("StratusValues", TestList.reference(21))]
        let data = AppleArchive.archive(objects: objects, top: top)
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = true
        let byFoundation = try #require(CKRecord(coder: unarchiver))
        for record in [byFoundation, try StratusArchive.decode(CKRecord.self, from: data)] {
            #expect(record["n1"] as? String == "Note")
        }
    }

    @Test("a root object with Apple's class name decodes, and what is not known in it is passed over")
    func rootObject() throws {
        let data = AppleArchive.recordID
        let expected = CKRecord.ID(recordName: "n1", zoneID: CKRecordZone.ID(zoneName: "Notes"))
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.ID.self, from: data) == expected)
        #expect(try StratusArchive.decode(CKRecord.ID.self, from: data) == expected)
    }
}
