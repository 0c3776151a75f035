// What becomes of a share when somebody asks for access: (share, what they are to it, who they are) → share or refusal.

import FoundationEssentials
import StratusModel

enum AccessRequestVerdict {
    /// People who wait for an answer, of one share.
    static let requesterLimit = 100

    /// The share after somebody has asked. It stays as it is for those who need not ask, have asked already, or are
    /// blocked (P-20, X-18).
    ///
    /// Throws `notFound` where nobody can ask, `limitExceeded` where too many have.
    static func asked(
        in content: ShareContent, _ verdict: JoinVerdict, by account: Account, id: ParticipantID, date: Date
    ) throws(CloudError) -> ShareContent {
        guard verdict == .outsider else { return content }
        guard content.allowsAccessRequests else { throw JoinVerdict.notFound }
        let known = content.requesters + content.blocked
        guard !known.contains(where: { $0.user == account.userName }) else { return content }
        guard content.requesters.count < requesterLimit else {
            throw CloudError(
                .limitExceeded, inner: CloudError.InnerCode.limit,
                "Too many people wait for access to the share: ask again when its owner has answered some.",
                ["limit": "\(requesterLimit)"])
        }
        var content = content
        content.requesters.append(
            SharePetitioner(id: id, user: account.userName, handle: handle(of: account), date: date))
        return content
    }

    /// By what the owner can invite the person: an e-mail address if there is one.
    static func handle(of account: Account) -> Handle? {
        account.handles.min { left, right in
            switch (left, right) {
            case (.email, .phone): true
            case (.phone, .email): false
            default: left.text < right.text
            }
        }
    }
}
