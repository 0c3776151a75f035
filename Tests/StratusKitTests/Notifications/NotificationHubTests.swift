// Who gets a notification, when, and what happens on failure: with a source that the test fills.

import Foundation
import StratusCloud
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

/// A store of notifications that the test fills, and can make fail.
private final class ScriptedSource: NotificationSource {
    struct State {
        /// The undelivered results of commits, batch by batch.
        var left: [[(DeviceAddress, String)]] = []
        var queues: [DeviceAddress: [String]] = [:]
        var takenCount = 0
        var deliveryError: CloudError?
        var takingError: CloudError?
        /// Called before a notification is taken.
        var onTake: (@Sendable () -> Void)?
    }

    let state = Locked(State())

    func deliverNotifications() throws -> Set<DeviceAddress> {
        try state.withLock { state in
            if let error = state.deliveryError { throw error }
            guard !state.left.isEmpty else { return [] }
            let batch = state.left.removeFirst()
            for (device, id) in batch { state.queues[device, default: []].append(id) }
            return Set(batch.map(\.0))
        }
    }

    func takeNotifications(for device: DeviceAddress, limit: Int) throws -> [ClientNotification] {
        state.value.onTake?()
        return try state.withLock { state in
            if let error = state.takingError { throw error }
            let ids = (state.queues[device] ?? []).prefix(limit)
            state.queues[device]?.removeFirst(ids.count)
            state.takenCount += ids.count
            return ids.map { NotificationSamples.notification(subscriptionID: $0) }
        }
    }

    func registerDevice(_ device: DeviceAddress) {}

    /// Leaves notifications behind, as a commit does.
    func leave(_ ids: [String], for device: DeviceAddress) {
        state.withLock { $0.left.append(ids.map { (device, $0) }) }
    }

    func waiting(for device: DeviceAddress) -> [String] { state.withLock { $0.queues[device] ?? [] } }
}

extension ScriptedSource.State: @unchecked Sendable {
    // Unchecked because it contains a tuple; it holds only values.
}

private struct HubBench {
    let source = ScriptedSource()
    let activity = SessionActivity()
    let pool = BlockingPool(threadCount: 8)
    let trace = Trace()
    let hub: NotificationHub
    let phone = DeviceAddress(account: AccountID("alice"), name: "phone")
    let tablet = DeviceAddress(account: AccountID("alice"), name: "tablet")

    init() {
        hub = NotificationHub(source: source, activity: activity, pool: pool) { [trace] error in
            trace.note("failed \((error as? CloudError)?.code.rawValue ?? 0)")
        }
    }

    /// Delivers what commits left behind, and returns when all of it was delivered.
    func deliver() async {
        hub.wake()
        await activity.untilIdle()
    }

    func listen(_ device: DeviceAddress) {
        hub.setHandler({ [trace] in trace.note("\(device.name) \($0.subscriptionID ?? "-")") }, of: device)
    }
}

@Suite struct NotificationHubTests {
    @Test("[N-05] a handler gets waiting notifications, oldest first, and then new ones; without a listener they wait")
    func handlers() async {
        let bench = HubBench()
        bench.source.leave(["1", "2"], for: bench.phone)
        bench.source.leave(["3"], for: bench.tablet)
        await bench.deliver()
        #expect(bench.trace.all.isEmpty)
        #expect(bench.source.waiting(for: bench.phone) == ["1", "2"])
        bench.listen(bench.phone)
        await bench.activity.untilIdle()
        #expect(bench.trace.all == ["phone 1", "phone 2"])
        #expect(bench.source.waiting(for: bench.tablet) == ["3"])
        bench.source.leave(["4"], for: bench.phone)
        bench.source.leave(["5"], for: bench.phone)
        await bench.deliver()
        #expect(bench.trace.all == ["phone 1", "phone 2", "phone 4", "phone 5"])
        bench.hub.setHandler(nil, of: bench.phone)
        bench.source.leave(["6"], for: bench.phone)
        await bench.deliver()
        #expect(bench.source.waiting(for: bench.phone) == ["6"])
        #expect(bench.hub.handler(of: bench.phone) == nil)
    }

    @Test("[N-05] a waiting task gets one notification, and another one when it asks again")
    func tasks() async {
        let bench = HubBench()
        bench.source.leave(["1", "2"], for: bench.phone)
        await bench.deliver()
        #expect(await bench.hub.next(for: bench.phone)?.subscriptionID == "1")
        await bench.activity.untilIdle()
        #expect(bench.source.waiting(for: bench.phone) == ["2"])
        #expect(await bench.hub.next(for: bench.phone)?.subscriptionID == "2")
        async let third = bench.hub.next(for: bench.phone)
        bench.source.leave(["3"], for: bench.phone)
        bench.hub.wake()
        #expect(await third?.subscriptionID == "3")
    }

    @Test("a waiting task is not activity, and is released when it is cancelled, or its device or the hub ends")
    func waiting() async throws {
        let bench = HubBench()
        let first = Task { await bench.hub.next(for: bench.phone) }
        let second = Task { await bench.hub.next(for: bench.tablet) }
        let third = Task { await bench.hub.next(for: DeviceAddress(account: AccountID("bob"), name: "phone")) }
        await bench.activity.untilIdle()
        first.cancel()
        #expect(await first.value == nil)
        // The tasks wait already or will: one that is ended before it waits is ended by the hub's end.
        bench.hub.forget { $0 == bench.tablet }
        bench.hub.close()
        #expect(await second.value == nil)
        #expect(await third.value == nil)
        #expect(await bench.hub.next(for: bench.phone) == nil)
        let isCancelled = Gate("the task to be cancelled")
        let cancelled = Task {
            try await TestThreads.offPool { try isCancelled.wait() }
            return await HubBench().hub.next(for: bench.phone)
        }
        cancelled.cancel()
        isCancelled.open()
        #expect(try await cancelled.value == nil)
        bench.source.leave(["1"], for: bench.phone)
        await bench.deliver()
        #expect(bench.source.state.value.left.count == 1)
    }

    @Test("a task that is cancelled while a notification is fetched for it gets it, so that none is lost")
    func cancelledWhileTaken() async throws {
        let bench = HubBench()
        let taking = Gate("something to be taken")
        let goOn = Latch("the taking to go on")
        bench.source.state.withLock {
            $0.onTake = {
                taking.open()
                try? goOn.wait()
            }
        }
        let task = Task { await bench.hub.next(for: bench.phone) }
        try await TestThreads.offPool { try taking.wait() }
        bench.source.state.withLock { $0.queues[bench.phone] = ["1"] }
        task.cancel()
        goOn.open()
        #expect(await task.value?.subscriptionID == "1")
        #expect(bench.source.state.value.takenCount == 1)

        // If nothing arrives it ends.
        let other = Task { await bench.hub.next(for: bench.tablet) }
        other.cancel()
        #expect(await other.value == nil)
    }

    @Test("failures are reported once each, nothing spins, and the next wake-up tries again")
    func failures() async {
        let bench = HubBench()
        bench.listen(bench.phone)
        await bench.activity.untilIdle()
        bench.source.leave(["1"], for: bench.phone)
        bench.source.state.withLock { $0.deliveryError = CloudError(.serviceUnavailable, "Later.") }
        await bench.deliver()
        #expect(bench.trace.all == ["failed 6"])
        bench.source.state.withLock {
            $0.deliveryError = nil
            $0.takingError = CloudError(.internalError, "Damaged.")
        }
        await bench.deliver()
        #expect(bench.trace.all == ["failed 6", "failed 1"])
        bench.source.state.withLock { $0.takingError = nil }
        await bench.deliver()
        #expect(bench.trace.all == ["failed 6", "failed 1", "phone 1"])
    }

    @Test(
        "what a failed delivery did deliver is returned, and a listener on a removed device is released"
    )
    func partialFailures() async {
        let bench = HubBench()
        bench.listen(bench.phone)
        await bench.activity.untilIdle()
        bench.source.state.withLock {
            $0.queues[bench.phone] = ["1"]
            $0.deliveryError = CloudError(.internalError, "One of many is damaged.")
        }
        await bench.deliver()
        #expect(bench.trace.all == ["failed 1", "phone 1"])
        bench.source.state.withLock { $0.takingError = CloudError(.unknownItem, "The device is gone.") }
        #expect(await bench.hub.next(for: bench.tablet) == nil)
        bench.listen(bench.phone)
        await bench.activity.untilIdle()
        #expect(bench.hub.handler(of: bench.phone) == nil)
        #expect(bench.trace.all.count == 2)
    }

    @Test("a handler may wait for another device, set another handler, and wake the hub")
    func reentrancy() async {
        let bench = HubBench()
        let reached = Latch("the tablet to hear")
        bench.hub.setHandler({ _ in reached.open() }, of: bench.tablet)
        bench.hub.setHandler(
            {
                [
                    hub = bench.hub, source = bench.source, trace = bench.trace, tablet = bench.tablet,
                    phone = bench.phone
                ] _ in
                source.leave(["x"], for: tablet)
                hub.wake()
                try? reached.wait()
                trace.note("waited")
                hub.setHandler({ trace.note("second \($0.subscriptionID ?? "-")") }, of: phone)
            }, of: bench.phone)
        bench.source.leave(["1", "2"], for: bench.phone)
        await bench.deliver()
        #expect(bench.trace.all == ["waited", "second 2"])
    }

    @Test("under many concurrent notifications, commits, listeners and wake-ups, each is returned once, in order")
    func races() async throws {
        let bench = HubBench()
        let random = SplitMix64.announced("hub races")
        try await TestThreads.offPool {
            try TestThreads.run(4) { index in
                var generator = random.generator(forCase: index)
                for number in 0..<300 {
                    switch generator.below(4) {
                    case 0: bench.hub.setHandler(nil, of: bench.phone)
                    case 1: bench.listen(bench.phone)
                    default: break
                    }
                    bench.source.leave(["\(index).\(number)"], for: bench.phone)
                    bench.hub.wake()
                    if generator.isOne(in: 8) { TestThreads.yield() }
                }
            }
        }
        bench.listen(bench.phone)
        await bench.deliver()
        let heard = bench.trace.all
        #expect(heard.count == 1_200)
        #expect(Set(heard).count == 1_200)
        for index in 0..<4 {
            let mine = heard.filter { $0.hasPrefix("phone \(index).") }
            #expect(mine == (0..<300).map { "phone \(index).\($0)" })
        }
    }
}
