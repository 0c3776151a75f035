// A source of identifiers that repeats itself creates nothing twice, and a zone's identity alone does not open a zone.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("repeated identities")
struct RepeatedIdentityTests {
    @Test("an account with an existing identifier or user name is refused, and the existing account stays as it is")
    func accounts() throws {
        let bench = try RecordBench(inMemory: true)
        let (identifier, user, other) = (UUID(), UUID(), UUID())
        bench.identifiers.nextUUIDs.set([identifier, user])
        let first = try bench.service.createAccount(AccountDraft(externalID: "first"))
        for drawn in [[identifier, other], [other, user]] {
            bench.identifiers.nextUUIDs.set(drawn)
            let error = try thrown { try bench.service.createAccount(AccountDraft(externalID: "second")) }
            #expect(error.code == .internalError)
        }
        // A transfer does not overwrite an account either.
        let stranger = StoredAccount(
            id: AccountID("stranger"), externalID: nil, userName: first.userName, handles: [], name: first.name,
            standing: first.standing, isDiscoverable: false, quotaByteCount: nil, created: first.created)
        #expect(try thrown { _ = try bench.service.adoptAccount(stranger) }.code == .internalError)
        #expect(try bench.service.account(externalID: "second") == nil)
        #expect(try bench.service.account(userName: first.userName) == first)
    }

    @Test("a user name of an account that is still being deleted is refused")
    func departing() throws {
        let bench = try RecordBench(inMemory: true)
        let user = UserName("_" + UUID().uuidString.lowercased().filter { $0 != "-" })
        try bench.service.engine.transact {
            try $0.set(GlobalKeys.departure(of: user), to: AccountIDEntry(account: "gone").encoded())
        }
        let account = StoredAccount(
            id: AccountID("new"), externalID: nil, userName: user, handles: [], name: PersonName(), standing: .good,
            isDiscoverable: false, quotaByteCount: nil, created: bench.clock.now)
        #expect(try thrown { _ = try bench.service.adoptAccount(account) }.code == .internalError)
    }

    @Test(
        "a zone with another zone's identity is refused: in one request, after it, and in another container"
    )
    func zones() throws {
        let bench = try RecordBench(inMemory: true)
        let identity = UUID()
        // A zone draws its identity, its incarnation and that of its database.
        let drawn = [identity, UUID(), UUID()]
        func save(_ names: [String], in container: ContainerName = RecordBench.container) throws -> [CloudError.Code?] {
            bench.identifiers.nextUUIDs.set(names.flatMap { _ in drawn })
            let zones = names.map { ClientZone(address: ZoneAddress(zoneName: $0)) }
            let caller = Caller(container: container, account: bench.alice.id)
            return try bench.service.modifyZones(ModifyZonesRequest(saves: zones), as: caller, in: .private)
                .saves.map(\.code)
        }
        #expect(try save(["Notes", "twin"]) == [nil, .internalError])
        #expect(try save(["later"]) == [.internalError])
        try bench.save(.new("a"))
        #expect(try save(["elsewhere"], in: "iCloud.other") == [.internalError])
        #expect(try bench.service.fetchZones(.all, as: bench.caller(bench.alice), in: .private).count == 2)
    }

    @Test("a share whose URL would equal another share's is refused, and the URL still opens the other share")
    func urls() throws {
        let bench = try RecordBench.forSharing(inMemory: true)
        bench.identifiers.fixedSecret.set([UInt8](repeating: 7, count: ShareToken.byteCount))
        try bench.save(.new("other"))
        let first = try bench.share("folder", as: "Share-1", with: [.email("bob@example.com", .readOnly)])
        let error = try thrown { try bench.share("other", as: "Share-2") }
        #expect(error.code == .internalError)
        #expect(try bench.accept(first, by: bench.bob).get().address.recordName == "Share-1")
        #expect(try bench.fetch(.note("Share-2")).code == .unknownItem)
    }

    @Test(
        "two owners' zones with one identity, from earlier versions, do not open to each other's participants"
    )
    func foreignZones() throws {
        let bench = try RecordBench.forSharing(inMemory: true)
        let identity = try #require(
            try bench.service.engine.read {
                try $0.listing(of: AccountBench.zone("Notes", of: bench.alice.userName, in: RecordBench.container))
            }
        ).entry.identity
        let carol = try bench.person("carol")
        bench.identifiers.nextUUIDs.set([identity])
        try bench.makeZone(RecordBench.notes, by: carol)
        try bench.save(.new("secret"), by: carol)
        let claim = ParticipantClaim.email("bob@example.com", .readWrite)
        _ = try bench.accept(bench.shareNotes(with: [claim]), by: bench.bob).get()

        let carols = ZoneAddress(zoneName: "Notes", ownerName: carol.userName.text)
        let secret = RecordAddress(recordName: "secret", zone: carols)
        #expect(try bench.fetch(secret, by: bench.bob, in: .shared).code == .zoneNotFound)
        let written = try bench.modify([.new("bobs", in: carols)], by: bench.bob, in: .shared)
        #expect(written.saves.map(\.code) == [.zoneNotFound])
        #expect(try bench.zones(of: bench.bob).map(\.address) == [bench.others()])

        // Carol's share would replace Alice's in Bob's acceptances.
        let share = try bench.save(.share("cloudkit.zoneshare", root: nil, with: [claim]), by: carol)[0]
        let url = try #require(share.sharing?.url)
        #expect(try bench.service.acceptShares([url], as: bench.caller(bench.bob)).map(\.code) == [.internalError])
        #expect(try bench.seen(["cloudkit.zoneshare"], by: bench.bob) == ["cloudkit.zoneshare"])
    }
}
