// Asking for access, and being blocked.

import Foundation
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("asking for access")
struct AccessRequestTests {
    @Test("[P-20][P-22] who asks is shown to the owner with name and address, once")
    func asking() throws {
        let town = try ShareTown()
        try town.service.addHandle(.phone("+4930"), to: town.bob.id)
        let share = try town.share(with: [town.accepted(town.dave, role: .administrator), town.accepted(town.carol)]) {
            $0.allowsAccessRequests = true
        }
        let before = try town.metadata(share.url, as: town.alice).get().share
        town.bench.clock.advance(bySeconds: 2)
        for _ in 0..<2 { try town.ask(share.url, as: town.bob).get() }
        for manager in [town.alice, town.dave] {
            let shown = try town.metadata(share.url, as: manager).get().share
            #expect(shown.sharing?.requesters.count == 1 && shown.changeTag != before.changeTag)
            let requester = try #require(shown.sharing?.requesters.first)
            #expect(requester.identity.lookup == .email("bob@example.com"))
            #expect(requester.identity.name?.given == "Bob" && requester.identity.hasAccount)
        }
        // Nobody else learns who has asked, not even from who changed the share last.
        let others = try town.metadata(share.url, as: town.carol).get().share
        #expect(
            others.sharing?.requesters == [] && others.lastModifiedUserName == before.creatorUserName.owned(by: town))
        #expect(try town.acceptance(town.bob, share) == nil)
        #expect(try town.metadata(share.url, as: town.bob).code == .permissionFailure)
        #expect(try town.content(share).requesters.map(\.date) == [town.bench.clock.now])
        let kinds = try town.events().map(\.kind)
        #expect(kinds.filter { $0 == .accessRequested }.count == 1)
        #expect(try town.events().last?.actor == town.bob.userName)
    }

    @Test("[P-20] where nobody can ask, asking says no more than that there is no such share")
    func off() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.carol)])
        let unknown = try town.ask(ShareTown.url(3), as: town.bob).error
        #expect(try town.ask(share.url, as: town.bob).error?.description == unknown?.description)
        #expect(unknown?.code == .unknownItem)
        #expect(try town.content(share).requesters.isEmpty)
    }

    @Test("[P-22] members, invited people and whoever may join need not ask, and are told nothing else")
    func needless() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.accepted(town.bob), town.invited(town.carol)]) {
            $0.allowsAccessRequests = true
        }
        let commits = town.bench.commitCount
        for account in [town.alice, town.bob, town.carol] { try town.ask(share.url, as: account).get() }
        try town.change(share) { $0.publicPermission = .readOnly }
        try town.ask(share.url, as: town.dave).get()
        #expect(town.bench.commitCount == commits + 1, "the change alone")
        #expect(try town.content(share).requesters.isEmpty)
    }

    @Test("[P-20] who was denied may ask again; whoever is let in does not wait any more")
    func again() throws {
        let town = try ShareTown()
        let share = try town.share { $0.allowsAccessRequests = true }
        try town.ask(share.url, as: town.bob).get()
        try town.change(share) { $0.requesters = [] }
        try town.ask(share.url, as: town.bob).get()
        #expect(try town.content(share).requesters.count == 1)
        try town.change(share) { content in
            content.requesters = []
            var place = town.invited(town.bob)
            place.isApprovedRequester = true
            content.participants.append(place)
        }
        let sharing = try #require(try town.accept(share.url, as: town.bob).get().sharing)
        #expect(sharing.participants.first { $0.id == "bob" }?.isApprovedRequester == true)
        let kinds = try town.events().map(\.kind)
        #expect(kinds == [.shared, .accessRequested, .requestDenied, .accessRequested, .invited, .joined])
    }

    @Test("at most a hundred people wait for an answer")
    func limit() throws {
        let town = try ShareTown(runsBodiesTwice: false)
        let share = try town.share { content in
            content.allowsAccessRequests = true
            content.requesters = (0..<99).map { number in
                SharePetitioner(
                    id: ParticipantID("\(number)"), user: UserName("_\(number)"), handle: nil,
                    date: town.bench.clock.now)
            }
        }
        try town.ask(share.url, as: town.bob).get()
        #expect(try town.ask(share.url, as: town.carol).code == .limitExceeded)
        try town.ask(share.url, as: town.bob).get()
        #expect(try town.content(share).requesters.count == 100)
    }

    @Test("[X-18] a blocked person is answered as an outsider, whatever URL they hold")
    func blocked() throws {
        let town = try ShareTown()
        let once = town.invited("once", .oneTime(ShareTown.token(50)))
        let share = try town.share(with: [once, town.invited(town.bob)]) { content in
            content.blocked = [
                SharePetitioner(id: "b", user: town.bob.userName, handle: nil, date: town.bench.clock.now)
            ]
        }
        func errors(_ url: String, _ account: Account) throws -> [String?] {
            [
                try town.metadata(url, as: account).error?.description,
                try town.accept(url, as: account).error?.description,
                try town.ask(url, as: account).error?.description,
            ]
        }
        #expect(try errors(share.url, town.bob) == errors(share.url, town.carol))
        #expect(try errors(ShareTown.url(50), town.bob) == errors(share.url, town.carol))
        try town.change(share) { $0.allowsAccessRequests = true }
        #expect(try town.ask(share.url, as: town.bob).error == nil, "and nothing comes of it")
        #expect(try town.content(share).requesters.isEmpty)
        #expect(try town.metadata(share.url, as: town.bob).code == .permissionFailure)
        try town.change(share) { content in
            content.publicPermission = .readWrite
            content.allowsAccessRequests = false
        }
        #expect(try errors(share.url, town.bob) == errors(ShareTown.url(3), town.bob))
        #expect(try town.accept(share.url, as: town.carol).error == nil)
        try town.change(share) { $0.blocked = [] }
        #expect(try town.accept(share.url, as: town.bob).error == nil)
    }
}

extension String {
    /// What a participant is told of the owner's user name.
    fileprivate func owned(by town: ShareTown) -> String {
        self == ZoneAddress.currentUser ? town.alice.userName.text : self
    }
}
