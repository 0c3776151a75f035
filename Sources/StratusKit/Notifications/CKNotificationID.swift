// The identity of a notification. Top-level, because Foundation on Linux cannot archive nested classes; clients say
// `CKNotification.ID`.
//
// Invariant: immutable, so that it may be shared by threads and used as a dictionary key.

public import Foundation

/// The identity of a notification, equal by value. Only the server makes them.
public final class CKNotificationID: NSObject, NSSecureCoding, NSCopying, Sendable {
    let id: UUID

    init(_ id: UUID) {
        self.id = id
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationID)?.id == id }

    public override var hash: Int { id.hashValue }

    public override var description: String { "<CKNotificationID: \(id.uuidString)>" }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKNotificationID"] }

    /// Archives the identity.
    public func encode(with coder: NSCoder) { coder.encodeText(id.uuidString, forKey: CoderKey.notificationID) }

    /// Decodes an identity; nil where there is none, as in archives from Apple's systems.
    public convenience init?(coder: NSCoder) {
        guard let id = coder.decodeText(forKey: CoderKey.notificationID).flatMap({ UUID(uuidString: $0) }) else {
            return nil
        }
        self.init(id)
    }
}
