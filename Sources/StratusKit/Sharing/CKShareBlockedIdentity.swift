// Somebody who may not ask for access to a share. Top-level, because Foundation on Linux cannot archive nested classes;
// clients say `CKShare.BlockedIdentity`.
//
// Invariant: immutable.

public import Foundation
import StratusCloud
import StratusModel

/// Somebody who may not ask for access to a share (P-20).
public final class CKShareBlockedIdentity: NSObject, NSSecureCoding, NSCopying, Sendable {
    let facts: PetitionerFacts

    init(_ facts: PetitionerFacts) {
        self.facts = facts
        super.init()
    }

    /// The person.
    public var userIdentity: CKUserIdentity { CKUserIdentity(facts.identity) }

    /// The person as an address book would have them: made anew from name and handle.
    public var contact: CNContact { CNContact(userIdentity) }

    public override var description: String { "<CKShareBlockedIdentity: \(userIdentity)>" }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKShareBlockedIdentity"] }

    /// Archives the person.
    public func encode(with coder: NSCoder) { coder.encodeBlock(facts, forKey: CoderKey.petitioner) }

    /// Decodes the person; nil where the archive holds none. What it says is a claim.
    public convenience init?(coder: NSCoder) {
        guard let facts = coder.decodeBlock(PetitionerFacts.self, forKey: CoderKey.petitioner) else { return nil }
        self.init(facts)
    }
}
