// How a record's state stands in an archive.
//
// Of its origin only a digest is in it: the account's identifier is the store's own and is never shown. The digest can
// refuse a save elsewhere and grants nothing: a decoded record is nobody's, and the server judges it like any other
// claim, so that whoever leaves the digest out or makes one up gains nothing.

import Foundation
import StratusCloud
import StratusModel

extension RecordState {
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

    /// A mistake is archived with the values that it was made with, and not with the system fields: what decodes from
    /// those holds nothing that could be wrong.
    func encodeValues(with coder: NSCoder) {
        coder.encodeText(misuse, forKey: CoderKey.misuse)
        if coder.isOfApple { return encodeValueStores(with: coder) }
        coder.encode(ArchivedFields.data(of: fields) as NSData, forKey: CoderKey.fields)
        coder.encode(ArchivedFields.data(of: baseFields) as NSData, forKey: CoderKey.baseFields)
        coder.encode(changedKeys(isEncrypted: false) as NSArray, forKey: CoderKey.changedKeys)
        coder.encode(changedKeys(isEncrypted: true) as NSArray, forKey: CoderKey.encryptedChangedKeys)
    }

    /// Everything that an archive says of a record but its type and identifier; nil where its values are damaged.
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
        originMark = coder.decodeValue(of: NSData.self, forKey: CoderKey.originMark).map {
            [UInt8](Data(referencing: $0))
        }

        guard let hasStores = decodeValueStores(in: coder) else { return nil }
        if hasStores { return }
        guard
            let fields = Self.fields(
                CoderKey.fields, plain: CoderKey.values, encrypted: CoderKey.encryptedValues, in: coder),
            let baseFields = Self.fields(
                CoderKey.baseFields, plain: CoderKey.baseValues, encrypted: CoderKey.encryptedBaseValues, in: coder)
        else { return nil }
        self.fields = fields
        self.baseFields = baseFields
        for (name, isEncrypted) in [(CoderKey.changedKeys, false), (CoderKey.encryptedChangedKeys, true)] {
            for key in Self.decodedArray(forKey: name, in: coder) {
                guard let key = key as? String, FieldKeyRule.misuse(of: key) == nil else { return nil }
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

    /// The values of a block, or of the dictionaries of older versions; nil where one is of a type that no record holds.
    private static func fields(
        _ key: String, plain: String, encrypted: String, in coder: NSCoder
    ) -> [String: HeldField]? {
        if let data = coder.decodeValue(of: NSData.self, forKey: key) {
            return ArchivedFields.fields(in: Data(referencing: data))
        }
        var fields: [String: HeldField] = [:]
        for (name, isEncrypted) in [(plain, false), (encrypted, true)] {
            let decoded = coder.decodeValue(of: valueClasses, forKey: name) as? NSDictionary
            for (key, value) in decoded ?? [:] {
                guard let key = key as? String, FieldKeyRule.misuse(of: key) == nil,
                    let held = try? HeldValue(holding: value), !isEncrypted || !held.isUnencryptable
                else { return nil }
                fields[key] = HeldField(value: held, isEncrypted: isEncrypted)
            }
        }
        return fields
    }

    private static func decodedArray(forKey name: String, in coder: NSCoder) -> [Any] {
        (coder.decodeValue(of: [NSArray.self, NSString.self], forKey: name) as? NSArray).map(Array.init) ?? []
    }
}

extension RecordOrigin {
    /// What stands for the origin in archives. Clients keep it for months: it never changes.
    var mark: [UInt8] {
        let parts = ["stratus origin 1", container.text, "\(database.rawValue)", account?.text ?? ""]
        return ContentDigest.sha256([UInt8](parts.joined(separator: "\0").utf8))
    }

    /// Whether a record with this mark was fetched here, by the same account or by nobody who was signed in.
    func matches(_ mark: [UInt8]) -> Bool {
        var nobodys = self
        nobodys.account = nil
        return mark == self.mark || mark == nobodys.mark
    }
}
