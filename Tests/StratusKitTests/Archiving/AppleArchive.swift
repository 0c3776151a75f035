// A writer of binary keyed archives, so that tests can create archives that Foundation on Linux does not write: with
// Apple's class names, and wrong ones.

import Foundation

/// A property list to be written.
indirect enum TestList: Sendable {
    case text(String)
    case integer(Int64)
    case real(Double)
    case flag(Bool)
    case bytes([UInt8])
    case reference(Int)
    case array([TestList])
    case dictionary([(String, TestList)])
}

enum AppleArchive {
    /// What `encodeSystemFields(with:)` writes.
    static var systemFields: Data { archive(objects: recordObjects, top: recordTop) }

    /// The objects of a record.
    static var recordObjects: [TestList] {
        [
            .text("$null"), .text("Note"), .text("k3"),
            .dictionary([("$class", .reference(9)), ("RecordName", .reference(5)), ("ZoneID", .reference(4))]),
            .dictionary([
                ("$class", .reference(10)), ("ZoneName", .reference(6)), ("ownerName", .reference(7)),
                ("UnknownObject", .reference(0)), ("UnknownNumber", .integer(0)), ("UnknownFlag", .flag(false)),
            ]),
            .text("n1"), .text("Notes"), .text("__defaultOwner__"),
            .dictionary([("$class", .reference(11)), ("NS.time", .real(100))]),
            .className("CKRecordID"), .className("CKRecordZoneID"), .className("NSDate"),
            .dictionary([("$class", .reference(11)), ("NS.time", .real(200))]),
            .dictionary([("$class", .reference(9)), ("RecordName", .reference(14)), ("ZoneID", .reference(15))]),
            .text("_me"),
            .dictionary([("$class", .reference(10)), ("ZoneName", .reference(16)), ("ownerName", .reference(7))]),
            .text("_defaultZone"),
            .dictionary([("$class", .reference(18)), ("recordID", .reference(3)), ("referenceAction", .integer(0))]),
            .className("CKReference"),
            .dictionary([("$class", .reference(20)), ("Unknown", .integer(1))]), .className("CKSomethingUnknown"),
            .bytes([1, 2, 3]),
        ]
    }

    /// The keys of a record.
    static var recordTop: [(String, TestList)] {
        [
            ("RecordType", .reference(1)), ("RecordID", .reference(3)), ("ETag", .reference(2)),
            ("RecordCtime", .reference(8)), ("RecordMtime", .reference(12)), ("CreatorUserRecordID", .reference(13)),
            ("ParentReference", .reference(17)), ("ShareReference", .reference(0)), ("KnownToServer", .flag(true)),
            ("ZoneishKeyID", .reference(21)), ("MutableEncryptedPublicSharingKey", .reference(19)),
        ]
    }

    /// A record's identifier.
    static var recordID: Data {
        let objects: [TestList] = [
            .text("$null"),
            .dictionary([("$class", .reference(3)), ("RecordName", .reference(4)), ("ZoneID", .reference(2))]),
            .dictionary([
                ("$class", .reference(5)), ("ZoneName", .reference(6)), ("ownerName", .reference(7)),
            ]),
            .className("CKRecordID"), .text("n1"), .className("CKRecordZoneID"), .text("Notes"),
            .text("__defaultOwner__"),
        ]
        return archive(objects: objects, top: [("root", .reference(1))])
    }

    /// The objects of a share with two participants: the share is 1, the guest 2.
    static var shareObjects: [TestList] {
        func person(_ id: Int, _ identity: Int, role: Int64, permission: Int64) -> TestList {
            .dictionary([
                ("$class", .reference(5)), ("ParticipantID", .reference(id)), ("UserIdentity", .reference(identity)),
                ("Type", .integer(role)), ("Permission", .integer(permission)), ("AcceptanceStatus", .integer(2)),
                ("IsCurrentUser", .flag(false)), ("InvitationToken", .reference(0)),
            ])
        }
        func identity(_ user: Int, _ lookup: Int) -> TestList {
            .dictionary([
                ("$class", .reference(6)), ("UserRecordID", .reference(user)), ("LookupInfo", .reference(lookup)),
                ("HasICloudAccount", .flag(true)), ("NameComponents", .reference(0)),
            ])
        }
        func recordID(_ name: Int) -> TestList {
            .dictionary([("$class", .reference(7)), ("RecordName", .reference(name)), ("ZoneID", .reference(9))])
        }
        return [
            .text("$null"),
            .dictionary([
                ("$class", .reference(8)), ("RecordType", .reference(24)), ("RecordID", .reference(20)),
                ("RootRecordID", .reference(21)), ("ETag", .reference(25)), ("Participants", .reference(4)),
                ("PublicPermission", .integer(2)), ("URL", .reference(26)),
            ]),
            person(11, 14, role: 3, permission: 3), person(10, 13, role: 1, permission: 3),
            .dictionary([("$class", .reference(28)), ("NS.objects", .array([.reference(3), .reference(2)]))]),
            .className("CKShareParticipant"), .className("CKUserIdentity"), .className("CKRecordID"),
            .className("CKShare"),
            .dictionary([
                ("$class", .reference(12)), ("ZoneName", .reference(22)), ("ownerName", .reference(23)),
                ("databaseScopeKey", .integer(0)),
            ]),
            .text("owner"), .text("guest"), .className("CKRecordZoneID"), identity(16, 0), identity(17, 15),
            .dictionary([
                ("$class", .reference(19)), ("EmailAddress", .reference(18)), ("RecordID", .reference(17)),
            ]), recordID(23),
            recordID(29), .text("bob@example.com"), .className("CKUserIdentityLookupInfo"), recordID(30), recordID(31),
            .text("Notes"), .text("__defaultOwner__"), .text("cloudkit.share"), .text("4c"),
            .dictionary([
                ("$class", .reference(27)), ("NS.base", .reference(0)), ("NS.relative", .reference(32)),
            ]), .className("NSURL"), .className("NSMutableArray"), .text("_bob"), .text("share-1"), .text("root"),
            .text("https://www.icloud.com/share/0abc"),
        ]
    }

    static func archive(objects: [TestList], top: [(String, TestList)]) -> Data {
        PropertyListWriter.data(
            of: .dictionary([
                ("$version", .integer(100_000)), ("$archiver", .text("NSKeyedArchiver")), ("$top", .dictionary(top)),
                ("$objects", .array(objects)),
            ]))
    }
}

extension TestList {
    /// The description of a class.
    static func className(_ name: String) -> TestList {
        .dictionary([("$classname", .text(name)), ("$classes", .array([.text(name), .text("NSObject")]))])
    }
}

/// Writes binary property lists with two bytes for every offset and object number.
struct PropertyListWriter {
    private var objects: [[UInt8]] = []

    static func data(of list: TestList) -> Data {
        var writer = PropertyListWriter()
        let top = writer.add(list)
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in writer.objects {
            offsets.append(bytes.count)
            bytes += object
        }
        let table = bytes.count
        for offset in offsets { bytes += big(offset, 4) }
        bytes += [0, 0, 0, 0, 0, 0, 4, 2]
        bytes += big(offsets.count, 8) + big(top, 8) + big(table, 8)
        return Data(bytes)
    }

    static func big(_ number: Int, _ byteCount: Int) -> [UInt8] {
        (0..<byteCount).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    private static func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
        count < 15 ? [kind << 4 | UInt8(count)] : [kind << 4 | 0xF, 0x13] + big(count, 8)
    }

    private mutating func add(_ list: TestList) -> Int {
        let index = objects.count
        objects.append([])
        switch list {
        case .text(let text):
            let units = Array(text.utf16)
            objects[index] =
                units.allSatisfy { $0 < 0x80 }
                ? Self.head(0x5, units.count) + units.map { UInt8($0) }
                : Self.head(0x6, units.count) + units.flatMap { Self.big(Int($0), 2) }
        case .integer(let number): objects[index] = [0x13] + Self.big(Int(number), 8)
        case .real(let number): objects[index] = [0x23] + Self.big(Int(bitPattern: UInt(number.bitPattern)), 8)
        case .flag(let flag): objects[index] = [flag ? 0x09 : 0x08]
        case .bytes(let bytes): objects[index] = Self.head(0x4, bytes.count) + bytes
        case .reference(let number): objects[index] = [0x81] + Self.big(number, 2)
        case .array(let values):
            let members = values.map { add($0) }
            objects[index] = Self.head(0xA, members.count) + members.flatMap { Self.big($0, 2) }
        case .dictionary(let pairs):
            let keys = pairs.map { add(.text($0.0)) }
            let values = pairs.map { add($0.1) }
            objects[index] = Self.head(0xD, pairs.count) + (keys + values).flatMap { Self.big($0, 2) }
        }
        return index
    }
}
