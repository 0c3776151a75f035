// Values under keys: what a record and its encrypted values have in common.

public import Foundation
import StratusStore

/// Something that holds values under keys. Clients do not conform to it.
public protocol CKRecordKeyValueSetting: NSObjectProtocol, Sendable {
    /// The value under a key; nil where there is none.
    func object(forKey key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)?
    /// Sets the value under a key; nil takes it away. A bad key or value is remembered and fails the save.
    func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: CKRecord.FieldKey)
    /// The value under a key; nil where there is none. Setting nil takes it away, and a bad key or value is remembered and
    /// fails the save.
    subscript(key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? { get set }
    /// The keys that have values.
    func allKeys() -> [CKRecord.FieldKey]
    /// The keys that were set since the record was made, fetched or saved, those set to nil included (C-03).
    func changedKeys() -> [CKRecord.FieldKey]
}

extension CKRecordKeyValueSetting {
    /// The value under a key, converted to the type that is asked for: a number to any number type, as `NSNumber`'s
    /// properties do it, so that digits may get lost. (A cast of what the other subscripts return is exact or nil.) Nil
    /// where there is none or it is of another type.
    public subscript<T>(key: CKRecord.FieldKey) -> T? where T: CKRecordValueProtocol {
        get {
            let object = object(forKey: key)
            guard let number = object as? NSNumber, let type = T.self as? any NumberValue.Type else {
                return object as? T
            }
            return type.init(truncating: number) as? T
        }
        // Every type of Swift's protocol that a record can hold has the other one too.
        set { setAny(newValue, forKey: key) }
    }

    /// The value under a key, as Swift's own type: a number is an `Int64` or a `Double`, as it lies in the store. (Where
    /// the context asks for no protocol of Swift's, the other subscript hands out an object, which casts to any number type.)
    public subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        get {
            let object = object(forKey: key)
            guard !(object is NSArray), let held = try? (object as? any HoldableValue)?.heldValue() else {
                return object as? any CKRecordValueProtocol
            }
            return held.native
        }
        set { setAny(newValue, forKey: key) }
    }

    fileprivate func setAny(_ value: Any?, forKey key: CKRecord.FieldKey) {
        guard let value else { return setObject(nil, forKey: key) }
        setObject(value as? any __CKRecordObjCValue ?? UnheldValue(value: value), forKey: key)
    }
}

/// A value whose type says nothing of what it holds: a list of anything is looked into, any other is refused with its
/// type's name.
struct UnheldValue: __CKRecordObjCValue, HoldableValue {
    var value: Any

    var description: String { "\(value)" }

    func heldValue() throws(ValueMisuse) -> HeldValue {
        if let list = value as? [Any] { return try HeldValue(holdingAll: list) }
        throw ValueMisuse(text: "\(type(of: value)) is not a type that a record can hold.")
    }
}

// Other ways to a record's values: iteration, key-value coding, system fields by name.

/// Walks the keys and values of a record as they were when it was made.
public struct CKRecordKeyValueIterator: IteratorProtocol {
    private var pairs: IndexingIterator<[(CKRecord.FieldKey, any CKRecordValueProtocol)]>

    init(_ pairs: [(CKRecord.FieldKey, any CKRecordValueProtocol)]) {
        self.pairs = pairs.makeIterator()
    }

    /// The next key and its value; nil at the end.
    public mutating func next() -> (CKRecord.FieldKey, any CKRecordValueProtocol)? { pairs.next() }
}

extension CKRecord {
    /// Walks all keys, in alphabetical order, with their values as Swift's own types: numbers are `Int64` or `Double`.
    /// Encrypted values are not among them.
    public func makeIterator() -> CKRecordKeyValueIterator {
        let state = state.value
        return CKRecordKeyValueIterator(
            state.keys(isEncrypted: false).compactMap { key in
                state.fields[key].map { (key, $0.value.native) }
            })
    }

    /// Sets the value under a key, or removes it, like Objective-C's key-value coding (C-22).
    public func setValue(_ value: Any?, forKey key: String) { setAny(value, forKey: key) }

    /// The value under a key, like Objective-C's key-value coding (C-22). Where there is none, the property of that
    /// name.
    public func value(forKey key: String) -> Any? {
        if let value = object(forKey: key) { return value }
        return switch key {
        case "recordID": recordID
        case "recordType": recordType
        case "recordChangeTag": recordChangeTag
        case "creationDate": creationDate
        case "creatorUserRecordID": creatorUserRecordID
        case "modificationDate": modificationDate
        case "lastModifiedUserRecordID": lastModifiedUserRecordID
        case "parent": parent
        case "share": share
        default: nil
        }
    }

    /// Sets many values, like Objective-C's key-value coding (C-22). `NSNull`, and an optional without a value, removes.
    public func setValuesForKeys(_ keyedValues: [String: Any]) {
        for (key, value) in keyedValues.sorted(by: { $0.key < $1.key }) {
            let isAbsent = value is NSNull || (value as? any Emptiable)?.isEmptied == true
            setValue(isAbsent ? nil : value, forKey: key)
        }
    }

    /// The values under keys, like Objective-C's key-value coding (C-22). A key without a value has `NSNull`.
    public func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }, uniquingKeysWith: { $1 })
    }

    /// The value at the end of a path of keys, like Objective-C's key-value coding (C-22): `value(forKey:)` for a single
    /// key, and on from it the properties of identifiers and references, as in `recordID.recordName`.
    public func value(forKeyPath keyPath: String) -> Any? {
        let keys = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        return keys.dropFirst().reduce(value(forKey: keys[0])) { value, key in
            switch (value, key) {
            case (let id as CKRecord.ID, "recordName"): id.recordName
            case (let id as CKRecord.ID, "zoneID"): id.zoneID
            case (let id as CKRecordZoneID, "zoneName"): id.zoneName
            case (let id as CKRecordZoneID, "ownerName"): id.ownerName
            case (let reference as CKRecord.Reference, "recordID"): reference.recordID
            default: nil
            }
        }
    }

    /// A system field under its own key. The identifiers of records are none of a field's types and have no value here.
    func systemValue(forKey key: FieldKey) -> (any __CKRecordObjCValue)? {
        guard key.hasPrefix("___") else { return nil }
        return switch key {
        case SystemFieldKey.creationDate: creationDate.map { $0 as NSDate }
        case SystemFieldKey.modificationDate: modificationDate.map { $0 as NSDate }
        case SystemFieldKey.parent: parent
        case SystemFieldKey.share: share
        default: nil
        }
    }
}

/// An optional in an `Any`, which Apple's compiler bridges to `NSNull` where it has no value.
private protocol Emptiable {
    var isEmptied: Bool { get }
}

extension Optional: Emptiable {
    fileprivate var isEmptied: Bool { if case .none = self { true } else { false } }
}

// The encrypted values of a record: a view of the record, not a store of its own.

/// What `CKRecord.encryptedValues` hands out.
final class EncryptedValues: NSObject, CKRecordKeyValueSetting {
    private let record: CKRecord

    init(of record: CKRecord) {
        self.record = record
        super.init()
    }

    func object(forKey key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? {
        record.state.withLock { $0.object(forKey: key, isEncrypted: true) }
    }

    func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: CKRecord.FieldKey) {
        record.set(object, forKey: key, isEncrypted: true)
    }

    subscript(key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    func allKeys() -> [CKRecord.FieldKey] { record.state.withLock { $0.keys(isEncrypted: true) } }

    func changedKeys() -> [CKRecord.FieldKey] { record.state.withLock { $0.changedKeys(isEncrypted: true) } }
}

// Which keys a record's fields may have (L-10), as checked when a value is set.

/// The client's check of keys. The server's own is stricter (L-09).
enum FieldKeyRule {
    /// Keys of system fields that a client may set like any other: those of a share.
    private static let systemKeys: Set = ["cloudkit.title", "cloudkit.thumbnailImageData", "cloudkit.type"]

    /// What is wrong with a key; nil when nothing is.
    static func misuse(of key: String) -> String? {
        guard let first = key.utf8.first else { return "recordKey can not be empty" }
        let isWellFormed = isLetter(first) && key.utf8.dropFirst().allSatisfy { isLetter($0) || isDigitOrDollar($0) }
        return isWellFormed || systemKeys.contains(key) ? nil : "recordKey (\(key)) contains invalid characters"
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func isDigitOrDollar(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "$"): true
        default: false
        }
    }
}
