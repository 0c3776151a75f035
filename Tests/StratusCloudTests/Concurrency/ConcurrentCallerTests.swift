// Many concurrent callers of many accounts, on a real store: each account sees only its own data, nothing is lost, and
// the server's counts match the data. Run under the thread sanitizer too.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("concurrent callers")
struct ConcurrentCallerTests {
    /// Accounts with their lasting zones.
    private struct Crowd {
        let bench: AccountBench
        let tallies: [AccountTally]

        init(accountCount: Int) throws {
            let bench = try AccountBench()
            self.bench = bench
            tallies = try (0..<accountCount).map { index in
                let account = try bench.service.createAccount(.init(externalID: "user-\(index)"))
                let zones = CallerWorkload.lastingZones.map { ClientZone(address: ZoneAddress(zoneName: $0)) }
                let request = ModifyZonesRequest(saves: zones)
                let answer = try bench.service.modifyZones(request, as: bench.caller(account), in: .private)
                for zone in answer.saves { _ = try zone.get() }
                return AccountTally(account)
            }
        }

        func workload(of index: Int, _ random: SplitMix64) -> CallerWorkload {
            let tally = tallies[index]
            let others = tallies.map(\.account).filter { $0.id != tally.account.id }
            return CallerWorkload(
                service: bench.service, tally: tally, others: others, container: AccountBench.container,
                random: random)
        }

        /// The fault in an account's data after its callers have finished; nil if there is none.
        func problem(of tally: AccountTally) throws -> String? {
            let service = bench.service
            let owner = tally.account.userName
            var raises: [String: Int64] = [:]
            let database = DatabaseID(container: AccountBench.container, owner: owner, scope: .private)
            let wrong = try service.engine.read { reader -> String? in
                for listing in try reader.zones(in: database) {
                    let zone = try reader.existingZone(ZoneID(database: database, name: listing.name))
                    var wrong: String?
                    try zone.store.scan(zone.keys.keyspace(.parents)) { key, _ in
                        let name = try zone.keys.readParentKey(key)
                        guard let record = try zone.record(name)?.record else { return .next }
                        guard record.fields["owner"]?.value == .string(owner.text),
                            case .int64(let number)? = record.fields["number"]?.value
                        else {
                            wrong = "\(owner) holds \(record)"
                            return .stop
                        }
                        guard record.type == "Counter" else { return .next }
                        let address = ZoneAddress(zoneName: listing.name.text)
                        raises["\(RecordAddress(recordName: name.text, zone: address))"] = number
                        return .next
                    }
                    if let wrong { return wrong }
                }
                return nil
            }
            if let wrong { return wrong }
            guard raises == tally.value.raises else { return "raises \(tally.value.raises), counters \(raises)" }
            let usage = try service.verifyUsage(of: owner)
            return usage.isExact ? nil : "\(usage)"
        }
    }

    @Test(
        "[A-01][S-01] 64 callers of 16 accounts: each account sees only its own data, no increment is lost, no pair is split"
    )
    func crowd() throws {
        let crowd = try Crowd(accountCount: 16)
        let seed = SplitMix64.announced("concurrent callers")
        try TestThreads.run(64) { thread in
            var workload = crowd.workload(of: thread % 16, seed.generator(forCase: thread))
            try workload.run(40)
        }
        let counts = crowd.tallies.map(\.value)
        #expect(counts.allSatisfy { $0.requests == 160 && !$0.raises.isEmpty })
        #expect(counts.contains { $0.conflicts > 0 }, "no two callers met")
        for _ in 0..<2 {
            for tally in crowd.tallies { #expect(try crowd.problem(of: tally) == nil) }
            #expect(try crowd.bench.service.engine.verify().isClean)
            #expect(try AccountVerifier(engine: crowd.bench.service.engine).verify().findings == [])
            // And again after a restart.
            try crowd.bench.reopen()
        }
    }

    @Test(
        "when accounts are deleted during their calls, no answer follows, nothing remains, and others are undisturbed")
    func departures() throws {
        let crowd = try Crowd(accountCount: 8)
        let service = crowd.bench.service
        let seed = SplitMix64.announced("departing callers")
        let leaving = crowd.tallies.prefix(4).map(\.account)
        let gone = Locked<Set<AccountID>>([])
        try TestThreads.run(34) { thread in
            guard thread != 32 else {
                for account in leaving {
                    try service.deleteAccount(account.id)
                    gone.withLock { _ = $0.insert(account.id) }
                }
                guard try service.finishDepartures() == 0 else { throw WrongAnswer("departures are not finished") }
                return
            }
            guard thread != 33 else {
                // Upkeep that runs at the same time.
                while gone.value.count < leaving.count { try service.finishDepartures() }
                try service.finishDepartures()
                return
            }
            var workload = crowd.workload(of: thread % 8, seed.generator(forCase: thread))
            let account = workload.tally.account
            for _ in 0..<30 {
                let wasGone = gone.value.contains(account.id)
                do {
                    try workload.run(1)
                    if wasGone { throw WrongAnswer("\(account.userName) was served after its deletion") }
                } catch let error as CloudError where error.code == .notAuthenticated && leaving.contains(account) {}
            }
        }
        for account in leaving {
            #expect(try service.account(account.id) == nil)
            #expect(try service.usage(of: account.userName) == 0)
            let database = DatabaseID(container: AccountBench.container, owner: account.userName, scope: .private)
            #expect(try service.engine.read { try $0.databaseEntry(database) } == nil)
        }
        for tally in crowd.tallies.dropFirst(4) { #expect(try crowd.problem(of: tally) == nil) }
        #expect(try service.engine.verify().isClean)
        #expect(try AccountVerifier(engine: service.engine).verify().findings == [])
    }

    @Test("a standing that changes during calls lets each request through whole or refuses it")
    func standings() throws {
        let crowd = try Crowd(accountCount: 4)
        let service = crowd.bench.service
        let seed = SplitMix64.announced("changing standings")
        let refusedCount = Locked(0)
        let refusals: Set<CloudError.Code> = [
            .notAuthenticated, .managedAccountRestricted, .accountTemporarilyUnavailable,
        ]
        try TestThreads.run(9) { thread in
            var random = seed.generator(forCase: thread)
            guard thread < 8 else {
                for _ in 0..<40 {
                    let standing = random.element(of: AccountStanding.allCases)
                    try service.setStanding(standing, of: random.element(of: crowd.tallies).account.id)
                }
                for tally in crowd.tallies { try service.setStanding(.good, of: tally.account.id) }
                return
            }
            var workload = crowd.workload(of: thread % 4, random)
            for _ in 0..<40 {
                do { try workload.run(1) } catch let error as CloudError where refusals.contains(error.code) {
                    refusedCount.withLock { $0 += 1 }
                }
            }
        }
        #expect(refusedCount.value > 0)
        for tally in crowd.tallies { #expect(try crowd.problem(of: tally) == nil) }
    }

    @Test("the checks find a foreign record, half a pair, a lost increment and a wrong count")
    func planted() throws {
        let crowd = try Crowd(accountCount: 2)
        let bench = crowd.bench
        let random = SplitMix64(seed: 1)
        for index in 0..<2 {
            var workload = crowd.workload(of: index, random)
            try workload.run(60)
            #expect(try crowd.problem(of: crowd.tallies[index]) == nil)
        }
        let (alice, bob) = (crowd.tallies[0].account, crowd.tallies[1].account)
        // A caller that is signed in as Alice but claims to be Bob gets Alice's records.
        let mixed = StoredAccount(id: alice.id, externalID: nil, userName: bob.userName, created: alice.created)
        var confused = CallerWorkload(
            service: bench.service, tally: AccountTally(mixed), others: [bob], container: AccountBench.container,
            random: random)
        #expect(throws: WrongAnswer.self) { try confused.run(60) }
        var halving = crowd.workload(of: 0, random)
        halving.savesPairsAtomically = false
        #expect(throws: WrongAnswer.self) { try halving.run(200) }
        // A raise that was acknowledged and is not there.
        crowd.tallies[1].change { $0.raises["counter"] = 1 }
        #expect(try crowd.problem(of: crowd.tallies[1])?.hasPrefix("raises") == true)
        crowd.tallies[1].change { $0.raises["counter"] = nil }
        #expect(try crowd.problem(of: crowd.tallies[1]) == nil)
        // A charge without a record.
        try bench.service.engine.transact { transaction in
            let zone = try transaction.existingZone(AccountBench.zone("Notes", of: bob.userName)).header().identity
            try QuotaLedger.charge(byteCount: 1, to: bob.userName, zone: zone, limit: nil, in: transaction)
        }
        #expect(try crowd.problem(of: crowd.tallies[1])?.hasPrefix("UsageReport") == true)
    }
}
