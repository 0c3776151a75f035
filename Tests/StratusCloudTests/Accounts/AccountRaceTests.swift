// Many threads compete for the same handle, identifier or account: one gets it, the others get the reason.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("races about accounts")
struct AccountRaceTests {
    private static let threadCount = 16

    @Test("when many callers create an account with one handle, exactly one succeeds")
    func oneHandle() throws {
        let bench = try AccountBench()
        for round in 0..<20 {
            let winners = Locked<[AccountID]>([])
            try TestThreads.run(Self.threadCount) { index in
                let draft = AccountDraft(
                    externalID: "\(round)-\(index)", handles: [.email("Wanted\(round)@example.com")])
                do throws(CloudError) {
                    let account = try bench.service.createAccount(draft)
                    winners.withLock { $0.append(account.id) }
                } catch {
                    guard error.code == .constraintViolation else { throw error }
                }
            }
            let found = try bench.service.account(handle: .email("wanted\(round)@example.com"))
            #expect(winners.value == [try #require(found).id])
        }
        #expect(try bench.service.accounts(limit: 1_000).accounts.count == 20)
    }

    @Test("callers that ask for one external identifier at the same time get the same account")
    func oneExternalID() throws {
        let bench = try AccountBench()
        for round in 0..<20 {
            let found = Locked<Set<AccountID>>([])
            try TestThreads.run(Self.threadCount) { _ in
                let account = try bench.service.account(externalID: "user-\(round)", createIfMissing: .init())
                found.withLock { _ = $0.insert(account.id) }
            }
            #expect(found.value.count == 1)
        }
    }

    @Test("handles that move between accounts are never owned twice and never lost")
    func wanderingHandles() throws {
        let bench = try AccountBench()
        let accounts = try (0..<8).map { _ in try bench.service.createAccount(.init()).id }
        let handles = (0..<4).map { Handle.email("\($0)@example.com") }
        let seed = SplitMix64.announced("wandering handles")
        let refusedCount = Locked(0)
        try TestThreads.run(8) { thread in
            var random = seed.generator(forCase: thread)
            for _ in 0..<60 {
                let id = random.element(of: accounts)
                let handle = random.element(of: handles)
                do throws(CloudError) {
                    if random.isOne(in: 2) {
                        try bench.service.changeAccount(id) { $0.handles.insert(handle) }
                    } else {
                        try bench.service.changeAccount(id) { $0.handles.remove(handle) }
                    }
                } catch {
                    guard error.code == .constraintViolation else { throw error }
                    refusedCount.withLock { $0 += 1 }
                }
            }
        }
        #expect(refusedCount.value > 0, "no thread wanted the handle of another")
        let all = try bench.service.accounts().accounts
        for handle in handles {
            let owners = all.filter { $0.handles.contains(handle) }
            #expect(owners.count <= 1)
            #expect(try bench.service.account(handle: handle) == owners.first)
        }
        #expect(try AccountVerifier(engine: bench.service.engine).verify().findings == [])
    }

    @Test("a reader sees an account as of its snapshot, cached or not")
    func cacheIsExact() throws {
        let bench = try AccountBench()
        let service = bench.service
        let id = try service.createAccount(.init(quotaByteCount: 0)).id
        let writerIsDone = Locked(false)
        try TestThreads.run(5) { thread in
            if thread == 0 {
                defer { writerIsDone.withLock { $0 = true } }
                for number in 1...400 { try service.changeAccount(id) { $0.quotaByteCount = Int64(number) } }
                return
            }
            var last: Int64 = 0
            while !writerIsDone.value {
                // A snapshot always shows the same, and later snapshots never go back.
                let newest = try #require(try service.account(id)?.quotaByteCount)
                let (first, again) = try service.engine.read { reader in
                    let first = try service.accountDirectory.account(id, in: reader)?.quotaByteCount
                    TestThreads.yield()
                    return (first, try AccountDirectory().account(id, in: reader)?.quotaByteCount)
                }
                #expect(first == again)
                let quota = try #require(first)
                #expect(quota >= newest)
                #expect(newest >= last)
                last = quota
            }
        }
        #expect(try service.account(id)?.quotaByteCount == 400)
    }

    @Test("every transaction after a committed deletion sees the deletion")
    func deletionIsSeen() throws {
        let bench = try AccountBench()
        let service = bench.service
        for _ in 0..<30 {
            let id = try service.createAccount(.init()).id
            _ = try service.account(id)
            let deletedAt = Locked(false)
            try TestThreads.run(4) { thread in
                if thread == 0 {
                    try service.deleteAccount(id)
                    deletedAt.withLock { $0 = true }
                } else {
                    for _ in 0..<20 {
                        let wasDeleted = deletedAt.value
                        let found = try service.engine.transact { transaction in
                            try service.accountDirectory.account(id, in: transaction)
                        }
                        if wasDeleted { #expect(found == nil) }
                    }
                }
            }
            #expect(try service.account(id) == nil)
        }
    }
}
