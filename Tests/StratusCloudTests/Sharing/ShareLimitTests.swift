// Limits on what strangers and clients can leave in an owner's zone, or make a server do.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Testing

@testable import StratusCloud

@Suite("limits of shares")
struct ShareLimitTests {
    // MARK: What people leave behind

    private static func clientTokens(_ town: ShareTown) throws -> Set<UserName> {
        try town.service.engine.read { reader in
            let zone = try reader.existingZone(town.zone)
            return try Set(
                [town.alice, town.bob, town.carol].map(\.userName).filter {
                    try zone.store.contains(zone.keys.clientToken(of: $0))
                })
        }
    }

    private static func write(
        _ name: String, under parent: String, by account: StoredAccount, deleting deletes: [RecordAddress] = [],
        in town: ShareTown
    ) throws {
        let bench = town.bench
        let request = ModifyRecordsRequest(
            saves: [.new(bench.shared(name), parent: parent)], deletes: deletes,
            clientChangeTokenData: [UInt8](name.utf8) + [UInt8](repeating: 1, count: 60_000))
        let answer = try town.service.modifyRecords(request, as: town.caller(account), in: .shared)
        for save in answer.saves { _ = try save.get() }
        for deletion in answer.deletes { _ = try deletion.get() }
    }

    @Test("[T-11][P-13][P-15] what a person's client stored in a zone is deleted with their last share of it")
    func clientTokens() throws {
        let town = try ShareTown()
        let first = try town.share(with: [town.invited(town.bob, .readWrite), town.invited(town.carol, .readWrite)])
        let second = try town.share("other", with: [town.invited(town.bob, .readWrite)], tokenSeed: 90)
        for account in [town.bob, town.carol] { _ = try town.accept(first.url, as: account).get() }
        _ = try town.accept(second.url, as: town.bob).get()
        try Self.write("a", under: "folder", by: town.bob, in: town)
        try Self.write("b", under: "folder", by: town.carol, in: town)
        #expect(try Self.clientTokens(town) == [town.bob.userName, town.carol.userName])
        // Carol is removed; Bob leaves one share, and then the other.
        _ = try town.bench.change("Share-folder") { $0.participants.removeAll { $0.id == "carol" } }.get()
        #expect(try Self.clientTokens(town) == [town.bob.userName])
        let shares = ["Share-folder", "Share-other"].map { town.bench.shared($0) }
        try Self.write("c", under: "other", by: town.bob, deleting: [shares[0]], in: town)
        #expect(try Self.clientTokens(town) == [town.bob.userName])
        try Self.write("d", under: "other", by: town.bob, deleting: [shares[1]], in: town)
        #expect(try Self.clientTokens(town) == [])
    }

    @Test("[T-11][SH-10] what all participants' clients stored is deleted when all shares are stopped at once")
    func stopped() throws {
        let town = try ShareTown()
        let first = try town.share(with: [town.invited(town.bob, .readWrite)])
        let second = try town.share("other", with: [town.invited(town.bob, .readWrite)], tokenSeed: 90)
        for share in [first, second] { _ = try town.accept(share.url, as: town.bob).get() }
        try Self.write("a", under: "folder", by: town.bob, in: town)
        let answer = try town.bench.modify(deleting: [.note("Share-folder"), .note("Share-other")])
        for deletion in answer.deletes { _ = try deletion.get() }
        #expect(try Self.clientTokens(town) == [])
    }

    @Test("the trail of a zone with endless joins and leaves is cut to its newest events")
    func trail() throws {
        let town = try ShareTown(runsBodiesTwice: false) { $0.shareEventCount = 7 }
        let share = try town.share { $0.publicPermission = .readWrite }
        for _ in 0..<6 {
            _ = try town.accept(share.url, as: town.bob).get()
            let deletion = try town.bench.modify(
                deleting: [town.bench.shared("Share-folder")], by: town.bob, in: .shared
            ).deletes[0]
            _ = try deletion.get()
        }
        let all = try town.events()
        #expect(all.count == 13)
        let pace = UpkeepPace(pause: {})
        try town.service.performUpkeep(historySeconds: nil, pace)
        #expect(try town.events().count == 13, "not in a round that leaves the history alone")
        try town.service.performUpkeep(historySeconds: 1_000, pace)
        #expect(try town.events() == all.suffix(7))
        try town.service.performUpkeep(historySeconds: 1_000, pace)
        #expect(try town.events().count == 7)
    }

    @Test("[P-05] a person who joins and leaves a public share repeatedly eventually has to wait; others do not")
    func returns() throws {
        let town = try ShareTown(runsBodiesTwice: false) { $0.returnCount = 2 }
        let share = try town.share { $0.publicPermission = .readOnly }
        for _ in 0..<2 {
            _ = try town.accept(share.url, as: town.bob).get()
            _ = try town.bench.modify(deleting: [town.bench.shared("Share-folder")], by: town.bob, in: .shared)
                .deletes[0].get()
        }
        let error = try #require(try town.accept(share.url, as: town.bob).error)
        #expect(error.code == .requestRateLimited)
        #expect(error.retryAfterSeconds == 86_400)
        #expect(try town.accept(share.url, as: town.carol).error == nil)
        // An invited person joins as often as they are invited.
        _ = try town.bench.change("Share-folder") { $0.publicPermission = ParticipantPermission.none }.get()
        _ = try town.bench.change("Share-folder") { $0.participants.append(.email("bob@example.com")) }.get()
        #expect(try town.accept(share.url, as: town.bob).error == nil)
    }

    @Test("[P-20] invitations and requests of a deleted account are hidden, and deleted with the next save")
    func goneAccounts() throws {
        let town = try ShareTown(runsBodiesTwice: false)
        let share = try town.share(with: [
            town.accepted(town.carol), town.invited("named", .userRecord, user: town.dave.userName),
        ]) { $0.allowsAccessRequests = true }
        try town.ask(share.url, as: town.bob).get()
        let stale = try town.bench.fetch(.note("Share-folder")).get()
        let before = try #require(stale.sharing)
        #expect(before.participants.count == 3)
        #expect(before.requesters.count == 1)
        for account in [town.bob, town.dave] { try town.service.deleteAccount(account.id) }
        let shown = try #require(try town.bench.ownShare("Share-folder").sharing)
        #expect(shown.participants.map(\.id) == before.participants.filter { $0.id != "named" }.map(\.id))
        #expect(shown.requesters.isEmpty)
        #expect(try town.content(share).participants.count == 3)
        // Also by a client that still knows of them.
        var save = RecordSave.change(stale)
        save.sharing = before.claim
        #expect(try town.bench.modify([save]).saves[0].code == nil)
        let content = try town.content(share)
        #expect(content.participants.count == 2)
        #expect(content.requesters.isEmpty)
        #expect(try town.bench.shareFindings().isEmpty)
    }

    // MARK: What clients claim

    @Test(
        "[P-20] at most a thousand people are blocked from a share, and blocking one more is refused with that reason")
    func blocked() throws {
        let town = try ShareTown(runsBodiesTwice: false)
        let share = try town.share(with: [town.accepted(town.carol)]) { content in
            content.allowsAccessRequests = true
            content.blocked = (0..<AccessRequestVerdict.blockedLimit - 1).map { number in
                SharePetitioner(
                    id: ParticipantID("b\(number)"), user: UserName("_\(number)"), handle: nil,
                    date: town.bench.clock.now)
            }
        }
        try town.ask(share.url, as: town.bob).get()
        let id = try #require(try town.content(share).requesters.first?.id.text)
        _ = try town.bench.change("Share-folder") { $0.blocked = [id] }.get()
        let full = try town.bench.change("Share-folder") { $0.blocked = ["carol"] }
        #expect(full.code == .limitExceeded)
        #expect(full.error?.fields["rule"] == "P-20")
        #expect(try town.content(share).participants.count == 2)
        _ = try town.bench.change("Share-folder") { claim in
            claim.unblocked = ["b0"]
            claim.blocked = ["carol"]
        }.get()
        #expect(try town.content(share).blocked.count == AccessRequestVerdict.blockedLimit)
    }

    @Test("[L-01][X-10] a claim with more people than a share can have is refused before the store is read")
    func claims() throws {
        let town = try ShareTown(runsBodiesTwice: false)
        try town.share { $0.allowsAccessRequests = true }
        let names = (0..<2_000).map { "\($0)" }
        let claims: [((inout ShareClaim) -> Void, CloudError.Code)] = [
            ({ $0.denied = Array(names.prefix(101)) }, .limitExceeded),
            ({ $0.blocked = Array(names.prefix(201)) }, .limitExceeded),
            ({ $0.unblocked = Array(names.prefix(1_001)) }, .limitExceeded),
            ({ $0.participants = names.prefix(102).map { .email("p\($0)@example.com") } }, .tooManyParticipants),
        ]
        let record = try town.bench.fetch(.note("Share-folder")).get()
        for (claim, code) in claims {
            var save = RecordSave.change(record)
            save.sharing = record.sharing?.claim
            if let sharing = save.sharing {
                var changed = sharing
                claim(&changed)
                save.sharing = changed
            }
            let before = town.bench.store.statistics.cost
            #expect(try town.bench.modify([save]).saves[0].code == code)
            let cost = town.bench.store.statistics.cost - before
            #expect(cost.entriesWritten == 0, "\(code): \(cost)")
            #expect(cost.seeks == 0, "\(code): \(cost)")
        }
        // As many as a share can have are processed, and unknown ones change nothing.
        var save = RecordSave.change(record)
        save.sharing = record.sharing?.claim
        save.sharing?.denied = Array(names.prefix(100))
        save.sharing?.unblocked = Array(names.prefix(1_000))
        #expect(try town.bench.modify([save]).saves[0].code == nil)
    }

    @Test("[L-01] the contents of a claim count for the size of its request")
    func claimSize() throws {
        let town = try ShareTown(runsBodiesTwice: false) { $0.requestByteCount = 10_000 }
        try town.share { $0.allowsAccessRequests = true }
        let record = try town.bench.fetch(.note("Share-folder")).get()
        for long: (inout ShareClaim) -> Void in [
            { $0.denied = [String(repeating: "x", count: 11_000)] },
            { $0.participants.append(.email(String(repeating: "x", count: 11_000))) },
            { $0.participants[0].id = String(repeating: "x", count: 11_000) },
        ] {
            var save = RecordSave.change(record)
            var claim = try #require(record.sharing?.claim)
            long(&claim)
            save.sharing = claim
            #expect(cloudError { _ = try town.bench.modify([save]) }?.code == .limitExceeded)
        }
    }
}
