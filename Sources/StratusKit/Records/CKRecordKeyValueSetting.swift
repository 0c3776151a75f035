// Values under keys: what a record and its encrypted values have in common.

public import Foundation

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

    private func setAny(_ value: (any CKRecordValueProtocol)?, forKey key: CKRecord.FieldKey) {
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
