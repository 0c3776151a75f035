// The effect of a claim on one participant, exhaustively: the caller, the participant's state, the claim, and the new
// public permission, against an oracle that says each case in words.

import Foundation
import StratusModel
import Testing

@testable import StratusCloud

@Suite("share verdicts")
struct ShareVerdictTests {
    private static let date = Date(timeIntervalSinceReferenceDate: 0)
    private static let permissions: [ParticipantPermission] = [.none, .readOnly, .readWrite]

    /// Who saves the share.
    private enum Editor: CaseIterable {
        case owner, administrator, member, invitedAdministrator, outsider

        var user: UserName {
            switch self {
            case .owner: "_owner"
            case .administrator: "_administrator"
            case .member: "_member"
            case .invitedAdministrator: "_invited"
            case .outsider: "_outsider"
            }
        }

        var mayChange: Bool { self == .owner || self == .administrator }
    }

    /// The claim about the participant; nil if they are not in the list.
    private struct Claimed {
        var role: ParticipantRole?
        var permission: ParticipantPermission?
        var isAdded: Bool
    }

    private static func participant(
        _ name: String, _ role: ParticipantRole, _ permission: ParticipantPermission, _ status: AcceptanceStatus
    ) -> ShareParticipant {
        ShareParticipant(
            id: ParticipantID(name), role: role, permission: permission, status: status,
            invitation: role == .owner || role == .publicUser ? nil : .userRecord, user: UserName("_\(name)"),
            added: date)
    }

    private static func content(_ publicPermission: ParticipantPermission, _ target: ShareParticipant) throws
        -> ShareContent
    {
        let isPublic = publicPermission != .none
        var participants = [
            participant("owner", .owner, .readWrite, .accepted), target,
            participant("administrator", .administrator, .readOnly, .accepted),
            participant(
                "member", isPublic ? .publicUser : .privateUser, isPublic ? publicPermission : .readWrite, .accepted),
        ]
        // Nobody is pending in a public share.
        if !isPublic { participants.append(participant("invited", .administrator, .readWrite, .pending)) }
        return ShareContent(
            root: "root", token: try #require(ShareToken(bytes: [UInt8](repeating: 1, count: 16))),
            publicPermission: publicPermission, participants: participants)
    }

    /// Every possible state of a participant in a share with this public permission.
    private static func targets(_ publicPermission: ParticipantPermission) -> [ShareParticipant] {
        var targets: [ShareParticipant] = []
        for permission in permissions {
            targets.append(participant("target", .administrator, permission, .accepted))
            guard publicPermission == .none else { continue }
            targets.append(participant("target", .administrator, permission, .pending))
            targets.append(participant("target", .privateUser, permission, .accepted))
            targets.append(participant("target", .privateUser, permission, .pending))
        }
        if publicPermission != .none {
            targets.append(participant("target", .publicUser, publicPermission, .accepted))
        }
        return targets
    }

    private static var claims: [Claimed?] {
        var claims: [Claimed?] = [nil]
        for role in [ParticipantRole?.none] + ParticipantRole.allCases.map(Optional.some) {
            for permission in [ParticipantPermission?.none] + permissions.map(Optional.some) {
                for isAdded in [false, true] {
                    claims.append(Claimed(role: role, permission: permission, isAdded: isAdded))
                }
            }
        }
        return claims
    }

    private static func revised(
        _ content: ShareContent, _ editor: Editor, _ claimed: Claimed?, _ publicPermission: ParticipantPermission?
    ) throws -> Result<ShareRevision, CloudError> {
        var claim = ShareClaim(root: nil, publicPermission: publicPermission)
        for participant in content.participants where participant.id != "target" {
            claim.participants.append(
                ParticipantClaim(id: participant.id.text, role: participant.role, permission: participant.permission))
        }
        if let claimed {
            claim.participants.append(
                ParticipantClaim(
                    id: "target", role: claimed.role, permission: claimed.permission, isAdded: claimed.isAdded))
        }
        let token = try #require(ShareToken(bytes: [UInt8](repeating: 2, count: 16)))
        let secrets = ShareSecrets(date: date, token: token, oneTimeTokens: [], ownerID: "new", participantIDs: [])
        let situation = ShareSituation(
            stored: content, root: nil, token: token, owner: "_owner", editor: editor.user, people: [:],
            handleOwners: [:], secrets: secrets, participantLimit: 100)
        return Result { () throws(CloudError) in try ShareRevision(claim, situation) }
    }

    private static func outcome(_ verdict: Result<ShareRevision, CloudError>) -> String {
        switch verdict {
        case .failure(let error): return "\(error.code.rawValue)"
        case .success(let revision):
            guard let target = revision.content.participants.first(where: { $0.id == "target" }) else { return "gone" }
            return "\(target.role) \(target.permission) \(target.status)"
        }
    }

    /// The rules one after the other.
    private static func expected(
        _ old: ParticipantPermission, _ target: ShareParticipant, _ editor: Editor, _ claimed: Claimed?,
        _ asked: ParticipantPermission?
    ) -> String {
        guard editor.mayChange else { return "10" }
        // P-04, X-22: no one becomes owner or public user.
        if claimed?.role == .owner { return "12" }
        if claimed?.role == .publicUser, target.role != .publicUser { return "12" }
        guard let claimed else { return "gone" }
        let new = asked ?? old
        // P-07: private again means no participants, except those added again.
        if new == .none, old != .none, !claimed.isAdded { return "gone" }
        // P-06: pending participants do not survive a change.
        if new != .none, old != new, target.status == .pending { return "gone" }
        // P-05: no private user in a public share.
        if new != .none, target.role == .publicUser, claimed.role == .privateUser { return "12" }
        let wanted = claimed.role ?? target.role
        if wanted == .administrator {
            return "administrator \(claimed.permission ?? target.permission) \(target.status)"
        }
        // public users have the public permission.
        if new != .none { return "publicUser \(new) \(target.status)" }
        return "privateUser \(claimed.permission ?? target.permission) \(target.status)"
    }

    @Test(
        "[P-04][P-05][P-06][P-07][P-14][X-12][X-13][X-14][X-22] every claim of one participant gives the result that the rules prescribe"
    )
    func exhaustive() throws {
        var count = 0
        var wrong: [String] = []
        for old in Self.permissions {
            for target in Self.targets(old) {
                let content = try Self.content(old, target)
                for editor in Editor.allCases {
                    for asked in [ParticipantPermission?.none] + Self.permissions.map(Optional.some) {
                        for claimed in Self.claims {
                            let verdict = try Self.revised(content, editor, claimed, asked)
                            let expected = Self.expected(old, target, editor, claimed, asked)
                            count += 1
                            if Self.outcome(verdict) != expected {
                                wrong.append(
                                    "\(old) \(target.role) \(target.permission) \(target.status) \(editor) "
                                        + "\(String(describing: asked)) \(String(describing: claimed)): "
                                        + "\(Self.outcome(verdict)), not \(expected)")
                            }
                            if let problem = Self.problem(verdict, old: content) { wrong.append(problem) }
                        }
                    }
                }
            }
        }
        #expect(wrong.prefix(5).isEmpty, "\(wrong.count) of \(count)")
        #expect(count == 16_400)
    }

    /// What no save may break, whatever is claimed.
    private static func problem(_ verdict: Result<ShareRevision, CloudError>, old: ShareContent) -> String? {
        guard case .success(let revision) = verdict else { return nil }
        let content = revision.content
        if content.participants.first != old.participants.first { return "another owner" }
        if content.token != old.token || content.root != old.root { return "another URL or root" }
        let accepted = Set(old.participants.filter { $0.status == .accepted }.map(\.id))
        for participant in content.participants where participant.status == .accepted {
            if !accepted.contains(participant.id) { return "\(participant.id) has accepted by a claim" }
        }
        let place = SharePlace(
            container: "c", owner: "_owner", zone: "z",
            zoneIdentity: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), share: "share")
        let problems = ShareInvariants.problems(of: content, at: place)
        return problems.first
    }
}
