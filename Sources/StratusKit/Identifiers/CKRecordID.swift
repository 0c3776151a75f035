// The identifiers that clients use: names of zones and records, references, change tokens.
//
// The classes are top-level because Foundation on Linux cannot archive nested classes. Clients write `CKRecordZone.ID`,
// `CKRecord.ID` and `CKRecord.Reference`.
//
// Invariant: every object is immutable, so threads can share it and dictionaries can use it as a key.

public import Foundation
import StratusCloud
import StratusModel
import Synchronization

/// A zone's name and its owner's name. Two are equal by value (C-01).
///
/// Names are compared by their bytes. The server checks whether a name is valid (L-08) when the zone is saved.
public final class CKRecordZoneID: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The name of the zone that every database has.
    public static let defaultZoneName: String = ZoneAddress.defaultZoneName

    /// The zone that every database has.
    public static let `default` = CKRecordZoneID(zoneName: ZoneAddress.defaultZoneName)

    let address: ZoneAddress
    /// Zero until it is computed: the identifiers of a zone's records hash it again and again.
    private let knownHash = Atomic(0)

    init(_ address: ZoneAddress) {
        self.address = address
        super.init()
    }

    /// Creates the identifier of a zone.
    /// - Parameters:
    ///   - zoneName: 1 to 255 ASCII characters; the first is not an underscore.
    ///   - ownerName: The record name of the owner's user record. Default: the signed-in user.
    public convenience init(
        zoneName: String = CKRecordZoneID.defaultZoneName, ownerName: String = CKCurrentUserDefaultName
    ) {
        self.init(ZoneAddress(zoneName: zoneName, ownerName: ownerName))
    }

    /// The initialiser for older clients, whose owner may be nil.
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
        guard let other = object as? CKRecordZoneID else { return false }
        return self === other || address == other.address
    }

    public override var hash: Int {
        let known = knownHash.load(ordering: .relaxed)
        guard known == 0 else { return known }
        let hash = address.hashValue
        knownHash.store(hash, ordering: .relaxed)
        return hash
    }

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

    /// Decodes an identifier. Returns nil if the zone name is missing.
    public convenience init?(coder: NSCoder) {
        guard let zoneName = coder.decodeText(forKey: CoderKey.zoneName) else { return nil }
        let ownerName = coder.decodeText(forKey: CoderKey.ownerName) ?? CKCurrentUserDefaultName
        self.init(ZoneAddress(zoneName: zoneName, ownerName: ownerName))
    }
}

/// A record's name and its zone. Two are equal by value (C-01).
///
/// Names are compared by their bytes. The server checks whether a name is valid (L-07) when the record is saved.
public final class CKRecordID: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The name of the record, unique in its zone.
    public let recordName: String
    /// The record's zone.
    public let zoneID: CKRecordZoneID

    /// Creates the identifier of a record.
    /// - Parameters:
    ///   - recordName: 1 to 255 characters, unique in the zone. Default: a new UUID.
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
        if self === other { return true }
        return RecordName(recordName) == RecordName(other.recordName) && zoneID.isEqual(other.zoneID)
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(recordName)
        hasher.combine(zoneID.hash)
        return hasher.finalize()
    }

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

    /// Decodes an identifier. Returns nil if name or zone is missing.
    public convenience init?(coder: NSCoder) {
        guard let recordName = coder.decodeText(forKey: CoderKey.recordName),
            let zoneID = coder.decodeValue(of: CKRecordZoneID.self, forKey: CoderKey.zoneID)
        else { return nil }
        self.init(recordName: recordName, zoneID: zoneID)
    }
}

/// What happens to a record that holds a reference when the target is deleted. Clients write
/// `CKRecord.ReferenceAction`.
public enum CKReferenceAction: UInt, Sendable {
    /// The reference stays as it is.
    case none = 0
    /// The record that holds the reference is deleted too. If a participant refers to a record that does not
    /// exist or that they cannot see, the reference is stored with the action `none`.
    case deleteSelf = 1
}

/// A pointer to a record of the same zone. Two are equal if target and action are (C-01).
public final class CKReference: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The target.
    public let recordID: CKRecordID
    /// What happens to the record that holds the reference when the target is deleted.
    public let action: CKReferenceAction

    /// Creates a reference to a record. The record need not exist.
    public init(recordID: CKRecordID, action: CKReferenceAction) {
        self.recordID = recordID
        self.action = action
        super.init()
    }

    convenience init(_ reference: ClientReference) {
        self.init(recordID: CKRecordID(reference.target), action: reference.action == .deleteSelf ? .deleteSelf : .none)
    }

    /// A reference without an action.
    convenience init(_ recordName: String, in zoneID: CKRecordZoneID) {
        self.init(recordID: CKRecordID(recordName: recordName, zoneID: zoneID), action: .none)
    }

    var clientReference: ClientReference {
        ClientReference(target: recordID.address, action: action == .deleteSelf ? .deleteSelf : .none)
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKReference else { return false }
        return self === other || (action == other.action && recordID == other.recordID)
    }

    public override var hash: Int { recordID.hash }

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

    /// Decodes a reference. Returns nil if the target is missing.
    public convenience init?(coder: NSCoder) {
        guard let recordID = coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.targetRecordID) else {
            return nil
        }
        let number = coder.decodeNumber(forKey: CoderKey.referenceAction)
        self.init(recordID: recordID, action: number == 1 ? .deleteSelf : .none)
    }
}

/// A position in the changes of a database or a zone. Only the server can read its bytes.
///
/// Only the server creates tokens. Store a token together with the changes that were fetched up to it; archive it with
/// `NSKeyedArchiver`. Pass it to the next fetch of the same account, database and zone (T-01); the server refuses any
/// other token. Two tokens are equal if they mark the same position (C-18). A decoded token is a claim, which the
/// server checks.
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

    /// Decodes a token. Returns nil if there is none. A token from Apple's systems decodes like a token of any other
    /// server: a fetch refuses it.
    public convenience init?(coder: NSCoder) {
        let data =
            coder.decodeData(forKey: CoderKey.changeToken) ?? coder.decodeData(forKey: CoderKey.Apple.changeToken)
        guard let data, !data.isEmpty else { return nil }
        self.init([UInt8](data))
    }
}
