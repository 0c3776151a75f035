// Access to the values of a record, plain and encrypted: subscripts, iteration, key-value coding.

public import Foundation

/// Access to values under keys. Clients do not conform to it.
public protocol CKRecordKeyValueSetting: NSObjectProtocol, Sendable {
    /// The value under a key, or nil.
    func object(forKey key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)?
    /// Sets the value under a key; nil removes it. An invalid key or value is remembered and fails the save.
    func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: CKRecord.FieldKey)
    /// The value under a key, or nil. Setting nil removes it. An invalid key or value is remembered and fails the save
    ///
    subscript(key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? { get set }
    /// The keys that have values.
    func allKeys() -> [CKRecord.FieldKey]
    /// The keys that were set since the record was created, fetched or saved, including those set to nil (C-03).
    func changedKeys() -> [CKRecord.FieldKey]
}

extension CKRecordKeyValueSetting {
    /// The value under a key, converted to the requested type. A number converts to any number type as `NSNumber`'s
    /// properties do, and may lose digits. (A cast of what the other subscripts return is exact or nil.) Nil if there
    /// is no value, or it is of another type.
    public subscript<T>(key: CKRecord.FieldKey) -> T? where T: CKRecordValueProtocol {
        get {
            guard let object = object(forKey: key) else { return nil }
            if Swift.type(of: object) == T.self { return object as? T }
            guard let number = object as? NSNumber, let type = T.self as? any NumberValue.Type else {
                return object as? T
            }
            return type.init(truncating: number) as? T
        }
        // Every type that a record can hold conforms to both protocols.
        set { setAny(newValue, forKey: key) }
    }

    /// The value under a key, as a Swift type: a number is an `Int64` or a `Double`, as in the store. (If the context
    /// does not ask for a Swift protocol, the other subscript returns a number as `NSNumber`, which casts to any number
    /// type.)
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

/// A value whose static type does not say what it holds. A list of any elements is converted; any other value is
/// refused with the name of its type.
struct UnheldValue: __CKRecordObjCValue, HoldableValue {
    var value: Any

    var description: String { "\(value)" }

    func heldValue() throws(Misuse) -> HeldValue { try HeldValue(holding: value) }
}

/// Iterates over the keys and values that a record had when the iterator was created.
public struct CKRecordKeyValueIterator: IteratorProtocol {
    private var pairs: IndexingIterator<[(CKRecord.FieldKey, any CKRecordValueProtocol)]>

    init(_ pairs: [(CKRecord.FieldKey, any CKRecordValueProtocol)]) {
        self.pairs = pairs.makeIterator()
    }

    /// The next key and its value, or nil at the end.
    public mutating func next() -> (CKRecord.FieldKey, any CKRecordValueProtocol)? { pairs.next() }
}

extension CKRecord {
    /// Iterates over all keys in alphabetical order, with their values as Swift types: numbers are `Int64` or `Double`.
    /// Encrypted values are not included.
    public func makeIterator() -> CKRecordKeyValueIterator {
        let state = parts
        return CKRecordKeyValueIterator(
            state.keys(isEncrypted: false).compactMap { key in
                state.fields[key].map { (key, $0.value.native) }
            })
    }

    /// Sets or removes the value under a key, like Objective-C's key-value coding (C-22).
    public func setValue(_ value: Any?, forKey key: String) { setAny(value, forKey: key) }

    /// The value under a key, like Objective-C's key-value coding (C-22). If there is none, the property of that name.
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

    /// Sets many values, like Objective-C's key-value coding (C-22). `NSNull`, and an optional without a value, remove
    /// a value.
    public func setValuesForKeys(_ keyedValues: [String: Any]) {
        for (key, value) in keyedValues.sorted(by: { $0.key < $1.key }) {
            let isAbsent = value is NSNull || (value as? any Emptiable)?.isEmptied == true
            setValue(isAbsent ? nil : value, forKey: key)
        }
    }

    /// The values under keys, like Objective-C's key-value coding (C-22). The value of a missing key is `NSNull`.
    public func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }, uniquingKeysWith: { $1 })
    }

    /// The value at the end of a key path, like Objective-C's key-value coding (C-22). The first key is as in
    /// `value(forKey:)`; the next ones are properties of identifiers and references, as in `recordID.recordName`.
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

    /// The value of a system field; nil for other keys. Also nil for the keys of record identifiers, which no field can
    /// hold.
    func systemValue(forKey key: FieldKey) -> (any __CKRecordObjCValue)? {
        guard key.utf8.first == UInt8(ascii: "_") else { return nil }
        return switch key {
        case SystemFieldKey.creationDate: creationDate
        case SystemFieldKey.modificationDate: modificationDate
        case SystemFieldKey.parent: parent
        case SystemFieldKey.share: share
        default: nil
        }
    }
}

/// An optional in an `Any`. Apple's compiler bridges it to `NSNull` if it has no value.
private protocol Emptiable {
    var isEmptied: Bool { get }
}

extension Optional: Emptiable {
    fileprivate var isEmptied: Bool { if case .none = self { true } else { false } }
}

/// What `CKRecord.encryptedValues` returns: a view of the record without its own storage.
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
