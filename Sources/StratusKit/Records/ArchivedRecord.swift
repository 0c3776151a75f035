// A record's state in an archive.
//
// The archive holds only a digest of the record's origin: the account's identifier is internal to the store and is
// never shown. The digest can refuse a save elsewhere and grants nothing. A decoded record belongs to no
// account, and the server judges it like any other claim. So leaving the digest out or inventing one gains
// nothing.

import Foundation
import StratusCloud
import StratusModel

extension HeldRecord {
    func encodeSystemFields(with coder: NSCoder) {
        coder.encodeText(changeTag, forKey: CoderKey.changeTag)
        coder.encode(creationDate.map { $0 as NSDate }, forKey: CoderKey.creationDate)
        coder.encode(modificationDate.map { $0 as NSDate }, forKey: CoderKey.modificationDate)
        coder.encode(creator, forKey: CoderKey.creator)
        coder.encode(lastModifier, forKey: CoderKey.lastModifier)
        coder.encode(parent, forKey: CoderKey.parent)
        coder.encode(share, forKey: CoderKey.share)
        let isParentChanged = coder.isOfApple ? CoderKey.Apple.isParentChanged : CoderKey.isParentChanged
        coder.encode(parentEditNumber != nil, forKey: isParentChanged)
        if coder.isOfApple { coder.encode(changeTag != nil, forKey: CoderKey.Apple.isKnownToServer) }
        let mark = origin?.mark ?? originMark
        coder.encode(mark.map { Data($0) as NSData }, forKey: CoderKey.originMark)
    }

    /// A mistake is archived with the values it was made with, not with the system fields: a record that decodes from
    /// system fields holds nothing that could be wrong.
    func encodeValues(with coder: NSCoder) {
        coder.encodeText(misuse, forKey: CoderKey.misuse)
        if coder.isOfApple { return encodeValueStores(with: coder) }
        coder.encode(ArchivedFields.data(of: fields) as NSData, forKey: CoderKey.fields)
        coder.encode(ArchivedFields.data(of: baseFields) as NSData, forKey: CoderKey.baseFields)
        coder.encode(changedKeys(isEncrypted: false) as NSArray, forKey: CoderKey.changedKeys)
        coder.encode(changedKeys(isEncrypted: true) as NSArray, forKey: CoderKey.encryptedChangedKeys)
    }

    /// Decodes everything except type and identifier. Returns nil if a value is damaged.
    init?(coder: NSCoder) {
        changeTag = coder.decodeText(forKey: CoderKey.changeTag)
        creationDate = coder.decodeDate(forKey: CoderKey.creationDate)
        modificationDate = coder.decodeDate(forKey: CoderKey.modificationDate)
        creator = coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.creator)
        lastModifier = coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.lastModifier)
        parent = coder.decodeValue(of: CKReference.self, forKey: CoderKey.parent)
        share = coder.decodeValue(of: CKReference.self, forKey: CoderKey.share)
        misuse = coder.decodeText(forKey: CoderKey.misuse)
        let parentFlags = [CoderKey.isParentChanged, CoderKey.Apple.isParentChanged].map {
            coder.decodeFlag(forKey: $0)
        }
        if parentFlags.contains(true) { parentEditNumber = nextEditNumber() }
        originMark = coder.decodeData(forKey: CoderKey.originMark).map { [UInt8]($0) }

        guard let hasStores = decodeValueStores(in: coder), hasStores || decodeFields(in: coder) else { return nil }
        for (key, edit) in edits where fields[key].map({ $0.isEncrypted != edit.isEncrypted }) ?? false {
            Self.noteDoubleKey(key, in: coder)
            return nil
        }
    }

    /// Decodes values and changes as Stratus archives them. Returns false if one is damaged.
    private mutating func decodeFields(in coder: NSCoder) -> Bool {
        guard
            let fields = Self.fields(
                CoderKey.fields, plain: CoderKey.values, encrypted: CoderKey.encryptedValues, in: coder),
            let baseFields = Self.fields(
                CoderKey.baseFields, plain: CoderKey.baseValues, encrypted: CoderKey.encryptedBaseValues, in: coder)
        else { return false }
        self.fields = fields
        self.baseFields = baseFields
        for (name, isEncrypted) in [(CoderKey.changedKeys, false), (CoderKey.encryptedChangedKeys, true)] {
            let keys = coder.decodeValue(of: [NSArray.self, NSString.self], forKey: name) as? NSArray
            for key in keys ?? [] {
                guard let key = key as? String, FieldKeyRule.misuse(of: key) == nil else { return false }
                guard noteEdit(of: key, isEncrypted: isEncrypted, in: coder) else { return false }
            }
        }
        return true
    }

    /// Notes that a key was set. Returns false if it was set among the other kind of values, too (C-08).
    private mutating func noteEdit(of key: String, isEncrypted: Bool, in coder: NSCoder) -> Bool {
        if let edit = edits[key], edit.isEncrypted != isEncrypted {
            Self.noteDoubleKey(key, in: coder)
            return false
        }
        edits[key] = FieldEdit(number: nextEditNumber(), isEncrypted: isEncrypted)
        return true
    }

    private static func noteDoubleKey(_ key: String, in coder: NSCoder) {
        (coder as? any ArchiveReader)?.noteUnknown(
            "A record of the archive has one key in plain and in encrypted values. Remove it from one of them.",
            ["key": key])
    }

    private static var valueClasses: [AnyClass] {
        [
            NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSDate.self, NSData.self, CKReference.self,
            CKAsset.self, CLLocation.self,
        ]
    }

    /// The values of a block, or of the dictionaries that older versions wrote. Returns nil if no record can hold one
    /// of them.
    private static func fields(
        _ key: String, plain: String, encrypted: String, in coder: NSCoder
    ) -> [String: HeldField]? {
        if let data = coder.decodeData(forKey: key) { return ArchivedFields.fields(in: data) }
        var fields: [String: HeldField] = [:]
        for (name, isEncrypted) in [(plain, false), (encrypted, true)] {
            let decoded = coder.decodeValue(of: valueClasses, forKey: name) as? NSDictionary
            for (key, value) in decoded ?? [:] {
                guard let key = key as? String, FieldKeyRule.misuse(of: key) == nil,
                    let held = try? HeldValue(holding: value, isEncrypted: isEncrypted)
                else { return nil }
                fields[key] = HeldField(value: held, isEncrypted: isEncrypted)
            }
        }
        return fields
    }

    private static let stores = [ArchivedValueStore.self, ArchivedEncryptedValueStore.self]

    /// Archives values, changes and original values as Apple does.
    func encodeValueStores(with coder: NSCoder) {
        for store in Self.stores { coder.encode(store.init(self), forKey: store.place.key) }
    }

    /// Decodes the values of an archive of Apple's.
    /// - Parameter coder: The archive.
    /// - Returns: Whether it had any. Nil if they are not understood.
    mutating func decodeValueStores(in coder: NSCoder) -> Bool? {
        var isThere = false
        for type in Self.stores where coder.containsValue(forKey: type.place.key) {
            guard let store = coder.decodeObject(of: type, forKey: type.place.key) else { return nil }
            isThere = true
            guard adopt(store, isEncrypted: type.place.isEncrypted, in: coder) else { return nil }
        }
        return isThere
    }

    /// Takes the values of a store. Returns false if another store has one of its keys (C-08).
    private mutating func adopt(_ store: ArchivedValueStore, isEncrypted: Bool, in coder: NSCoder) -> Bool {
        let changed = Set(store.changedKeys)
        for (key, value) in store.values {
            guard fields[key] == nil else {
                Self.noteDoubleKey(key, in: coder)
                return false
            }
            let field = HeldField(value: value, isEncrypted: isEncrypted)
            fields[key] = field
            if !changed.contains(key), baseFields[key] == nil { baseFields[key] = field }
        }
        for (key, value) in store.originals {
            if let base = baseFields[key], base.isEncrypted != isEncrypted {
                Self.noteDoubleKey(key, in: coder)
                return false
            }
            baseFields[key] = HeldField(value: value, isEncrypted: isEncrypted)
        }
        return store.changedKeys.allSatisfy { noteEdit(of: $0, isEncrypted: isEncrypted, in: coder) }
    }
}

extension RecordOrigin {
    /// The digest of the origin in archives. Clients keep archives for months: never change it.
    var mark: [UInt8] {
        let parts = ["stratus origin 1", container.text, "\(database.rawValue)", account?.text ?? ""]
        return ContentDigest.sha256([UInt8](parts.joined(separator: "\0").utf8))
    }

    /// Whether a record with this mark was fetched here, by the same account or without one.
    func matches(_ mark: [UInt8]) -> Bool {
        var nobodys = self
        nobodys.account = nil
        return mark == self.mark || mark == nobodys.mark
    }
}

// The values of a record in Apple's archives: one object for the plain ones and one for the encrypted ones.
//
//   RecordValues     a dictionary of the current values
//   OriginalValues   a dictionary of the server's values for the keys that differ
//   ChangedKeys      the set of keys that were set
//
// A value of a class that no record holds refuses the whole record. Encrypted values that Apple archived as
// ciphertext are of such a class.

/// The plain values of a record, as Apple archives them.
class ArchivedValueStore: NSObject, NSSecureCoding {
    /// The key of this object in the record, and whether its values are encrypted.
    class var place: (key: String, isEncrypted: Bool) { (CoderKey.Apple.valueStore, false) }

    let values: [String: HeldValue]
    let originals: [String: HeldValue]
    let changedKeys: [String]

    required init(_ state: HeldRecord) {
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

    /// The classes of values, and other classes in archives. The latter decode first and are then refused as values:
    /// Foundation ends the process if it knows a class and the decoder did not request that class.
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
            // The key was set to nil.
            if value is NSNull { continue }
            guard let key = key as? String, let held = held(value, forKey: key, in: coder) else { return nil }
            values[key] = held
        }
        return values
    }

    private static func held(_ value: Any, forKey key: String, in coder: NSCoder) -> HeldValue? {
        do throws(Misuse) {
            if let text = FieldKeyRule.misuse(of: key) { throw Misuse(text) }
            return try HeldValue(holding: value, isEncrypted: place.isEncrypted)
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
