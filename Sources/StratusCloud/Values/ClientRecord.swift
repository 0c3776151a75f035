// Records as they pass between client and server: `ClientRecord` from the server, `RecordSave` to it.

package import FoundationEssentials
package import StratusModel
import StratusRecords

/// A record as the server returns it.
///
/// It converts the stored parts when they are read. Most records of a page are only passed on; so each costs three
/// references, not a copy of each part.
package struct ClientRecord: Sendable {
    // Not an enum of the two: reading a part would copy its payload.
    /// A stored record, and how it is shown.
    private var decoded: DecodedRecord?
    private let showing: RecordShowing
    /// All parts of a record that was converted. One or none; an array takes one reference.
    private var converted: [ToldRecord] = []

    /// A stored record as `showing` shows it, without the participants of a share.
    init(_ decoded: DecodedRecord, _ showing: RecordShowing) {
        self.decoded = decoded
        self.showing = showing
    }

    init(_ told: ToldRecord) {
        showing = .none
        converted = [told]
    }

    /// All parts, converted.
    private var told: ToldRecord {
        get { decoded.map { showing.told($0) } ?? converted[0] }
        set {
            decoded = nil
            converted = [newValue]
        }
    }
}

/// The parts of a record, converted.
struct ToldRecord: Hashable, Codable, Sendable {
    var address: RecordAddress
    var type: String
    var changeTag: String
    var creationDate: Date
    var modificationDate: Date
    var creatorUserName: String
    var lastModifiedUserName: String
    var parent: ClientReference?
    var share: ClientReference?
    var fields = ClientFields([:])
    var sharing: ClientShare?
}

extension ClientRecord {
    package var address: RecordAddress {
        if let decoded { showing.address(decoded.stored.record.name) } else { told.address }
    }

    package var type: String {
        get { if let decoded { decoded.stored.record.type.text } else { told.type } }
        set { told.type = newValue }
    }

    /// Computed each time it is read.
    package var changeTag: String { if let decoded { decoded.stored.system.changeTag } else { told.changeTag } }

    package var creationDate: Date {
        if let decoded { decoded.stored.system.created.date } else { told.creationDate }
    }

    package var modificationDate: Date {
        if let decoded { decoded.stored.system.modified.date } else { told.modificationDate }
    }

    /// The record name of the creator's user record, `__defaultOwner__` for the caller's own.
    package var creatorUserName: String {
        if let decoded { showing.name(of: decoded.stored.system.created.user) } else { told.creatorUserName }
    }

    /// The same for the user who last modified the record.
    package var lastModifiedUserName: String {
        if let decoded { showing.name(of: decoded.stored.system.modified.user) } else { told.lastModifiedUserName }
    }

    package var parent: ClientReference? {
        get { if let decoded { showing.parent(of: decoded) } else { told.parent } }
        set { told.parent = newValue }
    }

    package var share: ClientReference? {
        get { if let decoded { decoded.stored.record.share.map(showing.reference) } else { told.share } }
        set { told.share = newValue }
    }

    /// The name of the parent, which is in the record's zone.
    package var parentName: String? {
        if let decoded { showing.parentName(of: decoded)?.text } else { told.parent?.target.recordName }
    }

    /// The name of the share, which is in the record's zone.
    package var shareName: String? {
        if let decoded { decoded.stored.record.share?.text } else { told.share?.target.recordName }
    }

    /// Whether a field is an asset or a list with one.
    package var hasAssets: Bool {
        if let decoded { decoded.stored.record.fields.hasAssets } else { told.fields.hasAssets }
    }

    /// All fields, or those that the request selected.
    package var fields: ClientFields {
        get { if let decoded { ClientFields(of: decoded, showing) } else { told.fields } }
        set { told.fields = newValue }
    }

    /// The field under a key, without converting the others.
    package func field(_ key: String) -> ClientField? {
        guard let decoded else { return told.fields[key] }
        // The server's content of a share is not a field.
        let isHidden = key == ShareContent.fieldKey.text && decoded.stored.record.type == ShareContent.recordType
        let fields = decoded.stored.record.fields
        guard !isHidden, let index = fields.index(of: FieldKey(key)) else { return nil }
        // In place, as in the iterator of `ClientFields`.
        let entries = fields.entries
        let span = entries.span
        return ClientField(
            ClientValue(span[index].value.value, showing), isEncrypted: span[index].value.isEncrypted)
    }

    /// The participants, if the record is a share.
    package var sharing: ClientShare? {
        get { decoded == nil ? told.sharing : nil }
        set { told.sharing = newValue }
    }

    /// The record without the contents of its assets, as a conflict carries it (S-07).
    package var withoutContent: ClientRecord {
        var record = self
        record.fields = fields.withoutContent
        return record
    }
}

extension ClientRecord: Hashable {
    package static func == (left: Self, right: Self) -> Bool { left.told == right.told }
    package func hash(into hasher: inout Hasher) { hasher.combine(told) }
}

extension ClientRecord: Codable {
    package init(from decoder: any Decoder) throws { self.init(try ToldRecord(from: decoder)) }
    package func encode(to encoder: any Encoder) throws { try told.encode(to: encoder) }
}

/// A record that a client saves. Everything here is a claim.
package struct RecordSave: Hashable, Codable, Sendable {
    package var address: RecordAddress
    package var type: String
    /// The tag of the version that the client changed; nil for a record that it considers new.
    package var baseTag: String?
    package var parent: ClientReference?
    package var isParentChanged: Bool
    package var share: ClientReference?
    /// All values that the client holds.
    package var fields: [String: ClientField]
    /// The keys set since the record was fetched or created, including those set to nil (C-03).
    package var changedKeys: Set<String>
    /// The text of a misuse that raises an exception on Apple's systems, remembered to fail the save.
    package var misuse: String?
    /// Where the record was fetched or saved before, if it was.
    package var origin: RecordOrigin?
    /// The wanted participants, if the record is a share.
    package var sharing: ShareClaim?

    package init(
        address: RecordAddress, type: String, baseTag: String? = nil, parent: ClientReference? = nil,
        isParentChanged: Bool = false, share: ClientReference? = nil, fields: [String: ClientField] = [:],
        changedKeys: Set<String> = [], misuse: String? = nil, origin: RecordOrigin? = nil,
        sharing: ShareClaim? = nil
    ) {
        self.address = address
        self.type = type
        self.baseTag = baseTag
        self.parent = parent
        self.isParentChanged = isParentChanged
        self.share = share
        self.fields = fields
        self.changedKeys = changedKeys
        self.misuse = misuse
        self.origin = origin
        self.sharing = sharing
    }
}

extension ClientRecord {
    /// A stored record for `viewer`, the user name of the caller, or nil for one who is not signed in. Add or remove
    /// what only some callers may know yourself: the parent, and the participants of a share.
    package init(_ stored: StoredRecord, zone: ZoneAddress, viewer: UserName?) {
        self.init(DecodedRecord(stored), RecordShowing(zone: zone, viewer: viewer))
    }
}

extension ClientValue {
    package init(_ value: FieldValue, zone: ZoneAddress) {
        self.init(value, RecordShowing(zone: zone, viewer: nil))
    }

    init(_ value: __shared FieldValue, _ showing: RecordShowing) {
        switch value {
        case .string(let text): self = .string(text)
        case .int64(let number): self = .int64(number)
        case .double(let number): self = .double(number)
        case .date(let date): self = .date(date)
        case .bytes(let bytes): self = .bytes(ClientBytes(bytes))
        case .location(let location): self = .location(location)
        case .reference(let reference):
            self = .reference(
                ClientReference(target: showing.address(reference.target), action: reference.action))
        case .asset(let asset): self = .asset(.content(asset))
        case .list(let items): self = .list(items.map { ClientValue($0, showing) })
        }
    }

    /// The value, with assets that have no contents.
    var withoutContent: ClientValue {
        switch self {
        case .asset: .asset(.missing)
        case .list(let items): .list(items.map(\.withoutContent))
        default: self
        }
    }
}

/// The database and account with which a record was last fetched or saved. It may only be saved there.
package struct RecordOrigin: Hashable, Codable, Sendable {
    package var container: ContainerName
    package var database: DatabaseSelector
    /// Nil if no account was signed in.
    package var account: AccountID?

    package init(container: ContainerName, database: DatabaseSelector, account: AccountID?) {
        self.container = container
        self.database = database
        self.account = account
    }
}

/// Converts the stored records of one zone for one caller: names become addresses in the client's zone, and the
/// caller's own user name becomes `__defaultOwner__` (D-02). All records of an answer share one. It does not convert
/// shares.
final class RecordShowing: Sendable {
    /// For records that were converted before.
    static let none = RecordShowing(zone: .defaultZone, viewer: nil)

    let zone: ZoneAddress
    /// The user name of the caller; nil for one who is not signed in.
    let viewer: UserName?
    /// Whether the parent of a share's root is hidden.
    private let hidesParentsOfRoots: Bool

    init(zone: ZoneAddress, viewer: UserName?, hidesParentsOfRoots: Bool = false) {
        self.zone = zone
        self.viewer = viewer
        self.hidesParentsOfRoots = hidesParentsOfRoots
    }

    func address(_ name: RecordName) -> RecordAddress { RecordAddress(recordName: name.text, zone: zone) }

    func reference(_ name: RecordName) -> ClientReference { ClientReference(target: address(name), action: .none) }

    func name(of user: UserName) -> String {
        if let viewer, user == viewer { ZoneAddress.currentUser } else { user.text }
    }

    func parent(of decoded: DecodedRecord) -> ClientReference? { parentName(of: decoded).map(reference) }

    func parentName(of decoded: DecodedRecord) -> RecordName? {
        hidesParentsOfRoots && decoded.stored.record.share != nil ? nil : decoded.stored.record.parent
    }

    /// All parts, without the participants of a share.
    func told(_ decoded: DecodedRecord) -> ToldRecord {
        let record = ClientRecord(decoded, self)
        return ToldRecord(
            address: record.address, type: record.type, changeTag: record.changeTag,
            creationDate: record.creationDate, modificationDate: record.modificationDate,
            creatorUserName: record.creatorUserName, lastModifiedUserName: record.lastModifiedUserName,
            parent: record.parent, share: record.share, fields: record.fields)
    }
}

// How a client names zones and records. A client's owner name is a claim: the server resolves it.

/// A zone as a client names it.
package struct ZoneAddress: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The owner name that means the caller.
    package static let currentUser = "__defaultOwner__"
    /// The zone that every private and public database has.
    package static let defaultZoneName = "_defaultZone"
    package static let defaultZone = ZoneAddress(zoneName: defaultZoneName)

    package var zoneName: String
    package var ownerName: String

    package init(zoneName: String, ownerName: String = currentUser) {
        self.zoneName = zoneName
        self.ownerName = ownerName
    }

    package var description: String { "\(zoneName):\(ownerName)" }

    // By bytes, like all names.
    package static func == (left: Self, right: Self) -> Bool {
        ZoneName(left.zoneName) == ZoneName(right.zoneName) && UserName(left.ownerName) == UserName(right.ownerName)
    }
}

/// A record as a client names it.
package struct RecordAddress: Hashable, Codable, Sendable, CustomStringConvertible {
    package var recordName: String
    package var zone: ZoneAddress

    package init(recordName: String, zone: ZoneAddress = .defaultZone) {
        self.recordName = recordName
        self.zone = zone
    }

    package var description: String { "\(recordName):(\(zone))" }

    package static func == (left: Self, right: Self) -> Bool {
        RecordName(left.recordName) == RecordName(right.recordName) && left.zone == right.zone
    }
}

/// Which database of a container a request goes to.
package enum DatabaseSelector: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case `public` = 1
    case `private` = 2
    case shared = 3
}

/// What a zone can do (Z-02). The bits are those of the client's option set.
package struct ZoneCapabilities: OptionSet, Hashable, Codable, Sendable {
    package let rawValue: UInt
    package init(rawValue: UInt) { self.rawValue = rawValue }

    package static let fetchChanges = ZoneCapabilities(rawValue: 1 << 0)
    package static let atomic = ZoneCapabilities(rawValue: 1 << 1)
    package static let sharing = ZoneCapabilities(rawValue: 1 << 2)
    package static let zoneWideSharing = ZoneCapabilities(rawValue: 1 << 3)
}

/// Whether each record of a zone has its own key or all share one (Z-06). The raw values are stored; they never change.
package enum ZoneEncryptionScope: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case perRecord = 0
    case perZone = 1
}

/// A zone as the server returns it, or as a client saves it; then capabilities and share are ignored.
package struct ClientZone: Hashable, Codable, Sendable {
    package var address: ZoneAddress
    package var capabilities: ZoneCapabilities
    package var share: ClientReference?
    package var encryptionScope: ZoneEncryptionScope

    package init(
        address: ZoneAddress, capabilities: ZoneCapabilities = [], share: ClientReference? = nil,
        encryptionScope: ZoneEncryptionScope = .perRecord
    ) {
        self.address = address
        self.capabilities = capabilities
        self.share = share
        self.encryptionScope = encryptionScope
    }
}

/// Why a host deleted a zone of an account (Z-07). The raw values are stored; they never change.
package enum HostPurgeReason: UInt8, Hashable, Sendable, CaseIterable {
    /// The person deleted their data: an app must ask before it uploads again.
    case purged = 1
    /// The account's keys were lost: an app should create the zone again and upload (Z-08).
    case encryptedDataReset = 2
}
