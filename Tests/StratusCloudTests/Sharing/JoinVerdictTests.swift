// Who may accept, exhaustively: every kind of person with every kind of URL of every kind of share, against a rule that
// knows the facts behind the share, not the share.

import FoundationEssentials
import StratusModel
import Testing

@testable import StratusCloud

/// What is so in one case.
private struct Facts: Hashable, CustomStringConvertible {
    enum Person: Hashable, CaseIterable {
        case owner, stranger
        case administrator, privateUser, publicUser, oneTimeUser
        case invitedByUserRecord, invitedByHandle, invitedTwice, invitedAsAdministrator
    }
    enum URLKind: Hashable, CaseIterable { case ofShare, unusedOneTime, usedOneTime, deadOneTime }

    var person: Person
    var ownsHandle: Bool
    var isBlocked: Bool
    var publicPermission: ParticipantPermission
    var permission: ParticipantPermission
    var url: URLKind
    var isFull: Bool
    var allowsRequests: Bool
    var hasUnclaimedHandle: Bool

    var description: String {
        "\(person)\(ownsHandle ? " owning the handle" : "")\(isBlocked ? ", blocked" : ""), \(url), public "
            + "\(publicPermission), own \(permission)\(isFull ? ", full" : "")\(allowsRequests ? ", requests" : "")"
            + (hasUnclaimedHandle ? ", unclaimed handle" : "")
    }

    static var all: [Facts] {
        var all: [Facts] = []
        for person in Person.allCases {
            for url in URLKind.allCases {
                for publicPermission in ParticipantPermission.allCases {
                    for permission in ParticipantPermission.allCases {
                        for bits in 0..<32 {
                            let facts = Facts(
                                person: person, ownsHandle: bits & 1 != 0, isBlocked: bits & 2 != 0,
                                publicPermission: publicPermission, permission: permission, url: url,
                                isFull: bits & 4 != 0, allowsRequests: bits & 8 != 0,
                                hasUnclaimedHandle: bits & 16 != 0)
                            if facts.canBe { all.append(facts) }
                        }
                    }
                }
            }
        }
        return all
    }

    /// A known invited person is never blocked; only people with a handle may own it or not; only admitted people have
    /// a permission.
    private var canBe: Bool {
        switch person {
        case .owner, .stranger: if ownsHandle || permission != .none { return false }
        case .administrator, .privateUser, .publicUser, .oneTimeUser, .invitedByUserRecord:
            if ownsHandle { return false }
        case .invitedByHandle, .invitedTwice, .invitedAsAdministrator: break
        }
        switch person {
        case .stranger, .invitedByHandle, .invitedAsAdministrator: return true
        default: return !isBlocked
        }
    }
}

private enum Outcome: Hashable {
    case staysAsItIs
    case takesPart(ParticipantRole, ParticipantPermission)
    case refused(CloudError.Code)
}

@Suite("who may accept a share")
struct JoinVerdictTests {
    private static let limit = 4
    private static let guest = UserName("_guest")
    private static let handle = Handle.email("guest@example.com")
    private static let date = Date(timeIntervalSinceReferenceDate: 1)

    // MARK: The rule

    private static func expected(_ facts: Facts) -> Outcome {
        switch facts.person {
        case .owner, .administrator, .privateUser, .publicUser, .oneTimeUser: return .staysAsItIs
        default: break
        }
        let outsider: CloudError.Code =
            !facts.allowsRequests
            ? .unknownItem : facts.hasUnclaimedHandle ? .participantMayNeedVerification : .permissionFailure
        if facts.isBlocked { return .refused(outsider) }
        let isPublic = facts.publicPermission != .none
        switch (place(facts), facts.url) {
        case (nil, .unusedOneTime):
            return isPublic ? .takesPart(.publicUser, facts.publicPermission) : .takesPart(.privateUser, .readWrite)
        case (_?, .unusedOneTime), (_?, .usedOneTime), (_?, .deadOneTime): return .refused(.participantAlreadyInvited)
        case (nil, .usedOneTime), (nil, .deadOneTime): return .refused(outsider)
        case (let (role, permission)?, .ofShare):
            return isPublic && role == .privateUser
                ? .takesPart(.publicUser, facts.publicPermission) : .takesPart(role, permission)
        case (nil, .ofShare):
            guard isPublic else { return .refused(outsider) }
            return facts.isFull ? .refused(.tooManyParticipants) : .takesPart(.publicUser, facts.publicPermission)
        }
    }

    /// The place that is the person's own before they accept.
    private static func place(_ facts: Facts) -> (ParticipantRole, ParticipantPermission)? {
        switch facts.person {
        case .invitedByUserRecord: (.privateUser, facts.permission)
        case .invitedByHandle: facts.ownsHandle ? (.privateUser, facts.permission) : nil
        case .invitedAsAdministrator: facts.ownsHandle ? (.administrator, facts.permission) : nil
        // By user record for reading and, if the handle is theirs, with the rights of the handle's place.
        case .invitedTwice:
            (.privateUser, facts.ownsHandle && facts.permission == .readWrite ? .readWrite : .readOnly)
        default: nil
        }
    }

    // MARK: The share

    private static func participant(
        _ id: ParticipantID, _ role: ParticipantRole, _ permission: ParticipantPermission,
        _ status: AcceptanceStatus = .accepted, _ invitation: ParticipantInvitation? = nil, user: UserName? = nil
    ) -> ShareParticipant {
        ShareParticipant(
            id: id, role: role, permission: permission, status: status, invitation: invitation, user: user,
            added: date)
    }

    private static func content(_ facts: Facts) -> ShareContent {
        let isOwner = facts.person == .owner
        var people = [participant("owner", .owner, .readWrite, user: isOwner ? guest : "_owner")]
        switch facts.person {
        case .owner, .stranger: break
        case .administrator: people.append(participant("own", .administrator, facts.permission, user: guest))
        case .privateUser:
            people.append(participant("own", .privateUser, facts.permission, .accepted, .handle(handle), user: guest))
        case .publicUser: people.append(participant("own", .publicUser, facts.permission, user: guest))
        case .oneTimeUser:
            let used = ParticipantInvitation.oneTime(ShareTown.token(1))
            people.append(participant("own", .privateUser, facts.permission, .accepted, used, user: guest))
        case .invitedByUserRecord:
            people.append(participant("own", .privateUser, facts.permission, .pending, .userRecord, user: guest))
        case .invitedByHandle:
            people.append(participant("own", .privateUser, facts.permission, .pending, .handle(handle)))
        case .invitedTwice:
            people.append(participant("first", .privateUser, .readOnly, .pending, .userRecord, user: guest))
            people.append(participant("own", .privateUser, facts.permission, .pending, .handle(handle)))
        case .invitedAsAdministrator:
            people.append(participant("own", .administrator, facts.permission, .pending, .handle(handle)))
        }
        let oneTime = ParticipantInvitation.oneTime(ShareTown.token(2))
        switch facts.url {
        case .unusedOneTime: people.append(participant("once", .privateUser, .readWrite, .pending, oneTime))
        case .usedOneTime:
            people.append(participant("once", .privateUser, .readWrite, .accepted, oneTime, user: "_else"))
        case .ofShare, .deadOneTime: break
        }
        while people.count <= (facts.isFull ? limit : 0) {
            people.append(
                participant(
                    ParticipantID("\(people.count)"), .privateUser, .readOnly, user: UserName("_\(people.count)")))
        }
        let content = ShareContent(
            root: "root", token: ShareTown.token(0), publicPermission: facts.publicPermission,
            allowsAccessRequests: facts.allowsRequests, participants: people,
            blocked: facts.isBlocked
                ? [SharePetitioner(id: "blocked", user: guest, handle: nil, date: date)] : [])
        return content
    }

    private static func outcome(_ facts: Facts) -> (outcome: Outcome, content: ShareContent) {
        let content = content(facts)
        let guest = ShareGuest(user: guest, handles: facts.ownsHandle ? [handle] : [])
        let verdict = JoinVerdict(content, guest: guest, oneTime: facts.url == .ofShare ? nil : "once")
        if verdict == .outsider {
            let error = JoinVerdict.outsiderError(content, hasUnclaimedHandle: facts.hasUnclaimedHandle)
            return (.refused(error.code), content)
        }
        do throws(CloudError) {
            let new = try verdict.accepted(in: content, guest: guest, id: "new", date: date, limit: limit)
            guard new != content else { return (.staysAsItIs, new) }
            guard let own = new.participants.first(where: { $0.user == guest.user }), own.status == .accepted else {
                return (.refused(.internalError), new)
            }
            return (.takesPart(own.role, new.permission(of: own)), new)
        } catch { return (.refused(error.code), content) }
    }

    // MARK: Tests

    @Test("[M-04][M-06][P-05][P-16][P-17][P-18][X-08][X-10][X-18] every person, every URL, every share")
    func everything() throws {
        let all = Facts.all
        #expect(all.count > 3_000)
        var outcomes: Set<Outcome> = []
        for facts in all {
            let (outcome, content) = Self.outcome(facts)
            outcomes.insert(outcome)
            #expect(outcome == Self.expected(facts), "\(facts)")
            try Self.checkInvariants(content, facts)
        }
        // Nothing that can happen is missing from the table.
        let codes: Set<CloudError.Code> = [
            .unknownItem, .permissionFailure, .participantMayNeedVerification, .participantAlreadyInvited,
            .tooManyParticipants,
        ]
        #expect(codes.allSatisfy { outcomes.contains(.refused($0)) })
        #expect(outcomes.contains(.staysAsItIs))
        for role in [ParticipantRole.administrator, .privateUser, .publicUser] {
            #expect(outcomes.contains(.takesPart(role, .readWrite)))
        }
    }

    private static func checkInvariants(_ content: ShareContent, _ facts: Facts) throws {
        let users = content.participants.compactMap(\.user)
        #expect(Set(users).count == users.count, "a person takes part twice: \(facts)")
        #expect(Set(content.participants.map(\.id)).count == content.participants.count, "\(facts)")
        #expect(content.participants.first?.role == .owner, "\(facts)")
        #expect(content.participants.count { $0.role == .owner } == 1, "\(facts)")
        #expect(Set(users).isDisjoint(with: content.blocked.map(\.user)), "\(facts)")
    }

    @Test("accepting ends a request for access and keeps exactly one place")
    func merging() throws {
        let asking = SharePetitioner(id: "asking", user: Self.guest, handle: nil, date: Self.date)
        var content = Self.content(
            Facts(
                person: .invitedTwice, ownsHandle: true, isBlocked: false, publicPermission: .none,
                permission: .readWrite, url: .ofShare, isFull: false, allowsRequests: true, hasUnclaimedHandle: false))
        content.requesters = [asking]
        let guest = ShareGuest(user: Self.guest, handles: [Self.handle])
        let verdict = JoinVerdict(content, guest: guest, oneTime: nil)
        let new = try verdict.accepted(in: content, guest: guest, id: "new", date: Self.date, limit: 100)
        #expect(new.requesters.isEmpty)
        #expect(new.participants.map(\.id) == ["owner", "own"])
        #expect(new.participants[1].permission == .readWrite)
        #expect(new.participants[1].added == Self.date)
    }
}
