// A record as clients know it: a box around a plain value, behind a lock.
//
// Invariants: type and identifier never change; two records are equal only when they are the same object (C-01); what
// only the server decides (tag, dates, users) changes only when the server has answered.

public import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// A record: values under keys, with a type, an identifier and what the server knows of it.
///
/// Values are set with subscripts and are copied on the way in (C-07). A mistake that raises an exception on Apple's
/// systems is remembered and fails the save; see ``StratusMisuse``. Records may be used by several threads.
open class CKRecord: NSObject, NSSecureCoding, NSCopying, CKRecordKeyValueSetting, Sequence, @unchecked Sendable {
    // Unchecked because a class that can be inherited from cannot be checked. Its own state is constant or locked;
    // a subclass answers for what it adds. What clients' tests override, as they can on Apple's systems, stands in the
    // class itself: a member of an extension cannot be overridden.

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
        /// The record above this one.
        public static let parent: FieldKey = "___parent"
        /// The share of which the record is the root.
        public static let share: FieldKey = "___share"
    }

    /// What the getters of type and identifier give, unless a subclass overrides them.
    private let identity: (type: RecordType, id: CKRecord.ID)
    let state: Locked<HeldRecord>

    /// The record's type, which is also the name of its schema.
    open var recordType: RecordType { identity.type }
    /// The record's name and zone.
    open var recordID: CKRecord.ID { identity.id }

    /// A new record. The server has not heard of it: tag, dates and users are nil (C-02).
    /// - Parameters:
    ///   - recordType: A name of the schema (L-09).
    ///   - recordID: By default a new name in the default zone.
    public init(recordType: RecordType, recordID: CKRecord.ID = CKRecord.ID()) {
        identity = (recordType, recordID)
        state = Locked(HeldRecord())
        super.init()
    }

    convenience init(recordType: RecordType, recordID: CKRecord.ID, state: HeldRecord) {
        self.init(recordType: recordType, recordID: recordID)
        self.state.withLock { $0 = state }
    }

    /// A new record with a new name in a zone.
    @available(*, deprecated, message: "Use init(recordType:recordID:) with CKRecord.ID(zoneID:).")
    public convenience init(recordType: RecordType, zoneID: CKRecordZoneID) {
        self.init(recordType: recordType, recordID: CKRecord.ID(zoneID: zoneID))
    }

    // MARK: What the server knows

    /// The version of the record that this one began as; nil for a record that was never saved. Opaque.
    open var recordChangeTag: String? { state.withLock { $0.changeTag } }
    /// The user who saved the record first.
    open var creatorUserRecordID: CKRecord.ID? { state.withLock { $0.creator } }
    /// When the record was saved first.
    open var creationDate: Date? { state.withLock { $0.creationDate } }
    /// The user who saved the record last.
    open var lastModifiedUserRecordID: CKRecord.ID? { state.withLock { $0.lastModifier } }
    /// When the record was saved last.
    open var modificationDate: Date? { state.withLock { $0.modificationDate } }
    /// The share that the record is the root of.
    open var share: CKRecord.Reference? { state.withLock { $0.share } }

    // MARK: Values

    /// The value under a key; nil where there is none, or where it is an encrypted one.
    open func object(forKey key: FieldKey) -> (any __CKRecordObjCValue)? {
        systemValue(forKey: key) ?? state.withLock { $0.object(forKey: key, isEncrypted: false) }
    }

    /// Sets the value under a key, or removes it.
    open func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: FieldKey) {
        if key == SystemFieldKey.parent {
            guard object == nil || object is CKRecord.Reference else {
                return state.withLock {
                    StratusMisuse.note("Value of key \(key): a parent is a reference.", in: &$0.misuse)
                }
            }
            parent = object as? CKRecord.Reference
        } else {
            set(object, forKey: key, isEncrypted: false)
        }
    }

    /// Sets the value under a key, or removes it, plain or encrypted.
    final func set(_ value: Any?, forKey key: FieldKey, isEncrypted: Bool) {
        let field = HeldField.holding(value, forKey: key, isEncrypted: isEncrypted)
        // What stood there is let go of after the lock.
        _ = state.withLock { $0.set(field, forKey: key, isEncrypted: isEncrypted) }
    }

    /// The value under a key, in the words of Objective-C.
    open subscript(key: FieldKey) -> (any __CKRecordObjCValue)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    /// The keys that have values, in alphabetical order; encrypted ones are listed by ``encryptedValues``.
    open func allKeys() -> [FieldKey] { state.withLock { $0.keys(isEncrypted: false) } }

    /// The keys that were set since the record was made, fetched or saved, those set to nil included (C-03).
    open func changedKeys() -> [FieldKey] { state.withLock { $0.changedKeys(isEncrypted: false) } }

    /// The words of all strings, in lower case and alphabetical order, each once: what a full-text search looks at.
    open func allTokens() -> [String] {
        let fields = state.withLock { $0.fields }
        let texts = fields.values.filter { !$0.isEncrypted }.flatMap(\.value.texts)
        let words = texts.flatMap { $0.lowercased().split { !$0.isLetter && !$0.isNumber } }
        return Set(words.map(String.init)).sorted()
    }

    /// The values that are encrypted on their way and at rest (C-08). No assets and no references.
    open var encryptedValues: any CKRecordKeyValueSetting { EncryptedValues(of: self) }

    open override var description: String {
        let (tag, keys) = state.withLock { ($0.changeTag, $0.fields.keys.sorted()) }
        let known = tag.map { ", recordChangeTag=\($0)" } ?? ""
        return "<\(type(of: self)): recordType=\(recordType), recordID=\(recordID)\(known), keys=\(keys)>"
    }

    // MARK: What a share has more

    /// Another record with this type and identifier.
    /// - Parameters:
    ///   - state: Its content.
    ///   - isAncestor: Whether it stands for what the server said last, and not for what is here now.
    /// - Returns: The record.
    func makeRecord(_ state: HeldRecord, isAncestor: Bool) -> CKRecord {
        CKRecord(recordType: recordType, recordID: recordID, state: state)
    }

    /// What a save sends beside the fields.
    func beginSharing() -> (any SentSharing)? { nil }

    /// Takes over what the server says beside the fields.
    /// - Parameters:
    ///   - saved: What it says.
    ///   - isNews: Whether nothing newer is known.
    ///   - origin: Where the record was saved, and by whom.
    ///   - sent: What the save sent.
    func absorbSharing(_ saved: ClientShare?, isNews: Bool, origin: RecordOrigin?, sent: (any SentSharing)?) {}

    // MARK: Copying and archiving

    /// True.
    open class var supportsSecureCoding: Bool { true }

    open override class func classFallbacksForKeyedArchiver() -> [String] { ["CKRecord"] }

    /// A record with the same content; another object, and so not equal to this one (C-01).
    open func copy(with zone: NSZone? = nil) -> Any { makeRecord(state.value, isAncestor: false) }

    /// Decodes a record, or the system fields of one; nil where type or identifier is missing, and where a value is
    /// damaged or not understood.
    public required init?(coder: NSCoder) {
        guard let recordType = coder.decodeText(forKey: CoderKey.recordType),
            let recordID = coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.recordID),
            let state = HeldRecord(coder: coder), !ArchivedKeys.hasUnsupportedPart("CKRecord", in: coder)
        else { return nil }
        identity = (recordType, recordID)
        self.state = Locked(state)
        super.init()
    }

    /// Archives the record with its values and its unsaved changes (C-06). Assets are archived without their files
    ///
    open func encode(with coder: NSCoder) {
        encodeSystemFields(with: coder)
        state.value.encodeValues(with: coder)
    }

    /// Archives everything but the values. A record decoded from it has no values and no changes, so that setting and
    /// saving sends just what was set (C-05).
    open func encodeSystemFields(with coder: NSCoder) {
        coder.encodeText(recordType, forKey: CoderKey.recordType)
        coder.encode(recordID, forKey: CoderKey.recordID)
        state.value.encodeSystemFields(with: coder)
    }
}

// The names by which clients know the types that belong to a record.

extension CKRecord {
    /// A record's name and zone.
    public typealias ID = CKRecordID
    /// A pointer to a record.
    public typealias Reference = CKReference
    /// What the deletion of its target does to the record that holds a reference.
    public typealias ReferenceAction = CKReferenceAction
}

extension CKReference {
    /// The old name of `CKRecord.ReferenceAction`.
    @available(*, deprecated, renamed: "CKRecord.ReferenceAction")
    public typealias Action = CKReferenceAction

    /// Points to a record.
    public convenience init(record: CKRecord, action: CKReferenceAction) {
        self.init(recordID: record.recordID, action: action)
    }
}

/// The name of `CKRecord.ReferenceAction` between two versions of Swift.
@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction

extension CKRecord: StratusFormatArgument {}

// The record above another in its hierarchy.

extension CKRecord {
    /// The record above this one: what is shared with a share of it is this record too. Its action is `.none`; another
    /// is a mistake, remembered until the save (C-09, X-25).
    public var parent: CKRecord.Reference? {
        get { state.withLock { $0.parent } }
        set {
            state.withLock { state in
                guard newValue == nil || newValue?.action == CKReferenceAction.none else {
                    StratusMisuse.note("A parent reference must have the action none.", in: &state.misuse)
                    return
                }
                state.parent = newValue
                state.parentEditNumber = state.nextEditNumber()
            }
        }
    }

    /// Puts this record under another, or under none.
    public func setParent(_ parentRecord: CKRecord?) {
        parent = parentRecord.map { CKRecord.Reference(recordID: $0.recordID, action: .none) }
    }

    /// Puts this record under another, or under none.
    @_disfavoredOverload
    public func setParent(_ parentRecordID: CKRecord.ID?) {
        parent = parentRecordID.map { CKRecord.Reference(recordID: $0, action: .none) }
    }
}
