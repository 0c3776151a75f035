// What a caller learns about its own account, and what the account's standing allows.

import StratusCloud

import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("callers")
struct CallerTests {
    @Test(
        "[O-18] accountStatus reports the account's standing; a missing account is no error, a failing store is"
    )
    func status() throws {
        let bench = try AccountBench()
        let service = bench.service
        let id = try service.createAccount(.init()).id
        let caller = Caller(container: AccountBench.container, account: id)
        #expect(try service.accountStatus(of: bench.caller(nil)) == .noAccount)
        #expect(try service.accountStatus(of: Caller(container: "c", account: "never there")) == .noAccount)
        let expected: [AccountStanding: AccountStatus] = [
            .good: .available, .restricted: .restricted, .needsVerification: .temporarilyUnavailable,
            .suspended: .noAccount,
        ]
        for standing in AccountStanding.allCases {
            try service.setStanding(standing, of: id)
            #expect(try service.accountStatus(of: caller) == expected[standing])
        }
        try service.deleteAccount(id)
        #expect(try service.accountStatus(of: caller) == .noAccount)
        bench.store.close()
        let account = Caller(container: AccountBench.container, account: "another")
        #expect(cloudError { _ = try service.accountStatus(of: account) }?.code == .serviceUnavailable)
        #expect(try service.accountStatus(of: bench.caller(nil)) == .noAccount)
    }

    @Test("the raw values of a status match the client's")
    func rawValues() {
        let names = AccountStatus.allCases.map { "\($0.rawValue) \($0)" }
        #expect(
            names == [
                "0 couldNotDetermine", "1 available", "2 restricted", "3 noAccount", "4 temporarilyUnavailable",
            ])
    }

    @Test("[O-17] the user name identifies an account; without an account, fetching it fails with notAuthenticated")
    func userName() throws {
        let bench = try AccountBench()
        let service = bench.service
        let account = try service.createAccount(.init())
        #expect(try service.userName(of: bench.caller(account)) == account.userName)
        #expect(try service.userName(of: Caller(container: "other", account: account.id)) == account.userName)
        #expect(cloudError { _ = try service.userName(of: bench.caller(nil)) }?.code == .notAuthenticated)
        try service.deleteAccount(account.id)
        #expect(cloudError { _ = try service.userName(of: bench.caller(account)) }?.code == .notAuthenticated)
    }

    @Test("[S-17] an account can be used only in good standing, and again once its good standing is restored")
    func requireAccount() throws {
        let bench = try AccountBench()
        let service = bench.service
        let account = try service.createAccount(.init())
        let caller = bench.caller(account)
        let expected: [AccountStanding: CloudError.Code] = [
            .restricted: .managedAccountRestricted, .needsVerification: .accountTemporarilyUnavailable,
            .suspended: .notAuthenticated,
        ]
        for standing in AccountStanding.allCases {
            try service.setStanding(standing, of: account.id)
            #expect(cloudError { try service.requireAccount(caller) }?.code == expected[standing])
            let inTransaction = cloudError {
                try service.engine.transact { _ = try service.accountDirectory.requireAccount(of: caller, in: $0) }
            }
            #expect(inTransaction?.code == expected[standing])
        }
        #expect(cloudError { try service.requireAccount(bench.caller(nil)) }?.code == .notAuthenticated)
        try service.setStanding(.good, of: account.id)
        #expect(try service.requireAccount(caller).id == account.id)
        try service.deleteAccount(account.id)
        #expect(cloudError { try service.requireAccount(caller) }?.code == .notAuthenticated)
    }

    @Test(
        "checking a known account costs no read of the store, in no snapshot, in one, or in a transaction",
        .enabled(if: TestStores.letCachesAnswer))
    func warmCheck() throws {
        let bench = try AccountBench()
        let service = bench.service
        let account = try service.createAccount(.init())
        let caller = bench.caller(account)
        try bench.reopen()
        let reopened = bench.service
        _ = try reopened.requireAccount(caller)
        let before = bench.store.statistics.cost
        for _ in 0..<100 {
            try reopened.requireAccount(caller)
            _ = try reopened.engine.read { try reopened.accountDirectory.requireAccount(of: caller, in: $0) }
            _ = try reopened.engine.transact { try reopened.accountDirectory.requireAccount(of: caller, in: $0) }
        }
        #expect(bench.store.statistics.cost.reads == before.reads)
    }

    @Test("a planned error replaces the answer, and every request is reported with its cost")
    func faultsAndEvents() throws {
        let bench = try AccountBench()
        let service = bench.service
        let account = try service.createAccount(.init())
        let caller = bench.caller(account)
        bench.faults.plan(.accountStatus, CloudError(.networkFailure, "Planned."))
        bench.faults.plan(.userRecord, CloudError(.requestRateLimited, "Planned.", retryAfterSeconds: 3))
        bench.faults.plan(.discoverUsers, CloudError(.serviceUnavailable, "Planned."))
        #expect(cloudError { _ = try service.accountStatus(of: caller) }?.code == .networkFailure)
        #expect(cloudError { _ = try service.userName(of: caller) }?.retryAfterSeconds == 3)
        #expect(cloudError { _ = try service.discover([], as: caller) }?.code == .serviceUnavailable)
        bench.faults.plan(.userRecord, nil)
        #expect(try service.userName(of: caller) == account.userName)
        let events = bench.events.value
        #expect(events.map(\.kind) == [.accountStatus, .userRecord, .discoverUsers, .userRecord])
        #expect(events.dropLast().allSatisfy { $0.error != nil })
        #expect(events.last?.error == nil)
        #expect(events.allSatisfy { $0.caller == caller })
    }
}
