// Fuzzing the decoder of archives from untrusted clients: any bytes are refused, or decode to a usable object; a
// decoded record round-trips through an archive.

import Foundation
import StratusKit
package import StratusTestSupport

extension FuzzTarget {
    package static let archive = FuzzTarget(
        name: "archive",
        dictionary: [
            "bplist00", "$archiver", "$class", "$classes", "$classname", "$null", "$objects", "$top", "$version",
            "root",
            "NS.objects", "NS.keys", "NS.time", "NSArray", "NSDate", "CKRecord", "CKRecordID", "CKReference",
            "RecordID",
            "RecordType", "ZoneID", "ETag", "ValueStore", "CKRecordValueStore", "NSMutableSet", "NSNull",
            "Participants",
            "CKAsset",
        ].map { Array($0.utf8) } + [
            [0x80, 0x00], [0x80, 0x01], [0xA1, 0x01], [0xAF, 0x10, 0xFF], [0xD1, 0x01, 0x02],
            [0x13] + Array(repeating: 0xFF, count: 8),
        ],
        validInput: { random in [UInt8](ArchivedObjects.archive(&random)) },
        check: { verdict(of: Data($0)) })

    private static func verdict(of input: Data) -> Verdict {
        do throws(StratusArchiveError) {
            let record = try StratusArchive.decode(CKRecord.self, from: input)
            _ = record.description
            _ = record.allTokens()
            return problem(in: record).map { .violation($0) } ?? .accepted
        } catch {
            // An archive of another class was decoded completely before it was rejected.
            return error.code == .wrongClass && error.fields["found"] != "nothing" ? .accepted : .refused
        }
    }

    private static func problem(in record: CKRecord) -> String? {
        let archives = [
            try? NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true),
            try? StratusArchive.data(of: record),
        ]
        for archive in archives {
            guard let archive else { return "decoded, but not archived again" }
            if let problem = problem(of: archive, of: record) { return problem }
        }
        // In Apple's format the bytes say whether anything was lost.
        guard let archive = archives[1], let again = try? StratusArchive.decode(CKRecord.self, from: archive) else {
            return "decoded, but not decoded again"
        }
        return (try? StratusArchive.data(of: again)) == archive ? nil : "decoded, but archived in other bytes again"
    }

    private static func problem(of archive: Data, of record: CKRecord) -> String? {
        guard let again = try? StratusArchive.decode(CKRecord.self, from: archive) else {
            return "decoded, but not decoded again"
        }
        let isSame =
            again.recordID == record.recordID && again.recordType == record.recordType
            && again.allKeys() == record.allKeys() && again.changedKeys() == record.changedKeys()
            && again.recordChangeTag == record.recordChangeTag
        return isSame ? nil : "decoded, but another record when decoded again"
    }
}

/// Archives as clients write them.
private enum ArchivedObjects {
    static func archive(_ random: inout SplitMix64) -> Data {
        let zoneID = CKRecordZone.ID(
            zoneName: name(&random), ownerName: random.isOne(in: 2) ? "_owner" : "__defaultOwner__")
        let recordID = CKRecord.ID(recordName: name(&random), zoneID: zoneID)
        if random.isOne(in: 4), !applesArchives.isEmpty { return random.element(of: applesArchives) }
        if random.isOne(in: 8) { return xml(record(recordID, &random)) }
        if random.isOne(in: 4) { return (try? StratusArchive.data(of: record(recordID, &random))) ?? Data() }
        switch random.below(8) {
        case 0: return archive(recordID)
        case 1: return archive(CKRecordZone(zoneID: zoneID))
        case 2: return archive(CKUserIdentity.LookupInfo(emailAddress: "\(name(&random))@example.com"))
        case 3: return archive(query(&random))
        case 4: return archive([zoneID, CKRecordZone.ID.default] as NSArray)
        case 5:
            let archiver = NSKeyedArchiver(requiringSecureCoding: true)
            record(recordID, &random).encodeSystemFields(with: archiver)
            archiver.finishEncoding()
            return archiver.encodedData
        default: return archive(record(recordID, &random))
        }
    }

    /// Archives that Apple's systems wrote, stored with the tests: none if the fuzzer was built elsewhere.
    private static let applesArchives: [Data] = {
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = package.appendingPathComponent("Tests/StratusKitTests/Archiving/Apple")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.sorted().compactMap { try? Data(contentsOf: folder.appendingPathComponent($0)) }
    }()

    private static func archive(_ object: some NSObject & NSSecureCoding) -> Data {
        (try? NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)) ?? Data()
    }

    private static func xml(_ record: CKRecord) -> Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.outputFormat = .xml
        archiver.encode(record, forKey: NSKeyedArchiveRootObjectKey)
        archiver.finishEncoding()
        return archiver.encodedData
    }

    private static func name(_ random: inout SplitMix64) -> String {
        random.element(of: ["a", "note-1", "ä\u{301}", "😀", "Notes", "x y"]) + "\(random.below(1_000))"
    }

    private static func query(_ random: inout SplitMix64) -> CKQuery {
        let query = CKQuery(
            recordType: "Note",
            predicate: NSPredicate(format: "a = %@ AND b IN {1, %d}", name(&random), random.below(9)))
        query.sortDescriptors = [
            NSSortDescriptor(key: "a", ascending: random.isOne(in: 2)),
            CKLocationSortDescriptor(key: "p", relativeLocation: CLLocation(latitude: 1, longitude: 2)),
        ]
        return query
    }

    /// A record with some values, a few of them lists.
    private static func record(_ id: CKRecord.ID, _ random: inout SplitMix64) -> CKRecord {
        let record = CKRecord(recordType: random.element(of: ["Note", "Folder"]), recordID: id)
        for index in 0..<random.below(6) { set(value: random.below(9), of: "key\(index)", in: record, &random) }
        if random.isOne(in: 4) { record.encryptedValues["secret"] = name(&random) }
        if random.isOne(in: 3) { record.setParent(CKRecord.ID(recordName: "folder", zoneID: id.zoneID)) }
        return record
    }

    private static func set(value kind: Int, of key: String, in record: CKRecord, _ random: inout SplitMix64) {
        switch kind {
        case 0: record[key] = name(&random)
        case 1: record[key] = random.below(1 << 40) - (1 << 39)
        case 2: record[key] = Double(random.below(1_000)) / 8
        case 3: record[key] = Date(timeIntervalSinceReferenceDate: Double(random.below(1 << 30)))
        case 4: record[key] = Data(random.bytes(count: random.below(20)))
        case 5: record[key] = CLLocation(latitude: 52.5, longitude: Double(random.below(180)))
        case 6: record[key] = CKRecord.Reference(recordID: record.recordID, action: .deleteSelf)
        case 7: record[key] = [name(&random), name(&random)]
        default: record[key] = CKAsset(fileURL: URL(fileURLWithPath: "/etc/hostname"))
        }
    }
}
