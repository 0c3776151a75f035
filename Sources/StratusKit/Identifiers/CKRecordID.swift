// The name of a zone as clients know it. Top-level, because Foundation on Linux cannot archive nested classes; clients
// say `CKRecordZone.ID`.
//
// Invariant: immutable, so that it may be shared by threads and used as a dictionary key.

public import Foundation
import StratusCloud
import StratusModel

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

// The name of a record as clients know it. Top-level, because Foundation on Linux cannot archive nested classes;
// clients say `CKRecord.ID`.
//
// Invariant: immutable, so that it may be shared by threads and used as a dictionary key.

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

// A pointer to a record as clients know it. Top-level, because Foundation on Linux cannot archive nested classes;
// clients say `CKRecord.Reference`.
//
// Invariant: immutable.

/// What becomes of a record that holds a reference when the record it points to is deleted. Clients say
/// `CKRecord.ReferenceAction`.
public enum CKReferenceAction: UInt, Sendable {
    /// The reference is left as it is.
    case none = 0
    /// The record that holds it is deleted too. A participant's reference to a record that they do not see, or that
    /// does not exist, is stored with the action `none`.
    case deleteSelf = 1
}

/// A pointer to a record of the same zone, equal by target and action (C-01).
public final class CKReference: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The record pointed to.
    public let recordID: CKRecordID
    /// What the deletion of that record does to the one that holds the reference.
    public let action: CKReferenceAction

    /// Points to a record, which need not exist.
    public init(recordID: CKRecordID, action: CKReferenceAction) {
        self.recordID = recordID
        self.action = action
        super.init()
    }

    convenience init(_ reference: ClientReference) {
        self.init(recordID: CKRecordID(reference.target), action: reference.action == .deleteSelf ? .deleteSelf : .none)
    }

    var clientReference: ClientReference {
        ClientReference(target: recordID.address, action: action == .deleteSelf ? .deleteSelf : .none)
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKReference else { return false }
        return self === other || (action == other.action && recordID == other.recordID)
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(recordID)
        hasher.combine(action)
        return hasher.finalize()
    }

    public override var description: String { "<CKReference: \(recordID), action=\(action)>" }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKReference"] }

    /// Archives target and action.
    public func encode(with coder: NSCoder) {
        coder.encode(recordID, forKey: CoderKey.targetRecordID)
        coder.encode(Int64(action.rawValue), forKey: CoderKey.referenceAction)
    }

    /// Decodes a reference; nil where the target is missing.
    public convenience init?(coder: NSCoder) {
        guard let recordID = coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.targetRecordID) else {
            return nil
        }
        let number = coder.decodeNumber(forKey: CoderKey.referenceAction)
        self.init(recordID: recordID, action: number == 1 ? .deleteSelf : .none)
    }
}

// A place in a feed of changes as clients keep it: bytes that only the server reads.
//
// Invariants: immutable; made by the server's answers and by archives alone. What an archive holds is a claim, which the
// server checks.

/// How far a client has followed the changes of a database or of a zone.
///
/// Only the server makes tokens. Keep one with what was fetched up to it, archived with `NSKeyedArchiver`, and give it
/// to the next fetch of the same account, database and zone (T-01); any other is refused. Two are equal when they stand
/// for the same place (C-18).
public final class CKServerChangeToken: NSObject, NSSecureCoding, NSCopying, Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKServerChangeToken)?.bytes == bytes
    }

    public override var hash: Int { bytes.hashValue }

    public override var description: String { "<CKServerChangeToken: \(bytes.count) bytes>" }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKServerChangeToken"] }

    /// Archives the token.
    public func encode(with coder: NSCoder) {
        let key = coder.isOfApple ? CoderKey.Apple.changeToken : CoderKey.changeToken
        coder.encode(NSData(data: Data(bytes)), forKey: key)
    }

    /// Decodes a token; nil where there is none. One of Apple's systems is a token like any other of another server: it is
    /// refused when it is given to a fetch.
    public convenience init?(coder: NSCoder) {
        let data = coder.decodeData(forKey: CoderKey.changeToken) ?? coder.decodeData(forKey: CoderKey.Apple.changeToken)
        guard let data, !data.isEmpty else { return nil }
        self.init([UInt8](data))
    }
}
