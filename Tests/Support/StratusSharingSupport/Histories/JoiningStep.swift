// Steps that admit people to shares or keep them out, other than invitations by e-mail: requests for access and their
// answers, invitations by user record, one-time URLs. As text, one a line:
//
//     0 requests A s4 on              whether people may ask
//     2 ask A s4
//     0 approve A s4 2 read-only
//     0 deny A s4 2
//     0 block A s4 2
//     0 unblock A s4 2
//     0 invite-record A s4 2 read-only
//     0 invite-once A s4 17 read-write     17 names the URL
//     2 accept-once A s4 17
//     0 revoke A s4 17

import StratusKit

/// A step that changes who takes part in a share.
package struct JoiningStep: Hashable, Sendable {
    /// The act.
    package enum Deed: Hashable, Sendable {
        case allowRequests(Bool)
        /// By the share's last URL.
        case ask
        case approve(Int, Permission)
        case deny(Int)
        case block(Int)
        case unblock(Int)
        case inviteByRecord(Int, Permission)
        /// `url` names the URL for the steps that follow.
        case inviteOnce(url: Int, Permission)
        case acceptOnce(url: Int)
        case revoke(url: Int)
    }

    package var user: Int
    package var zone: Int
    package var share: String
    package var deed: Deed

    package init(user: Int, zone: Int, share: String, _ deed: Deed) {
        self.user = user
        self.zone = zone
        self.share = share
        self.deed = deed
    }

    /// The person it concerns, other than the actor.
    package var other: Int? {
        switch deed {
        case .approve(let other, _), .deny(let other), .block(let other), .unblock(let other),
            .inviteByRecord(let other, _):
            other
        case .allowRequests, .ask, .inviteOnce, .acceptOnce, .revoke: nil
        }
    }
}

extension JoiningStep: CustomStringConvertible {
    package var description: String {
        let place = "\(SharingHistory.zoneNames[zone]) \(share)"
        return switch deed {
        case .allowRequests(let isOn): "\(user) requests \(place) \(isOn ? "on" : "off")"
        case .ask: "\(user) ask \(place)"
        case .approve(let other, let permission): "\(user) approve \(place) \(other) \(permission.words)"
        case .deny(let other): "\(user) deny \(place) \(other)"
        case .block(let other): "\(user) block \(place) \(other)"
        case .unblock(let other): "\(user) unblock \(place) \(other)"
        case .inviteByRecord(let other, let permission): "\(user) invite-record \(place) \(other) \(permission.words)"
        case .inviteOnce(let url, let permission): "\(user) invite-once \(place) \(url) \(permission.words)"
        case .acceptOnce(let url): "\(user) accept-once \(place) \(url)"
        case .revoke(let url): "\(user) revoke \(place) \(url)"
        }
    }
}

extension StepWords {
    /// The arguments after a verb of these steps and the share; nil for other verbs.
    mutating func joiningDeed(_ verb: String) throws -> JoiningStep.Deed? {
        switch verb {
        case "requests":
            let word = try word()
            guard word == "on" || word == "off" else { throw error("'on' or 'off' is missing") }
            return .allowRequests(word == "on")
        case "ask": return .ask
        case "approve":
            let other = try user()
            return .approve(other, try permission())
        case "deny": return .deny(try user())
        case "block": return .block(try user())
        case "unblock": return .unblock(try user())
        case "invite-record":
            let other = try user()
            return .inviteByRecord(other, try permission())
        case "invite-once":
            let url = try number()
            return .inviteOnce(url: url, try permission())
        case "accept-once": return .acceptOnce(url: try number())
        case "revoke": return .revoke(url: try number())
        default: return nil
        }
    }
}
