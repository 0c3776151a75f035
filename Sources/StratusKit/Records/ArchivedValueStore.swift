// The values of a record in Apple's archives: one object for the plain ones and one for the encrypted ones.
//
//   RecordValues     a dictionary of what is there now
//   OriginalValues   a dictionary of what the server had under the keys that differ now
//   ChangedKeys      a set of the keys that were set
//
// A value of a class that no record holds refuses the whole record. Encrypted values that Apple archived as
// ciphertext are of such a class.

import Foundation

/// The plain values of a record, as Apple archives them.
class ArchivedValueStore: NSObject, NSSecureCoding {
    /// The key of the record under which the object stands, and whether its values are encrypted.
    class var place: (key: String, isEncrypted: Bool) { (CoderKey.Apple.valueStore, false) }

    let values: [String: HeldValue]
    let originals: [String: HeldValue]
    let changedKeys: [String]

    required init(_ state: RecordState) {
        let isEncrypted = Self.place.isEncrypted
        func values(of fields: [String: HeldField]) -> [String: HeldValue] {
            fields.filter { $0.value.isEncrypted == isEncrypted }.mapValues(\.value)
        }
        let now = values(of: state.fields)
        self.values = now
        originals = values(of: state.baseFields).filter { state.edits[$0.key] != nil || now[$0.key] == nil }
        changedKeys = state.changedKeys(isEncrypted: isEncrypted)
        super.init()
    }

    required init?(coder: NSCoder) {
        guard let values = Self.values(CoderKey.Apple.recordValues, in: coder),
            let originals = Self.values(CoderKey.Apple.originalValues, in: coder),
            let changedKeys = Self.changedKeys(in: coder)
        else { return nil }
        self.values = values
        self.originals = originals
        self.changedKeys = changedKeys
        super.init()
    }

    class var supportsSecureCoding: Bool { true }

    override class func classFallbacksForKeyedArchiver() -> [String] { ["CKRecordValueStore"] }

    func encode(with coder: NSCoder) {
        coder.encode(Self.dictionary(of: values), forKey: CoderKey.Apple.recordValues)
        coder.encode(Self.dictionary(of: originals), forKey: CoderKey.Apple.originalValues)
        coder.encode(NSSet(array: changedKeys.map { NSString(string: $0) }), forKey: CoderKey.Apple.changedKeys)
    }

    private static func dictionary(of values: [String: HeldValue]) -> NSDictionary {
        NSDictionary(dictionary: values.mapValues(\.object))
    }

    // MARK: Decoding

    /// What values may be, and what stands in archives beside it: that decodes first and is refused as a value then,
    /// because Foundation ends the process where a class is known to it and not expected.
    private static var classes: [AnyClass] {
        [
            NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSDate.self, NSData.self, CKReference.self,
            CKAsset.self, CLLocation.self, NSNull.self, NSSet.self, NSURL.self, NSUUID.self, CKRecord.self,
            CKRecordID.self, CKRecordZoneID.self, NSPersonNameComponents.self,
        ]
    }

    private static func values(_ name: String, in coder: NSCoder) -> [String: HeldValue]? {
        var values: [String: HeldValue] = [:]
        guard let decoded = coder.decodeWithStandIns(of: classes, forKey: name) else { return values }
        guard let dictionary = decoded as? NSDictionary else { return nil }
        for (key, value) in dictionary {
            // The value of a key that was set to nil.
            if value is NSNull { continue }
            guard let key = key as? String, let held = held(value, forKey: key, in: coder) else { return nil }
            values[key] = held
        }
        return values
    }

    private static func held(_ value: Any, forKey key: String, in coder: NSCoder) -> HeldValue? {
        do throws(ValueMisuse) {
            if let text = FieldKeyRule.misuse(of: key) { throw ValueMisuse(text: text) }
            let held = try HeldValue(holding: value)
            guard place.isEncrypted, held.isUnencryptable else { return held }
            throw ValueMisuse(text: "encrypted values are no assets or references.")
        } catch {
            (coder as? any ArchiveReader)?.noteUnknown(
                "A record of the archive has a value that no record can hold. Remove the value from the archive.",
                ["key": key, "problem": error.text])
            return nil
        }
    }

    private static func changedKeys(in coder: NSCoder) -> [String]? {
        let name = CoderKey.Apple.changedKeys
        guard !coder.hasForeignMembers(NSString.self, forKey: name) else { return nil }
        let keys = (coder.decodeMembers(of: NSString.self, forKey: name) ?? []).map { String($0) }
        return keys.allSatisfy { FieldKeyRule.misuse(of: $0) == nil } ? keys.sorted() : nil
    }
}

/// The encrypted values of a record, as Apple archives them.
final class ArchivedEncryptedValueStore: ArchivedValueStore {
    override class var place: (key: String, isEncrypted: Bool) { (CoderKey.Apple.encryptedValueStore, true) }

    override class func classFallbacksForKeyedArchiver() -> [String] { ["CKEncryptedRecordValueStore"] }
}

extension RecordState {
    private static let stores = [ArchivedValueStore.self, ArchivedEncryptedValueStore.self]

    /// Archives values, changes and originals as Apple does.
    func encodeValueStores(with coder: NSCoder) {
        for store in Self.stores { coder.encode(store.init(self), forKey: store.place.key) }
    }

    /// Takes the values of an archive of Apple's.
    /// - Parameter coder: The archive.
    /// - Returns: Whether it had any. Nil where they are not understood.
    mutating func decodeValueStores(in coder: NSCoder) -> Bool? {
        var isThere = false
        for type in Self.stores where coder.containsValue(forKey: type.place.key) {
            guard let store = coder.decodeObject(of: type, forKey: type.place.key) else { return nil }
            isThere = true
            guard adopt(store, isEncrypted: type.place.isEncrypted) else {
                (coder as? any ArchiveReader)?.noteUnknown(
                    "A record of the archive has one key in plain and in encrypted values. Remove it from one of them.",
                    ["key": type.place.key])
                return nil
            }
        }
        return isThere
    }

    /// Takes the values of a store; false where another store has one of its keys (C-08).
    private mutating func adopt(_ store: ArchivedValueStore, isEncrypted: Bool) -> Bool {
        let changed = Set(store.changedKeys)
        for (key, value) in store.values {
            guard fields[key] == nil else { return false }
            let field = HeldField(value: value, isEncrypted: isEncrypted)
            fields[key] = field
            if !changed.contains(key), baseFields[key] == nil { baseFields[key] = field }
        }
        for (key, value) in store.originals { baseFields[key] = HeldField(value: value, isEncrypted: isEncrypted) }
        for key in store.changedKeys { edits[key] = FieldEdit(number: nextEditNumber(), isEncrypted: isEncrypted) }
        return true
    }
}
