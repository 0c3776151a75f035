// Deleting an account whose data was created by clients' calls: zones, records, assets, user records.

import Foundation
@testable import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("deleting accounts that were in use")
struct ServedDepartureTests {
    private static let notes = ZoneAddress(zoneName: "Notes")

    private static func record(_ name: String, in zone: ZoneAddress, type: String, asset path: String) -> RecordSave {
        var save = RecordSave(address: RecordAddress(recordName: name, zone: zone), type: type)
        save.fields = ["file": ClientField(.asset(.file(path: path))), "text": ClientField(.string("secret"))]
        save.changedKeys = ["file", "text"]
        return save
    }

    private static func save(
        _ saves: [RecordSave], _ bench: AccountBench, _ account: StoredAccount, in database: DatabaseSelector
    ) throws {
        let request = ModifyRecordsRequest(saves: saves, policy: .allKeys)
        let answer = try bench.service.modifyRecords(request, as: bench.caller(account), in: database)
        for save in answer.saves { _ = try save.get() }
    }

    /// Everything a client can leave on a server.
    private static func live(_ bench: AccountBench, _ account: StoredAccount) throws {
        let zones = [
            ClientZone(address: notes), ClientZone(address: ZoneAddress(zoneName: "Keys"), encryptionScope: .perZone),
            ClientZone(address: ZoneAddress(zoneName: "Purged")),
        ]
        let caller = bench.caller(account)
        let answer = try bench.service.modifyZones(ModifyZonesRequest(saves: zones), as: caller, in: .private)
        for zone in answer.saves { _ = try zone.get() }
        let name = account.userName.text
        let path = try bench.makeFile("file of \(name)", "content of \(name)")
        let all = ["a", "b"].flatMap { record in
            (zones.map(\.address) + [.defaultZone]).map { Self.record(record, in: $0, type: "Note", asset: path) }
        }
        try save(all, bench, account, in: .private)
        let user = Self.record(name, in: .defaultZone, type: "Users", asset: path)
        try save([user], bench, account, in: .private)
        try save(
            [user, Self.record("public of \(name)", in: .defaultZone, type: "Note", asset: path)], bench, account,
            in: .public)
        try bench.service.purgeZone(
            ZoneAddress(zoneName: "Purged"), of: account.id, in: AccountBench.container, reason: .purged)
    }

    @Test("only a client's public records remain after the deletion, and other people's data is untouched")
    func everything() throws {
        let bench = try AccountBench()
        let alice = try bench.service.createAccount(.init(externalID: "alice"))
        let bob = try bench.service.createAccount(.init(externalID: "bob"))
        for account in [alice, bob] { try Self.live(bench, account) }
        #expect(try bench.assetDirectories().count == 3)
        #expect(try bench.service.verifyUsage(of: alice.userName).isExact)
        try bench.service.deleteAccount(alice.id)
        #expect(try bench.service.finishDepartures() == 0)
        for _ in 0..<2 {
            #expect(try Self.traces(of: alice, in: bench) == [])
            // Bob's and the public ones.
            #expect(try bench.assetDirectories().count == 2)
            try Self.checkUntouched(bob, bench)
            try Self.checkPublic(alice, asSeenBy: bob, bench)
            #expect(try bench.service.engine.verify().isClean)
            let assets = try #require(bench.service.assets)
            _ = try AssetCollector(engine: bench.service.engine, store: assets).sweep()
            #expect(try AssetVerifier(engine: bench.service.engine, store: assets).verify().findings == [])
            try bench.reopen()
        }
    }

    /// Keys and values outside public zones that name the person.
    private static func traces(of account: StoredAccount, in bench: AccountBench) throws -> [String] {
        let publicZones = try bench.service.engine.read { reader in
            try reader.databases().filter { $0.id.scope == .public }.map { "db \($0.entry.number.rawValue) / zone" }
        }
        var traces: [String] = []
        try bench.store.read { reader in
            try reader.scan(KeyRange(from: [], upTo: [UInt8](repeating: 0xFF, count: 32))) { key, value in
                let line = "\(KeyDescription.text(of: key)) = \(ValueDescription.text(of: value, forKey: key))"
                let isTrace = line.contains(account.userName.text) || line.contains(account.id.text)
                if isTrace, !publicZones.contains(where: { line.hasPrefix($0) }) { traces.append(line) }
                return .next
            }
        }
        return traces
    }

    private static func checkUntouched(_ account: StoredAccount, _ bench: AccountBench) throws {
        let service = bench.service
        let address = RecordAddress(recordName: "a", zone: notes)
        let fetch = FetchRecordsRequest(addresses: [address])
        let found = try service.fetchRecords(fetch, as: bench.caller(account), in: .private).records[0].get()
        guard case .asset(.content(let asset))? = found.fields["file"]?.value else {
            throw WrongAnswer("no asset in \(found)")
        }
        let copy = try #require(try service.assets?.privateCopy(of: asset, owner: account.userName))
        #expect(try String(contentsOfFile: copy, encoding: .utf8) == "content of \(account.userName)")
        #expect(try service.verifyUsage(of: account.userName).isExact)
        let zones = try service.fetchZones(.all, as: bench.caller(account), in: .private)
        #expect(zones.count == 3)
    }

    /// The user record is gone; the person's public records belong to the app.
    private static func checkPublic(
        _ gone: StoredAccount, asSeenBy account: StoredAccount, _ bench: AccountBench
    ) throws {
        let names = [gone.userName.text, "public of \(gone.userName)", account.userName.text]
        let fetch = FetchRecordsRequest(addresses: names.map { RecordAddress(recordName: $0) })
        let found = try bench.service.fetchRecords(fetch, as: bench.caller(account), in: .public).records
        #expect(cloudError { _ = try found[0].get() }?.code == .unknownItem)
        #expect(try found[1].get().fields["text"]?.value == .string("secret"))
        #expect(try found[2].get().fields["text"]?.value == .string("secret"))
    }
}
