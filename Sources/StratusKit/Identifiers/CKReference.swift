// A pointer to a record as clients know it. Top-level, because Foundation on Linux cannot archive nested classes;
// clients say `CKRecord.Reference`.
//
// Invariant: immutable.

public import Foundation
import StratusCloud
import StratusModel

/// What becomes of a record that holds a reference when the record it points to is deleted. Clients say
/// `CKRecord.ReferenceAction`.
public enum CKReferenceAction: UInt, Sendable {
    /// The reference is left as it is.
    case none = 0
    /// The record that holds it is deleted too. A participant's reference to a record that they do not see, or that
    /// does not exist, is stored with the action `none`.
    case deleteSelf = 1
}

/// A pointer to a record of the same zone, equal by target and action (C-01).
public final class CKReference: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The record pointed to.
    public let recordID: CKRecordID
    /// What the deletion of that record does to the one that holds the reference.
    public let action: CKReferenceAction

    /// Points to a record, which need not exist.
    public init(recordID: CKRecordID, action: CKReferenceAction) {
        self.recordID = recordID
        self.action = action
        super.init()
    }

    convenience init(_ reference: ClientReference) {
        self.init(recordID: CKRecordID(reference.target), action: reference.action == .deleteSelf ? .deleteSelf : .none)
    }

    var clientReference: ClientReference {
        ClientReference(target: recordID.address, action: action == .deleteSelf ? .deleteSelf : .none)
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKReference else { return false }
        return self === other || (action == other.action && recordID == other.recordID)
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(recordID)
        hasher.combine(action)
        return hasher.finalize()
    }

    public override var description: String { "<CKReference: \(recordID), action=\(action)>" }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKReference"] }

    /// Archives target and action.
    public func encode(with coder: NSCoder) {
        coder.encode(recordID, forKey: CoderKey.targetRecordID)
        coder.encode(Int64(action.rawValue), forKey: CoderKey.referenceAction)
    }

    /// Decodes a reference; nil where the target is missing.
    public convenience init?(coder: NSCoder) {
        guard let recordID = coder.decodeValue(of: CKRecordID.self, forKey: CoderKey.targetRecordID) else {
            return nil
        }
        let number = coder.decodeNumber(forKey: CoderKey.referenceAction)
        self.init(recordID: recordID, action: number == 1 ? .deleteSelf : .none)
    }
}
