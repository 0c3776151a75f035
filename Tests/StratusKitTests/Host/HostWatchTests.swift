// Watching a host over its socket.

import Foundation
import StratusCloud
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("Watching a host")
struct HostWatchTests {
    private let directory: HostDirectory

    init() throws { directory = try HostDirectory() }

    private func open() throws -> (store: Stratus, caller: Caller) {
        let store = try Stratus.open(at: directory.store, options: .tested { $0.servesTool = true })
        let account = try store.createAccount(.init(), externalID: "test")
        return (store, Caller(container: "iCloud.test", account: AccountID(account.id)))
    }

    /// The events a watcher receives until a number of events is reached, including lost ones.
    private func take(_ count: Int, from watch: HostWatch) throws -> WatchedEvents {
        var all = WatchedEvents()
        while all.events.count + all.lostCount < count {
            switch try watch.next(waitingAtMost: TestThreads.deadlineSeconds, isStopping: { false }) {
            case .events(let told):
                all.events += told.events
                all.lostCount += told.lostCount
            case .nothing, .ended:
                Issue.record("got \(all.events.count) events, and \(all.lostCount) are lost")
                return all
            }
        }
        return all
    }

    @Test("a watcher gets every request, in order, with its cost")
    func telling() async throws {
        let (store, caller) = try open()
        defer { store.close() }
        try await TestThreads.offPool {
            let watch = try #require(try HostWatch(directory: directory.store.path))
            for name in ["Notes", "Tasks"] {
                _ = try store.server.answer(
                    ModifyZonesRequest(saves: [ClientZone(address: ZoneAddress(zoneName: name))]), as: caller,
                    in: .private)
            }
            _ = try? store.server.answer(
                FetchZonesRequest.all, as: Caller(container: "iCloud.test", account: nil), in: .private)
            let told = try take(3, from: watch)
            #expect(told.events.map(\.operation) == ["modifyZones", "modifyZones", "fetchZones"])
            #expect(told.events.map(\.commitCount) == [1, 1, 0])
            #expect(told.events.map(\.account) == [caller.account?.text, caller.account?.text, nil])
            #expect(told.events.map(\.errorCode) == [nil, nil, CKError.Code.notAuthenticated.rawValue])
            #expect(told.lostCount == 0)
        }
    }

    @Test("a watcher that does not read delays no one, and learns how many events it lost")
    func slowWatcher() async throws {
        let (store, caller) = try open()
        defer { store.close() }
        // Otherwise a host disconnects a watcher that does not read for long.
        try store.serveToolPatiently()
        try await TestThreads.offPool {
            let watch = try #require(try HostWatch(directory: directory.store.path))
            let fast = try #require(try HostWatch(directory: directory.store.path))
            let (roundCount, batchCount) = (1_000, 256)
            var count = 0
            // Until nothing more fits into its socket, whose size is the system's, and into the host's queue for it.
            while store.output.feed.untoldLostCount == 0, count < roundCount * batchCount {
                for number in count..<count + batchCount {
                    store.output.tell(CloudEvent(kind: .query, caller: caller, itemCount: number))
                }
                count += batchCount
                // This one reads all the time, and misses nothing.
                #expect(try take(batchCount, from: fast).lostCount == 0)
            }
            let told = try take(count, from: watch)
            #expect(told.lostCount > 0)
            #expect(told.events.count >= EventWatcher.eventCount)
            #expect(told.events.count + told.lostCount == count)
            // The remaining events are in order, and the newest is included.
            let numbers = told.events.map(\.itemCount)
            #expect(numbers == numbers.sorted())
            #expect(numbers.last == count - 1)
        }
    }

    @Test("the secrets of shares' URLs are not reported")
    func secrets() {
        let text = "refused: https://x.test/s/AbC-_9 (url=https://x.test/s/AbC-_9, other=https://x.test/t)"
        let told = WatchedEvent.text(text, hiding: "https://x.test/s/")
        #expect(told == "refused: https://x.test/s/… (url=https://x.test/s/…, other=https://x.test/t)")
        #expect(WatchedEvent.text(text, hiding: "") == text)
    }
}

extension EventFeed {
    /// How many lost events the watchers have not been told about yet.
    fileprivate var untoldLostCount: Int {
        watchers.withLock { Array($0.values) }.reduce(0) { $0 + $1.untoldLostCount }
    }
}

extension EventWatcher {
    fileprivate var untoldLostCount: Int {
        condition.lock()
        defer { condition.unlock() }
        return lostCount
    }
}
