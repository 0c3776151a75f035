// Other ways to a record's values: iteration, key-value coding, system fields by name.

import Foundation
import StratusStore

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
    public func setValue(_ value: Any?, forKey key: String) {
        guard let value else { return setObject(nil, forKey: key) }
        setObject(value as? any __CKRecordObjCValue ?? UnheldValue(value: value), forKey: key)
    }

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
