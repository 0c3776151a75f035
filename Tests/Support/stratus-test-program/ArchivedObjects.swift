// Objects that are the same in every process, and their archives. Tests compare the bytes of two processes: anything
// that depends on the order of a set or a dictionary differs between them.

import Foundation
import StratusKit

/// The archives, in Apple's format, of a record, a share and a list of identifiers.
func archives(of name: String) throws -> [Data] {
    let recordID = CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: "Notes"))
    let record = CKRecord(recordType: "Note", recordID: recordID)
    for index in 0..<50 {
        record["text\(index)"] = "\(name) \(index)"
        record["number\(index)"] = index % 2 == 0 ? Double(index) as NSNumber : index as NSNumber
        record.encryptedValues["secret\(index)"] = index
    }
    record["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/dev/null"))
    record["place"] = CLLocation(
        coordinate: CLLocationCoordinate2D(latitude: 1, longitude: 2), altitude: 3, horizontalAccuracy: 4,
        verticalAccuracy: 5, timestamp: Date(timeIntervalSinceReferenceDate: 6))
    record["list"] = (0..<50).map { "\(name) \($0)" }
    record["reference"] = CKRecord.Reference(recordID: recordID, action: .deleteSelf)
    record.setParent(CKRecord.ID(recordName: "folder", zoneID: recordID.zoneID))
    return [
        try StratusArchive.data(of: record),
        try StratusArchive.data(of: (0..<50).map { CKRecord.ID(recordName: "\(name) \($0)") }),
        try StratusArchive.data(of: CKUserIdentity.LookupInfo(emailAddress: "\(name)@example.com")),
    ]
}
