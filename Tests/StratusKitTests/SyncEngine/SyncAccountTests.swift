// Accounts: signing in, out, and another person's signing in, while an engine runs and while it does not.

import Foundation
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

@Suite("Accounts and sync engines") struct SyncAccountTests {
    private func user(_ account: Stratus.Account) -> CKRecord.ID { CKRecord.ID(recordName: account.userRecordName) }

    /// A program on this store's own device, and the changes of accounts it received.
    private func local(
        _ stage: SyncStage, isAutomatic: Bool = false, _ stored: Replica.Stored? = nil
    ) async throws -> (Replica, Locked<[CKSyncEngine.Event.AccountChange.ChangeType]>) {
        let told = Locked<[CKSyncEngine.Event.AccountChange.ChangeType]>([])
        var habits = Replica.Habits()
        habits.onEvent = { event, _ in
            if case .accountChange(let change) = event { told.append(change.changeType) }
        }
        let replica = try await Replica.started(
            "local", stage.localDatabase, isAutomatic: isAutomatic, stored, habits: habits)
        return (replica, told)
    }

    @Test("[E-10] the first round with an account reports the sign-in before anything else, and keeps pending changes")
    func firstSignIn() async throws {
        try await withSyncStage { stage in
            try await stage.cloud.signIn(stage.alice)
            let (phone, told) = try await local(stage)
            await phone.createZone()
            await phone.write("a", "1")
            try await phone.send()
            #expect(told.value == [.signIn(currentUser: user(stage.alice))])
            #expect(await phone.trace.first == "account signIn")
            #expect(try await stage.serverTexts() == ["a": "1"])
            // A known account is not reported again, not even after a restart.
            try await phone.fetch()
            let (restarted, toldAgain) = try await local(stage, await phone.disk)
            try await restarted.fetch()
            #expect(told.value.count == 1)
            #expect(toldAgain.value.isEmpty)
        }
    }

    @Test("[E-10] signing out clears the state and the pending changes; so does a change of accounts")
    func switching() async throws {
        try await withSyncStage { stage in
            let bob = try await stage.cloud.createAccount(.init(emails: ["bob@example.com"]), externalID: "bob")
            try await stage.cloud.signIn(stage.alice)
            let (phone, told) = try await local(stage, isAutomatic: true)
            await phone.createZone()
            await phone.write("a", "1")
            await stage.cloud.settle()
            #expect(try await stage.serverTexts() == ["a": "1"])

            stage.cloud.faults.fail(.operation(.modifyRecords), with: .networkFailure, lasting: .untilCancelled)
            await phone.write("b", "alice's")
            await stage.cloud.settle()
            #expect(await phone.engine.state.pendingRecordZoneChanges.count == 1)
            try await stage.cloud.signIn(bob)
            stage.cloud.faults.removeAll()
            await stage.cloud.settle()
            #expect(await phone.engine.state.pendingRecordZoneChanges.isEmpty)
            #expect(await phone.texts.isEmpty)
            stage.cloud.signOut()
            await stage.cloud.settle()
            try await stage.cloud.signIn(stage.alice)
            await stage.cloud.settle()
            #expect(await phone.texts == ["a": "1"])
            #expect(
                told.value == [
                    .signIn(currentUser: user(stage.alice)),
                    .switchAccounts(previousUser: user(stage.alice), currentUser: user(bob)),
                    .signOut(previousUser: user(bob)), .signIn(currentUser: user(stage.alice)),
                ])
            // None of the one person's data reached the other.
            let bobs = try stage.database("bobs", of: bob)
            #expect(try await bobs.allRecordZones().map(\.zoneID) == [.default])
        }
    }

    @Test("[E-10] one person's unsent changes are not pending for the next")
    func leftUnsent() async throws {
        try await withSyncStage { stage in
            let bob = try await stage.cloud.createAccount(.init(emails: ["bob@example.com"]), externalID: "bob")
            try await stage.cloud.signIn(stage.alice)
            let (phone, _) = try await local(stage)
            await phone.createZone()
            try await phone.send()
            await phone.write("b", "alice's")
            try await stage.cloud.signIn(bob)
            try await phone.fetch()
            #expect(await phone.engine.state.pendingRecordZoneChanges.isEmpty)
            #expect(await phone.engine.state.pendingDatabaseChanges.isEmpty)
        }
    }

    @Test("[E-10] several account changes while no engine runs are reported as one", arguments: [0, 1, 2])
    func changesMeanwhile(_ number: Int) async throws {
        try await withSyncStage { stage in
            let bob = try await stage.cloud.createAccount(.init(emails: ["bob@example.com"]), externalID: "bob")
            try await stage.cloud.signIn(stage.alice)
            let (phone, _) = try await local(stage)
            await phone.write("unsent", "1")
            try await phone.fetch()
            let disk = await phone.disk
            await phone.letGo()
            stage.cloud.signOut()
            try await stage.cloud.signIn(bob)
            switch number {
            case 0: break
            case 1: stage.cloud.signOut()
            default: try await stage.cloud.signIn(stage.alice)
            }
            let (restarted, told) = try await local(stage, disk)
            try await restarted.fetch()
            let pending = await restarted.engine.state.pendingRecordZoneChanges.count
            switch number {
            case 0:
                #expect(told.value == [.switchAccounts(previousUser: user(stage.alice), currentUser: user(bob))])
                #expect(pending == 0)
            case 1:
                #expect(told.value == [.signOut(previousUser: user(stage.alice))])
                #expect(pending == 0)
            default:
                #expect(told.value.isEmpty)
                #expect(pending == 1)
            }
        }
    }

    @Test("[E-10] changes added after signing out wait for the next account")
    func offline() async throws {
        try await withSyncStage { stage in
            let (phone, told) = try await local(stage, isAutomatic: true)
            await phone.createZone()
            await phone.write("a", "1")
            await stage.cloud.settle()
            #expect(told.value.isEmpty)
            #expect(await phone.engine.state.pendingRecordZoneChanges.count == 1)
            try await stage.cloud.signIn(stage.alice)
            await stage.cloud.settle()
            #expect(told.value.count == 1)
            #expect(try await stage.serverTexts() == ["a": "1"])
        }
    }

    @Test("[E-10] a person who signs in during a round gets nothing of the previous account")
    func switchMeanwhile() async throws {
        try await withSyncStage { stage in
            let bob = try await stage.cloud.createAccount(.init(emails: ["bob@example.com"]), externalID: "bob")
            try await stage.cloud.signIn(stage.alice)
            let (phone, _) = try await local(stage)
            await phone.createZone()
            await phone.write("a", "1")
            let cloud = stage.cloud
            await phone.change { habits in
                habits.onEvent = { event, _ in
                    if case .willSendChanges = event { try? cloud.signIn(bob) }
                }
            }
            try await phone.send()
            #expect(try await stage.serverTexts() == ["a": "1"])
            #expect(try await stage.database("bobs", of: bob).allRecordZones().count == 1)
        }
    }

    @Test("[E-10] the state of another database is useless: the engine starts over")
    func otherDatabase() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone")
            await phone.createZone()
            await phone.write("a", "1")
            try await phone.send()
            await phone.write("unsent", "1")
            await stage.cloud.settle()
            let device = try await stage.cloud.device("phone", signedInAs: stage.alice)
            let other = device.container("iCloud.com.example.other").privateCloudDatabase
            let shared = device.container(SyncStage.container).sharedCloudDatabase
            for database in [other, shared] {
                let stranger = try await Replica.started("phone", database, await phone.disk)
                #expect(await stranger.engine.state.pendingRecordZoneChanges.isEmpty)
                try await stranger.fetch()
                #expect(await stranger.trace.first == "account signIn")
            }
        }
    }

    @Test("[E-07][E-10] an engine pauses while its account cannot be used, and resumes when it can")
    func standing() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone", isAutomatic: true)
            await phone.createZone()
            await stage.cloud.settle()
            try await stage.cloud.setStanding(.needsVerification, of: stage.alice)
            await phone.write("a", "1")
            await stage.cloud.settle()
            #expect(await phone.engine.state.pendingRecordZoneChanges.count == 1)
            #expect(await phone.trace.contains("account signOut") == false)
            try await stage.cloud.setStanding(.good, of: stage.alice)
            await stage.cloud.settle()
            #expect(try await stage.serverTexts() == ["a": "1"])
        }
    }
}
