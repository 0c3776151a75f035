// The names by which clients know the types that belong to a share.

import StratusModel

extension CKShare {
    /// The keys of the fields that every share may have, for display (SH-15).
    public enum SystemFieldKey {
        /// What the share is called: a string.
        public static let title: CKRecord.FieldKey = "cloudkit.title"
        /// A small picture: data.
        public static let thumbnailImageData: CKRecord.FieldKey = "cloudkit.thumbnailImageData"
        /// What is shared, as a uniform type identifier: a string.
        public static let shareType: CKRecord.FieldKey = "cloudkit.type"
    }

    /// Whether a participant has accepted (P-02).
    public enum ParticipantAcceptanceStatus: Int, Sendable {
        /// A value of another version's; never the server's.
        case unknown = 0
        /// They have not accepted.
        case pending = 1
        /// They have accepted.
        case accepted = 2
        /// They were taken off the share.
        case removed = 3
    }

    /// What a participant may do with shared records.
    public enum ParticipantPermission: Int, Sendable {
        /// A value of another version's; never the server's.
        case unknown = 0
        /// Nothing: the person is listed and sees nothing (P-09).
        case none = 1
        /// They may read.
        case readOnly = 2
        /// They may read, change, delete and add.
        case readWrite = 3
    }

    /// What a participant is to a share (P-04).
    public enum ParticipantRole: Int, Sendable {
        /// A value of another version's; never the server's.
        case unknown = 0
        /// The owner of the root, or of the zone.
        case owner = 1
        /// May invite and remove people and change permissions.
        case administrator = 2
        /// Somebody who was invited.
        case privateUser = 3
        /// Somebody who came by the link of a public share.
        case publicUser = 4
    }

    /// Somebody who takes part in a share.
    public typealias Participant = CKShareParticipant
    /// A share as somebody is told of it who has its URL.
    public typealias Metadata = CKShareMetadata
    /// Somebody who asks for access.
    public typealias AccessRequester = CKShareAccessRequester
    /// Somebody who may not ask for access.
    public typealias BlockedIdentity = CKShareBlockedIdentity
}

extension CKShareParticipant {
    /// The type of `participantID`.
    public typealias ID = String
    /// The old name of `CKShare.ParticipantAcceptanceStatus`.
    @available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
    public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
    /// The old name of `CKShare.ParticipantPermission`.
    @available(*, deprecated, renamed: "CKShare.ParticipantPermission")
    public typealias Permission = CKShare.ParticipantPermission
    /// The old name of `CKShare.ParticipantRole`.
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public typealias Role = CKShare.ParticipantRole
}

/// The name of `CKShare.ParticipantAcceptanceStatus` between two versions of Swift.
@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus

/// The name of `CKShare.ParticipantPermission` between two versions of Swift.
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission

/// The name of `CKShare.ParticipantRole` between two versions of Swift.
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShare_Participant_Role = CKShare.ParticipantRole

// MARK: The server's words

// The raw values are the same on both sides; `unknown` is nobody's but the client's.

extension CKShare.ParticipantAcceptanceStatus {
    init(_ status: AcceptanceStatus) { self = status == .accepted ? .accepted : .pending }
}

extension CKShare.ParticipantPermission {
    init(_ permission: ParticipantPermission) { self = Self(rawValue: Int(permission.rawValue)) ?? .unknown }

    /// The same in the server's words; nil for `unknown`.
    var claim: ParticipantPermission? { ParticipantPermission(rawValue: UInt8(rawValue)) }
}

extension CKShare.ParticipantRole {
    init(_ role: ParticipantRole) { self = Self(rawValue: Int(role.rawValue)) ?? .unknown }

    /// The same in the server's words; nil for `unknown`.
    var claim: ParticipantRole? { ParticipantRole(rawValue: UInt8(rawValue)) }
}
