// Archives that Apple's systems wrote, with personal details replaced: what each decodes to, in both ways.

import Foundation
import StratusTesting
import Testing

@testable import StratusKit

/// The archives next to this file.
enum RealArchive: String, CaseIterable {
    case record
    case unsavedRecord = "record-unsaved"
    case shareOfOwner = "share-of-owner"
    case shareMetadata = "share-metadata"
    case participant
    case zones

    var data: Data {
        get throws {
            let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Apple")
            return try Data(contentsOf: folder.appendingPathComponent("\(rawValue).plist"))
        }
    }
}

@Suite("archives of Apple's systems") struct RealArchiveTests {
    private typealias Way = ArchivingTests.Way

    @Test("[X-29] a record decodes with its tag, dates and users", arguments: ArchivingTests.Way.allCases)
    func systemFields(way: ArchivingTests.Way) throws {
        let record = try way.decode(CKRecord.self, from: RealArchive.record.data)
        #expect(record.recordType == "Person")
        #expect(record.recordID == CKRecord.ID(recordName: "EB540BA2-7AF8-348D-184E-834F51BD6ECD"))
        #expect(record.recordChangeTag == "9c2ce507")
        #expect(record.creationDate == Date(timeIntervalSinceReferenceDate: 547_826_405.465))
        #expect(record.modificationDate == Date(timeIntervalSinceReferenceDate: 547_826_453.433))
        #expect(record.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(record.parent == nil)
        #expect(record.share == nil)
    }

    @Test("[X-29] a record decodes with all of its values, and without changes", arguments: ArchivingTests.Way.allCases)
    func values(way: ArchivingTests.Way) throws {
        let record = try way.decode(CKRecord.self, from: RealArchive.record.data)
        #expect(record.allKeys() == ["age", "avatar", "isDeveloper", "name", "website"])
        #expect(record.changedKeys().isEmpty)
        #expect(record.encryptedValues.allKeys().isEmpty)
        #expect(record["age"] as? Int == 26)
        #expect(record["website"] as? String == "https://example.com/page")
        #expect(record["name"] as? String == "Ada Example")
        #expect(record["isDeveloper"] as? Int == 1)
    }

    @Test("[X-27] an asset decodes with its size and no path", arguments: ArchivingTests.Way.allCases)
    func asset(way: ArchivingTests.Way) throws {
        let record = try way.decode(CKRecord.self, from: RealArchive.record.data)
        let asset = try #require(record["avatar"] as? CKAsset)
        #expect(asset.fileURL == nil)
        #expect(asset.description == "<CKAsset: no file, 931862 bytes>")
        #expect(asset.appleContent?.paddedByteCount == 931_862)
        #expect(asset.appleContent?.signature?.count == 21)
        #expect(asset.appleContent?.uuid == "6FFF815F-90A1-255C-9C1F-99322A4893CD")
    }

    @Test("[X-29] the decoded values are the record's ancestor", arguments: ArchivingTests.Way.allCases)
    func ancestor(way: ArchivingTests.Way) throws {
        let record = try way.decode(CKRecord.self, from: RealArchive.record.data)
        record["age"] = 27
        #expect(record.changedKeys() == ["age"])
        #expect(record.makeAncestor()["age"] as? Int == 26)
    }

    @Test(
        "[X-27] a record that was never saved fails because of its asset", .stratus,
        arguments: ArchivingTests.Way.allCases)
    func unsaved(way: ArchivingTests.Way) async throws {
        let record = try way.decode(CKRecord.self, from: RealArchive.unsavedRecord.data)
        #expect(record.recordChangeTag == nil)
        #expect(record.changedKeys() == ["age", "avatar", "isDeveloper", "name", "website"])
        let database = CKContainer.default().privateCloudDatabase
        let error = await #expect(throws: CKError.self) { try await database.save(record) }
        #expect(error?.code == .assetFileNotFound)
    }

    @Test("[X-29] without its asset the record is saved, and the other four values are written", .stratus)
    func saved() async throws {
        let record = try StratusArchive.decode(CKRecord.self, from: RealArchive.unsavedRecord.data)
        record["avatar"] = nil
        let database = CKContainer.default().privateCloudDatabase
        try await database.save(record)
        let fetched = try await database.record(for: record.recordID)
        #expect(fetched.allKeys() == ["age", "isDeveloper", "name", "website"])
        #expect(fetched["name"] as? String == "Ada Example")
    }

    @Test("[X-29] a share of the current user decodes with title, participants and names", arguments: Way.allCases)
    func share(way: ArchivingTests.Way) throws {
        let share = try way.decode(CKShare.self, from: RealArchive.shareOfOwner.data)
        #expect(share[CKShare.SystemFieldKey.title] as? String == "Cleo")
        #expect(share.recordID.zoneID.zoneName == "Chats")
        #expect(share.recordChangeTag == "cr")
        #expect(share.participants.map(\.role) == [.owner, .privateUser, .privateUser])
        #expect(share.participants.allSatisfy { $0.acceptanceStatus == .accepted })
        #expect(share.participants.allSatisfy { $0.permission == .readWrite })
        // The second name is as in the archive.
        let names = share.participants.map { $0.userIdentity.nameComponents }
        #expect(names.map { $0?.givenName } == ["Ada", "Ada", "Bert"])
        #expect(names.map { $0?.familyName } == ["Example", "Example", "Sample"])
        #expect(share.owner.userIdentity.lookupInfo?.emailAddress == "person2@example.com")
        #expect(share.currentUserParticipant?.participantID == share.owner.participantID)
        #expect(share.publicPermission == .none)
        #expect(share.changedKeys().isEmpty)
    }

    @Test("[X-29] a share has the participants of its last fetch", arguments: ArchivingTests.Way.allCases)
    func fetchedParticipants(way: ArchivingTests.Way) throws {
        let share = try way.decode(CKShare.self, from: RealArchive.shareOfOwner.data)
        share.removeParticipant(share.participants[2])
        #expect(share.participants.count == 2)
        #expect((share.makeAncestor() as? CKShare)?.participants.count == 3)
    }

    @Test(
        "[X-29] metadata decodes with share, root, container, owner and caller", arguments: ArchivingTests.Way.allCases)
    func metadata(way: ArchivingTests.Way) throws {
        let metadata = try way.decode(CKShare.Metadata.self, from: RealArchive.shareMetadata.data)
        #expect(metadata.containerIdentifier == "iCloud.com.example.App")
        #expect(metadata.share[CKShare.SystemFieldKey.title] as? String == "Ada Example")
        let root = try #require(metadata.hierarchicalRootRecordID)
        #expect(root.recordName == "76205C5B-D9F5-62E6-22D7-0A6D88CBC61C")
        #expect(root.zoneID == metadata.share.recordID.zoneID)
        #expect(root.zoneID.zoneName == "Chats")
        #expect(metadata.facts.rootType == "Chat")
        #expect(metadata.rootRecord == nil)
        #expect(metadata.participantRole.rawValue == 3)
        #expect(metadata.participantStatus.rawValue == 1)
        #expect(metadata.participantPermission.rawValue == 3)
        let owner = metadata.ownerIdentity
        #expect(owner.nameComponents?.givenName == "Ada")
        #expect(owner.nameComponents?.familyName == "Example")
        #expect(owner.lookupInfo?.emailAddress == "person2@example.com")
        let caller = metadata.share.currentUserParticipant
        #expect(caller?.userIdentity.userRecordID?.recordName == "_e7c17922bda8c440090caddb0cf4977a")
        #expect(caller?.role == .privateUser)
        #expect(caller?.acceptanceStatus == .pending)
    }

    @Test("[X-29] a participant with an incomplete name decodes", arguments: ArchivingTests.Way.allCases)
    func participant(way: ArchivingTests.Way) throws {
        let participant = try way.decode(CKShare.Participant.self, from: RealArchive.participant.data)
        #expect(participant.userIdentity.nameComponents == PersonNameComponents())
        #expect(participant.userIdentity.userRecordID?.recordName == "_4c802e75d7aaa04fbb2f59b238ee547c")
        #expect(participant.userIdentity.hasiCloudAccount)
        #expect(participant.role == .privateUser)
        #expect(participant.permission == .readOnly)
    }

    @Test("[X-29] zones decode with their capabilities")
    func zones() throws {
        let data = try RealArchive.zones.data
        let byFoundation = try NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClass: CKRecordZone.self, from: data)
        for zones in [try #require(byFoundation), try StratusArchive.decodeArray(of: CKRecordZone.self, from: data)] {
            #expect(zones.map(\.zoneID.zoneName) == ["someZone1", "someZone2"])
            #expect(zones.map(\.zoneID.ownerName) == ["someOwner", "someOwner"])
            #expect(zones.map(\.capabilities.rawValue) == [15, 15])
        }
    }

    @Test("[C-06] a decoded record is archived by Foundation and decodes with its values", arguments: Way.allCases)
    func again(way: ArchivingTests.Way) throws {
        let record = try way.decode(CKRecord.self, from: RealArchive.record.data)
        let decoded = try way.decode(CKRecord.self, from: ArchiveSamples.archive(record))
        #expect(decoded.allKeys() == record.allKeys())
        #expect(decoded["age"] as? Int == 26)
        let asset = record["avatar"] as? CKAsset
        #expect((decoded["avatar"] as? CKAsset)?.appleContent == asset?.appleContent)
        #expect(asset?.appleContent != nil)

        let metadata = try way.decode(CKShare.Metadata.self, from: RealArchive.shareMetadata.data)
        let decodedMetadata = try way.decode(CKShare.Metadata.self, from: ArchiveSamples.archive(metadata))
        #expect(decodedMetadata == metadata)
    }
}
