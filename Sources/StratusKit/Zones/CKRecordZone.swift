// A zone, as clients know it.
//
// Invariants: two zones are equal only if they are the same object (C-01). Capabilities and share come only from the
// server (C-11).

public import Foundation
import StratusCloud
import StratusStore

/// A zone: records that are changed, fetched and shared together.
public final class CKRecordZone: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// What a zone can do. Empty unless the zone comes from the server (C-11).
    public struct Capabilities: OptionSet, Hashable, Sendable {
        /// One bit for each capability, as on Apple's systems.
        public let rawValue: UInt
        /// The capabilities with these bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Its changes can be fetched.
        public static let fetchChanges = Capabilities(rawValue: 1 << 0)
        /// A request changes the zone completely or not at all.
        public static let atomic = Capabilities(rawValue: 1 << 1)
        /// Its records can be shared.
        public static let sharing = Capabilities(rawValue: 1 << 2)
        /// It can be shared as a whole.
        public static let zoneWideSharing = Capabilities(rawValue: 1 << 3)
    }

    /// Whether the encrypted values of a zone's records have keys of their own or share one (Z-06).
    public enum EncryptionScope: Int, Sendable {
        /// Each record has its own key.
        case perRecord = 0
        /// All records share one key: the zone can only be shared as a whole.
        case perZone = 1
    }

    /// A zone's name and its owner's.
    public typealias ID = CKRecordZoneID

    private static let defaultZone = CKRecordZone(zoneID: CKRecordZoneID.default)

    /// The zone that every database has. Always the same object (C-11).
    public class func `default`() -> CKRecordZone { defaultZone }

    /// The zone's name and its owner's.
    public let zoneID: CKRecordZone.ID
    /// What the zone can do; empty unless it comes from the server (C-11).
    public let capabilities: CKRecordZone.Capabilities
    /// The share of the zone as a whole. Only zones from the server have one.
    public let share: CKRecord.Reference?
    private let scope: Locked<EncryptionScope>

    private init(
        zoneID: CKRecordZoneID, capabilities: Capabilities, share: CKReference?, encryptionScope: EncryptionScope
    ) {
        self.zoneID = zoneID
        self.capabilities = capabilities
        self.share = share
        self.scope = Locked(encryptionScope)
        super.init()
    }

    /// Creates a zone of the signed-in user. Save it to create it on the server.
    public convenience init(zoneName: String) {
        self.init(zoneID: CKRecordZoneID(zoneName: zoneName))
    }

    /// Creates a zone. Save it to create it on the server.
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, capabilities: [], share: nil, encryptionScope: .perRecord)
    }

    /// Which keys encrypt the zone's records. It is decided when the zone is created; saving the zone with another
    /// scope later fails (Z-06). You cannot set it on `default()`, which is one object for the whole process: the
    /// server creates that zone.
    public var encryptionScope: CKRecordZone.EncryptionScope {
        get { scope.value }
        set { if self !== Self.defaultZone { scope.withLock { $0 = newValue } } }
    }

    public override var description: String { "<CKRecordZone: \(zoneID), capabilities=\(capabilities.rawValue)>" }

    // MARK: Exchange with the server

    convenience init(_ zone: ClientZone) {
        self.init(
            zoneID: CKRecordZoneID(zone.address), capabilities: Capabilities(rawValue: zone.capabilities.rawValue),
            share: zone.share.map(CKReference.init),
            encryptionScope: zone.encryptionScope == .perZone ? .perZone : .perRecord)
    }

    /// What a save of this zone sends.
    func makeSave() -> ClientZone {
        ClientZone(address: zoneID.address, encryptionScope: encryptionScope == .perZone ? .perZone : .perRecord)
    }

    // MARK: Copying and archiving

    /// A zone with the same content. It is another object, and so not equal to this one (C-01).
    public func copy(with zone: NSZone? = nil) -> Any {
        CKRecordZone(zoneID: zoneID, capabilities: capabilities, share: share, encryptionScope: encryptionScope)
    }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKRecordZone"] }

    /// Archives the zone.
    public func encode(with coder: NSCoder) {
        coder.encode(zoneID, forKey: CoderKey.zoneID)
        let capabilitiesKey = coder.isOfApple ? CoderKey.Apple.capabilities : CoderKey.capabilities
        coder.encode(Int64(clamping: capabilities.rawValue), forKey: capabilitiesKey)
        coder.encode(share, forKey: CoderKey.share)
        coder.encode(Int64(encryptionScope.rawValue), forKey: CoderKey.encryptionScope)
    }

    /// Decodes a zone. Returns nil if its identifier is missing.
    public convenience init?(coder: NSCoder) {
        guard let zoneID = coder.decodeValue(of: CKRecordZoneID.self, forKey: CoderKey.zoneID),
            !ArchivedKeys.hasUnsupportedPart("CKRecordZone", in: coder)
        else { return nil }
        let bits = [CoderKey.capabilities, CoderKey.Apple.capabilities].map { coder.decodeNumber(forKey: $0) }
        self.init(
            zoneID: zoneID,
            capabilities: Capabilities(rawValue: UInt(clamping: bits[0] | bits[1])),
            share: coder.decodeValue(of: CKReference.self, forKey: CoderKey.share),
            encryptionScope: coder.decodeNumber(forKey: CoderKey.encryptionScope) == 1 ? .perZone : .perRecord)
    }
}

extension CKRecordZone: StratusFormatArgument {}
