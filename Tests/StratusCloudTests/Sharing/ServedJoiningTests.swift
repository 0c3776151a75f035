// Joining from the clients' view: shares are saved, people join, are removed, blocked, and return.

import Foundation
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("joining and leaving as clients experience it")
struct ServedJoiningTests {
    private static let names = ["folder", "page", "Share"]

    private struct World {
        let bench: RecordBench
        let carol: StoredAccount
        var bob: StoredAccount { bench.bob }

        init() throws {
            bench = try .forSharing()
            carol = try bench.person("carol")
            try bench.save(.new("folder"), .new("page", parent: "folder"))
        }

        func metadata(_ url: String, by account: StoredAccount) throws -> Result<ClientShareMetadata, CloudError> {
            try bench.service.shareMetadata(ShareMetadataRequest(urls: [url]), as: bench.caller(account))[0]
        }

        func accept(_ url: String, by account: StoredAccount) throws -> Result<ClientRecord, CloudError> {
            try bench.service.acceptShares([url], as: bench.caller(account))[0]
        }

        func ask(_ url: String, by account: StoredAccount) throws -> Result<Void, CloudError> {
            try bench.service.requestShareAccess([url], as: bench.caller(account))[0].map { _ in }
        }

        func url(_ share: ClientRecord) throws -> String { try #require(share.sharing?.url) }
    }

    @Test(
        "[M-07][M-08][X-16] nothing is visible before accepting, everything at once after it, and nothing after removal"
    )
    func visibility() throws {
        let world = try World()
        let (bench, bob) = (world.bench, world.bob)
        let share = try bench.share("folder", as: "Share", with: [.email("bob@example.com")])
        #expect(try bench.seen(Self.names, by: bob) == [])
        #expect(try bench.zones(of: bob).isEmpty)
        #expect(try bench.fetch(bench.shared("folder"), by: bob, in: .shared).code == .zoneNotFound)
        _ = try bench.accept(share, by: bob).get()
        #expect(try bench.seen(Self.names, by: bob) == Self.names)
        #expect(try bench.zones(of: bob).map(\.address) == [bench.others()])
        _ = try bench.change("Share") { $0.participants.removeAll { $0.role != .owner } }.get()
        #expect(try bench.seen(Self.names, by: bob) == [])
        #expect(try bench.zones(of: bob).isEmpty)
        #expect(try world.metadata(world.url(share), by: bob).code == .unknownItem)
        #expect(try bench.accept(share, by: bob).code == .unknownItem)
        #expect(try bench.shareFindings() == [])
    }

    @Test("[X-09] a suspended participant keeps the place, and sees nothing until restored")
    func suspended() throws {
        let world = try World()
        let (bench, bob) = (world.bench, world.bob)
        try bench.share("folder", as: "Share", with: bob, "bob@example.com")
        try bench.service.setStanding(.suspended, of: bob.id)
        #expect(throws: CloudError.self) { try bench.seen(Self.names, by: bob) }
        #expect(try bench.ownShare("Share").sharing?.participants.last?.status == .accepted)
        try bench.service.setStanding(.good, of: bob.id)
        #expect(try bench.seen(Self.names, by: bob) == Self.names)
    }

    @Test("[X-26][SH-12] the URL stays with the root: across shares, but not for another record of its name")
    func stableURLs() throws {
        let world = try World()
        let bench = world.bench
        let first = try world.url(bench.share("folder", as: "Share"))
        try bench.delete(.note("Share"))
        #expect(try world.metadata(first, by: bench.alice).code == .unknownItem)
        let again = try bench.share("folder", as: "Share-2", with: [.email("bob@example.com")])
        #expect(try world.url(again) == first)
        #expect(try world.metadata(first, by: world.bob).get().share.address.recordName == "Share-2")
        let other = try world.url(bench.share("other", as: "Share-3"))
        #expect(other != first)
        try bench.delete(.note("other"))
        #expect(try world.url(bench.share("other", as: "Share-4")) != other)
        #expect(try world.metadata(other, by: bench.alice).code == .unknownItem)
        #expect(try bench.shareFindings() == [])
    }

    @Test(
        "[P-16][X-26] a one-time URL is returned when the share is saved, stays the same, and becomes invalid with its participant"
    )
    func oneTimeURLs() throws {
        let world = try World()
        let (bench, bob) = (world.bench, world.bob)
        let once = ParticipantClaim(
            id: "once", isOneTime: true, role: .privateUser, permission: .readWrite, isAdded: true)
        let share = try bench.share("folder", as: "Share", with: [once])
        let own = try #require(share.sharing?.participants.last)
        let url = try #require(own.oneTimeURL)
        #expect(own.isOneTime)
        #expect(own.identity.name == nil)
        #expect(own.identity.lookup == nil)
        #expect(url != share.sharing?.url)
        let saved = try bench.change("Share") { $0.allowsAccessRequests = true }.get()
        #expect(saved.sharing?.participants.last?.oneTimeURL == url)
        #expect(try world.accept(url, by: bob).get().sharing?.currentUserID == own.id)
        #expect(try world.accept(url, by: world.carol).error != nil)
        let used = try bench.ownShare("Share").sharing
        #expect(used?.participants.last?.oneTimeURL == used?.url)
        #expect(used?.participants.last?.isOneTime == false)
        #expect(try bench.seen(Self.names, by: bob) == Self.names)
        _ = try bench.change("Share") { claim in
            claim.allowsAccessRequests = false
            claim.participants.removeAll { $0.id == own.id }
        }.get()
        #expect(try world.accept(url, by: bob).code == .unknownItem)
        #expect(try world.accept(url, by: world.carol).code == .unknownItem)
        #expect(try bench.shareFindings() == [])
    }

    @Test("[P-20][P-21] a requester is admitted as an approved requester, with the date of the save")
    func approval() throws {
        let world = try World()
        let (bench, bob) = (world.bench, world.bob)
        let share = try bench.share("folder", as: "Share")
        let url = try world.url(share)
        #expect(share.sharing?.allowsAccessRequests == false)
        #expect(try world.ask(url, by: bob).code == .unknownItem)
        _ = try bench.change("Share") { $0.allowsAccessRequests = true }.get()
        try world.ask(url, by: bob).get()
        let requester = try #require(try bench.ownShare("Share").sharing?.requesters.first)
        let lookup = try #require(requester.identity.lookup)
        let person = try bench.service.shareParticipants(for: [lookup], as: bench.caller(bench.alice))[0].get()
        bench.clock.advance(bySeconds: 60)
        let date = bench.clock.now
        let saved = try bench.change("Share") { claim in
            claim.participants.append(
                ParticipantClaim(
                    id: person.id, lookup: person.identity.lookup, role: .privateUser, permission: .readOnly,
                    isAdded: true))
        }.get()
        bench.clock.advance(bySeconds: 60)
        #expect(saved.sharing?.requesters == [])
        _ = try world.accept(url, by: bob).get()
        let place = try #require(try bench.ownShare("Share").sharing?.participants.last)
        #expect(place.isApprovedRequester)
        #expect(place.status == .accepted)
        #expect(place.added == date)
        #expect(try bench.seen(Self.names, by: bob) == Self.names)
    }

    @Test("[P-20][X-18] denied people may ask again; blocked ones lose their place and are outsiders until unblocked")
    func denialAndBlocking() throws {
        let world = try World()
        let (bench, bob) = (world.bench, world.bob)
        let share = try bench.share("folder", as: "Share", publicPermission: .readWrite)
        let url = try world.url(share)
        _ = try bench.change("Share") { $0.allowsAccessRequests = true }.get()
        func requesters() throws -> [ClientPetitioner] { try bench.ownShare("Share").sharing?.requesters ?? [] }
        _ = try bench.change("Share") { $0.publicPermission = ParticipantPermission.none }.get()
        try world.ask(url, by: bob).get()
        let denied = try requesters().map(\.id)
        _ = try bench.change("Share") { $0.denied = denied }.get()
        #expect(try requesters().isEmpty)
        try world.ask(url, by: bob).get()
        let blocked = try requesters().map(\.id)
        #expect(blocked.count == 1)
        _ = try bench.change("Share") { $0.blocked = blocked }.get()
        try world.ask(url, by: bob).get()
        #expect(try requesters().isEmpty, "nothing came of it")
        _ = try bench.change("Share") { claim in
            claim.publicPermission = .readWrite
            claim.allowsAccessRequests = false
        }.get()
        #expect(try world.accept(url, by: bob).code == .unknownItem)
        #expect(try world.accept(url, by: world.carol).error == nil)
        let names = try #require(try bench.ownShare("Share").sharing?.blocked.map(\.id))
        _ = try bench.change("Share") { $0.unblocked = names }.get()
        #expect(try world.accept(url, by: bob).error == nil)
        #expect(try bench.shareFindings() == [])
    }

    @Test("[X-14] public users have the public permission, also after it is reduced")
    func publicUsers() throws {
        let world = try World()
        let (bench, bob) = (world.bench, world.bob)
        let share = try bench.share("folder", as: "Share", publicPermission: .readWrite)
        _ = try bench.accept(share, by: bob).get()
        let page = try bench.fetch(bench.shared("page"), by: bob, in: .shared).get()
        try bench.save(.change(page, ["text": .string("1")]), by: bob, in: .shared)
        _ = try bench.change("Share") { $0.publicPermission = .readOnly }.get()
        let again = try bench.fetch(bench.shared("page"), by: bob, in: .shared).get()
        let refused = try bench.modify([.change(again, ["text": .string("2")])], by: bob, in: .shared).saves[0]
        #expect(refused.code == .permissionFailure)
        let url = try world.url(share)
        #expect(try world.metadata(url, by: bob).get().permission == .readOnly)
    }
}
