// Addresses with a new owner since they were used to invite, accept or request access.

import StratusCloud
import StratusModel
import StratusStore
import Testing

@Suite("handles that change owners")
struct MovedHandleTests {
    private let bench: RecordBench
    private let carol: StoredAccount

    init() throws {
        bench = try RecordBench.forSharing()
        carol = try bench.person("carol")
    }

    /// Bob's address becomes Carol's.
    private func moveAddress() throws {
        try bench.service.changeAccount(bench.bob.id) { $0.handles.remove(.email("bob@example.com")) }
        try bench.service.changeAccount(carol.id) { $0.handles.insert(.email("bob@example.com")) }
    }

    /// A share that Bob requests access to.
    private func askedShare() throws -> ClientRecord {
        let share = try bench.share("root", as: "Share")
        _ = try bench.change("Share") { $0.allowsAccessRequests = true }.get()
        let url = try #require(share.sharing?.url)
        _ = try bench.service.requestShareAccess([url], as: bench.caller(bench.bob))[0].get()
        return share
    }

    /// The person who owns the address now.
    private var newcomer: ParticipantClaim {
        ParticipantClaim(
            id: "newcomer", lookup: .email("bob@example.com"), role: .privateUser, permission: .readWrite)
    }

    private func sharing() throws -> ClientShare { try #require(try bench.ownShare("Share").sharing) }

    @Test(
        "[C-16][X-08][P-17] an address invites its current owner, and does not change anyone who already accepted by it"
    )
    func invitation() throws {
        let share = try bench.share("root", as: "Share", with: bench.bob, "bob@example.com", .readOnly)
        try moveAddress()
        _ = try bench.change("Share") { $0.participants.append(newcomer) }.get()
        let people = try sharing().participants
        #expect(people.map(\.status) == [.accepted, .accepted, .pending])
        #expect(people.map(\.permission) == [.readWrite, .readOnly, .readWrite])
        #expect(bench.invitations.value.last?.user == carol.userName)
        #expect(try bench.write("root", by: bench.bob).code == .permissionFailure)
        _ = try bench.accept(share, by: carol).get()
        #expect(try bench.write("root", by: carol).code == nil)
        #expect(try bench.write("root", by: bench.bob).code == .permissionFailure)
        // Adding either of them again changes that one.
        let bob = ParticipantClaim(
            id: "again", lookup: .userRecord(bench.bob.userName.text), role: .privateUser, permission: .readWrite)
        #expect(try bench.change("Share") { $0.participants.append(bob) }.code == .participantAlreadyInvited)
        let again = ParticipantClaim(
            id: "again", lookup: .email("bob@example.com"), role: .privateUser, permission: .readOnly)
        _ = try bench.change("Share") { $0.participants.append(again) }.get()
        #expect(try sharing().participants.map(\.permission) == [.readWrite, .readOnly, .readOnly])
    }

    @Test("[P-03][C-16] a person whose address now belongs to someone else is shown by user record")
    func lookUp() throws {
        try bench.share("root", as: "Share", with: bench.bob, "bob@example.com", .readOnly)
        #expect(try sharing().participants.last?.identity.lookup == .email("bob@example.com"))
        try moveAddress()
        let user = bench.bob.userName.text
        #expect(try sharing().participants.last?.identity.lookup == .userRecord(user))
        let own = try bench.fetch(bench.shared("Share"), by: bench.bob, in: .shared).get().sharing
        #expect(own?.participants.last?.identity.lookup == .userRecord(user))
    }

    @Test("[P-20] approving a request admits the requester, even if their address has another owner by then")
    func approval() throws {
        let share = try askedShare()
        #expect(try sharing().requesters.map(\.identity.lookup) == [.email("bob@example.com")])
        try moveAddress()
        let requester = try #require(try sharing().requesters.first)
        #expect(requester.identity.lookup == .userRecord(bench.bob.userName.text))
        // A client that has read the address earlier invites its new owner, who has not asked.
        _ = try bench.change("Share") { $0.participants.append(.email("bob@example.com", .readOnly)) }.get()
        #expect(try sharing().requesters.count == 1)
        #expect(try sharing().participants.last?.isApprovedRequester == false)
        #expect(try bench.accept(share, by: bench.bob).code == .permissionFailure)
        let approved = ParticipantClaim(
            id: "bob", lookup: requester.identity.lookup, role: .privateUser, permission: .readWrite, isAdded: true)
        _ = try bench.change("Share") { $0.participants.append(approved) }.get()
        #expect(try sharing().requesters.isEmpty)
        #expect(try sharing().participants.last?.isApprovedRequester == true)
        _ = try bench.accept(share, by: bench.bob).get()
        #expect(try bench.seen(["root"], by: carol).isEmpty)
    }

    @Test("[P-20] blocking applies to the person who asked, not to the current owner of their address")
    func blocking() throws {
        let share = try askedShare()
        let id = try #require(try sharing().requesters.first?.id)
        try moveAddress()
        _ = try bench.change("Share") { $0.participants.append(.email("bob@example.com", .readWrite)) }.get()
        let blocked = try bench.change("Share") { $0.blocked = [id] }.get().sharing
        #expect(blocked?.participants.count == 2)
        #expect(blocked?.blocked.count == 1)
        _ = try bench.change("Share") { $0.participants.removeLast() }.get()
        _ = try bench.change("Share") { $0.participants.append(.email("bob@example.com", .readWrite)) }.get()
        _ = try bench.accept(share, by: carol).get()
        let bob = ParticipantClaim(
            id: "bob", lookup: .userRecord(bench.bob.userName.text), role: .privateUser, permission: .readWrite)
        #expect(try bench.change("Share") { $0.participants.append(bob) }.error?.fields["rule"] == "P-20")
    }
}
