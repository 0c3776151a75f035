// A share as one person may know it: (content, viewer, accounts of the people) → the client's form. Pure, except for
// `SharePeople`, which looks up the accounts.
//
// `SharePortion` decides who is visible. Only owner and administrators see how people were invited, and one-time URLs;
// everyone sees how they themselves were invited. The caller's own user name is `__defaultOwner__` (D-02). Invited
// people and requesters whose accounts were deleted are not visible.

package import StratusModel
import StratusRecords
import StratusStore

struct ShareView {
    /// The part that the viewer may know.
    let portion: SharePortion
    /// The share's zone as the viewer's address.
    let zone: ZoneAddress
    let viewer: UserName?
    let urlBase: String

    var content: ShareContent { portion.content }
    /// The viewer's own entry. For a person invited by a handle, only a `JoinVerdict` knows it.
    var own: ParticipantID? { portion.own }
    private var managesShare: Bool { portion.managesShare }

    init(_ content: ShareContent, zone: ZoneAddress, viewer: UserName?, own: ParticipantID? = nil, urlBase: String) {
        portion = SharePortion(content, viewer: viewer, own: own)
        self.zone = zone
        self.viewer = viewer
        self.urlBase = urlBase
    }

    func share(_ people: SharePeople) -> ClientShare {
        ClientShare(
            root: content.root.map { RecordAddress(recordName: $0.text, zone: zone) }, url: url,
            publicPermission: content.publicPermission, allowsAccessRequests: content.allowsAccessRequests,
            participants: portion.participants.filter { !people.isGone($0) }.map { shown($0, people) },
            ownerID: content.participants.first { $0.role == .owner }?.id.text ?? "", currentUserID: own?.text,
            requesters: portion.requesters.filter { !people.isGone($0) }.map { shown($0, people) },
            blocked: portion.blocked.map { shown($0, people) })
    }

    /// The owner as the viewer sees them.
    func owner(_ people: SharePeople) -> ClientIdentity {
        content.participants.first { $0.role == .owner }.map { identity(of: $0, people) }
            ?? ClientIdentity(lookup: nil, userName: nil, name: nil, hasAccount: false)
    }

    private var url: String { ShareLink.url(urlBase, content.token) }

    private func shown(_ participant: ShareParticipant, _ people: SharePeople) -> ClientParticipant {
        ClientParticipant(
            id: participant.id.text, identity: identity(of: participant, people), role: participant.role,
            permission: content.permission(of: participant), status: participant.status, added: participant.added,
            isApprovedRequester: participant.isApprovedRequester, oneTimeURL: oneTimeURL(of: participant),
            isOneTime: participant.isUnusedOneTime)
    }

    /// The one-time URL; after its use, the URL of the share (P-16).
    private func oneTimeURL(of participant: ShareParticipant) -> String? {
        guard managesShare, case .oneTime(let token)? = participant.invitation else { return nil }
        return participant.isUnusedOneTime ? ShareLink.url(urlBase, token) : url
    }

    private func identity(of participant: ShareParticipant, _ people: SharePeople) -> ClientIdentity {
        let account = participant.user.flatMap { people.accounts[$0] }
        // Everyone sees the names of people who have accepted; other names only if the people can be found (P-03).
        let isNamed = participant.status == .accepted || participant.id == own || account?.isDiscoverable == true
        return ClientIdentity(
            lookup: managesShare || participant.id == own ? lookup(of: participant, account) : nil,
            userName: participant.user.map(shown), name: isNamed ? account?.name : nil,
            hasAccount: people.hasAccount(participant))
    }

    /// How the participant was invited. A handle that now belongs to another person is left out.
    private func lookup(of participant: ShareParticipant, _ account: StoredAccount?) -> IdentityLookup? {
        guard let user = participant.user, let handle = participant.invitation?.handle, let account,
            !account.handles.contains(handle)
        else { return participant.lookup }
        return .userRecord(user.text)
    }

    /// A requester. An invitation with the returned look-up must reach the person who asked, so a handle that now
    /// belongs to another is left out.
    private func shown(_ petitioner: SharePetitioner, _ people: SharePeople) -> ClientPetitioner {
        let account = people.accounts[petitioner.user]
        let handle = petitioner.handle.flatMap { account?.handles.contains($0) == true ? $0 : nil }
        return ClientPetitioner(
            id: petitioner.id.text,
            identity: ClientIdentity(
                lookup: handle.map { IdentityLookup($0) } ?? .userRecord(petitioner.user.text),
                userName: shown(petitioner.user), name: account?.name,
                hasAccount: people.hasAccount(petitioner.user)))
    }

    private func shown(_ user: UserName) -> String { user == viewer ? ZoneAddress.currentUser : user.text }
}

extension ShareParticipant {
    /// Whether the person may change the participants (P-04): owner and administrators, after they have accepted.
    var managesShare: Bool { status == .accepted && (role == .owner || role == .administrator) }

    /// How the person was invited, in the client's form.
    var lookup: IdentityLookup? {
        switch invitation {
        case .handle(let handle): IdentityLookup(handle)
        case .userRecord: user.map { .userRecord($0.text) }
        case .oneTime, nil: nil
        }
    }
}

extension IdentityLookup {
    init(_ handle: Handle) {
        switch handle {
        case .email(let address): self = .email(address)
        case .phone(let number): self = .phone(number)
        }
    }
}

/// The part of a share that one person may know, for clients and for the command-line tool. Owner and
/// administrators who have accepted know everyone. Others know the owner, themselves and people who have accepted, but
/// no requesters or blocked people.
package struct SharePortion {
    package let content: ShareContent
    /// The viewer's own entry; nil for an outsider.
    package let own: ParticipantID?
    /// Whether the viewer knows everything.
    package let managesShare: Bool

    /// The part of a user. `own` is their entry if it does not have their user name yet; nil to look it up by name.
    package init(_ content: ShareContent, viewer: UserName?, own: ParticipantID? = nil) {
        let entry = content.participants.first { own == nil ? viewer != nil && $0.user == viewer : $0.id == own }
        self.content = content
        self.own = entry?.id
        managesShare = entry.map(\.managesShare) ?? false
    }

    /// The participants that the viewer may know of, in the order of the share.
    package var participants: [ShareParticipant] {
        managesShare
            ? content.participants
            : content.participants.filter { $0.role == .owner || $0.status == .accepted || $0.id == own }
    }

    package var requesters: [SharePetitioner] { managesShare ? content.requesters : [] }
    package var blocked: [SharePetitioner] { managesShare ? content.blocked : [] }
}

/// The accounts of the people in a share that a person sees.
struct SharePeople {
    /// The accounts of people with known user names.
    var accounts: [UserName: StoredAccount] = [:]
    /// The handles that lead to an account.
    var reachableHandles: Set<Handle> = []

    init() {}

    /// Looks up the people that a view shows, and no others.
    init(in view: ShareView, _ directory: AccountDirectory, _ reader: RecordReader) throws {
        // Where reads are trips, they are read together, in the order in which they are needed here.
        var known =
            try reader.store.gainsFromPrefetching
            ? directory.accounts(under: Self.identities(in: view), in: reader)[...] : nil
        func next(_ find: () throws -> StoredAccount?) rethrows -> StoredAccount? {
            if known == nil { return try find() }
            return known?.popFirst() ?? nil
        }
        for participant in view.portion.participants {
            if let user = participant.user {
                accounts[user] = try next { try directory.account(userName: user, in: reader) }
            } else if case .handle(let handle)? = participant.invitation,
                let account = try next({ try directory.account(handle: handle, in: reader) }),
                account.standing != .suspended
            {
                reachableHandles.insert(handle)
            }
        }
        for petitioner in view.portion.requesters + view.portion.blocked {
            accounts[petitioner.user] = try next { try directory.account(userName: petitioner.user, in: reader) }
        }
    }

    /// The keys of the identities that lead to the people of a view; nil where none can.
    private static func identities(in view: ShareView) -> [[UInt8]?] {
        let participants = view.portion.participants.compactMap { participant -> [UInt8]?? in
            if let user = participant.user { return .some(AccountDirectory.identityKey(of: user)) }
            guard case .handle(let handle)? = participant.invitation else { return nil }
            return .some(AccountDirectory.identityKey(of: handle))
        }
        let petitioners = view.portion.requesters + view.portion.blocked
        return participants + petitioners.map { AccountDirectory.identityKey(of: $0.user) }
    }

    /// Whether a person has an account that may take part. An account that the host has closed does not count.
    func hasAccount(_ participant: ShareParticipant) -> Bool {
        if let user = participant.user { return hasAccount(user) }
        if case .handle(let handle)? = participant.invitation { return reachableHandles.contains(handle) }
        return false
    }

    func hasAccount(_ user: UserName) -> Bool {
        guard let account = accounts[user] else { return false }
        return account.standing != .suspended
    }

    /// Whether an invited person has deleted their account. No other person can accept in their place, because user
    /// names are never reused. People who have accepted leave when their account is deleted (`DepartureRunner`).
    func isGone(_ participant: ShareParticipant) -> Bool {
        guard participant.status == .pending, let user = participant.user else { return false }
        return accounts[user] == nil
    }

    func isGone(_ petitioner: SharePetitioner) -> Bool { accounts[petitioner.user] == nil }
}
