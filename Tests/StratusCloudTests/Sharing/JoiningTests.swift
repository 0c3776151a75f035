// Accepting shares: by invitation, by a one-time URL, by the URL of a public share.

import Foundation
import StratusLayout
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("accepting shares")
struct JoiningTests {
    @Test("[M-06] accepting returns the share with the caller as a participant, and can be repeated")
    func accepting() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.bob, .readWrite)])
        town.bench.clock.advance(bySeconds: 5)
        let before = try town.content(share)
        let answer = try town.accept(share.url, as: town.bob).get()
        let sharing = try #require(answer.sharing)
        let own = try #require(sharing.participants.first { $0.id == sharing.currentUserID })
        #expect(own.status == .accepted)
        #expect(own.identity.userName == ZoneAddress.currentUser)
        #expect(own.permission == .readWrite)
        #expect(own.role == .privateUser)
        #expect(own.identity.name?.given == "Bob")
        #expect(answer.address.zone.ownerName == town.alice.userName.text)
        #expect(answer.fields.isEmpty)
        #expect(answer.lastModifiedUserName == ZoneAddress.currentUser)
        #expect(answer.modificationDate == town.bench.clock.now)
        var after = before
        after.participants[1].status = .accepted
        after.participants[1].user = town.bob.userName
        #expect(try town.content(share) == after)

        #expect(try ShareVerifier(engine: town.service.engine).verify().findings == [])
        let commits = town.bench.commitCount
        #expect(try town.accept(share.url, as: town.bob).get() == answer)
        let own2 = try town.accept(share.url, as: town.alice).get().sharing
        #expect(own2?.currentUserID == own2?.ownerID)
        #expect(town.bench.commitCount == commits, "nothing is written")
    }

    @Test("[M-07][M-08] before the commit nothing is accepted, and from the commit on everything is")
    func visibility() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.bob, .readWrite, role: .administrator)])
        #expect(try town.acceptanceCount(town.bob) == 0)
        _ = try town.metadata(share.url, as: town.bob, root: true).get()
        #expect(try town.acceptanceCount(town.bob) == 0)
        town.bench.clock.advance(bySeconds: 9)
        _ = try town.accept(share.url, as: town.bob).get()
        let entry = try #require(try town.acceptance(town.bob, share))
        #expect(entry.role == .administrator)
        #expect(entry.permission == .readWrite)
        #expect(entry.participant == "bob")
        #expect(entry.container == RecordBench.container)
        #expect(entry.owner == town.alice.userName)
        #expect(try entry.since == town.sequence(share))
        #expect(entry.zone == ShareTown.notes)
        #expect(entry.date == town.bench.clock.now)
        #expect(try town.acceptanceCount(town.bob) == 1)
    }

    @Test("[P-05][X-10] anyone joins a public share by its URL, up to its limit")
    func publicShare() throws {
        let town = try ShareTown { $0.participantCount = 2 }
        let share = try town.share { $0.publicPermission = .readWrite }
        town.bench.clock.advance(bySeconds: 3)
        for account in [town.bob, town.carol] {
            let sharing = try #require(try town.accept(share.url, as: account).get().sharing)
            let own = try #require(sharing.participants.first { $0.id == sharing.currentUserID })
            #expect(own.role == .publicUser)
            #expect(own.permission == .readWrite)
            #expect(own.status == .accepted)
            #expect(own.added == town.bench.clock.now)
            #expect(own.identity.lookup == nil)
        }
        #expect(try town.accept(share.url, as: town.dave).code == .tooManyParticipants)
        #expect(try town.acceptance(town.dave, share) == nil)
        // Participants stay; and there is room again when one leaves.
        #expect(try town.accept(share.url, as: town.carol).error == nil)
        try town.change(share) { $0.participants.removeAll { $0.user == town.bob.userName } }
        #expect(try town.accept(share.url, as: town.dave).error == nil)
    }

    @Test("[X-14] public users may do what the share grants, also after the grant is reduced")
    func publicPermission() throws {
        let town = try ShareTown()
        let share = try town.share { $0.publicPermission = .readWrite }
        _ = try town.accept(share.url, as: town.bob).get()
        let since = try town.acceptance(town.bob, share)?.since
        // Even if the server has left the participant's own permission unchanged.
        try town.change(share) { $0.publicPermission = .readOnly }
        #expect(try town.acceptance(town.bob, share)?.permission == .readOnly)
        #expect(try town.acceptance(town.bob, share)?.since == since)
        #expect(try town.metadata(share.url, as: town.bob).get().permission == .readOnly)
    }

    @Test("[X-08] an invitation belongs to the person who owns the handle when accepting, however it is written")
    func handles() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited("phone", .handle(.phone("+49301234")))])
        #expect(try town.accept(share.url, as: town.bob).code == .unknownItem)
        try town.service.changeAccount(town.bob.id) { $0.handles.insert(.phone("0049 (30) 1234")) }
        #expect(try town.accept(share.url, as: town.carol).code == .unknownItem)
        let answer = try town.accept(share.url, as: town.bob).get()
        #expect(answer.sharing?.currentUserID == "phone")
        // From then on it belongs to that person, even if the handle gets another owner.
        try town.service.changeAccount(town.bob.id) { $0.handles.remove(.phone("+49301234")) }
        try town.service.changeAccount(town.carol.id) { $0.handles.insert(.phone("+49301234")) }
        #expect(try town.accept(share.url, as: town.carol).code == .unknownItem)
        #expect(try town.metadata(share.url, as: town.bob).get().status == .accepted)
    }

    @Test(
        "[X-08] opening a URL finds the share's container, accepts, and returns the share", arguments: [false, true])
    func opening(isOneTime: Bool) throws {
        let town = try ShareTown()
        let once = town.invited("once", .oneTime(ShareTown.token(50)), .readWrite)
        let share = try town.share(with: isOneTime ? [once] : [town.invited(town.bob, .readWrite)])
        let url = isOneTime ? ShareTown.url(50) : share.url
        let metadata = try town.service.openShare(url + "#Plans", as: town.bob.id)
        #expect(metadata.status == .accepted)
        #expect(metadata.permission == .readWrite)
        #expect(metadata.role == .privateUser)
        #expect(metadata.container == RecordBench.container)
        #expect(metadata.rootRecord?.address.recordName == "folder")
        #expect(metadata.share.sharing?.currentUserID == (isOneTime ? "once" : "bob"))
        #expect(try town.acceptance(town.bob, share) != nil)
        #expect(cloudError { _ = try town.service.openShare(url, as: town.carol.id) }?.code == .unknownItem)
        #expect(cloudError { _ = try town.service.openShare("no URL", as: town.bob.id) }?.code == .unknownItem)
        #expect(try town.service.openShare(url, as: town.bob.id).status == .accepted, "and again")
    }

    @Test(
        "[X-09] only an account in good standing accepts; a participant keeps the place without it",
        arguments: [
            AccountStanding.suspended, .restricted, .needsVerification,
        ])
    func standing(standing: AccountStanding) throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.bob), town.invited(town.carol)])
        _ = try town.accept(share.url, as: town.carol).get()
        for account in [town.bob, town.carol] { try town.service.setStanding(standing, of: account.id) }
        for account in [town.bob, town.carol] {
            #expect(throws: CloudError.self) { _ = try town.accept(share.url, as: account) }
            #expect(throws: CloudError.self) { _ = try town.metadata(share.url, as: account) }
            #expect(throws: CloudError.self) { _ = try town.service.openShare(share.url, as: account.id) }
        }
        let statuses = try town.content(share).participants.map(\.status)
        #expect(statuses == [.accepted, .pending, .accepted])
        for account in [town.bob, town.carol] { try town.service.setStanding(.good, of: account.id) }
        for account in [town.bob, town.carol] {
            #expect(try town.accept(share.url, as: account).error == nil)
        }
    }

    @Test("many URLs are accepted independently")
    func many() throws {
        let town = try ShareTown()
        let first = try town.share(with: [town.invited(town.bob)])
        let second = try town.share("other", with: [town.invited(town.bob)], tokenSeed: 90)
        let urls = [first.url, ShareTown.url(3), second.url]
        let commits = town.bench.commitCount
        let answers = try town.service.acceptShares(urls, as: town.caller(town.bob))
        #expect(answers.map(\.code) == [nil, .unknownItem, nil])
        #expect(town.bench.commitCount == commits + 2)
        #expect(try ShareVerifier(engine: town.service.engine).verify().findings == [])
        let event = town.bench.events.value.last
        #expect(event?.kind == .acceptShares)
        #expect(event?.failedItemCount == 1)
        #expect(event?.commitCount == 2)
        #expect(try town.acceptanceCount(town.bob) == 2)
    }

    @Test("a lost answer can be requested again")
    func lostAnswer() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited("once", .oneTime(ShareTown.token(50)))])
        town.bench.faults.set { point in
            guard case .response(.acceptShares, _) = point else { return nil }
            return CloudError(.serverResponseLost, "lost")
        }
        #expect(cloudError { _ = try town.accept(ShareTown.url(50), as: town.bob) }?.code == .serverResponseLost)
        town.bench.faults.set(nil)
        #expect(try town.accept(ShareTown.url(50), as: town.bob).get().sharing?.currentUserID == "once")
        #expect(try town.acceptance(town.bob, share) != nil)
    }

    @Test("accepting charges the owner's quota for the larger share record, and is never refused for it")
    func quota() throws {
        let town = try ShareTown()
        let share = try town.share { $0.publicPermission = .readOnly }
        try town.service.changeAccount(town.alice.id) { $0.quotaByteCount = 1 }
        for account in [town.bob, town.carol] { _ = try town.accept(share.url, as: account).get() }
        let report = try town.service.verifyUsage(of: town.alice.userName)
        #expect(report.isExact, "\(report)")
    }

    @Test("joining while others are removed leaves no inconsistent entries")
    func race() async throws {
        try await TestThreads.offPool {
            let town = try ShareTown(runsBodiesTwice: false)
            let share = try town.share { $0.publicPermission = .readWrite }
            let guests = [town.bob, town.carol, town.dave]
            let failures = Locked<[CloudError.Code]>([])
            try TestThreads.run(4) { index in
                for _ in 0..<20 {
                    if index < guests.count {
                        if let code = try town.accept(share.url, as: guests[index]).code {
                            failures.withLock { $0.append(code) }
                        }
                    } else {
                        try town.change(share) { $0.participants.removeLast(max(0, $0.participants.count - 2)) }
                    }
                }
            }
            #expect(failures.value.isEmpty)
            let users = Set(try town.content(share).participants.compactMap(\.user))
            for guest in guests {
                #expect(try (town.acceptance(guest, share) != nil) == users.contains(guest.userName))
            }
            #expect(try ShareVerifier(engine: town.service.engine).verify().findings == [])
            let kinds = try town.service.shareEvents(of: town.zone, limit: 1_000).events.map(\.kind)
            let joined = kinds.count { $0 == .joined }
            #expect(joined - kinds.count { $0 == .removed } == users.count - 1)
        }
    }
}
