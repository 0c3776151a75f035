// Archives that StratusArchive writes in Apple's format: they round-trip, and equal objects give equal bytes.

import Foundation
import StratusCloud
import StratusModel
import StratusStore
import StratusTesting
import Testing

@testable import StratusKit

@Suite("archives in Apple's format") struct WrittenArchiveTests {
    private typealias Way = ArchivingTests.Way

    /// The objects of an archive.
    private static func objects(of data: Data) throws -> [PropertyValue] {
        try BinaryPropertyList.value(of: data).dictionary?["$objects"]?.array ?? []
    }

    /// The object that an archive is of.
    private static func root(of data: Data) throws -> [String: PropertyValue] {
        try objects(of: data)[1].dictionary ?? [:]
    }

    /// The archive without our own keys, as Apple's systems see it.
    private static func withoutOwnKeys(_ data: Data) throws -> Data {
        func stripped(_ value: PropertyValue) -> PropertyValue {
            switch value {
            case .array(let values): .array(values.map(stripped))
            case .dictionary(let pairs):
                .dictionary(pairs.filter { !$0.key.hasPrefix("Stratus") }.mapValues(stripped))
            default: value
            }
        }
        return BinaryPropertyListWriter.data(of: stripped(try BinaryPropertyList.value(of: data)))
    }

    @Test("[C-06] a record round-trips with its values and changes", arguments: ArchivingTests.Way.allCases)
    func record(way: ArchivingTests.Way) throws {
        let record = ArchiveSamples.record()
        let decoded = try way.decode(CKRecord.self, from: StratusArchive.data(of: record))
        #expect(decoded.recordID == record.recordID)
        #expect(decoded.recordType == "Note")
        #expect(decoded.parent == record.parent)
        #expect(decoded.allKeys() == record.allKeys())
        #expect(decoded.changedKeys() == record.changedKeys())
        #expect(decoded.encryptedValues.changedKeys() == ["secret"])
        #expect(decoded.encryptedValues["secret"] as? String == "s")
        for key in record.allKeys() where key != "asset" { #expect(record[key]?.isEqual(decoded[key]) == true) }
        #expect((decoded["double"] as? NSNumber)?.stringValue == "2.5")
        #expect((decoded["asset"] as? CKAsset)?.fileURL == nil)
        #expect(decoded["strings"] as? [String] == ["a", "b"])
    }

    @Test(
        "[C-06] integers and floating-point numbers of equal value keep their type",
        arguments: ArchivingTests.Way.allCases)
    func numbers(way: ArchivingTests.Way) throws {
        let record = CKRecord(recordType: "Note")
        let integers: [Int64] = [0, 1, -1, 255, 256, 65_536, 1 << 40, .max, .min]
        let numbers = [0.0, -0.0, 1, 2.5, -1e300, .infinity]
        for (index, integer) in integers.enumerated() { record["integer\(index)"] = integer }
        for (index, number) in numbers.enumerated() { record["number\(index)"] = number }
        let decoded = try way.decode(CKRecord.self, from: StratusArchive.data(of: record))
        for (index, integer) in integers.enumerated() {
            #expect((decoded["integer\(index)"] as? NSNumber)?.stringValue == "\(integer)")
        }
        for (index, number) in numbers.enumerated() {
            #expect((decoded["number\(index)"] as? NSNumber)?.doubleValue.bitPattern == number.bitPattern)
        }
        #expect(decoded.parts.fields.values.count { if case .double = $0.value { true } else { false } } == 6)
    }

    @Test("[C-06] texts in two normalisations stay different, and a text named like nil stays a text")
    func texts() throws {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "\u{E9}"))
        let texts = ["\u{E9}", "e\u{301}", "$null", "", String(repeating: "ä", count: 300)]
        record["texts"] = texts
        let data = try StratusArchive.data(of: record)
        let decoded = try StratusArchive.decode(CKRecord.self, from: data)["texts"] as? [String]
        #expect(decoded?.map { Array($0.unicodeScalars) } == texts.map { Array($0.unicodeScalars) })
    }

    @Test("[S-05] the fetched values round-trip too", .stratus, arguments: ArchivingTests.Way.allCases)
    func originals(way: ArchivingTests.Way) async throws {
        let database = CKContainer.default().privateCloudDatabase
        let record = CKRecord(recordType: "Note")
        (record["kept"], record["changed"], record["removed"]) = (1, 1, 1)
        let saved = try await database.save(record)
        (saved["changed"], saved["removed"], saved["added"]) = (2, nil, 2)
        let decoded = try way.decode(CKRecord.self, from: StratusArchive.data(of: saved))
        #expect(decoded.recordChangeTag == saved.recordChangeTag)
        #expect(decoded.allKeys() == ["added", "changed", "kept"])
        #expect(decoded.changedKeys() == ["added", "changed", "removed"])
        #expect(decoded.makeAncestor().allKeys() == ["changed", "kept", "removed"])
        #expect(decoded.makeAncestor()["changed"] as? Int == 1)
        try await database.save(decoded)
        let fetched = try await database.record(for: record.recordID)
        #expect(fetched.allKeys() == ["added", "changed", "kept"])
        #expect(fetched["changed"] as? Int == 2)
    }

    @Test("[X-23] a record keeps the mark of the account that fetched it", .stratus)
    func origin() async throws {
        let saved = try await CKContainer.default().privateCloudDatabase.save(CKRecord(recordType: "Note"))
        let decoded = try StratusArchive.decode(CKRecord.self, from: StratusArchive.data(of: saved))
        let other = CKContainer(identifier: "iCloud.com.example.other").privateCloudDatabase
        let error = await #expect(throws: CKError.self) { try await other.save(decoded) }
        #expect(error?.code == .invalidArguments)
    }

    @Test("[X-25] a misuse stays in the archive")
    func misuse() throws {
        let record = CKRecord(recordType: "Note")
        record["bad key"] = 1
        let decoded = try StratusArchive.decode(CKRecord.self, from: StratusArchive.data(of: record))
        #expect(decoded.parts.misuse == record.parts.misuse)
        #expect(decoded.parts.misuse != nil)
    }

    @Test(
        "[X-29] a share round-trips with its participants and changes, also without Stratus's own keys",
        arguments: [true, false])
    func share(isWhole: Bool) throws {
        let sharing = ShareSamples.sharing([
            ShareSamples.told("bob", email: "bob@example.com", user: "_bob", status: .accepted),
            ShareSamples.told("zoe", phone: "+49 123"),
        ])
        let share = ShareSamples.share(sharing)
        share.participants[1].permission = .readWrite
        share.addParticipant(ShareSamples.person("fay", email: "fay@example.com"))
        share.removeParticipant(share.participants[2])
        share["cloudkit.title"] = "Späti"
        let data = try StratusArchive.data(of: share)
        for way in Way.allCases {
            let decoded = try way.decode(CKShare.self, from: isWhole ? data : Self.withoutOwnKeys(data))
            #expect(decoded.participants.map(\.participantID) == ["owner", "bob", "fay"])
            #expect(decoded.participants[1].permission == .readWrite)
            #expect(decoded.participants[1].userIdentity.nameComponents?.givenName == "bob")
            #expect(decoded.currentUserParticipant?.role == .owner)
            #expect(decoded["cloudkit.title"] as? String == "Späti")
            #expect(decoded.url == share.url)
            #expect(decoded.claim?.participants == share.claim?.participants)
            #expect((decoded.makeAncestor() as? CKShare)?.participants.map(\.participantID) == ["owner", "bob", "zoe"])
        }
    }

    @Test("[X-29] metadata round-trips, also without Stratus's own keys", arguments: [true, false])
    func metadata(isWhole: Bool) throws {
        let metadata = ShareSamples.metadata(ShareSamples.metadata())
        let data = try StratusArchive.data(of: metadata)
        for way in Way.allCases {
            let decoded = try way.decode(CKShare.Metadata.self, from: isWhole ? data : Self.withoutOwnKeys(data))
            #expect(decoded.containerIdentifier == metadata.containerIdentifier)
            #expect(decoded.hierarchicalRootRecordID == metadata.hierarchicalRootRecordID)
            #expect(decoded.participantRole == metadata.participantRole)
            #expect(decoded.ownerIdentity.nameComponents == metadata.ownerIdentity.nameComponents)
            if isWhole { #expect(decoded == metadata) }
        }
    }

    @Test("[X-29] an archive written by Apple's systems is written again with everything that was read")
    func realArchives() throws {
        for archive in [RealArchive.record, .unsavedRecord] {
            let first = try StratusArchive.decode(CKRecord.self, from: archive.data)
            let data = try StratusArchive.data(of: first)
            #expect(try StratusArchive.data(of: StratusArchive.decode(CKRecord.self, from: data)) == data)
            let root = try Self.root(of: archive.data), written = try Self.root(of: data)
            #expect(written.keys.allSatisfy { root[$0] != nil || $0.hasPrefix("Stratus") })
        }
        let share = try StratusArchive.data(
            of: StratusArchive.decode(CKShare.self, from: RealArchive.shareOfOwner.data))
        #expect(try StratusArchive.data(of: StratusArchive.decode(CKShare.self, from: share)) == share)
        let metadata = try StratusArchive.decode(CKShare.Metadata.self, from: RealArchive.shareMetadata.data)
        let data = try StratusArchive.data(of: metadata)
        #expect(try StratusArchive.decode(CKShare.Metadata.self, from: data) == metadata)
        #expect(
            try StratusArchive.decode(CKShare.Metadata.self, from: Self.withoutOwnKeys(data)).facts.rootType == "Chat")
    }

    @Test("[X-29] identifiers, zones, locations, people and tokens round-trip", arguments: Way.allCases)
    func smallObjects(way: ArchivingTests.Way) throws {
        func copy<Object: NSObject & NSSecureCoding>(_ object: Object) throws -> Object {
            try way.decode(Object.self, from: StratusArchive.data(of: object))
        }
        #expect(try copy(ArchiveSamples.recordID) == ArchiveSamples.recordID)
        #expect(try copy(ArchiveSamples.zoneID) == ArchiveSamples.zoneID)
        let reference = CKRecord.Reference(recordID: ArchiveSamples.recordID, action: .deleteSelf)
        #expect(try copy(reference) == reference)
        let place = CLLocation(latitude: 1.5, longitude: -2)
        #expect(try copy(place) == place)
        let token = CKServerChangeToken([1, 2, 3])
        #expect(try copy(token) == token)
        let lookup = CKUserIdentity.LookupInfo(userRecordID: ArchiveSamples.recordID)
        #expect(try copy(lookup) == lookup)
        let zone = CKRecordZone(zoneID: ArchiveSamples.zoneID)
        zone.encryptionScope = .perZone
        #expect(try copy(zone).encryptionScope == .perZone)
        var name = PersonNameComponents(), phonetic = PersonNameComponents()
        (name.givenName, name.nickname, phonetic.givenName) = ("Zo\u{EB}", "Zo", "Soe")
        name.phoneticRepresentation = phonetic
        let person = CKUserIdentity(
            userRecordID: nil, lookupInfo: lookup, nameComponents: name, hasiCloudAccount: true)
        let decoded = try copy(person)
        #expect(decoded.nameComponents == name)
        #expect(decoded.nameComponents?.phoneticRepresentation == phonetic)
        #expect(decoded.hasiCloudAccount)
        #expect(decoded.lookupInfo == lookup)
    }

    @Test("[X-29] queries, subscriptions and groups of operations round-trip", arguments: Way.allCases)
    func ownObjects(way: ArchivingTests.Way) throws {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "a = %@", "ä"))
        let decodedQuery = try way.decode(CKQuery.self, from: StratusArchive.data(of: query))
        #expect(decodedQuery.predicate.isEqual(query.predicate))
        let subscription = CKDatabaseSubscription(subscriptionID: "s")
        subscription.notificationInfo = CKSubscription.NotificationInfo(alertBody: "hello")
        let decoded = try way.decode(CKDatabaseSubscription.self, from: StratusArchive.data(of: subscription))
        #expect(decoded.subscriptionID == "s")
        #expect(decoded.notificationInfo?.alertBody == "hello")
        let group = CKOperationGroup()
        group.name = "Sync"
        #expect(try way.decode(CKOperationGroup.self, from: StratusArchive.data(of: group)).name == "Sync")
    }

    @Test("[X-29] an array round-trips in its order")
    func array() throws {
        let zoneIDs = [ArchiveSamples.zoneID, CKRecordZone.ID.default, ArchiveSamples.zoneID]
        let data = try StratusArchive.data(of: zoneIDs)
        #expect(try StratusArchive.decodeArray(of: CKRecordZone.ID.self, from: data) == zoneIDs)
        #expect(try NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClass: CKRecordZone.ID.self, from: data) == zoneIDs)
    }

    @Test("[X-29] the names of classes and keys are Apple's")
    func names() throws {
        let data = try StratusArchive.data(of: ArchiveSamples.record())
        let objects = try Self.objects(of: data)
        let names = objects.compactMap { $0.dictionary?["$classname"]?.string }
        #expect(names.contains("CKRecordValueStore"))
        #expect(names.contains("CKEncryptedRecordValueStore"))
        #expect(names.allSatisfy { $0.hasPrefix("CK") || $0.hasPrefix("CL") || $0.hasPrefix("NS") })
        #expect(try Self.root(of: data)["RecordType"] != nil)
        let lists = try Self.objects(of: StratusArchive.data(of: ShareSamples.share(ShareSamples.sharing())))
            .compactMap { $0.dictionary?["$classname"]?.string }
        #expect(lists.contains("NSMutableArray"))
        #expect(!lists.contains("NSArray"))
    }

    @Test("[X-29] equal objects give equal bytes, however they were created")
    func equalBytes() throws {
        let date = Date(timeIntervalSinceReferenceDate: 5)
        func record(keys: [String]) -> CKRecord {
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
            for key in keys { record[key] = key }
            record["date"] = date
            return record
        }
        let keys = (0..<40).map { "key\($0)" }
        let data = try StratusArchive.data(of: record(keys: keys))
        #expect(try StratusArchive.data(of: record(keys: keys.reversed())) == data)
        let decoded = try StratusArchive.decode(CKRecord.self, from: data)
        #expect(try StratusArchive.data(of: decoded) == data)
        let id = CKRecord.ID(recordName: "a")
        let shared = try StratusArchive.data(of: [id, id])
        #expect(try StratusArchive.data(of: [id, CKRecord.ID(recordName: "a")]) == shared)
    }

    @Test("[X-29] a set of anything but texts is refused, and not written as empty")
    func sets() {
        for set in [NSSet(array: [1, 2]), NSSet(array: [CKRecord.ID(recordName: "a")])] {
            let error = #expect(throws: StratusArchiveError.self) { try StratusArchive.data(of: set) }
            #expect(error?.code == .notArchivable)
        }
    }

    @Test(
        "[X-29] a number that no record can hold and a duplicate key are damage, and not read as something else"
    )
    func unreadable() throws {
        let large = try PropertyListSerialization.data(
            fromPropertyList: ["age": NSNumber(value: UInt64.max)], format: .binary, options: 0)
        #expect(throws: StratusArchiveError.self) { try BinaryPropertyList.value(of: large) }
        // A dictionary with the keys "a" and "b"; the second is changed to "a", too.
        var twice = try PropertyListSerialization.data(
            fromPropertyList: ["a": "x", "b": "y"], format: .binary, options: 0)
        #expect(throws: Never.self) { try BinaryPropertyList.value(of: twice) }
        let place = try #require(twice.range(of: Data([0x51, UInt8(ascii: "b")]))?.lowerBound)
        twice[place + 1] = UInt8(ascii: "a")
        #expect(throws: StratusArchiveError.self) { try BinaryPropertyList.value(of: twice) }
    }

    @Test("[X-29] an object of a class that does not occur in archives is refused by name")
    func refused() throws {
        do throws(StratusArchiveError) {
            _ = try StratusArchive.data(of: NSUUID())
            Issue.record("a UUID was archived")
        } catch {
            #expect(error.code == .notArchivable)
            #expect(error.fields["class"]?.contains("UUID") == true)
        }
    }
}
