// The contents of a zone's trail about its shares, and the entries written next to the records of shares.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("the trail of shares")
struct ShareTrailTests {
    private static let date = Date(timeIntervalSinceReferenceDate: 1)

    private static func participant(
        _ id: ParticipantID, _ status: AcceptanceStatus = .pending, _ role: ParticipantRole = .privateUser,
        _ permission: ParticipantPermission = .readOnly, user: UserName? = nil
    ) -> ShareParticipant {
        ShareParticipant(
            id: id, role: role, permission: permission, status: status, invitation: .handle(.email("\(id)@x")),
            user: user, added: date)
    }

    private static func share(
        _ people: [ShareParticipant] = [], publicPermission: ParticipantPermission = .none,
        asking: [UserName] = [], blocked: [UserName] = []
    ) -> ShareContent {
        func petitioners(_ users: [UserName]) -> [SharePetitioner] {
            users.map { SharePetitioner(id: ParticipantID($0.text), user: $0, handle: .email("\($0)@x"), date: date) }
        }
        return ShareContent(
            root: "root", token: ShareTown.token(0), publicPermission: publicPermission,
            participants: [participant("owner", .accepted, .owner, .readWrite, user: "_owner")] + people,
            requesters: petitioners(asking), blocked: petitioners(blocked))
    }

    private static func kinds(
        _ old: ShareContent?, _ new: ShareContent?, by actor: UserName = "_owner", approved: [UserName] = []
    ) -> [ShareEventKind] {
        let stamp = Stamp(date: date, user: actor)
        let events = ShareEvents.between(old, new, approved: approved, share: "share", stamp: stamp)
        for event in events {
            #expect(event.actor == actor)
            #expect(event.date == date)
            #expect(event.share == "share")
            #expect(event.root == "root")
        }
        return events.map(\.kind)
    }

    @Test("every change of a share is recorded, and what does not change is not")
    func changes() {
        let (pending, member) = (Self.participant("bob"), Self.participant("bob", .accepted, user: "_bob"))
        let writer = Self.participant("bob", .accepted, .privateUser, .readWrite, user: "_bob")
        let manager = Self.participant("bob", .accepted, .administrator, user: "_bob")
        let guest = Self.participant("bob", .accepted, .publicUser, .readWrite, user: "_bob")
        let with = { (participant: ShareParticipant) in Self.share([participant]) }
        #expect(Self.kinds(nil, with(pending)) == [.shared, .invited])
        #expect(Self.kinds(with(pending), nil) == [.stopped])
        #expect(Self.kinds(nil, nil) == [])
        #expect(Self.kinds(with(pending), with(pending)) == [])
        #expect(Self.kinds(Self.share(), with(pending)) == [.invited])
        #expect(Self.kinds(Self.share(), with(guest), by: "_bob") == [.joined])
        #expect(Self.kinds(with(pending), with(member), by: "_bob") == [.joined])
        #expect(Self.kinds(with(pending), Self.share()) == [.removed])
        #expect(Self.kinds(with(member), Self.share()) == [.removed])
        #expect(Self.kinds(with(member), Self.share(), by: "_bob") == [.left])
        #expect(Self.kinds(with(member), with(writer)) == [.permissionChanged])
        #expect(Self.kinds(with(member), with(manager)) == [.roleChanged])
        var open = with(guest)
        open.publicPermission = .readWrite
        #expect(Self.kinds(with(member), open) == [.publicPermissionChanged, .roleChanged])
        #expect(Self.kinds(Self.share(), Self.share(asking: ["_bob"]), by: "_bob") == [.accessRequested])
        #expect(Self.kinds(Self.share(asking: ["_bob"]), Self.share()) == [.requestDenied])
        #expect(Self.kinds(Self.share(asking: ["_bob"]), Self.share(blocked: ["_bob"])) == [.blocked])
        #expect(Self.kinds(with(member), Self.share(blocked: ["_bob"])) == [.blocked])
        #expect(Self.kinds(Self.share(blocked: ["_bob"]), Self.share()) == [.unblocked])
        #expect(Self.kinds(Self.share(asking: ["_bob"]), with(member)) == [.joined])
        // The address does not always identify the invited person: the decision names the person it admits.
        let (asked, invited) = (Self.share(asking: ["_bob"]), with(Self.participant("place")))
        #expect(Self.kinds(asked, invited, approved: ["_bob"]) == [.invited])
        #expect(Self.kinds(asked, invited) == [.invited, .requestDenied])
    }

    @Test(
        "[P-20] a requester who is invited by any address counts as approved, not denied",
        arguments: [IdentityLookup.email("bob@example.com"), .email("robert@example.com"), .phone("+49301234"), nil])
    func approved(lookup: IdentityLookup?) throws {
        let town = try ShareTown()
        for handle in [Handle.email("robert@example.com"), .phone("+49301234")] {
            try town.service.changeAccount(town.bob.id) { $0.handles.insert(handle) }
        }
        let share = try town.share { $0.allowsAccessRequests = true }
        for account in [town.bob, town.carol] { try town.ask(share.url, as: account).get() }
        _ = try town.bench.change("Share-folder") { claim in
            let lookup = lookup ?? .userRecord(town.bob.userName.text)
            claim.participants.append(
                ParticipantClaim(id: "new", lookup: lookup, role: .privateUser, permission: .readOnly, isAdded: true))
            claim.denied = [try #require(try town.content(share).requesters.last?.id.text)]
        }.get()
        #expect(try town.content(share).participants.last?.isApprovedRequester == true)
        let events = try town.events().dropFirst(3)
        #expect(events.map(\.kind) == [.invited, .requestDenied])
        #expect(events.last?.user == town.carol.userName)
    }

    @Test("events contain the person, and the values before and after")
    func details() throws {
        let stamp = Stamp(date: Self.date, user: "_owner")
        let old = Self.share([Self.participant("bob", .accepted, user: "_bob")])
        var new = old
        new.participants[1].permission = .readWrite
        new.participants[1].role = .administrator
        let events = ShareEvents.between(old, new, share: "share", stamp: stamp)
        let role = try #require(events.first)
        #expect(role.participant == "bob")
        #expect(role.user == "_bob")
        #expect(role.handle == .email("bob@x"))
        #expect(role.oldRole == .privateUser)
        #expect(role.newRole == .administrator)
        #expect(role.oldPermission == nil)
        let permission = try #require(events.last)
        #expect(permission.oldPermission == .readOnly)
        #expect(permission.newPermission == .readWrite)
        #expect(permission.oldRole == nil)
        #expect(events.count == 2)
    }

    @Test("the trail is read page by page, in order of occurrence, and ends with its zone")
    func pages() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.bob), town.invited(town.carol)])
        _ = try town.accept(share.url, as: town.bob).get()
        try town.change(share, by: town.bob) { $0.participants.removeAll { $0.id == "bob" } }
        try town.stop(share)
        let expected: [ShareEventKind] = [.shared, .invited, .invited, .joined, .left, .stopped]
        #expect(try town.events().map(\.kind) == expected)
        var found: [ShareEventKind] = []
        var position: ShareEventPosition?
        repeat {
            let page = try town.service.shareEvents(of: town.zone, after: position, limit: 2)
            #expect(page.events.count <= 2)
            found += page.events.map(\.kind)
            position = page.next
        } while position != nil
        #expect(found == expected)
        let nowhere = town.zone(of: town.alice, "Nowhere")
        #expect(cloudError { _ = try town.service.shareEvents(of: nowhere) }?.code == .zoneNotFound)
    }

    @Test("ended acceptances are kept in the zone, with their beginning, and nothing remains outside")
    func endings() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.bob), town.invited(town.carol)])
        for account in [town.bob, town.carol] { _ = try town.accept(share.url, as: account).get() }
        let began = try [town.bob, town.carol].map { try #require(try town.acceptance($0, share)).since }
        try town.change(share) { $0.participants.removeAll { $0.id == "bob" } }
        let ended = try town.sequence(share)
        try town.stop(share)
        let (bob, carol) = try town.service.engine.read { reader in
            let zone = try reader.existingZone(town.zone)
            func all(_ account: StoredAccount) throws -> [[UInt64]] {
                var all: [[UInt64]] = []
                try reader.store.scan(zone.keys.endedAcceptances(of: account.userName)) { key, value in
                    let began = try EndedPeriodEntry(decoding: value).began
                    all.append([began, try zone.keys.readEndedAcceptanceKey(key).ended])
                    return .next
                }
                return all
            }
            return (try all(town.bob), try all(town.carol))
        }
        #expect(bob == [[began[0], ended]])
        #expect(carol.map(\.first) == [began[1]])
        #expect(carol[0][1] > ended)
        try town.service.engine.read { reader in
            for range in [GlobalKeys.keyspace(.shareURLs), GlobalKeys.keyspace(.acceptances)] {
                try reader.store.scan(range) { _, _ in
                    Issue.record("something is left")
                    return .stop
                }
            }
        }
        #expect(try town.service.verifyUsage(of: town.alice.userName).isExact)
    }

    @Test("a share URL whose entry points to nothing is damage, not a missing share")
    func damage() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.bob)])
        let zone = town.zone
        try town.service.engine.transact { transaction in
            let request = MutationRequest(
                [.save(Record(name: share.name, type: "cloudkit.share"))],
                stamp: Stamp(date: town.bench.clock.now, user: town.alice.userName), tagSalt: 1)
            try transaction.apply(request, in: zone)
        }
        #expect(try town.accept(share.url, as: town.bob).code == .internalError)
        #expect(cloudError { _ = try town.metadata(share.url, as: town.bob) }?.code == .internalError)
    }
}

@Suite("people for a share")
struct ShareParticipantTests {
    @Test("[X-11][P-01][C-18] people are looked up as participants: known, unknown, malformed")
    func lookUps() throws {
        let town = try ShareTown()
        let lookups: [IdentityLookup] = [
            .email("BOB@example.com"), .email("new@example.com"), .phone("x"), .userRecord("_nobody"),
            .userRecord(town.carol.userName.text), .userRecord(ZoneAddress.currentUser),
        ]
        let answers = try town.service.shareParticipants(for: lookups, as: town.caller(town.alice))
        #expect(answers.map(\.code) == [nil, nil, .invalidArguments, .unknownItem, nil, nil])
        let people = answers.compactMap { try? $0.get() }
        #expect(people.map(\.identity.hasAccount) == [true, false, true, true])
        #expect(people.map(\.identity.lookup) == [lookups[0], lookups[1], lookups[4], lookups[5]])
        #expect(people.map { $0.identity.name?.given } == ["Bob", nil, "Carol", "Alice"])
        #expect(people[3].identity.userName == ZoneAddress.currentUser)
        #expect(people.allSatisfy { $0.role == .privateUser && $0.permission == .readOnly && $0.status == .pending })
        #expect(Set(people.map(\.id)).count == 4)
        #expect(people.allSatisfy { $0.added == nil })
        #expect(town.bench.events.value.last?.kind == .shareParticipants)
        #expect(throws: CloudError.self) { _ = try town.service.shareParticipants(for: [], as: town.caller(nil)) }
    }

    @Test("[X-09] a person without an account can be invited, and accepts once they have one")
    func withoutAccount() throws {
        let town = try ShareTown()
        let address = Handle.email("new@example.com")
        let share = try town.share(with: [town.invited("new", .handle(address), .readWrite)])
        #expect(
            try town.metadata(share.url, as: town.alice).get().share.sharing?.participants[1].identity.hasAccount
                == false)
        let new = try town.service.createAccount(AccountDraft(externalID: "new", handles: [address]))
        #expect(
            try town.metadata(share.url, as: town.alice).get().share.sharing?.participants[1].identity.hasAccount
                == true)
        #expect(try town.accept(share.url, as: new).get().sharing?.currentUserID == "new")
    }
}
