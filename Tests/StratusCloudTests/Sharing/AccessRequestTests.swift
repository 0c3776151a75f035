// Asking for access, and being blocked.

import Foundation
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("asking for access")
struct AccessRequestTests {
    @Test("[P-20][P-22] the owner sees a requester with name and address, once")
    func asking() throws {
        let town = try ShareTown()
        try town.service.changeAccount(town.bob.id) { $0.handles.insert(.phone("+4930")) }
        let share = try town.share(with: [town.accepted(town.dave, role: .administrator), town.accepted(town.carol)]) {
            $0.allowsAccessRequests = true
        }
        let before = try town.metadata(share.url, as: town.alice).get().share
        town.bench.clock.advance(bySeconds: 2)
        for _ in 0..<2 { try town.ask(share.url, as: town.bob).get() }
        for manager in [town.alice, town.dave] {
            let shown = try town.metadata(share.url, as: manager).get().share
            #expect(shown.sharing?.requesters.count == 1)
            #expect(shown.changeTag == before.changeTag)
            let requester = try #require(shown.sharing?.requesters.first)
            #expect(requester.identity.lookup == .email("bob@example.com"))
            #expect(requester.identity.name?.given == "Bob")
            #expect(requester.identity.hasAccount)
        }
        #expect(try town.acceptance(town.bob, share) == nil)
        #expect(try town.metadata(share.url, as: town.bob).code == .permissionFailure)
        #expect(try town.content(share).requesters.map(\.date) == [town.bench.clock.now])
        let kinds = try town.events().map(\.kind)
        #expect(kinds.filter { $0 == .accessRequested }.count == 1)
        #expect(try town.events().last?.actor == town.bob.userName)
    }

    @Test("[P-20] if requests are not allowed, a request reveals no more than that there is no such share")
    func off() throws {
        let town = try ShareTown()
        let share = try town.share(with: [town.invited(town.carol)])
        let unknown = try town.ask(ShareTown.url(3), as: town.bob).error
        #expect(try town.ask(share.url, as: town.bob).error?.description == unknown?.description)
        #expect(unknown?.code == .unknownItem)
        #expect(try town.content(share).requesters.isEmpty)
    }

    @Test("[P-22] members, invited people and people who may join need not ask, and get no other answer")
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

    @Test("[P-20] a denied person may ask again; an admitted person no longer waits")
    func again() throws {
        let town = try ShareTown()
        let share = try town.share { $0.allowsAccessRequests = true }
        try town.ask(share.url, as: town.bob).get()
        try town.change(share) { $0.requesters = [] }
        try town.ask(share.url, as: town.bob).get()
        #expect(try town.content(share).requesters.count == 1)
        _ = try town.bench.change("Share-folder") { $0.participants.append(.email("bob@example.com")) }.get()
        let sharing = try #require(try town.accept(share.url, as: town.bob).get().sharing)
        #expect(sharing.participants.last?.isApprovedRequester == true)
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

    @Test("[X-18] a blocked person gets an outsider's answer, for every URL")
    func blocked() throws {
        let town = try ShareTown()
        let once = town.invited("once", .oneTime(ShareTown.token(50)))
        let share = try town.share(with: [once, town.invited(town.bob)]) { content in
            content.blocked = [
                SharePetitioner(id: "b", user: town.bob.userName, handle: nil, date: town.bench.clock.now)
            ]
        }
        func errors(_ url: String, _ account: StoredAccount) throws -> [String?] {
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

/// What a request for access does not change.
@Suite("requests for access that others must not notice")
struct QuietRequestTests {
    @Test(
        "[P-20][X-15] a request is invisible to others, and does not conflict with the owner's saves",
        arguments: [0, 250_000])
    func quiet(thumbnailByteCount: Int) throws {
        let town = try ShareTown()
        let thumbnail = Field(.bytes([UInt8](repeating: 7, count: thumbnailByteCount)))
        let share = try town.share(
            with: [town.accepted(town.carol)], fields: ["cloudkit.thumbnailImageData": thumbnail]
        ) { $0.allowsAccessRequests = true }
        let bench = town.bench
        func told() throws -> ClientRecord {
            try bench.fetch(bench.shared("Share-folder"), by: town.carol, in: .shared).get()
        }
        let before = try told()
        let open = try bench.fetch(.note("Share-folder")).get()
        let page = try bench.page(by: town.carol)
        let database = FetchDatabaseChangesRequest(token: nil)
        let zones = try town.service.fetchDatabaseChanges(database, as: town.caller(town.carol), in: .shared)
        bench.clock.advance(bySeconds: 5)
        for account in [town.bob, town.dave] { try town.ask(share.url, as: account).get() }
        #expect(try told() == before)
        let later = try bench.page(page.token, by: town.carol)
        #expect(later.changed.isEmpty)
        #expect(later.deleted.isEmpty)
        let since = FetchDatabaseChangesRequest(token: zones.token)
        let news = try town.service.fetchDatabaseChanges(since, as: town.caller(town.carol), in: .shared)
        #expect(news.changed.isEmpty)
        #expect(news.deleted.isEmpty)
        // The owner's open version can be saved, and new requests keep waiting.
        var save = RecordSave.change(open, ["cloudkit.title": .string("Plans")])
        save.sharing = open.sharing?.claim
        let saved = try bench.modify([save]).saves[0].get()
        #expect(saved.sharing?.requesters.count == 2)
        #expect(saved.fields["cloudkit.thumbnailImageData"] == open.fields["cloudkit.thumbnailImageData"])
        #expect(try town.events().map(\.kind) == [.shared, .joined, .accessRequested, .accessRequested])
        #expect(try town.events().suffix(2).map(\.user) == [town.bob.userName, town.dave.userName])
        #expect(try ShareVerifier(engine: town.service.engine).verify().findings == [])
        #expect(try town.service.engine.verify().findings.isEmpty)
        #expect(try town.service.verifyUsage(of: town.alice.userName).isExact)
    }

    @Test("[X-18] a blocked person cannot tell from the cost or result of a request that they are blocked")
    func blocked() throws {
        let town = try ShareTown(runsBodiesTwice: false)
        let share = try town.share { content in
            content.allowsAccessRequests = true
            content.blocked = [
                SharePetitioner(id: "b", user: town.bob.userName, handle: nil, date: town.bench.clock.now)
            ]
        }
        for _ in 0..<2 {
            for account in [town.bob, town.carol] {
                let commits = town.bench.commitCount
                try town.ask(share.url, as: account).get()
                #expect(town.bench.commitCount == commits + 1)
            }
        }
        #expect(try town.content(share).requesters.map(\.user) == [town.carol.userName])
        try town.change(share) { content in
            content.requesters = (0..<100).map { number in
                SharePetitioner(
                    id: ParticipantID("\(number)"), user: UserName("_\(number)"), handle: nil,
                    date: town.bench.clock.now)
            }
        }
        let answers = try [town.bob, town.dave].map { try town.ask(share.url, as: $0).error?.description }
        #expect(answers[0] == answers[1])
        #expect(answers[0]?.contains("Too many people wait") == true)
    }

    @Test("[X-08][P-20] whether an address can be invited is read with the share, and not before")
    func address() throws {
        let town = try ShareTown(runsBodiesTwice: false)
        let share = try town.share { $0.allowsAccessRequests = true }
        // Between reading the account and the transaction the clock is read.
        town.bench.clock.onNextLook { [service = town.service, bob = town.bob] in
            _ = try? service.changeAccount(bob.id) { $0.handles.remove(.email("bob@example.com")) }
        }
        try town.ask(share.url, as: town.bob).get()
        #expect(try town.service.account(town.bob.id)?.handles.isEmpty == true, "it was removed meanwhile")
        #expect(try town.content(share).requesters.map(\.handle) == [nil])
    }
}
