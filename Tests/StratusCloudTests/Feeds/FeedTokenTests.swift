// Change tokens: for whom, what and how long they are valid, and that clients cannot read or create one.

import Foundation
@testable import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("feeds: tokens")
struct FeedTokenTests {
    /// Alice's folder, shared with Bob.
    private static func bench() throws -> RecordBench {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("hidden"), .new("folder"), .new("page", parent: "folder"))
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        return bench
    }

    @Test(
        "[T-01][X-24][X-30] a token is expired for every other account, zone, database and kind of feed, like a forged one"
    )
    func foreign() throws {
        let bench = try Self.bench()
        let carol = try bench.person("carol")
        let other = ZoneAddress(zoneName: "Other")
        try bench.makeZone(other)
        try bench.permit(bench.bob, .readWrite, in: "Share")
        let zoneToken = try bench.page().token
        let guestToken = try bench.page(by: bench.bob).token
        let databaseToken = try bench.zonePage().token
        let sharedToken = try bench.zonePage(by: bench.bob, in: .shared).token
        try bench.share("hidden", as: "Share2", with: carol, "carol@example.com")
        var errors = [
            try bench.pageError(zoneToken, zone: other), try bench.pageError(databaseToken),
            try bench.pageError(guestToken), try bench.pageError(guestToken, by: carol),
            try bench.pageError(zoneToken, by: bench.bob), try bench.pageError(sharedToken, by: bench.bob),
            try bench.pageError([]), try bench.pageError([UInt8](repeating: 1, count: 400)),
        ]
        for token in [zoneToken, sharedToken, [1]] { errors.append(try thrown { _ = try bench.zonePage(token) }) }
        for token in [databaseToken, guestToken, sharedToken + [0]] {
            errors.append(try thrown { _ = try bench.zonePage(token, by: bench.bob, in: .shared) })
        }
        errors.append(try thrown { _ = try bench.zonePage(sharedToken, by: bench.bob) })
        errors.append(try thrown { _ = try bench.zonePage(sharedToken, by: carol, in: .shared) })
        let elsewhere = Caller(container: ContainerName("iCloud.com.example.other"), account: bench.alice.id)
        errors.append(
            try thrown {
                let request = FetchDatabaseChangesRequest(token: databaseToken)
                _ = try bench.service.fetchDatabaseChanges(request, as: elsewhere, in: .private)
            })
        for error in errors {
            #expect(error.code == .changeTokenExpired)
            #expect(error.description == errors[0].description, "which of them it is, is not said")
        }
    }

    @Test("[X-24] every changed byte and every truncation of a token is rejected without a trap")
    func forged() throws {
        let seal = TokenSeal(secret: [UInt8](repeating: 7, count: 32))
        let binding = TokenBinding(user: "_bob", container: "c", database: .shared)
        let token = try seal.sealed(Array("contents".utf8), .zone, for: binding)
        #expect(seal.opened(token, .zone, for: binding) == Array("contents".utf8))
        for index in token.indices {
            for bit in 0..<8 {
                var changed = token
                changed[index] ^= 1 << UInt8(bit)
                #expect(seal.opened(changed, .zone, for: binding) == nil)
            }
            #expect(seal.opened(Array(token[..<index]), .zone, for: binding) == nil)
        }
        #expect(seal.opened(token + [0], .zone, for: binding) == nil)
        #expect(TokenSeal(secret: [UInt8](repeating: 8, count: 32)).opened(token, .zone, for: binding) == nil)
        let seed = SplitMix64.announced("forged tokens")
        for index in 0..<500 {
            var random = seed.generator(forCase: index)
            let bytes = [1, UInt8(1 + random.below(3))] + random.bytes(count: random.below(80))
            for kind in TokenKind.allCases { #expect(seal.opened(bytes, kind, for: binding) == nil) }
        }
    }

    @Test("[X-24] a bound part cannot be moved to another part")
    func bindings() throws {
        let seal = TokenSeal(secret: [UInt8](repeating: 7, count: 32))
        func zone(_ name: String, _ owner: UserName?) -> ZoneID {
            ZoneID(
                database: DatabaseID(container: "c", owner: owner, scope: owner == nil ? .public : .private),
                name: ZoneName(name))
        }
        let bindings = [
            TokenBinding(user: "a", container: "bc", database: .private),
            TokenBinding(user: "ab", container: "c", database: .private),
            TokenBinding(user: nil, container: "abc", database: .private),
            TokenBinding(user: "a", container: "bc", database: .shared),
            TokenBinding(user: "b", container: "bc", database: .private),
            TokenBinding(user: "a", container: "b", database: .private, zone: zone("e", "d")),
            TokenBinding(user: "a", container: "b", database: .private, zone: zone("c", nil)),
            TokenBinding(user: "a", container: "b", database: .private, zone: zone("c", "d")),
            TokenBinding(user: "a", container: "b", database: .private, zone: zone("cd", "")),
        ]
        for (one, own) in bindings.enumerated() {
            let token = try seal.sealed([1, 2, 3], .zone, for: own)
            for (other, binding) in bindings.enumerated() {
                #expect((seal.opened(token, .zone, for: binding) != nil) == (one == other))
                #expect(seal.opened(token, .database, for: binding) == nil)
            }
        }
    }

    @Test("[C-18][X-24] equal states give equal tokens, which reveal nothing of their contents")
    func hidden() throws {
        let bench = try Self.bench()
        #expect(try bench.page().token == bench.page().token)
        #expect(try bench.zonePage().token == bench.zonePage().token)
        // A walk is left at a name.
        var token: [UInt8]?
        for _ in 0..<3 {
            let page = try bench.page(token, limit: 1, by: bench.bob)
            token = page.token
            #expect(page.token.firstRange(of: Array("page".utf8)) == nil)
            #expect(page.token.firstRange(of: Array("folder".utf8)) == nil)
        }
        let shared = try bench.zonePage(by: bench.bob, in: .shared).token
        #expect(shared.firstRange(of: Array("Notes".utf8)) == nil)
    }

    @Test(
        "[T-09] a token of a zone that was recreated is expired, and so is a token from before a restore of the store")
    func expired() throws {
        let bench = try Self.bench()
        let (own, guest) = (try bench.page().token, try bench.page(by: bench.bob).token)
        let (mine, shared) = (try bench.zonePage().token, try bench.zonePage(by: bench.bob, in: .shared).token)
        let draw = BenchIdentifiers(seed: 5)
        try bench.service.engine.renewIncarnations { draw.makeUUID() }
        for error in [
            try bench.pageError(own), try bench.pageError(guest, by: bench.bob),
            try thrown { _ = try bench.zonePage(mine) },
            try thrown { _ = try bench.zonePage(shared, by: bench.bob, in: .shared) },
        ] {
            #expect(error.code == .changeTokenExpired)
            #expect(error.innerCode == 2026)
        }
        let renewed = try bench.page().token
        _ = try bench.service.modifyZones(
            ModifyZonesRequest(deletes: [RecordBench.notes]), as: bench.caller(bench.alice), in: .private)
        #expect(try bench.pageError(renewed).code == .zoneNotFound)
        try bench.makeNotes()
        #expect(try bench.pageError(renewed).code == .changeTokenExpired)
        #expect(try bench.page().changed.isEmpty)
    }

    @Test(
        "[T-09] upkeep forgets old changes: older tokens expire, newer ones do not, and a fetch without a token always works"
    )
    func horizon() throws {
        let bench = try Self.bench()
        let (old, oldGuest) = (try bench.page().token, try bench.page(by: bench.bob).token)
        let halfway = try bench.page(limit: 1).token
        try bench.remove("page")
        bench.clock.advance(bySeconds: 100)
        try bench.touch("folder")
        let (new, newGuest) = (try bench.page().token, try bench.page(by: bench.bob).token)
        try bench.touch("hidden")
        try bench.service.performUpkeep(historySeconds: 50, UpkeepPace(pause: {}))
        for error in [
            try bench.pageError(old), try bench.pageError(oldGuest, by: bench.bob), try bench.pageError(halfway),
        ] {
            #expect(error.code == .changeTokenExpired)
            #expect(error.innerCode == 2026)
        }
        #expect(try bench.page(new).changed.map(\.address.recordName) == ["hidden"])
        #expect(try bench.page(newGuest, by: bench.bob).changed.isEmpty)
        #expect(try bench.page().deleted.isEmpty)
        #expect(try Set(bench.page(by: bench.bob).changed.map(\.address.recordName)) == ["Share", "folder"])
    }

    @Test("a token of an earlier version's first sync goes on in the order of changes")
    func earlierVersion() throws {
        let bench = try RecordBench.forSharing()
        try bench.save(.new("gone"), .new("b"), .new("a"))
        try bench.remove("gone")
        try bench.save(.new("c"))
        let page = try bench.page()
        let seal = try bench.service.tokenKeeper.seal(of: bench.service.engine, bench.identifiers)
        let binding = TokenBinding(
            user: bench.alice.userName, container: RecordBench.container, database: .private, zone: bench.notesID)
        let contents = try #require(seal.opened(page.token, .zone, for: binding))
        var token = try ZoneToken(decoding: contents.span)
        guard case .owner(let end) = token.progress else {
            Issue.record("no owner's token")
            return
        }
        // It has reported b, the zone's second change, and began at the end.
        token.progress = .owner(OwnerProgress(position: 2, beginning: end.position))
        let old = try seal.sealed(token.encoded(), .zone, for: binding)
        try bench.remove("a")
        let next = try bench.page(old)
        #expect(next.changed.map(\.address.recordName) == ["c"])
        #expect(next.deleted.map(\.address.recordName) == ["a"])
    }

    @Test("[X-24] the secret for tokens is created once, and tokens stay valid after the store is reopened")
    func reopening() throws {
        let bench = try Self.bench()
        let token = try bench.page().token
        #expect(try bench.page(token).changed.isEmpty)
        try bench.touch("page")
        let service = try bench.reopened()
        let request = FetchZoneChangesRequest(zone: RecordBench.notes, token: token)
        let page = try service.fetchZoneChanges(request, as: bench.caller(bench.alice), in: .private)
        #expect(page.changed.map(\.address.recordName) == ["page"])
    }
}
