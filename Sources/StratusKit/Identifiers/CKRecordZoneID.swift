// The name of a zone as clients know it. Top-level, because Foundation on Linux cannot archive nested classes; clients
// say `CKRecordZone.ID`.
//
// Invariant: immutable, so that it may be shared by threads and used as a dictionary key.

public import Foundation
import StratusCloud

/// A zone's name and its owner's, equal by value (C-01).
///
/// Names are compared by their bytes. Whether a name is one the server accepts (L-08) is asked when the zone is saved.
public final class CKRecordZoneID: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The name of the zone that every database has.
    public static let defaultZoneName: String = ZoneAddress.defaultZoneName

    /// The zone that every database has.
    public static let `default` = CKRecordZoneID(zoneName: ZoneAddress.defaultZoneName)

    let address: ZoneAddress

    init(_ address: ZoneAddress) {
        self.address = address
        super.init()
    }

    /// Names a zone.
    /// - Parameters:
    ///   - zoneName: 1 to 255 ASCII characters; the first is no underscore.
    ///   - ownerName: The record name of the owner's user record, by default the signed-in user's.
    public convenience init(
        zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String = CKCurrentUserDefaultName
    ) {
        self.init(ZoneAddress(zoneName: zoneName, ownerName: ownerName))
    }

    /// The initialiser of older clients, whose owner may be nil.
    @available(*, deprecated, message: "Give an owner name, or leave it out.")
    @_disfavoredOverload
    public convenience init(
        zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String? = CKCurrentUserDefaultName
    ) {
        self.init(ZoneAddress(zoneName: zoneName, ownerName: ownerName ?? CKCurrentUserDefaultName))
    }

    /// The name of the zone, unique among its owner's.
    public var zoneName: String { address.zoneName }
    /// The record name of the owner's user record; `CKCurrentUserDefaultName` for the signed-in user.
    public var ownerName: String { address.ownerName }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKRecordZoneID)?.address == address
    }

    public override var hash: Int { address.hashValue }

    public override var description: String {
        "<CKRecordZoneID: \(address.zoneName):\(address.ownerName)>"
    }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKRecordZoneID"] }

    /// Archives both names.
    public func encode(with coder: NSCoder) {
        coder.encodeText(address.zoneName, forKey: CoderKey.zoneName)
        coder.encodeText(address.ownerName, forKey: CoderKey.ownerName)
    }

    /// Decodes an identifier; nil where there is no zone name.
    public convenience init?(coder: NSCoder) {
        guard let zoneName = coder.decodeText(forKey: CoderKey.zoneName) else { return nil }
        let ownerName = coder.decodeText(forKey: CoderKey.ownerName) ?? CKCurrentUserDefaultName
        self.init(ZoneAddress(zoneName: zoneName, ownerName: ownerName))
    }
}
