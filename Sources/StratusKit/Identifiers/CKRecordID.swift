// The name of a record as clients know it. Top-level, because Foundation on Linux cannot archive nested classes;
// clients say `CKRecord.ID`.
//
// Invariant: immutable, so that it may be shared by threads and used as a dictionary key.

public import Foundation
import StratusCloud

/// A record's name and its zone, equal by value (C-01).
///
/// Names are compared by their bytes. Whether a name is one the server accepts (L-07) is asked when the record is
/// saved.
public final class CKRecordID: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The name of the record, unique in its zone.
    public let recordName: String
    /// The record's zone.
    public let zoneID: CKRecordZoneID

    /// Names a record.
    /// - Parameters:
    ///   - recordName: 1 to 255 characters, unique in the zone; by default a new UUID.
    ///   - zoneID: The record's zone.
    public init(recordName: String = newRecordName(), zoneID: CKRecordZoneID = CKRecordZoneID.default) {
        self.recordName = recordName
        self.zoneID = zoneID
        super.init()
    }

    convenience init(_ address: RecordAddress) {
        self.init(recordName: address.recordName, zoneID: CKRecordZoneID(address.zone))
    }

    var address: RecordAddress { RecordAddress(recordName: recordName, zone: zoneID.address) }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordID else { return false }
        return self === other || address == other.address
    }

    public override var hash: Int { address.hashValue }

    public override var description: String {
        "<CKRecordID: \(recordName); zoneID=\(zoneID.address.zoneName):\(zoneID.address.ownerName)>"
    }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKRecordID"] }

    /// Archives name and zone.
    public func encode(with coder: NSCoder) {
        coder.encodeText(recordName, forKey: CoderKey.recordName)
        coder.encode(zoneID, forKey: CoderKey.zoneID)
    }

    /// Decodes an identifier; nil where name or zone is missing.
    public convenience init?(coder: NSCoder) {
        guard let recordName = coder.decodeText(forKey: CoderKey.recordName),
            let zoneID = coder.decodeValue(of: CKRecordZoneID.self, forKey: CoderKey.zoneID)
        else { return nil }
        self.init(recordName: recordName, zoneID: zoneID)
    }
}
