// What an engine does by itself, when, and when it stops.

import Foundation
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

@Suite("Automatic sync engines") struct SyncSchedulingTests {
    @Test("[E-11][E-12] an engine sends new changes, and gets those of other devices, automatically")
    func automatic() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone", isAutomatic: true)
            let tablet = try await stage.replica("tablet", isAutomatic: true)
            await stage.cloud.settle()
            await phone.createZone()
            await phone.write(["a", "b"], "1")
            await stage.cloud.settle()
            #expect(await tablet.texts == ["a": "1", "b": "1"])
            await tablet.write("a", "2")
            await tablet.delete("b")
            await stage.cloud.settle()
            let (texts, story) = (await phone.texts, await [phone.trace, tablet.trace])
            #expect(texts == ["a": "2"], "\(story)")
            #expect(await phone.trace.allSatisfy { !$0.hasSuffix("manual") })
            // It got the zone's subscription once, and there is one for all.
            let subscriptions = try await stage.database("phone").allSubscriptions()
            #expect(subscriptions.count == 1)
            #expect(subscriptions.first is CKDatabaseSubscription)
        }
    }

    @Test("[E-11] without automatic syncing nothing happens without a call")
    func byHand() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone")
            let tablet = try await stage.replica("tablet")
            await phone.createZone()
            await phone.write("a", "1")
            let state = await phone.engine.state
            state.hasPendingUntrackedChanges = true
            await stage.cloud.settle()
            #expect(await phone.trace.isEmpty)
            try await phone.send()
            await stage.cloud.settle()
            #expect(await tablet.trace.isEmpty)
            stage.clock.advance(by: 3_600)
            await stage.cloud.settle()
            #expect(await tablet.trace.isEmpty)
        }
    }

    @Test("[E-12] an existing subscription is used, and a missing one is created under the requested name")
    func subscriptions() async throws {
        try await withSyncStage { stage in
            let database = try stage.database("phone")
            var replicas = [try await Replica.started("phone", database, isAutomatic: true, subscriptionID: "mine")]
            await stage.cloud.settle()
            #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["mine"])
            // Several engines of one database, for tests.
            replicas.append(try await Replica.started("phone", database, isAutomatic: true))
            replicas.append(try await Replica.started("phone", database, isAutomatic: true, subscriptionID: "mine"))
            await stage.cloud.settle()
            #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["mine"])
            for replica in replicas { #expect(await replica.trace.last == "did fetch scheduled") }
        }
    }

    @Test("[E-12][N-05] engines on containers without a device get each other's changes, and listeners lose nothing")
    func withoutDevice() async throws {
        try await withSyncStage { stage in
            let container = stage.cloud.container(SyncStage.container, signedInAs: stage.alice)
            let first = try await Replica.started("1", container.privateCloudDatabase, isAutomatic: true)
            let second = try await Replica.started("2", container.privateCloudDatabase, isAutomatic: true)
            let tablet = try await stage.cloud.device("tablet", signedInAs: stage.alice)
            let heard = Locked(0)
            tablet.onNotification = { _ in heard.withLock { $0 += 1 } }
            await first.createZone()
            await first.write("a", "1")
            await stage.cloud.settle()
            #expect(await second.texts == ["a": "1"])
            #expect(heard.value > 0)
            let third = try await Replica.started(
                "3", tablet.container(SyncStage.container).privateCloudDatabase, isAutomatic: true)
            await second.write("a", "2")
            await stage.cloud.settle()
            let texts = await [first.texts, third.texts]
            #expect(texts == [["a": "2"], ["a": "2"]])
        }
    }

    @Test("[E-07] after a temporary error the engine retries when its time has come, and nothing is lost")
    func retryAfter() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone", isAutomatic: true)
            await phone.createZone()
            await stage.cloud.settle()
            let fault = stage.cloud.faults.fail(
                .operation(.modifyRecords), with: .requestRateLimited, retryAfter: 30, lasting: .seconds(30))
            await phone.write("a", "1")
            await stage.cloud.settle()
            #expect(fault.hitCount == 1)
            // What is added meanwhile waits too.
            await phone.write("b", "1")
            stage.clock.advance(by: 29)
            await stage.cloud.settle()
            #expect(fault.hitCount == 1)
            #expect(await phone.engine.state.pendingRecordZoneChanges.count == 2)
            stage.clock.advance(by: 1)
            await stage.cloud.settle()
            #expect(try await stage.serverTexts() == ["a": "1", "b": "1"])
            #expect(await phone.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test("[E-07] without a given retry time the engine waits longer each time, at most a minute")
    func backOff() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone", isAutomatic: true)
            await stage.cloud.settle()
            let fault = stage.cloud.faults.fail(
                .operation(.modifyZones), with: .networkFailure, lasting: .untilCancelled)
            await phone.createZone()
            await stage.cloud.settle()
            var pauses: [Int] = []
            while pauses.count < 8 {
                let count = fault.hitCount
                var seconds = 0
                while fault.hitCount == count, seconds < 100 {
                    stage.clock.advance(by: 1)
                    seconds += 1
                    await stage.cloud.settle()
                }
                pauses.append(seconds)
            }
            #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60])
            fault.cancel()
            // The program need not wait.
            try await phone.send()
            #expect(try await stage.database("phone").allRecordZones().count == 2)
        }
    }

    @Test("[E-13][E-14] a conflict is resolved in the callback, and the engine fetches and sends again automatically")
    func conflicts() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone", isAutomatic: true)
            await phone.createZone()
            await phone.write(["a", "b"], "1")
            await stage.cloud.settle()
            // A device without notifications.
            let tablet = try await stage.replica("tablet")
            try await tablet.fetch()
            await phone.write(["a", "b"], "3")
            await stage.cloud.settle()
            await tablet.write("a", "2")
            await tablet.write("b", "4")
            // Without automatic syncing the call ends with the failure, and the restored changes stay.
            #expect(await thrownCode { try await tablet.send() } == .partialFailure)
            #expect(await tablet.failures.map(\.code) == [.serverRecordChanged, .serverRecordChanged])
            #expect(await tablet.engine.state.pendingRecordZoneChanges == [.saveRecord(Replica.recordID("b"))])
            try await tablet.send()
            await stage.cloud.settle()
            #expect(await phone.texts == ["a": "3", "b": "4"])

            // It continues automatically.
            let laptop = try await stage.replica("laptop", isAutomatic: true)
            await stage.cloud.settle()
            stage.cloud.faults.fail(.record(Replica.recordID("a")), with: .quotaExceeded, lasting: .times(3))
            _ = await laptop.takeTrace()
            await laptop.write(["a", "b"], "5")
            await stage.cloud.settle()
            #expect(try await stage.serverTexts() == ["a": "5", "b": "5"])
            #expect(
                await laptop.takeTrace().prefix(6) == [
                    "will send scheduled", "sent +1 -0 failed 1", "did send scheduled", "will fetch scheduled",
                    "fetched zones [\"Notes\"] gone []", "will fetch Notes",
                ])
        }
    }

    @Test("[E-07] a delegate that never resolves a failure does not keep the host busy")
    func hopelessDelegate() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone", isAutomatic: true)
            await phone.createZone()
            await stage.cloud.settle()
            let fault = stage.cloud.faults.fail(
                .record(Replica.recordID("a")), with: .quotaExceeded, lasting: .untilCancelled)
            await phone.write("a", "1")
            await stage.cloud.settle()
            #expect(fault.hitCount == 9)
            fault.cancel()
            stage.clock.advance(by: 60)
            await stage.cloud.settle()
            #expect(try await stage.serverTexts() == ["a": "1"])
        }
    }

    @Test("[E-13] a change without a record from the delegate is requested once, and not repeatedly")
    func withheldRecord() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone", isAutomatic: true)
            let askedCount = Locked(0)
            await phone.change { habits in
                habits.batch = { engine in
                    await .init(pendingChanges: engine.state.pendingRecordZoneChanges) { _ in
                        askedCount.withLock { $0 += 1 }
                        return nil
                    }
                }
            }
            await phone.createZone()
            await stage.cloud.settle()
            await phone.write("a", "1")
            await stage.cloud.settle()
            #expect(askedCount.value == 1)
            #expect(await phone.engine.state.pendingRecordZoneChanges.count == 1)
        }
    }

    @Test("an engine and its delegate are deallocated when the program releases them, also during a pause")
    func lifetimes() async throws {
        try await withSyncStage { stage in
            weak var engine: CKSyncEngine?
            weak var delegate: Replica?
            do {
                let phone = try await stage.replica("phone", isAutomatic: true)
                await stage.cloud.settle()
                stage.cloud.faults.fail(.everything, with: .networkFailure, lasting: .untilCancelled)
                await phone.write("a", "1")
                await stage.cloud.settle()
                (engine, delegate) = (await phone.engine, phone)
                #expect(engine != nil)
                #expect(delegate != nil)
            }
            #expect(engine == nil)
            #expect(delegate == nil)
            stage.cloud.faults.removeAll()
            stage.clock.advance(by: 120)
            try await stage.database("other").save(CKRecordZone(zoneName: "Notes"))
            await stage.cloud.settle()
        }
    }

    @Test("an engine without its delegate reports to no one, and its calls fail with operationCancelled")
    func delegateGone() async throws {
        try await withSyncStage { stage in
            let engine = try await stage.replica("phone").engine
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(Replica.recordID("a"))])
            #expect(await thrownCode { try await engine.sendChanges() } == .operationCancelled)
            #expect(engine.state.pendingRecordZoneChanges.count == 1)
            await stage.cloud.settle()
        }
    }

    @Test("closing the store ends the engines' work, and refuses their calls")
    func closedStore() async throws {
        let stage = try SyncStage()
        let phone = try await stage.replica("phone", isAutomatic: true)
        await phone.createZone()
        await phone.write((1...300).map { "n\($0)" }, "1")
        try await TestThreads.offPool { stage.cloud.close() }
        let count = await phone.trace.count
        #expect(await thrownCode { try await phone.send() } == .serviceUnavailable)
        await phone.write("late", "1")
        #expect(await phone.trace.count == count)
        #expect(await phone.engine.state.pendingRecordZoneChanges.contains(.saveRecord(Replica.recordID("late"))))
    }

    @Test("[D-01] an owner's and a participant's engines keep a shared zone in sync")
    func sharedDatabase() async throws {
        try await withSyncStage { stage in
            let bob = try await stage.cloud.createAccount(.init(emails: ["bob@example.com"]), externalID: "bob")
            let phone = try await stage.replica("phone", isAutomatic: true)
            await phone.createZone()
            await phone.write("a", "1")
            await stage.cloud.settle()
            let share = CKShare(recordZoneID: Replica.zoneID)
            share.publicPermission = .readWrite
            try await stage.database("phone").save(share)
            let bobs = try await stage.cloud.device("bobs", signedInAs: bob).container(SyncStage.container)
            let url = try #require(share.url)
            let metadata = try await bobs.shareMetadata(for: url)
            try await bobs.accept(metadata)
            let seen = Locked<[String]>([])
            let told = Locked<[CKRecord]>([])
            var habits = Replica.Habits()
            habits.onEvent = { event, _ in
                guard case .fetchedRecordZoneChanges(let changes) = event else { return }
                for change in changes.modifications where change.record.recordType == "Note" {
                    seen.append("\(change.record["text"] as? String ?? "")")
                    told.append(change.record)
                }
            }
            let guest = try await Replica.started(
                "bobs", bobs.sharedCloudDatabase, isAutomatic: true, habits: habits)
            await stage.cloud.settle()
            #expect(seen.value == ["1"])
            await phone.write("a", "2")
            await stage.cloud.settle()
            #expect(seen.value.last == "2")
            // The guest writes, as the program of its own records it got.
            let isGiven = Locked(false)
            await guest.change { habits in
                habits.batch = { _ in
                    guard !isGiven.exchange(true), let record = told.value.last else { return nil }
                    record["text"] = "3"
                    return .init(recordsToSave: [record])
                }
            }
            let id = try #require(told.value.last?.recordID)
            await guest.engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
            await stage.cloud.settle()
            #expect(await phone.texts == ["a": "3"])
        }
    }

    @Test(
        "[X-25] a public database is invalid for a sync engine: calls fail with badDatabase, and nothing is scheduled")
    func publicDatabase() async throws {
        try await withSyncStage { stage in
            let database = stage.cloud.container(SyncStage.container, signedInAs: stage.alice).publicCloudDatabase
            let replica = try await Replica.started("phone", database, isAutomatic: true)
            await replica.write("a", "1")
            await stage.cloud.settle()
            #expect(await thrownCode { try await replica.fetch() } == .badDatabase)
            #expect(await thrownCode { try await replica.send() } == .badDatabase)
            #expect(await replica.trace.isEmpty)
        }
    }
}
