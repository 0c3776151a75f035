// Each person's view of one share.

import FoundationEssentials
import StratusModel
import Testing

@testable import StratusCloud

@Suite("the view of a share")
struct ShareViewTests {
    private static let date = Date(timeIntervalSinceReferenceDate: 1)
    private static let zone = ZoneAddress(zoneName: "Notes", ownerName: "_owner")

    private static func participant(
        _ id: ParticipantID, _ role: ParticipantRole = .privateUser, _ status: AcceptanceStatus = .accepted,
        _ invitation: ParticipantInvitation? = nil, user: UserName? = nil
    ) -> ShareParticipant {
        ShareParticipant(
            id: id, role: role, permission: .readWrite, status: status, invitation: invitation, user: user,
            added: date)
    }

    private static func petitioner(_ id: ParticipantID, _ user: UserName, _ handle: Handle?) -> SharePetitioner {
        SharePetitioner(id: id, user: user, handle: handle, date: date)
    }

    private static let content = ShareContent(
        root: "root", token: ShareTown.token(0), publicPermission: .none, allowsAccessRequests: true,
        participants: [
            participant("owner", .owner, user: "_owner"),
            participant("admin", .administrator, .accepted, .handle(.email("admin@x")), user: "_admin"),
            participant("member", .privateUser, .accepted, .handle(.email("member@x")), user: "_member"),
            participant("coming", .administrator, .pending, .handle(.email("coming@x"))),
            participant("named", .privateUser, .pending, .userRecord, user: "_named"),
            participant("once", .privateUser, .pending, .oneTime(ShareTown.token(50))),
            participant("used", .privateUser, .accepted, .oneTime(ShareTown.token(60)), user: "_used"),
        ],
        requesters: [petitioner("asking", "_asking", .phone("123"))],
        blocked: [petitioner("blocked", "_blocked", nil)])

    private static var people: SharePeople {
        var people = SharePeople()
        for name in ["owner", "admin", "member", "named", "used", "asking", "blocked"] {
            let user = UserName("_" + name)
            let handle = name == "asking" ? Handle.phone("123") : .email("\(name)@x")
            people.accounts[user] = StoredAccount(
                id: AccountID(name), externalID: nil, userName: user, handles: [handle], name: PersonName(given: name),
                standing: name == "used" ? .suspended : .good, isDiscoverable: name != "named", created: date)
        }
        people.reachableHandles = [.email("coming@x")]
        return people
    }

    private static func share(_ viewer: UserName?, own: ParticipantID? = nil) -> ClientShare {
        ShareView(content, zone: zone, viewer: viewer, own: own, urlBase: "https://x/").share(people)
    }

    private static func line(_ participant: ClientParticipant) -> String {
        var words = [participant.id, participant.identity.userName ?? "-", participant.identity.name?.given ?? "-"]
        switch participant.identity.lookup {
        case .email(let address): words.append(address)
        case .phone(let number): words.append(number)
        case .userRecord(let name): words.append(name)
        case nil: words.append("-")
        }
        if participant.identity.hasAccount { words.append("account") }
        if participant.isOneTime { words.append("one-time") }
        if let url = participant.oneTimeURL {
            words.append(url == "https://x/" + ShareTown.token(0).text ? "url" : "own")
        }
        return words.joined(separator: " ")
    }

    private static let everything = [
        "owner _owner owner - account", "admin _admin admin admin@x account", "member _member member member@x account",
        "coming - - coming@x account", "named _named - _named account", "once - - - one-time own",
        "used _used used - url",
    ]

    @Test(
        "[X-15][P-03][P-16] owner and administrators see everyone, how they were invited, and who requests access",
        arguments: [
            UserName("_owner"), "_admin",
        ])
    func managers(viewer: UserName) {
        let share = Self.share(viewer)
        let id = viewer == "_owner" ? "owner" : "admin"
        let expected = Self.everything.map { line in
            line.hasPrefix(id + " ") ? line.replacing(viewer.text, with: ZoneAddress.currentUser) : line
        }
        #expect(share.participants.map(Self.line) == expected)
        #expect(share.currentUserID == id)
        #expect(share.ownerID == "owner")
        #expect(share.requesters.map(\.id) == ["asking"])
        #expect(share.blocked.map(\.id) == ["blocked"])
        #expect(share.requesters.map(\.identity.lookup) == [.phone("123")])
        #expect(share.blocked.map(\.identity.lookup) == [.userRecord("_blocked")])
        #expect(share.blocked.map { $0.identity.name?.given } == ["blocked"])
    }

    @Test("[X-15][P-08] others see the owner, themselves and accepted people, but not how those were invited")
    func others() {
        let accepted = ["owner _owner owner - account", "admin _admin admin - account", "used _used used -"]
        let member = "member _member member - account"
        let own = "member \(ZoneAddress.currentUser) member member@x account"
        func lines(_ share: ClientShare) -> Set<String> { Set(share.participants.map(Self.line)) }
        #expect(lines(Self.share("_member")) == Set(accepted + [own]))
        // A person who became an administrator and has not accepted is not one yet.
        #expect(lines(Self.share("_new", own: "coming")) == Set(accepted + [member, "coming - - coming@x account"]))
        let named = "named \(ZoneAddress.currentUser) named _named account"
        #expect(lines(Self.share("_named")) == Set(accepted + [member, named]))
        #expect(lines(Self.share("_new", own: "once")) == Set(accepted + [member, "once - - - one-time"]))
        #expect(lines(Self.share("_outsider")) == Set(accepted + [member]))
        for viewer: UserName? in ["_member", "_named", "_outsider", nil] {
            let share = Self.share(viewer)
            #expect(share.requesters.isEmpty)
            #expect(share.blocked.isEmpty)
            #expect(share.participants.allSatisfy { $0.oneTimeURL == nil })
        }
        #expect(Self.share(nil).currentUserID == nil)
    }

    @Test("[P-03][P-20] an address that no longer belongs to its person is shown to no one")
    func movedHandles() {
        var people = Self.people
        for user: UserName in ["_member", "_asking"] { people.accounts[user]?.handles = [] }
        let view = ShareView(Self.content, zone: Self.zone, viewer: "_owner", urlBase: "https://x/").share(people)
        #expect(view.participants[2].identity.lookup == .userRecord("_member"))
        #expect(view.requesters.map(\.identity.lookup) == [.userRecord("_asking")])
        // A waiting person without an account is not reported at all.
        for user: UserName in ["_asking", "_named"] { people.accounts[user] = nil }
        let gone = ShareView(Self.content, zone: Self.zone, viewer: "_owner", urlBase: "https://x/").share(people)
        #expect(gone.requesters.isEmpty)
        #expect(!gone.participants.contains { $0.id == "named" })
    }

    @Test("[X-14] public users are shown with the public permission")
    func publicUsers() {
        var content = Self.content
        content.publicPermission = .readOnly
        content.participants.append(Self.participant("public", .publicUser, user: "_public"))
        let view = ShareView(content, zone: Self.zone, viewer: "_owner", urlBase: "https://x/")
        #expect(view.share(Self.people).participants.last?.permission == .readOnly)
    }

    @Test("the share's own data: URL, root, permissions", arguments: [nil, RecordName("root")])
    func facts(root: RecordName?) {
        var content = Self.content
        content.root = root
        let share = ShareView(content, zone: Self.zone, viewer: nil, urlBase: "https://x").share(Self.people)
        #expect(share.url == "https://x/" + ShareTown.token(0).text)
        #expect(share.root == root.map { RecordAddress(recordName: $0.text, zone: Self.zone) })
        #expect(share.allowsAccessRequests)
        #expect(share.publicPermission == .none)
    }

    @Test("[SH-14] the secret of a URL is its last component, whatever surrounds it")
    func links() throws {
        let token = ShareTown.token(3)
        for url in [
            "https://a.example/share/\(token.text)", "https://b.example/x/y/\(token.text)#A title/with a slash",
            "app:\(token.text)".replacing(":", with: ":/"), token.text, "https://a/\(token.text)/?from=mail#x",
        ] {
            #expect(ShareLink.token(of: url) == token, "\(url)")
        }
        for url in ["", "/", "#", "https://a/\(token.text)x", "https://a/\(token.text)/y", "https://a?\(token.text)"] {
            #expect(ShareLink.token(of: url) == nil, "\(url)")
        }
        #expect(ShareLink.token(of: String(repeating: "x", count: 5_000) + "/" + token.text) == nil)
        #expect(ShareLink.token(of: ShareLink.url("https://a/b/", token)) == token)
        #expect(ShareLink.url("https://a/b", token) == ShareLink.url("https://a/b/", token))
    }
}
