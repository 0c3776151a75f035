// Objects and archives that the tests of archiving share.

import Foundation
import StratusKit

enum ArchiveSamples {
    static let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: "_owner")
    static let recordID = CKRecord.ID(recordName: "ä-1", zoneID: zoneID)

    /// A record with a value of every type.
    static func record() -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: recordID)
        record["string"] = "text 😀"
        record["integer"] = -5
        record["double"] = 2.5
        record["flag"] = true
        record["date"] = Date(timeIntervalSinceReferenceDate: 1_000.5)
        record["bytes"] = Data([1, 2, 3])
        record["location"] = CLLocation(latitude: 52.5, longitude: 13.4)
        record["reference"] = CKRecord.Reference(recordID: recordID, action: .deleteSelf)
        record["asset"] = CKAsset(fileURL: URL(fileURLWithPath: "/etc/hostname"))
        record["strings"] = ["a", "b"]
        record["sameStrings"] = ["a", "b"]
        record["dates"] = [Date(timeIntervalSinceReferenceDate: 0)]
        record["removed"] = nil
        record.encryptedValues["secret"] = "s"
        record.setParent(CKRecord.ID(recordName: "folder", zoneID: zoneID))
        return record
    }

    static func archive(_ object: some NSObject & NSSecureCoding) throws -> Data {
        try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
    }

    static func systemFields(of record: CKRecord) -> Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        return archiver.encodedData
    }
}
