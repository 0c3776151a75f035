// What people may choose when they share something. On Apple's systems these options restrict the sharing sheet; here
// they restrict the calls by which a host invites for its users.

public import Foundation
import StratusStore

/// With whom people may share.
public struct CKSharingParticipantAccessOption: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt
    /// The options with these bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Anyone who has the URL.
    public static let anyoneWithLink = CKSharingParticipantAccessOption(rawValue: 1 << 0)
    /// Invited people.
    public static let specifiedRecipientsOnly = CKSharingParticipantAccessOption(rawValue: 1 << 1)
    /// Either.
    public static let any: CKSharingParticipantAccessOption = [.anyoneWithLink, .specifiedRecipientsOnly]
}

/// What people may allow others to do.
public struct CKSharingParticipantPermissionOption: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt
    /// The options with these bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Reading.
    public static let readOnly = CKSharingParticipantPermissionOption(rawValue: 1 << 0)
    /// Reading and writing.
    public static let readWrite = CKSharingParticipantPermissionOption(rawValue: 1 << 1)
    /// Either.
    public static let any: CKSharingParticipantPermissionOption = [.readOnly, .readWrite]
}

/// What people may choose when they share something.
public final class CKAllowedSharingOptions: NSObject, NSSecureCoding, NSCopying, Sendable {
    private struct Values: Sendable {
        var permissions: CKSharingParticipantPermissionOption
        var accesses: CKSharingParticipantAccessOption
        var allowsInvitingOthers = false
        var allowsAccessRequests = false
    }

    private let values: Locked<Values>

    private init(_ values: Values) {
        self.values = Locked(values)
        super.init()
    }

    /// Creates options. People may neither appoint administrators nor turn access requests on.
    public convenience init(
        allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption,
        allowedParticipantAccessOptions: CKSharingParticipantAccessOption
    ) {
        self.init(Values(permissions: allowedParticipantPermissionOptions, accesses: allowedParticipantAccessOptions))
    }

    /// All permissions and all kinds of access. Every access returns a new object.
    public class var standard: CKAllowedSharingOptions {
        CKAllowedSharingOptions(allowedParticipantPermissionOptions: .any, allowedParticipantAccessOptions: .any)
    }

    /// What people may allow others to do.
    public var allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption {
        get { values.value.permissions }
        set { values.withLock { $0.permissions = newValue } }
    }

    /// With whom people may share.
    public var allowedParticipantAccessOptions: CKSharingParticipantAccessOption {
        get { values.value.accesses }
        set { values.withLock { $0.accesses = newValue } }
    }

    /// Whether people may let participants invite others, that is, appoint administrators. Default: false.
    public var allowsParticipantsToInviteOthers: Bool {
        get { values.value.allowsInvitingOthers }
        set { values.withLock { $0.allowsInvitingOthers = newValue } }
    }

    /// Whether people may let outsiders request access. Default: false.
    public var allowsAccessRequests: Bool {
        get { values.value.allowsAccessRequests }
        set { values.withLock { $0.allowsAccessRequests = newValue } }
    }

    // MARK: Copying and archiving

    /// Another object with the same options.
    public func copy(with zone: NSZone? = nil) -> Any { CKAllowedSharingOptions(values.value) }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKAllowedSharingOptions"] }

    /// Archives the options.
    public func encode(with coder: NSCoder) {
        let values = values.value
        coder.encode(Int64(values.permissions.rawValue), forKey: CoderKey.permissionOptions)
        coder.encode(Int64(values.accesses.rawValue), forKey: CoderKey.accessOptions)
        coder.encode(values.allowsInvitingOthers, forKey: CoderKey.allowsInvitingOthers)
        coder.encode(values.allowsAccessRequests, forKey: CoderKey.allowsAccessRequests)
    }

    /// Decodes options. A missing option is not allowed.
    public convenience init?(coder: NSCoder) {
        func bits(_ key: String) -> UInt { UInt(clamping: coder.decodeNumber(forKey: key)) }
        self.init(
            Values(
                permissions: CKSharingParticipantPermissionOption(rawValue: bits(CoderKey.permissionOptions)),
                accesses: CKSharingParticipantAccessOption(rawValue: bits(CoderKey.accessOptions)),
                allowsInvitingOthers: coder.decodeFlag(forKey: CoderKey.allowsInvitingOthers),
                allowsAccessRequests: coder.decodeFlag(forKey: CoderKey.allowsAccessRequests)))
    }
}
