// Parts of archives that Stratus does not understand: they are refused, and nothing is dropped.

import Foundation
import Testing

@testable import StratusKit

@Suite("unknown parts of archives") struct UnknownPartTests {
    /// The archive of a record with one plain or encrypted value, which is the object 22.
    private static func record(
        _ value: [TestList], store: String = "ValueStore", className: String = "CKRecordValueStore",
        part: (key: String, object: Int)? = nil, extra: [(String, TestList)] = []
    ) -> Data {
        let base = AppleArchive.recordObjects
        let first = base.count + value.count
        let objects =
            base + value + [
                .dictionary([
                    ("$class", .reference(first + 1)),
                    (part?.key ?? "RecordValues", .reference(part?.object ?? first + 2)),
                ]),
                .className(className),
                .dictionary([
                    ("$class", .reference(first + 3)), ("NS.keys", .array([.reference(5)])),
                    ("NS.objects", .array([.reference(base.count)])),
                ]),
                .className("NSMutableDictionary"), .className("CKRecord"),
                .dictionary(
                    [("$class", .reference(first + 4)), (store, .reference(first))] + AppleArchive.recordTop + extra),
            ]
        return AppleArchive.archive(objects: objects, top: [("root", .reference(first + 5))])
    }

    private func refusal<Object: NSObject & NSSecureCoding>(of data: Data, _ type: Object.Type) -> StratusArchiveError?
    {
        do throws(StratusArchiveError) {
            _ = try StratusArchive.decode(type, from: data)
            return nil
        } catch {
            return error
        }
    }

    @Test("a value of a class that records can hold decodes", arguments: ArchivingTests.Way.allCases)
    func known(way: ArchivingTests.Way) throws {
        let record = try way.decode(CKRecord.self, from: Self.record([.text("a")]))
        #expect(record["n1"] as? String == "a")
    }

    @Test("numbers, flags and nil are values", arguments: ArchivingTests.Way.allCases)
    func plainValues(way: ArchivingTests.Way) throws {
        func value(_ objects: TestList...) throws -> NSNumber? {
            try way.decode(CKRecord.self, from: Self.record(objects))["n1"] as? NSNumber
        }
        #expect(try value(.flag(true)) == 1)
        #expect(try value(.integer(-7)) == -7)
        #expect(try value(.real(2))?.stringValue == "2.0")
        #expect(try value(.dictionary([("$class", .reference(23))]), .className("NSNull")) == nil)
    }

    @Test("[X-29] a value of an unknown class fails the decoding, with the name of the class")
    func unknownClass() throws {
        let data = Self.record([.dictionary([("$class", .reference(23))]), .className("CKMergeableValue")])
        let error = try #require(refusal(of: data, CKRecord.self))
        #expect(error.code == .notUnderstood)
        #expect(error.fields == ["class": "CKMergeableValue"])
        #expect(throws: (any Error).self) {
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)
        }
    }

    @Test(
        "[C-08] a key of both plain and encrypted values fails the decoding, and is named",
        arguments: [
            ("RecordValues", "RecordValues"), ("OriginalValues", "OriginalValues"), ("ChangedKeys", "ChangedKeys"),
            ("RecordValues", "ChangedKeys"), ("ChangedKeys", "RecordValues"),
        ])
    func bothStores(plain: String, encrypted: String) throws {
        func object(_ part: String) -> Int { part == "ChangedKeys" ? 25 : 29 }
        let objects: [TestList] = [
            .text("a"), .className("CKEncryptedRecordValueStore"),
            .dictionary([("$class", .reference(23)), (encrypted, .reference(object(encrypted)))]),
            .dictionary([("$class", .reference(26)), ("NS.objects", .array([.reference(5)]))]),
            .className("NSMutableSet"),
        ]
        let data = Self.record(
            objects, part: (plain, object(plain)), extra: [("EncryptedValueStore", .reference(24))])
        #expect(refusal(of: data, CKRecord.self)?.fields["key"] == "n1")
        #expect(throws: (any Error).self) {
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)
        }
    }

    @Test("[C-08] an encrypted value whose key was set as a plain one fails the decoding")
    func encryptedValueSetAsPlain() throws {
        let record = CKRecord(recordType: "Note")
        record["key"] = "text"
        let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        var bytes = [UInt8](data)
        // The block of values: its version, the key with its length, then 1 for an encrypted value.
        let start: [UInt8] = [1, 0, 0, 0, 3] + Array("key".utf8)
        let flag =
            try #require(
                bytes.indices.first { bytes[$0...].starts(with: start) }, "the values are not in one block"
            ) + start.count
        bytes[flag] = 1
        #expect(refusal(of: Data(bytes), CKRecord.self)?.fields["key"] == "key")
        #expect(throws: (any Error).self) {
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: Data(bytes))
        }
    }

    @Test("[X-29] an unknown class deep in a list, or next to other values, fails the decoding")
    func deepUnknownClass() throws {
        let data = Self.record([
            .dictionary([("$class", .reference(23)), ("NS.objects", .array([.reference(24), .reference(1)]))]),
            .className("NSArray"), .dictionary([("$class", .reference(25))]), .className("CKMergeableValue"),
        ])
        #expect(refusal(of: data, CKRecord.self)?.fields["class"] == "CKMergeableValue")
        #expect(throws: (any Error).self) {
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)
        }
    }

    @Test("[X-29] an encrypted value that was archived as ciphertext fails the decoding")
    func ciphertext() throws {
        let data = Self.record(
            [
                .dictionary([("$class", .reference(23)), ("EncryptedData", .reference(24))]),
                .className("CKEncryptedString"), .bytes([1, 2, 3]),
            ], store: "EncryptedValueStore", className: "CKEncryptedRecordValueStore")
        #expect(refusal(of: data, CKRecord.self)?.fields["class"] == "CKEncryptedString")
        #expect(throws: (any Error).self) {
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)
        }
    }

    @Test("[X-29] a value that no record can hold fails the decoding, with the name of the key")
    func unholdable() throws {
        let data = Self.record([
            .dictionary([("$class", .reference(23)), ("NS.objects", .array([]))]), .className("NSSet"),
        ])
        let error = try #require(refusal(of: data, CKRecord.self))
        #expect(error.code == .notUnderstood)
        #expect(error.fields["key"] == "n1")
        #expect(throws: (any Error).self) {
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)
        }
    }

    @Test("[C-08] a reference among encrypted values fails the decoding")
    func encryptedReference() throws {
        let data = Self.record(
            [
                .dictionary([
                    ("$class", .reference(18)), ("recordID", .reference(3)), ("referenceAction", .integer(1)),
                ])
            ], store: "EncryptedValueStore", className: "CKEncryptedRecordValueStore")
        #expect(refusal(of: data, CKRecord.self)?.fields["key"] == "n1")
        #expect(throws: (any Error).self) {
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)
        }
    }

    @Test(
        "[X-29] a reference with its action, a list and a location are values", arguments: ArchivingTests.Way.allCases)
    func richValues(way: ArchivingTests.Way) throws {
        let reference = try way.decode(
            CKRecord.self,
            from: Self.record([
                .dictionary([
                    ("$class", .reference(18)), ("recordID", .reference(3)), ("referenceAction", .integer(1)),
                ])
            ]))
        #expect((reference["n1"] as? CKRecord.Reference)?.action == .deleteSelf)
        let list = try way.decode(
            CKRecord.self,
            from: Self.record([
                .dictionary([("$class", .reference(23)), ("NS.objects", .array([.reference(8), .reference(12)]))]),
                .className("NSArray"),
            ]))
        #expect((list["n1"] as? [Date])?.map(\.timeIntervalSinceReferenceDate) == [100, 200])
        let place = try way.decode(
            CKRecord.self,
            from: Self.record([
                .dictionary([
                    ("$class", .reference(23)), ("kCLLocationCodingKeyCoordinateLatitude", .real(52.5)),
                    ("kCLLocationCodingKeyCoordinateLongitude", .real(13)), ("kCLLocationCodingKeyType", .integer(1)),
                ]), .className("CLLocation"),
            ]))
        #expect((place["n1"] as? CLLocation)?.coordinate.latitude == 52.5)
    }

    @Test("[X-29] StratusArchive refuses an unknown key with a value, and names class and key")
    func unknownKey() throws {
        let data = Self.record([.text("a")], extra: [("SomethingNew", .flag(true))])
        let error = try #require(refusal(of: data, CKRecord.self))
        #expect(error.code == .notUnderstood)
        #expect(error.fields == ["class": "CKRecord", "key": "SomethingNew"])
        // Foundation's unarchiver cannot list keys.
        let record = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)
        #expect(record?["n1"] as? String == "a")
    }

    @Test(
        "[X-29] an unknown key without a value is ignored",
        arguments: [TestList.reference(0), .integer(0), .flag(false), .real(0)])
    func emptyKey(value: TestList) throws {
        let data = Self.record([.text("a")], extra: [("SomethingNew", value)])
        #expect(try StratusArchive.decode(CKRecord.self, from: data)["n1"] as? String == "a")
    }

    @Test("[X-29] StratusArchive refuses an unknown key next to system fields")
    func systemFields() throws {
        let data = AppleArchive.archive(
            objects: AppleArchive.recordObjects, top: AppleArchive.recordTop + [("SomethingNew", .integer(2))])
        #expect(refusal(of: data, CKRecord.self)?.fields == ["class": "CKRecord", "key": "SomethingNew"])
    }

    @Test("[X-29] both decoders refuse a record with plug-in data, which Stratus cannot keep")
    func unsupported() throws {
        let data = Self.record([.text("a")], extra: [("PluginFields", .reference(5))])
        #expect(refusal(of: data, CKRecord.self)?.fields == ["class": "CKRecord", "key": "PluginFields"])
        #expect(throws: (any Error).self) {
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)
        }
    }

    @Test(
        "[X-29] a share with an expiry date or open to anonymous users is refused, or its save fails",
        arguments: ["ExpirationDate", "AllowsAnonymousAccess", "ParticipantVisibility"])
    func unsupportedShare(key: String) throws {
        var objects = AppleArchive.shareObjects
        guard case .dictionary(let pairs) = objects[1] else { return }
        let values: [String: TestList] = [
            "ExpirationDate": .reference(objects.count), "AllowsAnonymousAccess": .flag(true),
        ]
        objects[1] = .dictionary(pairs + [(key, values[key] ?? .integer(1))])
        objects += [
            .dictionary([("$class", .reference(objects.count + 1)), ("NS.time", .real(100))]), .className("NSDate"),
        ]
        let data = AppleArchive.archive(objects: objects, top: [("root", .reference(1))])
        #expect(refusal(of: data, CKShare.self)?.fields == ["class": "CKShare", "key": key])
        let share = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: data)
        #expect(share?.misuse?.contains("not understood") == true)
    }

    @Test("[X-29] StratusArchive refuses an object of a wrong class for a property")
    func otherClass() throws {
        let data = Self.record([.text("a")], extra: [("LastModifiedUserRecordID", .reference(8))])
        #expect(refusal(of: data, CKRecord.self)?.code == .damaged)
    }

    @Test("[X-29] a list of participants with a member of another class fails the decoding")
    func foreignMember() throws {
        var objects = AppleArchive.shareObjects
        objects[4] = .dictionary([("$class", .reference(28)), ("NS.objects", .array([.reference(3), .reference(18)]))])
        let data = AppleArchive.archive(objects: objects, top: [("root", .reference(1))])
        #expect(refusal(of: data, CKShare.self)?.fields["key"] == "Participants")
    }

    @Test("[X-29] StratusArchive refuses a key next to the root")
    func besideRoot() throws {
        let data = AppleArchive.archive(
            objects: AppleArchive.recordObjects, top: [("root", .reference(3)), ("extra", .integer(1))])
        #expect(refusal(of: data, CKRecord.ID.self)?.fields["key"] == "extra")
    }

    @Test("[X-29] a zone, a participant and metadata with unknown keys are refused", arguments: RealArchive.allCases)
    func everywhere(archive: RealArchive) throws {
        func changed(_ value: PropertyValue) -> PropertyValue {
            guard var list = value.dictionary, var objects = list["$objects"]?.array else { return value }
            let key = archive == .zones ? 2 : 1
            var root = objects[key].dictionary ?? [:]
            root["SomethingNew"] = .integer(1)
            objects[key] = .dictionary(root)
            list["$objects"] = .array(objects)
            return .dictionary(list)
        }
        let data = BinaryPropertyListWriter.data(of: changed(try BinaryPropertyList.value(of: archive.data)))
        #expect(refusal(of: data, CKRecord.self)?.fields["key"] == "SomethingNew")
    }

    @Test("an asset's server and device data are skipped")
    func leftOut() throws {
        let data = Self.record([
            .dictionary([
                ("$class", .reference(23)), ("AssetHasSize", .flag(true)), ("AssetSize", .integer(7)),
                ("WrappedAssetKey", .reference(21)), ("AssetFileURL", .reference(24)),
            ]), .className("CKAsset"),
            .dictionary([("$class", .reference(25)), ("NS.relative", .reference(26))]), .className("NSURL"),
            .text("file:///etc/hostname"),
        ])
        let asset = try StratusArchive.decode(CKRecord.self, from: data)["n1"] as? CKAsset
        #expect(asset?.appleContent == CKAsset.AppleContent(byteCount: 7))
        #expect(asset?.fileURL == nil)
    }
}
