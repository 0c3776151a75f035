// The invariants of every share's content: (content, place) → problems. The number of participants is not among them,
// because a host may change its limit.

import StratusModel

enum ShareInvariants {
    /// The problems within a share's content; empty for a valid one.
    static func problems(of content: ShareContent, at place: SharePlace) -> [String] {
        ownerProblems(content, place) + peopleProblems(content) + publicProblems(content)
    }

    private static func ownerProblems(_ content: ShareContent, _ place: SharePlace) -> [String] {
        var problems: [String] = []
        if (content.root == nil) != (place.share == ShareContent.zoneWideName) {
            problems.append(
                "a share of a whole zone has the name \(ShareContent.zoneWideName), and no other has (C-13)")
        }
        guard let owner = content.participants.first, owner.role == .owner else {
            return problems + ["the first participant is not the owner"]
        }
        if owner.user != place.owner { problems.append("the owner is not that of the database") }
        if owner.status != .accepted || owner.permission != .readWrite || owner.invitation != nil {
            problems.append("the owner is not as owners are: accepted, reading and writing, not invited")
        }
        if content.participants.dropFirst().contains(where: { $0.role == .owner }) {
            problems.append("there is more than one owner")
        }
        return problems
    }

    /// The problems of participants, and of people who request access or are blocked.
    private static func peopleProblems(_ content: ShareContent) -> [String] {
        var problems: [String] = []
        var ids: Set<ParticipantID> = []
        var users: Set<UserName> = []
        var handles: Set<Handle> = []
        var tokens: Set<ShareToken> = [content.token]
        for participant in content.participants {
            let id = participant.id
            if !ids.insert(id).inserted { problems.append("two participants are called \(id)") }
            if let user = participant.user, !users.insert(user).inserted {
                problems.append("the participant \(id) is a person who takes part already")
            }
            if participant.status == .accepted, participant.user == nil {
                problems.append("the participant \(id) has accepted without a user")
            }
            switch participant.invitation {
            // A handle by which a person has accepted may now belong to another, who is also invited by it.
            case .handle(let handle) where participant.status == .pending && !handles.insert(handle).inserted:
                problems.append("the participant \(id) is invited by an address of another")
            case .userRecord where participant.user == nil:
                problems.append("the participant \(id) is invited by user record without a user")
            case .oneTime(let token) where !tokens.insert(token).inserted:
                problems.append("the participant \(id) has a secret that is another's")
            case nil where participant.status == .pending:
                problems.append("the participant \(id) is pending and not invited")
            default: continue
            }
        }
        var petitioners: Set<UserName> = []
        for person in content.requesters + content.blocked {
            if users.contains(person.user) {
                problems.append("a participant requests access or is blocked: \(person.id)")
            }
            if !petitioners.insert(person.user).inserted {
                problems.append("a person requests access or is blocked twice: \(person.id)")
            }
        }
        return problems
    }

    /// A share cannot have public and private participants (P-05, X-14).
    private static func publicProblems(_ content: ShareContent) -> [String] {
        content.participants.dropFirst().compactMap { participant in
            let id = participant.id
            if content.publicPermission == .none {
                return participant.role == .publicUser
                    ? "the participant \(id) of a private share is a public user" : nil
            }
            if participant.status == .pending || participant.role == .privateUser {
                return "the participant \(id) of a public share was invited and is no public user"
            }
            guard participant.role == .publicUser, participant.permission != content.publicPermission else {
                return nil
            }
            return "the participant \(id) is a public user with another permission than the share's"
        }
    }
}
