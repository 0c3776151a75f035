// The encrypted values of a record: a view of the record, not a store of its own.

import Foundation
import StratusStore

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
