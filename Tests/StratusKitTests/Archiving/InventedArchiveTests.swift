// Archives of random objects: well-formed property lists in which some objects name others, classes and keys at random,
// so that the code behind the property list is reached too.

import Foundation
import StratusKit
import StratusTestSupport
import Testing

@Suite struct InventedArchiveTests {
    private static let keys = [
        "RecordType", "RecordID", "recordID", "RecordName", "ZoneID", "ZoneName", "ownerName", "ETag", "RecordCtime",
        "RecordMtime", "CreatorUserRecordID", "LastModifiedUserRecordID", "ParentReference", "ShareReference",
        "StratusValues", "StratusEncryptedValues", "StratusBaseValues", "StratusChangedKeys", "StratusDigest",
        "StratusByteCount", "StratusParentChanged", "StratusMisuse", "UserRecordID", "LookupInfo", "EmailAddress",
        "StratusNameParts", "NS.objects", "NS.keys", "NS.time", "NS.string", "NS.data", "StratusCapabilities",
        "StratusEncryptionScope", "StratusFields", "StratusBaseFields", "Stratus.UTF8.RecordName",
        "Stratus.UTF8.ZoneName", "OperationGroupID", "StratusQualityOfService", "referenceAction",
        "kCLLocationCodingKeyCoordinateLatitude",
        "kCLLocationCodingKeyCoordinateLongitude", "kCLLocationCodingKeyTimestamp", "StratusSharing",
        "StratusEditedSharing", "StratusParticipant", "StratusShareMetadata", "StratusShareOfMetadata",
        "StratusChangeToken", "StratusPreviousChangeToken", "StratusResultsLimit", "StratusDesiredKeys",
        "StratusPredicateFormat", "StratusPredicateArguments", "StratusPredicateArgumentCount", "StratusSortOrder",
        "StratusSortPlaces", "StratusSortKey", "StratusSortLocation", "StratusCursor", "StratusSubscriptionID",
        "StratusSubscriptionInfo", "StratusSubscriptionOptions", "StratusNotificationInfo", "StratusNotificationID",
        "StratusOrigin", "ValueStore", "EncryptedValueStore", "RecordValues", "OriginalValues", "ChangedKeys",
        "AssetSize", "AssetHasSize", "NameComponents", "NS.nameComponentsPrivate", "NS.givenName",
        "NS.phoneticRepresentation", "Participants", "LastFetchedParticipants", "AddedParticipantIDs", "UserIdentity",
        "Share", "ContainerID", "ContainerIdentifier", "OwnerIdentity", "CallingParticipant", "Capabilities",
    ]

    /// A record with values, as objects: those of the system fields, and one value of each kind behind them.
    private static let objects: [TestList] = {
        let system = AppleArchive.recordObjects
        let first = system.count
        let values: [TestList] = [
            .dictionary([
                ("$class", .reference(first + 1)),
                ("NS.keys", .array([5, 6, first + 6].map { .reference($0) })),
                ("NS.objects", .array([first + 2, first + 3, first + 5].map { .reference($0) })),
            ]),
            .className("NSDictionary"),
            .dictionary([("$class", .reference(first + 4)), ("NS.objects", .array([.reference(1), .reference(2)]))]),
            .dictionary([
                ("$class", .reference(first + 7)), ("kCLLocationCodingKeyCoordinateLatitude", .real(1)),
                ("kCLLocationCodingKeyCoordinateLongitude", .real(2)),
            ]),
            .className("NSArray"), .dictionary([("$class", .reference(first + 8))]), .text("asset"),
            .className("CLLocation"), .className("CKAsset"), .className("CKRecord"), .bytes([1, 2, 3]), .integer(5),
            .className("CKOperationGroup"), .className("CKShare"), .className("CKShareMetadata"),
            .className("CKQuery"), .className("CKQueryCursor"), .className("CKLocationSortDescriptor"),
            .className("CKServerChangeToken"), .className("CKFetchRecordZoneChangesConfiguration"),
            .className("CKQuerySubscription"), .className("CKRecordZoneSubscription"),
            .className("CKNotificationInfo"), .className("CKNotificationID"), .className("CKRecordValueStore"),
            .className("CKEncryptedRecordValueStore"), .className("CKContainerID"), .className("NSMutableSet"),
            .className("NSPersonNameComponents"), .className("_NSPersonNameComponentsData"), .className("NSNull"),
            .className("CKShareParticipant"), .className("CKUserIdentity"),
            .dictionary([("$class", .reference(first + 27)), ("RecordValues", .reference(first))]),
            .dictionary([("$class", .reference(first + 31)), ("NS.givenName", .reference(5))]),
            .text("a = %@ AND b = 1"), .text("a = "),
            .bytes([1, 0, 0, 0, 1, 0x61, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0]),
        ]
        return system + values
    }()

    private static let top =
        AppleArchive.recordTop + [("StratusValues", TestList.reference(AppleArchive.recordObjects.count))]

    private static func value(_ random: inout SplitMix64) -> TestList {
        switch random.below(10) {
        case 0...5: .reference(random.below(objects.count + 1))
        case 6: .integer(random.element(of: [0, 1, -1, .min, .max]))
        case 7: .real(random.element(of: [0, 1.5, -1e300, .infinity, .nan]))
        case 8: .array((0..<random.below(5)).map { _ in .reference(random.below(objects.count)) })
        default: .text(random.element(of: keys))
        }
    }

    private static func change(_ pairs: inout [(String, TestList)], _ random: inout SplitMix64) {
        switch random.below(4) {
        case 0: pairs.append((random.element(of: keys), value(&random)))
        case 1: pairs.remove(at: random.below(pairs.count))
        default: pairs[random.below(pairs.count)].1 = value(&random)
        }
    }

    /// The archive of the record with one to four changes.
    private static func archive(_ random: inout SplitMix64) -> Data {
        var (objects, top) = (objects, top)
        for _ in 0..<1 + random.below(4) {
            let place = 1 + random.below(objects.count - 1)
            if random.isOne(in: 4) {
                change(&top, &random)
            } else if case .dictionary(var pairs) = objects[place], pairs.count > 1 {
                change(&pairs, &random)
                objects[place] = .dictionary(pairs)
            } else {
                objects[place] = value(&random)
            }
        }
        return AppleArchive.archive(objects: objects, top: top)
    }

    private static let caseCount = CaseCount.of(1_000, full: 20_000)

    @Test("archives of random objects are refused or decode, and none traps")
    func invented() async throws {
        let whole = try StratusArchive.decode(
            CKRecord.self, from: AppleArchive.archive(objects: Self.objects, top: Self.top))
        #expect(whole.allKeys() == ["Notes", "asset", "n1"])
        let random = SplitMix64.announced("invented archives")
        // This takes too long for the threads that all tests share.
        let decoded = try await TestThreads.offPool { try Self.decodedCount(random) }
        #expect((Self.caseCount / 10..<Self.caseCount * 39 / 40).contains(decoded), "\(decoded) decoded")
    }

    private static func decodedCount(_ random: SplitMix64) throws -> Int {
        var decoded = 0
        for index in 0..<Self.caseCount {
            var generator = random.generator(forCase: index)
            guard let record = try? StratusArchive.decode(CKRecord.self, from: Self.archive(&generator)) else {
                continue
            }
            decoded += 1
            _ = record.map { "\($0)" }
            // A decoded object can be archived, and decodes again.
            let again = try ArchiveSamples.archive(record)
            try #require(try StratusArchive.decode(CKRecord.self, from: again).recordID == record.recordID)
        }
        return decoded
    }
}
