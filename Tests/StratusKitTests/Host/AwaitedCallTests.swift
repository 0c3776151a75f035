// Host calls in async code: the task is suspended while a thread of the store's own waits, and may be cancelled before
// that thread has begun.

import Foundation
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("awaited host calls")
struct AwaitedCallTests {
    /// A pool whose only thread waits until it is released.
    private final class BusyPool: Sendable {
        let pool: BlockingPool
        private let gate = DispatchSemaphore(value: 0)

        init(queueLimit: Int = 8) throws {
            pool = BlockingPool(threadCount: 1, queueLimit: queueLimit)
            let begun = DispatchSemaphore(value: 0)
            try pool.submit { [gate] in
                begun.signal()
                gate.wait()
            }
            begun.wait()
        }

        func letGo() { gate.signal() }
    }

    @Test("a call returns what its body returns, and throws what it throws")
    func results() async throws {
        let pool = BlockingPool(threadCount: 1)
        #expect(try await pool.run { 7 } == 7)
        await #expect(throws: StratusError.self) {
            try await pool.run { throw StratusError(.unknownAccount, "There is no such account.") }
        }
    }

    @Test(
        "a call whose task is cancelled before the call, or before a thread starts it, is never made",
        arguments: [false, true])
    func cancelled(isBefore: Bool) async throws {
        let busy = try BusyPool()
        let isMade = Locked(false)
        let call = Task {
            if isBefore { try? await Task.sleep(for: .seconds(60)) }  // until it is cancelled
            try await busy.pool.run { isMade.withLock { $0 = true } }
        }
        call.cancel()
        // The thread is still busy: the answer comes from the cancellation.
        await #expect(throws: CancellationError.self) { try await call.value }
        busy.letGo()
        try await busy.pool.run {}
        #expect(!isMade.value)
    }

    @Test("a call that has started finishes and returns although its task is cancelled")
    func cancelledAfterwards() async throws {
        let pool = BlockingPool(threadCount: 1)
        let begun = AsyncStream<Void>.makeStream()
        let gate = DispatchSemaphore(value: 0)
        let call = Task {
            try await pool.run {
                begun.continuation.yield()
                gate.wait()
                return 7
            }
        }
        for await _ in begun.stream { break }
        call.cancel()
        gate.signal()
        #expect(try await call.value == 7)
    }

    @Test("a call is refused if too many wait, with a remedy")
    func refused() async throws {
        let busy = try BusyPool(queueLimit: 1)
        try busy.pool.submit {}
        let error = await #expect(throws: StratusError.self) {
            try await Stratus.suspending(on: busy.pool) {}
        }
        #expect(error?.code == .unavailable)
        busy.letGo()
    }

    @Test("more stores can be opened and closed at once than there are threads for it")
    func manyStores() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    let store = try await Stratus.inMemory(options: .tested())
                    await store.close()
                    await store.close()
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("more host calls can be awaited at once than a store has threads")
    func manyCalls() async throws {
        let store = try await Stratus.inMemory(options: .tested())
        try await withThrowingTaskGroup(of: Stratus.Account.self) { group in
            for number in 0..<200 {
                group.addTask { try await store.account(externalID: "user-\(number)", createIfMissing: .init()) }
            }
            let accounts = try await group.reduce(into: Set<String>()) { $0.insert($1.id) }
            #expect(accounts.count == 200)
        }
        await store.close()
        await #expect(throws: StratusError.self) { _ = try await store.accounts() }
    }

    @Test("a store is closed even if the task that closes it was cancelled")
    func closingWhileCancelled() async throws {
        let store = try await Stratus.inMemory(options: .tested())
        let closing = Task {
            try? await Task.sleep(for: .seconds(60))  // until it is cancelled
            await store.close()
        }
        closing.cancel()
        await closing.value
        await #expect(throws: StratusError.self) { _ = try await store.accounts() }
    }

    @Test("async calls do the same as the blocking ones", arguments: ["alice", "bob"])
    func journey(name: String) async throws {
        let store = try await Stratus.inMemory(options: .tested())
        let account = try await store.createAccount(.init(emails: ["\(name)@example.com"]), externalID: name)
        try await store.signIn(account)
        #expect(try await store.account(email: "\(name)@example.com")?.id == account.id)
        #expect(try await store.setQuota(byteCount: 5, of: account).quotaByteCount == 5)
        let phone = try await store.device("phone", signedInAs: account)
        try await phone.setBadge(3)
        #expect(try await store.devices(of: account) == [phone])
        try await phone.remove()
        #expect(try await store.devices(of: account).isEmpty)
        try await store.deleteAccountWithAllData(account)
        #expect(try await store.accounts().isEmpty)
        try await store.performUpkeep()
        try await store.reset()
        await store.close()
    }
}
