// Archives of invented objects: well-formed property lists whose objects name each other, classes and keys at random, so
// that what lies behind the property list is reached too.

import Foundation
import StratusKit
import StratusTestSupport
import Testing

@Suite struct InventedArchiveTests {
    private static let classNames = [
        "CKRecord", "CKRecordID", "CKRecordZoneID", "CKReference", "CKAsset", "CKRecordZone", "CLLocation",
        "CKUserIdentity", "CKUserIdentityLookupInfo", "NSArray", "NSDictionary", "NSDate", "NSString", "NSData",
        "StratusKit.CKRecord", "NSUnknown",
    ]
    private static let keys = [
        "RecordType", "RecordID", "recordID", "RecordName", "ZoneID", "ZoneName", "ownerName", "ETag", "RecordCtime",
        "RecordMtime", "CreatorUserRecordID", "LastModifiedUserRecordID", "ParentReference", "ShareReference",
        "StratusValues", "StratusEncryptedValues", "StratusBaseValues", "StratusChangedKeys", "StratusDigest",
        "StratusByteCount", "StratusParentChanged", "StratusMisuse", "UserRecordID", "LookupInfo", "EmailAddress",
        "StratusNameParts", "NS.objects", "NS.keys", "NS.time", "NS.string", "NS.data", "StratusCapabilities",
        "StratusEncryptionScope", "referenceAction", "kCLLocationCodingKeyCoordinateLatitude",
        "kCLLocationCodingKeyCoordinateLongitude", "kCLLocationCodingKeyTimestamp",
    ]

    private static func value(among count: Int, _ random: inout SplitMix64) -> TestList {
        switch random.below(10) {
        case 0...4: .reference(random.below(count + 2))
        case 5: .integer(random.element(of: [0, 1, -1, .min, .max]))
        case 6: .real(random.element(of: [0, 1.5, -1e300, .infinity, .nan]))
        case 7: .flag(random.isOne(in: 2))
        case 8: .array((0..<random.below(5)).map { _ in .reference(random.below(count)) })
        default: .text(random.element(of: keys))
        }
    }

    private static func archive(_ random: inout SplitMix64) -> Data {
        let count = classNames.count + 12 + random.below(30)
        var objects: [TestList] = [.text("$null")] + classNames.map { .className($0) }
        while objects.count < count {
            switch random.below(6) {
            case 0: objects.append(.text(random.element(of: keys)))
            case 1: objects.append(.bytes(random.bytes(count: random.element(of: [0, 5, 32]))))
            case 2: objects.append(value(among: count, &random))
            default:
                var pairs = [("$class", TestList.reference(1 + random.below(classNames.count)))]
                for key in keys where random.isOne(in: 3) { pairs.append((key, value(among: count, &random))) }
                objects.append(.dictionary(pairs))
            }
        }
        var top = keys.filter { _ in random.isOne(in: 3) }.map { ($0, value(among: count, &random)) }
        if random.isOne(in: 2) { top.append(("root", .reference(random.below(count)))) }
        return AppleArchive.archive(objects: objects, top: top)
    }

    @Test("20,000 archives of invented objects are refused or decode, and none traps", arguments: 0..<4)
    func invented(part: Int) {
        let random = SplitMix64.announced("invented archives \(part)")
        var decoded = 0
        for index in 0..<5_000 {
            var generator = random.generator(forCase: part * 5_000 + index)
            let data = Self.archive(&generator)
            if let record = try? StratusArchive.decode(CKRecord.self, from: data) {
                decoded += 1
                _ = record.map { "\($0)" }
                _ = record.copy()
                if let again = try? ArchiveSamples.archive(record) {
                    // What decoded can be archived and decodes again.
                    #expect((try? StratusArchive.decode(CKRecord.self, from: again))?.recordID == record.recordID)
                }
            }
        }
        #expect(decoded > 0)
    }
}
