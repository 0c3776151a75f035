// What a CKRecord keeps behind its lock.

import Foundation
import StratusCloud

/// A change of a key since the record was made, fetched or saved.
struct FieldEdit: Sendable {
    /// Edits are numbered, so that one made while a save is under way outlasts that save.
    var number: UInt64
    var isEncrypted: Bool
}

extension HeldField {
    /// What is to stand under a key, or the mistake in it. Asks objects of a client's what they hold, so no lock is held.
    static func holding(_ value: Any?, forKey key: String, isEncrypted: Bool) -> Result<HeldField?, ValueMisuse> {
        if let text = FieldKeyRule.misuse(of: key) { return .failure(ValueMisuse(text: text)) }
        guard let value else { return .success(nil) }
        do throws(ValueMisuse) {
            let held = try HeldValue(holding: value)
            guard !isEncrypted || !held.isUnencryptable else {
                throw ValueMisuse(text: "encrypted values are no assets or references.")
            }
            return .success(HeldField(value: held, isEncrypted: isEncrypted))
        } catch {
            return .failure(ValueMisuse(text: "Value of key \(key): \(error.text)"))
        }
    }
}

/// The variable part of a record.
struct RecordState: Sendable {
    var changeTag: String?
    var creationDate: Date?
    var modificationDate: Date?
    var creator: CKRecordID?
    var lastModifier: CKRecordID?
    var parent: CKReference?
    var share: CKReference?
    var fields: [String: HeldField] = [:]

    /// The values as fetched or saved last: the ancestor in a conflict (S-05).
    var baseFields: [String: HeldField] = [:]
    /// The keys that were set since then, those set to nil included (C-03).
    var edits: [String: FieldEdit] = [:]
    var parentEditNumber: UInt64?
    var lastEditNumber: UInt64 = 0

    /// The first mistake of the programmer.
    var misuse: String?
    /// Where the record was fetched or saved; nil for one that is new or was decoded.
    var origin: RecordOrigin?
    /// What an archive says of the origin.
    var originMark: [UInt8]?

    mutating func nextEditNumber() -> UInt64 {
        lastEditNumber += 1
        return lastEditNumber
    }

    /// Sets or removes a value, and hands out what stood there: to let go of it may end objects of a client's.
    mutating func set(_ field: Result<HeldField?, ValueMisuse>, forKey key: String, isEncrypted: Bool) -> HeldField? {
        switch field {
        case .failure(let mistake):
            StratusMisuse.note(mistake.text, in: &misuse)
            return nil
        case .success(let field):
            defer { fields[key] = field }
            edits[key] = FieldEdit(number: nextEditNumber(), isEncrypted: isEncrypted)
            return fields[key]
        }
    }

    func object(forKey key: String, isEncrypted: Bool) -> (any __CKRecordObjCValue & CKRecordValueProtocol)? {
        guard let field = fields[key], field.isEncrypted == isEncrypted else { return nil }
        return field.value.object
    }

    /// The keys that have values, in order.
    func keys(isEncrypted: Bool) -> [String] {
        fields.filter { $0.value.isEncrypted == isEncrypted }.keys.sorted()
    }

    /// The assets in its fields, with the keys.
    var assets: [(key: String, asset: CKAsset)] {
        var assets: [(key: String, asset: CKAsset)] = []
        for (key, field) in fields {
            switch field.value {
            case .asset(let asset): assets.append((key, asset))
            case .list(let values): for asset in values.flatMap(\.assets) { assets.append((key, asset)) }
            default: break
            }
        }
        return assets
    }

    /// The keys that were set, in order.
    func changedKeys(isEncrypted: Bool) -> [String] {
        edits.filter { $0.value.isEncrypted == isEncrypted }.keys.sorted()
    }
}
