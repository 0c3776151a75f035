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
    /// Walks all keys, in alphabetical order, with their values. Encrypted values are not among them.
    public func makeIterator() -> CKRecordKeyValueIterator {
        let state = state.value
        return CKRecordKeyValueIterator(
            state.keys(isEncrypted: false).compactMap { key in
                state.object(forKey: key, isEncrypted: false).map { (key, $0) }
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

    /// Sets many values, like Objective-C's key-value coding (C-22). `NSNull` removes.
    public func setValuesForKeys(_ keyedValues: [String: Any]) {
        for (key, value) in keyedValues.sorted(by: { $0.key < $1.key }) {
            setValue(value is NSNull ? nil : value, forKey: key)
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
