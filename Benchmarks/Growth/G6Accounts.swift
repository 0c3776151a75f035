// G6: accounts of a store, 1 to 100,000.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusWorkloads
import Synchronization

enum AccountGrowth: Workload {
    static let name = "G6"
    static let title = "growth: accounts"
    /// Accounts are made by so many callers at once, so that they share syncs.
    private static let makerCount = 64
    private static let note = """
        An account is found by its own key, and by one key for each of its addresses: signing in does not know how many others there \
        are. Making one is one commit.
        """

    static func run(_ run: BenchmarkRun) throws {
        let stores = try GrowthStores(run, "accounts")
        let server = try stores.server()
        let service = server.service
        var signUp = GrowthCurve("make one more, durable", .flat())
        var signIn = GrowthCurve("sign in", .flat())
        var find = GrowthCurve("find by an address", .flat())
        var save = GrowthCurve("a save by the newest", .flat(slack: 2))
        let largest = run.scale.isQuick ? 1_000 : 100_000
        var made = 0
        let extra = Atomic(0)
        for count in PowersOfTen.from(1, upTo: largest) {
            let first = made
            let each = max(1, (count - made) / makerCount)
            let makers = (count - made) / each
            _ = try Callers.rate(makers, timesEach: each) { number in
                _ = try service.account(externalID: "user \(first + number)", createIfMissing: draft(first + number))
            }
            made += makers * each
            try signUp.measure(count, on: stores.stratus) {
                let number = extra.add(1, ordering: .relaxed).newValue
                _ = try service.account(externalID: "extra \(number)", createIfMissing: draft(10_000_000 + number))
            }
            let known = made / 2
            try signIn.measure(count, on: stores.stratus) {
                _ = try service.account(externalID: "user \(known)", createIfMissing: AccountDraft())
            }
            try find.measure(count, on: stores.stratus) {
                guard try service.account(handle: .email("user-\(known)@example.com")) != nil else {
                    throw PeerError("An account is not found.")
                }
            }
            let account = try service.account(externalID: "user \(made - 1)", createIfMissing: AccountDraft())
            try measureSave(
                &save, count, Caller(container: server.owner.container, account: account.id), stores, service)
        }
        run.add([signUp, signIn, find, save], name, title, per: "accounts", note: note)
        try stores.remove()
    }

    private static func draft(_ number: Int) -> AccountDraft {
        AccountDraft(handles: [Handle.email("user-\(number)@example.com")])
    }

    /// Saves of somebody into their default zone.
    private static func measureSave(
        _ curve: inout GrowthCurve, _ count: Int, _ caller: Caller, _ stores: GrowthStores, _ service: CloudService
    ) throws {
        var number = 0
        try curve.measure(count, on: stores.stratus) {
            number += 1
            let address = RecordAddress(recordName: "note \(number)", zone: .defaultZone)
            let request = ModifyRecordsRequest(saves: [RecordSave(address: address, type: "Note")])
            _ = try service.modifyRecords(request, as: caller, in: .private).saves[0].get()
        }
    }
}
