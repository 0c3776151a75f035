// What a host is told when somebody was invited to a share.

public import Foundation
import StratusCloud
import StratusModel

extension Stratus {
    /// An invitation: all that a mail or a message would carry. Whoever has its URL and is the person may accept.
    ///
    /// Its description does not show the URL, which is a secret.
    public struct Invitation: Hashable, Sendable, CustomStringConvertible {
        /// The container of the share.
        public let containerIdentifier: String
        /// The share, as its owner names it.
        public let shareID: CKRecord.ID
        /// ``Account/userRecordName`` of the owner.
        public let ownerUserRecordName: String
        /// ``Account/userRecordName`` of who has invited: the owner or an administrator.
        public let inviterUserRecordName: String
        /// The name of the participant within the share.
        public let participantID: CKShare.Participant.ID
        /// The e-mail address that was invited, in the form in which it is compared.
        public let emailAddress: String?
        /// The telephone number that was invited, in the form in which it is compared.
        public let phoneNumber: String?
        /// ``Account/userRecordName`` of who was invited, where it is known. Without it and without a handle, whoever comes
        /// first may use the URL (P-16).
        public let userRecordName: String?
        /// What the person would be to the share.
        public let role: CKShare.ParticipantRole
        /// What the person could do with the shared records.
        public let permission: CKShare.ParticipantPermission
        /// Where to accept: the share's URL, or the participant's own.
        public let url: URL
        /// What the share is called; nil where it was not said.
        public let title: String?

        /// Nil where the URL cannot be one: what the host lets URLs begin with is none.
        init?(_ invitation: ShareInvitation) {
            guard let url = URL(string: invitation.url) else { return nil }
            containerIdentifier = invitation.container.text
            shareID = CKRecord.ID(
                recordName: invitation.share.text, zoneID: CKRecordZone.ID(zoneName: invitation.zone.text))
            ownerUserRecordName = invitation.owner.text
            inviterUserRecordName = invitation.inviter.text
            participantID = invitation.participant.text
            switch invitation.handle {
            case .email(let address): (emailAddress, phoneNumber) = (address, nil)
            case .phone(let number): (emailAddress, phoneNumber) = (nil, number)
            case nil: (emailAddress, phoneNumber) = (nil, nil)
            }
            userRecordName = invitation.user?.text
            role = CKShare.ParticipantRole(invitation.role)
            permission = CKShare.ParticipantPermission(invitation.permission)
            self.url = url
            title = invitation.title
        }

        /// Who was invited to what.
        public var description: String {
            let person = emailAddress ?? phoneNumber ?? userRecordName ?? "whoever has the URL"
            return "\(person) to \(shareID.recordName) of \(ownerUserRecordName) in \(containerIdentifier)"
        }
    }
}
