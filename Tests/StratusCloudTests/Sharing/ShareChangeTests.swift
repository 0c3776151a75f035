// Participants: invitations, permissions, public shares, leaving, removing, stopping, requests for access, and what
// everyone sees of it.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("changing shares")
struct ShareChangeTests {
    @Test("[P-02][P-03][P-21] an invited person is pending without a name, and accepted with one")
    func invited() throws {
        let bench = try RecordBench.forSharing()
        let carol = try bench.person("carol")
        let share = try bench.share("root", as: "Share", with: [.email("Carol@Example.com", .readOnly)])
        let pending = try #require(share.sharing?.participant("carol@example.com"))
        #expect(pending.status == .pending)
        #expect(pending.role == .privateUser)
        #expect(pending.permission == .readOnly)
        #expect(pending.identity.userName == nil)
        #expect(pending.identity.name == nil)
        #expect(pending.identity.hasAccount)
        #expect(pending.added == bench.clock.now)
        bench.clock.advance(bySeconds: 10)
        _ = try bench.accept(share, by: carol).get()
        let accepted = try #require(try bench.ownShare("Share").sharing?.participant("carol@example.com"))
        #expect(accepted.status == .accepted)
        #expect(accepted.id == pending.id)
        #expect(accepted.added == pending.added)
        #expect(accepted.identity.userName == carol.userName.text)
        #expect(accepted.identity.name?.given == "Carol")
    }

    @Test("the host gets an event for each invited person, once, with the data for a mail, and for no one else")
    func invitations() throws {
        let bench = try RecordBench.forSharing()
        let title: [String: ClientValue] = ["cloudkit.title": .string("Trip")]
        let claims: [ParticipantClaim] = [.email("bob@example.com"), .email("new@example.com", .readOnly)]
        let share = try bench.share("root", as: "Share", with: claims, fields: title)
        let told = bench.invitations.value
        #expect(told.map(\.handle) == [.email("bob@example.com"), .email("new@example.com")])
        #expect(told.map(\.user) == [bench.bob.userName, nil])
        #expect(told.map(\.permission) == [.readWrite, .readOnly])
        #expect(told.allSatisfy { $0.url == share.sharing?.url && $0.title == "Trip" && $0.share == "Share" })
        #expect(told.allSatisfy { $0.inviter == bench.alice.userName && $0.owner == bench.alice.userName })
        _ = try bench.change("Share") { $0.participants[1].permission = .readOnly }.get()
        let malformed = try bench.modify([.new("r"), .share("B", root: "r", with: [.email("no address")])]).saves
        #expect(malformed[1].code == .invalidArguments)
        #expect(bench.invitations.value.count == 2)
    }

    @Test("[P-14][X-13] owner and administrators can change a share, and others cannot, not even its fields")
    func rights() throws {
        let bench = try RecordBench.forSharing()
        let (carol, dora) = (try bench.person("carol"), try bench.person("dora"))
        let share = try bench.share(
            "root", as: "Share",
            with: [
                .email("bob@example.com", .readWrite), .email("carol@example.com", .readOnly, role: .administrator),
                .email("dora@example.com"),
            ])
        for account in [bench.bob, carol, dora] { _ = try bench.accept(share, by: account).get() }
        let refused = try bench.change("Share", by: bench.bob) { $0.participants.removeLast() }.error
        #expect(refused?.code == .permissionFailure)
        #expect(refused?.fields["rule"] == "X-13")
        let record = try bench.fetch(bench.shared("Share"), by: bench.bob, in: .shared).get()
        let title = RecordSave.change(record, ["cloudkit.title": .string("Mine")])
        #expect(try bench.modify([title], by: bench.bob, in: .shared).saves[0].code == .permissionFailure)
        let changed = try bench.change("Share", by: carol) { claim in
            claim.participants.removeAll { $0.id == share.sharing?.participant("dora@example.com")?.id }
            claim.participants.append(.email("eve@example.com"))
        }.get()
        #expect(changed.sharing?.participants.count == 4)
        #expect(try bench.seen(["root"], by: dora).isEmpty)
        #expect(bench.invitations.value.last?.inviter == carol.userName)
        #expect(try bench.write("root", by: carol).code == .permissionFailure)
    }

    @Test("[P-12][P-04] only the owner can share: a participant's own share of a record is refused")
    func foreignShare() throws {
        let bench = try RecordBench.forSharing()
        let share = try bench.shareNotes(with: [.email("bob@example.com", .readWrite, role: .administrator)])
        _ = try bench.accept(share, by: bench.bob).get()
        let root = RecordSave.new(bench.shared("r"))
        let own = RecordSave.share("S", root: "r", in: bench.others())
        let saves = try bench.modify([root, own], by: bench.bob, in: .shared).saves
        #expect(saves.map(\.code) == [.batchRequestFailed, .permissionFailure])
    }

    @Test(
        "[X-15][P-08] other participants see the owner, themselves and accepted people, but not how they were invited")
    func views() throws {
        let bench = try RecordBench.forSharing()
        let carol = try bench.person("carol")
        let claims: [ParticipantClaim] = [
            .email("bob@example.com"), .email("carol@example.com", .readOnly), .email("eve@example.com"),
            ParticipantClaim(id: "one", isOneTime: true, role: .privateUser, permission: .readOnly),
        ]
        let share = try bench.share("root", as: "Share", with: claims)
        #expect(share.sharing?.participants.count == 5)
        let oneTime = try #require(share.sharing?.participants.last)
        #expect(oneTime.isOneTime)
        #expect(oneTime.oneTimeURL != nil)
        #expect(oneTime.oneTimeURL != share.sharing?.url)
        #expect(oneTime.id == "one")
        #expect(oneTime.identity.lookup == nil)
        _ = try bench.accept(share, by: bench.bob).get()
        _ = try bench.accept(share, by: carol).get()
        let seen = try #require(try bench.fetch(bench.shared("Share"), by: bench.bob, in: .shared).get().sharing)
        #expect(seen.participants.map(\.role) == [.owner, .privateUser, .privateUser])
        #expect(seen.participants.allSatisfy { $0.oneTimeURL == nil })
        #expect(seen.currentUserID == share.sharing?.participant("bob@example.com")?.id)
        #expect(seen.participants[0].identity.userName == bench.alice.userName.text)
        #expect(seen.participants[1].identity.userName == "__defaultOwner__")
        #expect(seen.participants[2].identity.lookup == nil)
        #expect(seen.participants[2].identity.name?.given == "Carol")
        #expect(seen.root == bench.shared("root"))
    }

    @Test("[P-13] deleting a share in the shared database removes only the caller from it")
    func leaving() throws {
        let bench = try RecordBench.forSharing()
        let carol = try bench.person("carol")
        let claims: [ParticipantClaim] = [.email("bob@example.com"), .email("carol@example.com")]
        let share = try bench.share("root", as: "Share", with: claims)
        _ = try bench.accept(share, by: bench.bob).get()
        _ = try bench.accept(share, by: carol).get()
        _ = try bench.modify(deleting: [bench.shared("Share")], by: bench.bob, in: .shared).deletes[0].get()
        #expect(try bench.zones(of: bench.bob).isEmpty)
        let later = try bench.modify([.new(bench.shared("x"), parent: "root")], by: bench.bob, in: .shared).saves[0]
        #expect(later.code == .zoneNotFound)
        #expect(try bench.seen(["root"], by: carol) == ["root"])
        let left = try bench.ownShare("Share").sharing
        #expect(left?.participants.count == 2)
        #expect(try bench.fetch(.note("root")).get().share == .parent("Share"))
        #expect(try bench.shareFindings().isEmpty)
    }

    @Test("[P-13] an administrator who deletes the share leaves it, and does not stop it")
    func administratorLeaves() throws {
        let bench = try RecordBench.forSharing()
        let claim = ParticipantClaim.email("bob@example.com", .readWrite, role: .administrator)
        let share = try bench.shareNotes(with: [claim])
        _ = try bench.accept(share, by: bench.bob).get()
        let answers = try bench.modify(
            [.new(bench.shared("last"))],
            deleting: [RecordAddress(recordName: "cloudkit.zoneshare", zone: bench.others())], by: bench.bob,
            in: .shared)
        #expect(answers.saves[0].code == nil)
        #expect(answers.deletes[0].code == nil)
        #expect(try bench.exists(.note("cloudkit.zoneshare")))
        #expect(try bench.exists(.note("last")))
        #expect(try bench.zones(of: bench.bob).isEmpty)
        #expect(try bench.shareFindings().isEmpty)
    }

    @Test("[P-15][X-16] a removed participant loses sight at once, and needs a new invitation to return")
    func removed() throws {
        let bench = try RecordBench.forSharing()
        let share = try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
        #expect(try bench.seen(["root"], by: bench.bob) == ["root"])
        _ = try bench.change("Share") { $0.participants.removeLast() }.get()
        #expect(try bench.seen(["root"], by: bench.bob).isEmpty)
        #expect(try bench.accept(share, by: bench.bob).code == .unknownItem)
        _ = try bench.change("Share") { $0.participants.append(.email("bob@example.com")) }.get()
        #expect(try bench.seen(["root"], by: bench.bob).isEmpty)
        _ = try bench.accept(share, by: bench.bob).get()
        #expect(try bench.seen(["root"], by: bench.bob) == ["root"])
    }

    @Test("[SH-10][X-03] the owner stops a share by deleting it: the root loses its mark, with a new tag in the feed")
    func stopped() throws {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("child", parent: nil))
        try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
        let before = try bench.fetch(.note("root")).get()
        try bench.delete(.note("Share"))
        let after = try bench.fetch(.note("root")).get()
        #expect(after.share == nil)
        #expect(after.changeTag != before.changeTag)
        #expect(try bench.zones(of: bench.bob).isEmpty)
        #expect(try bench.service.verifyUsage(of: bench.alice.userName).isExact)
        let database = DatabaseID(container: RecordBench.container, owner: bench.alice.userName, scope: .private)
        let changes = try bench.service.engine.read { reader in
            try reader.existingZone(ZoneID(database: database, name: "Notes")).changes(after: 0).suffix(2)
        }
        #expect(Set(changes.map(\.name)) == ["root", "Share"])
        #expect(try bench.shareFindings().isEmpty)
    }

    @Test("[SH-10] a root that is saved in the request that stops its share has the new tag in its answer")
    func stoppedWithRoot() throws {
        let bench = try RecordBench.forSharing()
        for atomic in [true, false] {
            let name = "root-\(atomic)"
            try bench.share(name, as: "S-\(atomic)")
            let root = try bench.fetch(.note(name)).get()
            let answer = try bench.modify(
                [.change(root, ["n": .int64(1)])], deleting: [.note("S-\(atomic)")], atomic: atomic)
            _ = try answer.deletes[0].get()
            let saved = try answer.saves[0].get()
            #expect(saved.share == nil)
            #expect(try bench.fetch(.note(name)).get() == saved)
        }
    }

    @Test("[SH-11][R-03] a root's share is deleted with it, also by a cascade, together with what refers to the share")
    func rootDeleted() throws {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("book"))
        try bench.save(.new("root", ["book": .owned(by: "book")]))
        try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
        try bench.save(.new("note", ["share": .owned(by: "Share")]))
        try bench.delete(.note("book"))
        for name in ["book", "root", "Share", "note"] { #expect(try !bench.exists(.note(name))) }
        #expect(try bench.zones(of: bench.bob).isEmpty)
        #expect(try bench.service.verifyUsage(of: bench.alice.userName).isExact)
        try bench.share("other", as: "Other")
        try bench.save(.new("child", parent: "other"))
        #expect(try bench.modify(deleting: [.note("other")]).deletes[0].code == .referenceViolation)
        #expect(try bench.exists(.note("Other")))
        let clash = try bench.modify(
            [.change(try bench.ownShare("Other"), ["n": .int64(1)])], deleting: [.note("other"), .note("child")])
        #expect(clash.deletes[0].code == .invalidArguments)
        #expect(try bench.shareFindings().isEmpty)
    }

    @Test(
        "[P-05][P-06][X-14] a private share that becomes public loses its pending participants and has only public users"
    )
    func published() throws {
        let bench = try RecordBench.forSharing()
        let claims: [ParticipantClaim] = [.email("bob@example.com", .readWrite), .email("carol@example.com")]
        let carol = try bench.person("carol")
        let share = try bench.share("root", as: "Share", with: claims)
        _ = try bench.accept(share, by: bench.bob).get()
        let shown = try bench.change("Share") { $0.publicPermission = .readOnly }.get()
        #expect(shown.sharing?.participants.map(\.role) == [.owner, .publicUser])
        #expect(try bench.write("root", by: bench.bob).code == .permissionFailure)
        _ = try bench.accept(share, by: carol).get()
        #expect(try bench.seen(["root"], by: carol) == ["root"])
        let added = try bench.change("Share") { $0.participants.append(.email("eve@example.com")) }
        #expect(added.error?.fields["rule"] == "P-05")
        let mixed = try bench.change("Share") { $0.participants[1].role = .privateUser }
        #expect(mixed.error?.fields["rule"] == "P-05")
        _ = try bench.change("Share") { $0.publicPermission = .readWrite }.get()
        #expect(try bench.write("root", by: carol).code == nil)
        _ = try bench.change("Share") { $0.publicPermission = .readOnly }.get()
        #expect(try bench.write("root", by: carol).code == .permissionFailure)
    }

    @Test("[P-07] a public share that becomes private keeps its owner and re-added participants, as they were")
    func withdrawn() throws {
        let bench = try RecordBench.forSharing()
        let carol = try bench.person("carol")
        let share = try bench.share("root", as: "Share", publicPermission: .readWrite)
        _ = try bench.accept(share, by: bench.bob).get()
        _ = try bench.accept(share, by: carol).get()
        let withdrawn = try bench.change("Share") { claim in
            claim.publicPermission = ParticipantPermission.none
            let place = claim.participants.firstIndex { $0.permission == .readWrite && $0.role == .publicUser }
            if let place { claim.participants[place].isAdded = true }
        }.get()
        #expect(withdrawn.sharing?.participants.map(\.role) == [.owner, .privateUser])
        #expect(withdrawn.sharing?.participants[1].status == .accepted)
        #expect(try bench.seen(["root"], by: bench.bob) == ["root"])
        #expect(try bench.seen(["root"], by: carol).isEmpty)
        #expect(try bench.accept(share, by: carol).code == .unknownItem)
    }

    @Test("[X-10][L-12] a share has a maximum number of participants, not counting its owner")
    func limit() throws {
        let bench = try RecordBench.forSharing(inMemory: true)
        let claims = (0..<101).map { ParticipantClaim.email("p\($0)@example.com") }
        let full = try bench.share("root", as: "Share", with: Array(claims.prefix(100)))
        #expect(full.sharing?.participants.count == 101)
        let more = try bench.change("Share") { $0.participants.append(claims[100]) }
        #expect(more.code == .tooManyParticipants)
        let other = try bench.modify([.new("r"), .share("S", root: "r", with: claims)]).saves
        #expect(other.map(\.code) == [.batchRequestFailed, .tooManyParticipants])
    }

    @Test("[P-17] a participant cannot be invited by another address; the same address changes their entry")
    func alreadyInvited() throws {
        let bench = try RecordBench.forSharing()
        try bench.service.changeAccount(bench.bob.id) { $0.handles.insert(.email("robert@example.com")) }
        try bench.share("root", as: "Share", with: [.email("bob@example.com", .readOnly)])
        let other = try bench.change("Share") { $0.participants.append(.email("robert@example.com")) }
        #expect(other.code == .participantAlreadyInvited)
        let owner = try bench.change("Share") { $0.participants.append(.email("alice@example.com")) }
        #expect(owner.code == .participantAlreadyInvited)
        let record = ParticipantClaim(
            id: "x", lookup: .userRecord(bench.bob.userName.text), role: .privateUser, permission: .readWrite)
        #expect(try bench.change("Share") { $0.participants.append(record) }.code == .participantAlreadyInvited)
        let same = try bench.change("Share") { $0.participants.append(.email("BOB@example.com", .readWrite)) }.get()
        #expect(same.sharing?.participants.map(\.permission) == [.readWrite, .readWrite])
        let nobody = ParticipantClaim(id: "x", lookup: .userRecord("_nobody"), role: nil, permission: nil)
        #expect(try bench.change("Share") { $0.participants.append(nobody) }.code == .invalidArguments)
    }

    @Test("[X-12] role and permission of a participant are what the owner saves")
    func changed() throws {
        let bench = try RecordBench.forSharing()
        try bench.share("root", as: "Share", with: bench.bob, "bob@example.com", .readOnly)
        #expect(try bench.write("root", by: bench.bob).code == .permissionFailure)
        let changed = try bench.change("Share") {
            $0.participants[1].role = .administrator
            $0.participants[1].permission = .readWrite
        }.get()
        #expect(changed.sharing?.participants[1].role == .administrator)
        #expect(try bench.write("root", by: bench.bob).code == nil)
        #expect(try bench.change("Share", by: bench.bob) { $0.allowsAccessRequests = true }.code == nil)
    }

    @Test("[X-22][X-17][P-04] a claim cannot make anyone owner or public user, and unknown values change nothing")
    func claims() throws {
        let bench = try RecordBench.forSharing()
        let claim = ParticipantClaim.email("bob@example.com", .readOnly, role: .administrator)
        let share = try bench.share("root", as: "Share", with: [claim])
        _ = try bench.accept(share, by: bench.bob).get()
        for role in [ParticipantRole.owner, .publicUser] {
            let own = try bench.change("Share", by: bench.bob) { $0.participants[1].role = role }
            #expect(own.code == .invalidArguments)
            let new = try bench.change("Share") { claim in
                var added = ParticipantClaim.email("eve@example.com")
                added.role = role
                claim.participants.append(added)
            }
            #expect(new.code == .invalidArguments)
        }
        let deposed = try bench.change("Share", by: bench.bob) { $0.participants[0].role = .privateUser }
        #expect(deposed.code == .invalidArguments)
        let kept = try bench.change("Share", by: bench.bob) { $0.participants.removeFirst() }.get()
        #expect(kept.sharing?.participants.map(\.role) == [.owner, .administrator])
        let unknown = try bench.change("Share") { claim in
            claim.publicPermission = nil
            claim.participants[1].role = nil
            claim.participants[1].permission = nil
        }.get()
        #expect(unknown.sharing?.publicPermission == ParticipantPermission.none)
        #expect(unknown.sharing?.participants[1].role == .administrator)
        #expect(unknown.sharing?.participants[1].permission == .readOnly)
        let stranger = ParticipantClaim(id: "stranger", role: .privateUser, permission: .readWrite)
        #expect(try bench.change("Share") { $0.participants.append(stranger) }.code == .invalidArguments)
    }

    @Test("[P-20] a requester can be approved by an invitation, denied, blocked, and unblocked")
    func requests() throws {
        let bench = try RecordBench.forSharing()
        let people = try ["carol", "dora", "eve"].map { try bench.person($0) }
        let share = try bench.share("root", as: "Share")
        _ = try bench.change("Share") { $0.allowsAccessRequests = true }.get()
        let url = try #require(share.sharing?.url)
        func ask(_ account: StoredAccount) throws {
            _ = try bench.service.requestShareAccess([url], as: bench.caller(account))[0].get()
        }
        for person in people { try ask(person) }
        let asked = try #require(try bench.ownShare("Share").sharing).requesters
        #expect(asked.map(\.identity.lookup) == people.map { .email("\($0.externalID ?? "")@example.com") })
        let answered = try bench.change("Share") { claim in
            claim.participants.append(.email("carol@example.com"))
            claim.denied = [asked[1].id]
            claim.blocked = [asked[2].id]
        }.get().sharing
        #expect(answered?.requesters.isEmpty == true)
        #expect(answered?.blocked.map(\.id) == [asked[2].id])
        #expect(answered?.participants[1].isApprovedRequester == true)
        try ask(people[1])
        try ask(people[2])
        #expect(try bench.ownShare("Share").sharing?.requesters.count == 1)
        let blockedOne = try bench.change("Share") { $0.participants.append(.email("eve@example.com")) }
        #expect(blockedOne.code == .invalidArguments)
        let free = try bench.change("Share") { claim in
            claim.unblocked = [asked[2].id]
            claim.participants.append(.email("eve@example.com"))
        }.get().sharing
        #expect(free?.blocked.isEmpty == true)
        #expect(free?.participants.count == 3)
        // A blocked participant no longer takes part.
        _ = try bench.accept(share, by: people[0]).get()
        let id = try #require(try bench.ownShare("Share").sharing?.participant("carol@example.com")?.id)
        let blocked = try bench.change("Share") { $0.blocked = [id] }.get().sharing
        #expect(blocked?.participants.contains { $0.id == id } == false)
        #expect(blocked?.blocked.count == 1)
        #expect(try bench.seen(["root"], by: people[0]).isEmpty)
    }

    @Test("[P-16][X-26] a one-time URL stays the same while its participant stays, and becomes invalid with them")
    func oneTime() throws {
        let bench = try RecordBench.forSharing()
        let claim = ParticipantClaim(id: "one", isOneTime: true, role: .privateUser, permission: .readWrite)
        let share = try bench.share("root", as: "Share", with: [claim])
        let url = try #require(share.sharing?.participants[1].oneTimeURL)
        let changed = try bench.change("Share") { $0.participants[1].permission = .readOnly }.get()
        #expect(changed.sharing?.participants[1].oneTimeURL == url)
        _ = try bench.change("Share") { $0.participants.removeLast() }.get()
        #expect(try bench.service.acceptShares([url], as: bench.caller(bench.bob))[0].code == .unknownItem)
        let again = try bench.change("Share") { $0.participants.append(claim) }.get()
        let other = try #require(again.sharing?.participants[1].oneTimeURL)
        #expect(other != url)
        _ = try bench.service.acceptShares([other], as: bench.caller(bench.bob))[0].get()
        #expect(try bench.ownShare("Share").sharing?.participants[1].oneTimeURL == share.sharing?.url)
    }

    @Test("[S-03] a share that changed meanwhile is not overwritten")
    func stale() throws {
        let bench = try RecordBench.forSharing()
        let share = try bench.share("root", as: "Share", with: [.email("bob@example.com")])
        _ = try bench.accept(share, by: bench.bob).get()
        var save = RecordSave.change(share)
        save.sharing = share.sharing?.claim
        save.sharing?.participants.removeAll()
        let answer = try bench.modify([save], policy: .changedKeys).saves[0]
        #expect(answer.code == .serverRecordChanged)
        #expect(answer.error?.serverRecord?.sharing?.participants[1].status == .accepted)
        #expect(try bench.seen(["root"], by: bench.bob) == ["root"])
    }

    @Test("[X-17] an invitation with a permission unknown to the server is read-only")
    func unknownPermission() throws {
        let bench = try RecordBench.forSharing()
        var claim = ParticipantClaim.email("bob@example.com")
        claim.permission = nil
        let share = try bench.share("root", as: "Share", with: [claim])
        #expect(share.sharing?.participant("bob@example.com")?.permission == .readOnly)
    }

    @Test("[M-08] a person invited by user record sees nothing before accepting")
    func invitedByRecord() throws {
        let bench = try RecordBench.forSharing()
        let claim = ParticipantClaim(
            id: "new", lookup: .userRecord(bench.bob.userName.text), role: .privateUser, permission: .readWrite,
            isAdded: true)
        let share = try bench.share("root", as: "Share", with: [claim])
        #expect(throws: CloudError.self) { try bench.fetch(bench.shared("root"), by: bench.bob, in: .shared).get() }
        _ = try bench.accept(share, by: bench.bob).get()
        #expect(try bench.fetch(bench.shared("root"), by: bench.bob, in: .shared).get().address.recordName == "root")
    }
}
