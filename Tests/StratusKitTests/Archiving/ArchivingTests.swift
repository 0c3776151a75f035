// Objects round-trip through archives, with Foundation's unarchiver and with ours.

import Foundation
import Testing

@testable import StratusKit

@Suite struct ArchivingTests {
    /// Both ways to decode.
    enum Way: CaseIterable {
        case foundation
        case stratus

        func decode<Object: NSObject & NSSecureCoding>(_ type: Object.Type, from data: Data) throws -> Object {
            switch self {
            case .foundation: try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: type, from: data))
            case .stratus: try StratusArchive.decode(type, from: data)
            }
        }
    }

    @Test("[C-06] a full archive keeps the values and the changes", arguments: Way.allCases)
    func fullRecord(way: Way) throws {
        let record = ArchiveSamples.record()
        let decoded = try way.decode(CKRecord.self, from: ArchiveSamples.archive(record))
        #expect(decoded != record)
        #expect(decoded.recordType == "Note")
        #expect(decoded.recordID == record.recordID)
        #expect(decoded.parent == record.parent)
        #expect(decoded.allKeys() == record.allKeys())
        #expect(decoded.changedKeys() == record.changedKeys())
        #expect(decoded.encryptedValues.changedKeys() == ["secret"])
        #expect(decoded["string"] as? String == "text 😀")
        #expect(decoded["integer"] as? Int == -5)
        #expect(decoded["double"] as? Double == 2.5)
        #expect(decoded["flag"] as? Bool == true)
        #expect(decoded["date"] as? Date == Date(timeIntervalSinceReferenceDate: 1_000.5))
        #expect(decoded["bytes"] as? Data == Data([1, 2, 3]))
        #expect((decoded["location"] as? CLLocation)?.coordinate.latitude == 52.5)
        #expect(
            decoded["reference"] as? CKRecord.Reference
                == CKRecord.Reference(recordID: record.recordID, action: .deleteSelf))
        #expect(decoded["strings"] as? [String] == ["a", "b"])
        #expect(decoded["sameStrings"] as? [String] == ["a", "b"])
        #expect(decoded["dates"] as? [Date] == [Date(timeIntervalSinceReferenceDate: 0)])
        #expect(decoded.encryptedValues["secret"] as? String == "s")
    }

    @Test("[C-06] a parent that was set or removed after the fetch is saved from the archive", arguments: Way.allCases)
    func changedParents(way: Way) async throws {
        let (store, account) = try Stratus.tested()
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes")).zoneID
        func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }
        func make(_ name: String, under parent: String?) -> CKRecord {
            let record = CKRecord(recordType: "Note", recordID: id(name))
            record.setParent(parent.map { id($0) })
            return record
        }
        _ = try await database.modifyRecords(
            saving: [make("one", under: nil), make("other", under: nil), make("child", under: "one")], deleting: [])
        for parent in ["other", nil] as [String?] {
            let record = try await database.record(for: id("child"))
            record.setParent(parent.map { id($0) })
            let decoded = try way.decode(CKRecord.self, from: ArchiveSamples.archive(record))
            #expect(decoded.parent?.recordID == parent.map { id($0) })
            _ = try await database.modifyRecords(saving: [decoded], deleting: [], savePolicy: .changedKeys)
            #expect(try await database.record(for: id("child")).parent?.recordID == parent.map { id($0) })
        }
    }

    @Test("[C-05] an archive of the system fields has no values and no changes", arguments: Way.allCases)
    func systemFields(way: Way) throws {
        let record = ArchiveSamples.record()
        let data = ArchiveSamples.systemFields(of: record)
        let decoded: CKRecord
        switch way {
        case .foundation:
            let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
            unarchiver.requiresSecureCoding = true
            decoded = try #require(CKRecord(coder: unarchiver))
            unarchiver.finishDecoding()
        case .stratus:
            decoded = try StratusArchive.decode(CKRecord.self, from: data)
        }
        #expect(decoded.recordID == record.recordID)
        #expect(decoded.recordType == record.recordType)
        #expect(decoded.parent == record.parent)
        #expect(decoded.allKeys().isEmpty)
        #expect(decoded.changedKeys().isEmpty)
        #expect(decoded.encryptedValues.allKeys().isEmpty)
        decoded["string"] = "new"
        #expect(decoded.changedKeys() == ["string"])
    }

    @Test("[X-27] a decoded asset has no file, whatever was archived", arguments: Way.allCases)
    func asset(way: Way) throws {
        let asset = CKAsset(fileURL: URL(fileURLWithPath: "/etc/hostname"))
        #expect(asset.fileURL != nil)
        #expect(try way.decode(CKAsset.self, from: ArchiveSamples.archive(asset)).fileURL == nil)
        let record = try way.decode(CKRecord.self, from: ArchiveSamples.archive(ArchiveSamples.record()))
        let decoded = try #require(record["asset"] as? CKAsset)
        #expect(decoded.fileURL == nil)
    }

    @Test("[X-27] the path of an asset's file is not written into an archive")
    func noPath() throws {
        let data = try ArchiveSamples.archive(ArchiveSamples.record())
        #expect(data.range(of: Data("/etc/hostname".utf8)) == nil)
        #expect(data.range(of: Data("text".utf8)) == nil || data.range(of: Data("Note".utf8)) != nil)
    }

    @Test("identifiers, references, locations and zones round-trip", arguments: Way.allCases)
    func smallObjects(way: Way) throws {
        let recordID = ArchiveSamples.recordID
        #expect(try way.decode(CKRecord.ID.self, from: ArchiveSamples.archive(recordID)) == recordID)
        let zoneID = ArchiveSamples.zoneID
        #expect(try way.decode(CKRecordZone.ID.self, from: ArchiveSamples.archive(zoneID)) == zoneID)
        for action in [CKRecord.ReferenceAction.none, .deleteSelf] {
            let reference = CKRecord.Reference(recordID: recordID, action: action)
            #expect(try way.decode(CKRecord.Reference.self, from: ArchiveSamples.archive(reference)) == reference)
        }
        let place = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: -1, longitude: 2), altitude: 3, horizontalAccuracy: 4,
            verticalAccuracy: 5, course: 6, speed: 7, timestamp: Date(timeIntervalSinceReferenceDate: 8))
        #expect(try way.decode(CLLocation.self, from: ArchiveSamples.archive(place)) == place)
        let zone = CKRecordZone(zoneID: zoneID)
        zone.encryptionScope = .perZone
        let decoded = try way.decode(CKRecordZone.self, from: ArchiveSamples.archive(zone))
        #expect(decoded.zoneID == zoneID)
        #expect(decoded.encryptionScope == .perZone)
        #expect(decoded.capabilities.isEmpty)
        let lookup = CKUserIdentity.LookupInfo(emailAddress: "a@example.com")
        #expect(try way.decode(CKUserIdentity.LookupInfo.self, from: ArchiveSamples.archive(lookup)) == lookup)
    }

    @Test("a person round-trips with every part of the name", arguments: Way.allCases)
    func person(way: Way) throws {
        var name = PersonNameComponents()
        (name.givenName, name.familyName) = ("Zo\u{EB}", "Zoe\u{308}")
        let identity = CKUserIdentity(
            userRecordID: ArchiveSamples.recordID, lookupInfo: CKUserIdentity.LookupInfo(emailAddress: "a@example.com"),
            nameComponents: name, hasiCloudAccount: true)
        let decoded = try way.decode(CKUserIdentity.self, from: ArchiveSamples.archive(identity))
        #expect(decoded.userRecordID == ArchiveSamples.recordID)
        #expect(decoded.hasiCloudAccount)
        #expect(decoded.lookupInfo == identity.lookupInfo)
        #expect(decoded.nameComponents?.givenName?.unicodeScalars.count == 3)
        #expect(decoded.nameComponents?.familyName?.unicodeScalars.count == 4)
    }

    @Test("a name that a client archives by itself round-trips, as Foundation's class")
    func name() throws {
        let name = NSPersonNameComponents()
        (name.givenName, name.nickname) = ("Zo\u{EB}", "Zo")
        let data = try ArchiveSamples.archive(name)
        let decoded = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPersonNameComponents.self, from: data)
        #expect(decoded == name)
        let again = try ArchiveSamples.archive(try #require(decoded))
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPersonNameComponents.self, from: again) == name)
        #expect(decoded.map { $0 as PersonNameComponents }?.nickname == "Zo")
    }

    @Test("[O-12] a group of operations round-trips with its settings", arguments: Way.allCases)
    func group(way: Way) throws {
        let group = CKOperationGroup()
        group.name = "Sync \u{E9}"
        group.quantity = 3
        group.expectedSendSize = .megabytes
        group.defaultConfiguration.timeoutIntervalForRequest = 7
        group.defaultConfiguration.qualityOfService = .utility
        let decoded = try way.decode(CKOperationGroup.self, from: ArchiveSamples.archive(group))
        #expect(decoded.operationGroupID == group.operationGroupID)
        #expect(decoded.name == group.name)
        #expect(decoded.quantity == 3)
        #expect(decoded.expectedSendSize == .megabytes)
        #expect(decoded.defaultConfiguration.timeoutIntervalForRequest == 7)
        #expect(decoded.defaultConfiguration.qualityOfService == .utility)
    }

    @Test("an array of identifiers decodes in both ways")
    func array() throws {
        let zoneIDs = [ArchiveSamples.zoneID, CKRecordZone.ID.default]
        let data = try ArchiveSamples.archive(zoneIDs as NSArray)
        let classes: [AnyClass] = [NSArray.self, CKRecordZone.ID.self]
        let decoded = try NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: data)
        #expect(decoded as? [CKRecordZone.ID] == zoneIDs)
        #expect(try StratusArchive.decodeArray(of: CKRecordZone.ID.self, from: data) == zoneIDs)
    }

    @Test("a misuse is archived with the record")
    func misuse() throws {
        let record = CKRecord(recordType: "Note")
        record["bad key"] = 1
        let decoded = try StratusArchive.decode(CKRecord.self, from: ArchiveSamples.archive(record))
        #expect(decoded.allKeys().isEmpty)
    }
}
