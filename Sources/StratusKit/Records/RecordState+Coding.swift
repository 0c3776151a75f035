// How a record's state stands in an archive.
//
// The account is not in it: its identifier is the store's own and is never shown. A decoded record is nobody's, and the
// server judges it like any other claim.

import Foundation

extension RecordState {
    func encodeSystemFields(with coder: NSCoder) {
        coder.encode(changeTag.map { $0 as NSString }, forKey: CoderKey.changeTag)
        coder.encode(creationDate.map { $0 as NSDate }, forKey: CoderKey.creationDate)
        coder.encode(modificationDate.map { $0 as NSDate }, forKey: CoderKey.modificationDate)
        coder.encode(creator, forKey: CoderKey.creator)
        coder.encode(lastModifier, forKey: CoderKey.lastModifier)
        coder.encode(parent, forKey: CoderKey.parent)
        coder.encode(share, forKey: CoderKey.share)
        coder.encode(parentEditNumber != nil, forKey: CoderKey.isParentChanged)
        coder.encode(misuse.map { $0 as NSString }, forKey: CoderKey.misuse)
    }

    func encodeValues(with coder: NSCoder) {
        coder.encode(Self.dictionary(fields, isEncrypted: false), forKey: CoderKey.values)
        coder.encode(Self.dictionary(fields, isEncrypted: true), forKey: CoderKey.encryptedValues)
        coder.encode(Self.dictionary(baseFields, isEncrypted: false), forKey: CoderKey.baseValues)
        coder.encode(Self.dictionary(baseFields, isEncrypted: true), forKey: CoderKey.encryptedBaseValues)
        coder.encode(changedKeys(isEncrypted: false) as NSArray, forKey: CoderKey.changedKeys)
        coder.encode(changedKeys(isEncrypted: true) as NSArray, forKey: CoderKey.encryptedChangedKeys)
    }

    private static func dictionary(_ fields: [String: HeldField], isEncrypted: Bool) -> NSDictionary {
        let chosen = fields.filter { $0.value.isEncrypted == isEncrypted }
        return NSDictionary(dictionary: chosen.mapValues { $0.value.object })
    }

    /// Everything that an archive says of a record but its type and identifier. Values of types that no record holds
    /// are passed over.
    init(coder: NSCoder) {
        changeTag = coder.decodeText(forKey: CoderKey.changeTag)
        creationDate = coder.decodeDate(forKey: CoderKey.creationDate)
        modificationDate = coder.decodeDate(forKey: CoderKey.modificationDate)
        creator = coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.creator)
        lastModifier = coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.lastModifier)
        parent = coder.decodeValue(of: CKReference.self, forKey: CoderKey.parent)
        share = coder.decodeValue(of: CKReference.self, forKey: CoderKey.share)
        misuse = coder.decodeText(forKey: CoderKey.misuse)
        if coder.decodeFlag(forKey: CoderKey.isParentChanged) { parentEditNumber = nextEditNumber() }

        fields = Self.fields(plain: CoderKey.values, encrypted: CoderKey.encryptedValues, in: coder)
        baseFields = Self.fields(plain: CoderKey.baseValues, encrypted: CoderKey.encryptedBaseValues, in: coder)
        for (name, isEncrypted) in [(CoderKey.changedKeys, false), (CoderKey.encryptedChangedKeys, true)] {
            for case let key as String in Self.decodedArray(forKey: name, in: coder)
            where FieldKeyRule.misuse(of: key) == nil {
                edits[key] = FieldEdit(number: nextEditNumber(), isEncrypted: isEncrypted)
            }
        }
    }

    private static var valueClasses: [AnyClass] {
        [
            NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSDate.self, NSData.self, CKReference.self,
            CKAsset.self, CLLocation.self,
        ]
    }

    private static func fields(plain: String, encrypted: String, in coder: NSCoder) -> [String: HeldField] {
        var fields: [String: HeldField] = [:]
        for (name, isEncrypted) in [(plain, false), (encrypted, true)] {
            let decoded = coder.decodeValue(of: valueClasses, forKey: name) as? NSDictionary
            for case (let key as String, let value) in decoded ?? [:] where FieldKeyRule.misuse(of: key) == nil {
                guard let held = try? HeldValue(holding: value), !isEncrypted || !held.isUnencryptable else { continue }
                fields[key] = HeldField(value: held, isEncrypted: isEncrypted)
            }
        }
        return fields
    }

    private static func decodedArray(forKey name: String, in coder: NSCoder) -> [Any] {
        (coder.decodeValue(of: [NSArray.self, NSString.self], forKey: name) as? NSArray).map(Array.init) ?? []
    }
}
