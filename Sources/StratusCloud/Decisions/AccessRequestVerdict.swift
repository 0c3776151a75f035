// What becomes of a share when somebody asks for access: (share, what they are to it, who they are) → requesters or
// refusal.

import FoundationEssentials
import StratusModel

enum AccessRequestVerdict {
    /// People who wait for an answer, of one share.
    static let requesterLimit = 100
    /// People who may not ask, of one share.
    static let blockedLimit = 1_000

    /// Who asks for access after somebody has asked. It stays as it is for those who have asked already, or are blocked,
    /// who are told no more than that (P-20, X-18); nil for those who need not ask.
    ///
    /// Throws `notFound` where nobody can ask, `limitExceeded` where too many have.
    static func requesters(
        of content: ShareContent, _ verdict: JoinVerdict, askedBy guest: ShareGuest, id: ParticipantID, date: Date
    ) throws(CloudError) -> [SharePetitioner]? {
        guard verdict == .outsider else { return nil }
        guard content.allowsAccessRequests else { throw JoinVerdict.notFound }
        guard !content.requesters.contains(where: { $0.user == guest.user }) else { return content.requesters }
        guard content.requesters.count < requesterLimit else {
            throw CloudError(
                .limitExceeded, inner: CloudError.InnerCode.limit,
                "Too many people wait for access to the share: ask again when its owner has answered some.",
                ["limit": "\(requesterLimit)"]
            ).ofSharing(rule: "P-20")
        }
        guard !content.blocked.contains(where: { $0.user == guest.user }) else { return content.requesters }
        let petitioner = SharePetitioner(id: id, user: guest.user, handle: handle(of: guest), date: date)
        return content.requesters + [petitioner]
    }

    /// By what the owner can invite the person: an e-mail address if there is one.
    static func handle(of guest: ShareGuest) -> Handle? {
        guest.handles.min { left, right in
            switch (left, right) {
            case (.email, .phone): true
            case (.phone, .email): false
            default: left.text < right.text
            }
        }
    }
}
