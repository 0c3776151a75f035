// A record, as clients know it: an object around a plain value behind a lock.
//
// Invariants: type and identifier never change. Two records are equal only if they are the same object (C-01). What
// only the server decides (tag, dates, users) changes only when the server has answered.

public import Foundation
import StratusCloud
import StratusModel

/// A record: values under keys, with a type, an identifier and system fields.
///
/// Set values with subscripts; the record copies them (C-07). A mistake that raises an exception on Apple's systems is
/// remembered and fails the save; see ``StratusMisuse``. Several threads may use one record.
open class CKRecord: NSObject, NSSecureCoding, NSCopying, CKRecordKeyValueSetting, Sequence, @unchecked Sendable {
    // Unchecked because the compiler cannot check a class that can be subclassed. Its own state is constant or locked;
    // a subclass is responsible for what it adds. Members that clients' tests override, as on Apple's systems, are
    // declared in the class itself: a member of an extension cannot be overridden.

    /// The name of a record type.
    public typealias RecordType = String
    /// The key of a field.
    public typealias FieldKey = String

    /// The record types that the server defines.
    public enum SystemType {
        /// The type of user records (S-15).
        public static let userRecord: RecordType = "Users"
        /// The type of shares.
        public static let share: RecordType = "cloudkit.share"
    }

    /// The names of the system fields, for queries and desired keys.
    public enum SystemFieldKey {
        /// The record's identifier.
        public static var recordID: FieldKey { "___recordID" }
        /// The user who saved the record first.
        public static var creatorUserRecordID: FieldKey { "___createdBy" }
        /// When the record was saved first.
        public static var creationDate: FieldKey { "___createTime" }
        /// The user who saved the record last.
        public static var lastModifiedUserRecordID: FieldKey { "___modifiedBy" }
        /// When the record was saved last.
        public static var modificationDate: FieldKey { "___modTime" }
        /// The parent record.
        public static let parent: FieldKey = "___parent"
        /// The share whose root is this record.
        public static let share: FieldKey = "___share"
    }

    /// What the getters of type and identifier return, unless a subclass overrides them.
    private let identity: (type: RecordType, id: CKRecord.ID)
    let state: LockedContent

    /// The record's type, which is also the name of its schema.
    open var recordType: RecordType { identity.type }
    /// The record's name and zone.
    open var recordID: CKRecord.ID { identity.id }

    /// Creates a record. Tag, dates and users are nil until it is saved (C-02).
    /// - Parameters:
    ///   - recordType: A name of the schema (L-09).
    ///   - recordID: Default: a new name in the default zone.
    public init(recordType: RecordType, recordID: CKRecord.ID = CKRecord.ID()) {
        identity = (recordType, recordID)
        state = LockedContent(.new)
        super.init()
    }

    convenience init(recordType: RecordType, recordID: CKRecord.ID, content: RecordContent) {
        self.init(recordType: recordType, recordID: recordID)
        state.withLock { $0 = content }
    }

    /// Creates a record with a new name in a zone.
    @available(*, deprecated, message: "Use init(recordType:recordID:) with CKRecord.ID(zoneID:).")
    public convenience init(recordType: RecordType, zoneID: CKRecordZoneID) {
        self.init(recordType: recordType, recordID: CKRecord.ID(zoneID: zoneID))
    }

    // MARK: What the server knows

    /// The version of the record that this object is based on; nil for a record that was never saved. Opaque.
    open var recordChangeTag: String? { state.withLock { $0.changeTag } }
    /// The user who saved the record first.
    open var creatorUserRecordID: CKRecord.ID? { state.withLock { $0.creator } }
    /// When the record was saved first.
    open var creationDate: Date? { state.withLock { $0.creationDate } }
    /// The user who saved the record last.
    open var lastModifiedUserRecordID: CKRecord.ID? { state.withLock { $0.lastModifier } }
    /// When the record was saved last.
    open var modificationDate: Date? { state.withLock { $0.modificationDate } }
    /// The share whose root is this record.
    open var share: CKRecord.Reference? {
        let zoneID = recordID.zoneID
        return state.withLock { $0.share(in: zoneID) }
    }

    // MARK: Values

    /// The value under a key; nil if there is none or it is encrypted.
    open func object(forKey key: FieldKey) -> (any __CKRecordObjCValue)? {
        systemValue(forKey: key) ?? state.withLock { $0.object(forKey: key, isEncrypted: false) }
    }

    /// Sets or removes the value under a key.
    open func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: FieldKey) {
        if key == SystemFieldKey.parent {
            guard object == nil || object is CKRecord.Reference else {
                return withParts {
                    StratusMisuse.note("Value of key \(key): a parent must be a reference.", in: &$0.misuse)
                }
            }
            parent = object as? CKRecord.Reference
        } else {
            set(object, forKey: key, isEncrypted: false)
        }
    }

    /// Sets or removes the value under a key, plain or encrypted.
    final func set(_ value: Any?, forKey key: FieldKey, isEncrypted: Bool) {
        let field = HeldField.holding(value, forKey: key, isEncrypted: isEncrypted)
        // Release the old value outside the lock: a client's `deinit` may run.
        _ = withParts { $0.set(field, forKey: key, isEncrypted: isEncrypted) }
    }

    /// The value under a key, in Objective-C's terms.
    open subscript(key: FieldKey) -> (any __CKRecordObjCValue)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    /// The keys that have values, in alphabetical order. ``encryptedValues`` lists the encrypted ones.
    open func allKeys() -> [FieldKey] { state.withLock { $0.keys(isEncrypted: false) } }

    /// The keys that were set since the record was created, fetched or saved, including those set to nil (C-03).
    open func changedKeys() -> [FieldKey] { state.withLock { $0.changedKeys(isEncrypted: false) } }

    /// The words of all strings that are not encrypted, in lower case and alphabetical order, each once. A full-text
    /// search compares with them.
    open func allTokens() -> [String] {
        let fields = parts.fields
        let texts = fields.values.filter { !$0.isEncrypted }.flatMap(\.value.texts)
        let words = texts.flatMap { $0.lowercased().split { !$0.isLetter && !$0.isNumber } }
        return Set(words.map(String.init)).sorted()
    }

    /// The assets in the fields, with their keys.
    var assets: [(key: String, asset: CKAsset)] { state.withLock { $0.assets } }

    /// The values that are encrypted in transit and at rest (C-08). They cannot be assets or references.
    open var encryptedValues: any CKRecordKeyValueSetting { EncryptedValues(of: self) }

    open override var description: String {
        let (tag, keys) = state.withLock { content in
            (content.changeTag, (content.keys(isEncrypted: false) + content.keys(isEncrypted: true)).sorted())
        }
        let known = tag.map { ", recordChangeTag=\($0)" } ?? ""
        return "<\(type(of: self)): recordType=\(recordType), recordID=\(recordID)\(known), keys=\(keys)>"
    }

    // MARK: Overridden by shares

    /// Another record with this type and identifier.
    /// - Parameters:
    ///   - state: Its content.
    ///   - isAncestor: Whether it is the version that the server last sent, and not the current one.
    /// - Returns: The record.
    func makeRecord(_ state: HeldRecord, isAncestor: Bool) -> CKRecord {
        CKRecord(recordType: recordType, recordID: recordID, content: RecordContent(state))
    }

    /// What the save of a share sends in addition to the fields; nil for any other record.
    func beginSharing() -> (any SentSharing)? { nil }

    /// Takes over what the server says in addition to the fields.
    /// - Parameters:
    ///   - saved: The server's answer.
    ///   - isNews: Whether the answer is newer than the record's state.
    ///   - origin: Where the record was saved, and by which account.
    ///   - sent: What the save sent.
    func absorbSharing(_ saved: ClientShare?, isNews: Bool, origin: RecordOrigin?, sent: (any SentSharing)?) {}

    // MARK: Copying and archiving

    /// True.
    open class var supportsSecureCoding: Bool { true }

    open override class func classFallbacksForKeyedArchiver() -> [String] { ["CKRecord"] }

    /// A record with the same content. It is another object, and so not equal to this one (C-01).
    open func copy(with zone: NSZone? = nil) -> Any { makeRecord(parts, isAncestor: false) }

    /// Decodes a record, or the system fields of one. Returns nil if type or identifier is missing, and if a value is
    /// damaged or not understood.
    public required init?(coder: NSCoder) {
        guard let recordType = coder.decodeText(forKey: CoderKey.recordType),
            let recordID = coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.recordID),
            let state = HeldRecord(coder: coder), !ArchivedKeys.hasUnsupportedPart("CKRecord", in: coder)
        else { return nil }
        identity = (recordType, recordID)
        self.state = LockedContent(RecordContent(state))
        super.init()
    }

    /// Archives the record with its values and its unsaved changes (C-06). Assets are archived without their files
    ///
    open func encode(with coder: NSCoder) {
        encodeSystemFields(with: coder)
        parts.encodeValues(with: coder)
    }

    /// Archives everything except the values. A record decoded from it has no values and no changes, so saving it sends
    /// only what you set afterwards (C-05).
    open func encodeSystemFields(with coder: NSCoder) {
        coder.encodeText(recordType, forKey: CoderKey.recordType)
        coder.encode(recordID, forKey: CoderKey.recordID)
        parts.encodeSystemFields(with: coder)
    }
}

// The names of types that belong to a record.

extension CKRecord {
    /// A record's name and zone.
    public typealias ID = CKRecordID
    /// A pointer to a record.
    public typealias Reference = CKReference
    /// What happens to the record that holds a reference when its target is deleted.
    public typealias ReferenceAction = CKReferenceAction

    /// The parent record. A share of the parent includes this record. The reference must have the action `.none`; any
    /// other action is a mistake, which fails the save (C-09, X-25).
    public var parent: CKRecord.Reference? {
        get {
            let zoneID = recordID.zoneID
            return state.withLock { $0.parent(in: zoneID) }
        }
        set {
            withParts { state in
                guard newValue == nil || newValue?.action == CKReferenceAction.none else {
                    StratusMisuse.note("A parent reference must have the action none.", in: &state.misuse)
                    return
                }
                state.parent = newValue
                state.parentEditNumber = state.nextEditNumber()
            }
        }
    }

    /// Sets or removes the parent record.
    public func setParent(_ parentRecord: CKRecord?) {
        parent = parentRecord.map { CKRecord.Reference(recordID: $0.recordID, action: .none) }
    }

    /// Sets or removes the parent record.
    @_disfavoredOverload
    public func setParent(_ parentRecordID: CKRecord.ID?) {
        parent = parentRecordID.map { CKRecord.Reference(recordID: $0, action: .none) }
    }
}

extension CKReference {
    /// The old name of `CKRecord.ReferenceAction`.
    @available(*, deprecated, renamed: "CKRecord.ReferenceAction")
    public typealias Action = CKReferenceAction

    /// Creates a reference to a record.
    public convenience init(record: CKRecord, action: CKReferenceAction) {
        self.init(recordID: record.recordID, action: action)
    }
}

/// An older Swift name of `CKRecord.ReferenceAction`.
@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction

extension CKRecord: StratusFormatArgument {}
