// Fetching: order, scopes, deleted zones, expired tokens, and when state is stored.

import Foundation
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

@Suite("Fetching with a sync engine") struct SyncFetchingTests {
    /// A zone with records of another device.
    private func fill(
        _ stage: SyncStage, _ names: [String], in zoneName: String = "Notes", text: String = "1"
    ) async throws {
        let database = try stage.database("other")
        let zoneID = CKRecordZone.ID(zoneName: zoneName)
        try await database.save(CKRecordZone(zoneID: zoneID))
        let records = names.map { name in
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
            record["text"] = text
            return record
        }
        for start in stride(from: 0, to: records.count, by: 400) {
            try await database.modifyRecords(saving: Array(records[start...].prefix(400)), deleting: [])
        }
    }

    /// Remembers the paths of fetched records' files.
    private final class FileNotes: CKSyncEngineDelegate {
        let files = Locked<[String: URL?]>([:])

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
            guard case .fetchedRecordZoneChanges(let changes) = event else { return }
            for record in changes.modifications.map(\.record) {
                files.withLock { $0[record.recordID.recordName] = .some((record["file"] as? CKAsset)?.fileURL) }
            }
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
    }

    @Test("an event cannot carry the error of a damaged asset: its record is delivered, without the file")
    func damagedAsset() async throws {
        try await withSyncStage { stage in
            try await fill(stage, [])
            for name in ["bad", "good"] {
                let file = stage.directory.url.appendingPathComponent(name)
                try Data(name.utf8).write(to: file)
                let record = CKRecord(recordType: "Note", recordID: Replica.recordID(name))
                record["file"] = CKAsset(fileURL: file)
                try await stage.database("other").save(record)
            }
            let content = stage.directory.store.appendingPathComponent("assets/content")
            for path in try FileManager.default.subpathsOfDirectory(atPath: content.path) {
                let file = content.appendingPathComponent(path)
                if (try? Data(contentsOf: file)) == Data("bad".utf8) { try Data("BAD".utf8).write(to: file) }
            }
            let notes = FileNotes()
            var configuration = CKSyncEngine.Configuration(
                database: try stage.database("phone"), stateSerialization: nil, delegate: notes)
            configuration.automaticallySync = false
            try await CKSyncEngine(configuration).fetchChanges()
            #expect(notes.files.value.mapValues { $0 == nil } == ["bad": true, "good": false])
        }
    }

    @Test("[E-02] zones are reported first, then each zone's changes between its own will and did, page by page")
    func order() async throws {
        try await withSyncStage { stage in
            try await fill(stage, (1...201).map { "n\($0)" })
            try await fill(stage, ["x"], in: "Other")
            let phone = try await stage.replica("phone")
            try await phone.fetch()
            #expect(
                await phone.takeTrace() == [
                    "account signIn", "will fetch manual", "fetched zones [\"Notes\", \"Other\"] gone []",
                    "will fetch Notes", "fetched +200 -0", "fetched +1 -0", "did fetch Notes", "will fetch Other",
                    "fetched +1 -0", "did fetch Other", "did fetch manual",
                ])
            #expect(await phone.texts.count == 201)
            // No changes: only the surrounding events.
            try await phone.fetch()
            #expect(await phone.takeTrace() == ["will fetch manual", "did fetch manual"])
            try await stage.database("other").deleteRecord(withID: Replica.recordID("n1"))
            try await phone.fetch()
            #expect(await phone.takeTrace().contains("fetched +0 -1"))
            #expect(await phone.texts.count == 200)
        }
    }

    @Test("[E-02][T-18] will and did are balanced if a zone fails and if the whole fetch does")
    func balance() async throws {
        try await withSyncStage { stage in
            try await fill(stage, ["a"])
            try await fill(stage, ["x"], in: "Other")
            let phone = try await stage.replica("phone")
            stage.cloud.faults.fail(.zone(Replica.zoneID), with: .permissionFailure, during: .fetchZoneChanges)
            #expect(await thrownCode { try await phone.fetch() } == .partialFailure)
            #expect(
                await phone.takeTrace().suffix(6) == [
                    "will fetch Notes", "did fetch Notes permissionFailure", "will fetch Other", "fetched +1 -0",
                    "did fetch Other", "did fetch manual",
                ])
            let state = await phone.engine.state
            #expect(state.zoneIDsWithUnfetchedServerChanges == [Replica.zoneID])
            stage.cloud.faults.fail(.operation(.fetchDatabaseChanges), with: .networkFailure)
            #expect(await thrownCode { try await phone.fetch() } == .networkFailure)
            #expect(await phone.takeTrace() == ["will fetch manual", "did fetch manual"])
            stage.cloud.faults.fail(.operation(.fetchZoneChanges), with: .networkUnavailable)
            #expect(await thrownCode { try await phone.fetch() } == .networkUnavailable)
            #expect(
                await phone.takeTrace() == [
                    "will fetch manual", "will fetch Notes", "did fetch Notes networkUnavailable", "did fetch manual",
                ])
            try await phone.fetch()
            #expect(await phone.texts == ["a": "1"])
            #expect(state.zoneIDsWithUnfetchedServerChanges.isEmpty)
        }
    }

    @Test("[E-03] concurrent fetches all succeed; without an account nothing is reported")
    func together() async throws {
        try await withSyncStage { stage in
            try await fill(stage, ["a", "b"])
            let phone = try await stage.replica("phone")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<5 {
                    group.addTask {
                        try await phone.fetch()
                        #expect(await phone.texts == ["a": "1", "b": "1"])
                    }
                }
                try await group.waitForAll()
            }
            let trace = await phone.takeTrace()
            #expect(trace.count { $0 == "will fetch manual" } == trace.count { $0 == "did fetch manual" })
            #expect(trace.count { $0 == "fetched +2 -0" } == 1)

            // Nobody is signed in to the store.
            let nobody = try await Replica.started("nobody", stage.localDatabase)
            await nobody.write("a", "1")
            try await nobody.fetch()
            try await nobody.send()
            #expect(await nobody.trace.isEmpty)
            #expect(await nobody.engine.state.pendingRecordZoneChanges.count == 1)
        }
    }

    @Test("[E-04] events are delivered one after another, and a call returns when all of them were handled")
    func serial() async throws {
        try await withSyncStage { stage in
            try await fill(stage, (1...300).map { "n\($0)" })
            let phone = try await stage.replica("phone")
            let running = Locked(0)
            let greatest = Locked(0)
            await phone.change { habits in
                habits.onEvent = { _, _ in
                    let count = running.withLock { count in
                        count += 1
                        return count
                    }
                    greatest.withLock { $0 = max($0, count) }
                    for _ in 0..<20 { await Task.yield() }
                    running.withLock { $0 -= 1 }
                }
            }
            await phone.write("mine", "1")
            async let fetched: Void = phone.fetch()
            async let sent: Void = phone.send()
            _ = try await (fetched, sent)
            #expect(greatest.value == 1)
            #expect(running.value == 0)
            let trace = await phone.trace
            #expect(trace.contains("did fetch manual"))
            #expect(trace.contains("did send manual"))
        }
    }

    @Test("[E-04][X-25] a callback that awaits its own engine gets invalidArguments, and the engine continues")
    func callbacks() async throws {
        try await withSyncStage { stage in
            try await fill(stage, ["a"])
            let phone = try await stage.replica("phone")
            let codes = Locked<[CKError.Code?]>([])
            await phone.change { habits in
                habits.onEvent = { event, engine in
                    guard case .willFetchChanges = event else { return }
                    codes.append(await thrownCode { try await engine.fetchChanges() })
                    codes.append(await thrownCode { try await engine.sendChanges() })
                    // A task of the callback's is in it too; one that is detached is not.
                    let inherited = Task { await thrownCode { try await engine.sendChanges() } }
                    codes.append(await inherited.value)
                }
            }
            try await phone.fetch()
            #expect(codes.value == [.invalidArguments, .invalidArguments, .invalidArguments])
            #expect(await phone.texts == ["a": "1"])

            let later = Locked<Task<CKError.Code?, Never>?>(nil)
            await phone.change { habits in
                habits.onEvent = { event, engine in
                    guard case .willFetchChanges = event, later.value == nil else { return }
                    later.withLock { $0 = Task.detached { await thrownCode { try await engine.sendChanges() } } }
                }
            }
            try await phone.fetch()
            let code = await later.value?.value
            #expect(code == .some(nil))
        }
    }

    @Test(
        "[E-15] a fetch stays in its scope, prioritised zones go first, and zones without changes are skipped"
    )
    func scopes() async throws {
        try await withSyncStage { stage in
            for name in ["A", "B", "C", "D"] { try await fill(stage, ["\(name)1"], in: name) }
            let ids = ["A", "B", "C", "D", "Unknown"].map { CKRecordZone.ID(zoneName: $0) }
            let phone = try await stage.replica("phone")
            try await phone.fetch(.zoneIDs([ids[1], ids[4]]))
            let begun = await phone.takeTrace().filter { $0.hasPrefix("will fetch") }
            #expect(begun == ["will fetch manual", "will fetch B"])
            let state = await phone.engine.state
            #expect(Set(state.zoneIDsWithUnfetchedServerChanges) == [ids[0], ids[2], ids[3]])
            var options = CKSyncEngine.FetchChangesOptions(scope: .allExcluding([ids[0]]))
            options.prioritizedZoneIDs = [ids[4], ids[3]]
            try await phone.engine.fetchChanges(options)
            #expect(
                await phone.takeTrace().filter { $0.hasPrefix("will fetch") }
                    == ["will fetch manual", "will fetch D", "will fetch C"])
            #expect(state.zoneIDsWithUnfetchedServerChanges == [ids[0]])
            // The delegate decides last, before every request.
            await phone.change { $0.fetchOptions = { _ in .init(scope: .zoneIDs([])) } }
            try await phone.fetch()
            #expect(state.zoneIDsWithUnfetchedServerChanges == [ids[0]])
            await phone.change { $0.fetchOptions = nil }
            try await phone.fetch()
            #expect(state.zoneIDsWithUnfetchedServerChanges.isEmpty)
        }
    }

    @Test("[E-09] a client that stores data with each state misses nothing, wherever it is interrupted")
    func cutOff() async throws {
        try await withSyncStage { stage in
            try await fill(stage, (1...450).map { "n\($0)" })
            try await stage.database("other").deleteRecord(withID: Replica.recordID("n7"))
            let disks = Locked<[Replica.Stored]>([Replica.Stored()])
            let phone = try await stage.replica("phone")
            await phone.change { habits in
                habits.onEvent = { [weak phone] event, _ in
                    guard case .stateUpdate = event, let phone else { return }
                    disks.append(await phone.disk)
                }
            }
            try await phone.fetch()
            await phone.write("mine", "1")
            try await phone.send()
            disks.append(await phone.disk)
            #expect(disks.value.count > 5)
            for disk in disks.value {
                let stored = try JSONDecoder().decode(Replica.Stored.self, from: try JSONEncoder().encode(disk))
                let restarted = try await stage.replica("phone", stored)
                try await restarted.fetch()
                let texts = await restarted.texts
                #expect(texts.count == 450)
                #expect(texts["mine"] == "1")
                #expect(texts["n7"] == nil)
            }
        }
    }

    @Test("[E-09] a state is reported also after the program's own changes, once for many")
    func ownChanges() async throws {
        try await withSyncStage { stage in
            let phone = try await stage.replica("phone")
            await phone.write("a", "1")
            await stage.cloud.settle()
            let disk = await phone.disk
            #expect(disk.state != nil)
            #expect(disk.notes["a"]?.text == "1")
            let restarted = try await stage.replica("phone", disk)
            #expect(await restarted.engine.state.pendingRecordZoneChanges == [.saveRecord(Replica.recordID("a"))])
            #expect(await restarted.trace.isEmpty)
        }
    }

    @Test("[Z-07] a zone that another device deletes is reported with its reason, and sending to it creates it again")
    func deletedZone() async throws {
        try await withSyncStage { stage in
            try await fill(stage, ["a", "b"])
            let phone = try await stage.replica("phone")
            try await phone.fetch()
            try await stage.database("other").deleteRecordZone(withID: Replica.zoneID)
            await phone.write("a", "2")
            #expect(await thrownCode { try await phone.send() } == .partialFailure)
            #expect(await phone.failures.map(\.code) == [.zoneNotFound])
            #expect(await phone.engine.state.pendingDatabaseChanges.count == 1)
            try await phone.send()
            #expect(try await stage.serverTexts() == ["a": "2"])

            try await stage.database("other").deleteRecordZone(withID: Replica.zoneID)
            _ = await phone.takeTrace()
            try await phone.fetch()
            #expect(await phone.takeTrace()[1].hasSuffix("gone [\"Notes deleted\"]"))
            #expect(await phone.texts.isEmpty)
        }
    }

    @Test("[T-09] after an expired token the engine starts over, and reports a zone that is gone by then")
    func expiredTokens() async throws {
        try await withSyncStage { stage in
            try await fill(stage, ["a"])
            try await fill(stage, ["x"], in: "Other")
            let phone = try await stage.replica("phone")
            try await phone.fetch()
            _ = await phone.takeTrace()
            try await stage.database("other").deleteRecordZone(withID: CKRecordZone.ID(zoneName: "Other"))
            try await fill(stage, ["b"])
            stage.cloud.faults.fail(.operation(.fetchDatabaseChanges), with: .changeTokenExpired)
            stage.cloud.faults.fail(.operation(.fetchZoneChanges), with: .changeTokenExpired)
            try await phone.fetch()
            let trace = await phone.takeTrace()
            #expect(trace.contains("fetched zones [] gone [\"Other deleted\"]"))
            #expect(trace.contains("fetched +2 -0"))
            #expect(await phone.texts == ["a": "1", "b": "1"])
        }
    }

    @Test("[T-09][E-09] a zone that is gone is reported after an expired token, although the new list was interrupted")
    func interruptedList() async throws {
        try await withSyncStage { stage in
            let database = try stage.database("other")
            // The list has two pages.
            let zones = (0...200).map { CKRecordZone(zoneName: "Z\($0)") }
            for half in [zones[..<100], zones[100...]] {
                _ = try await database.modifyRecordZones(saving: Array(half), deleting: [])
            }
            let phone = try await stage.replica("phone")
            try await phone.fetch()
            try await database.deleteRecordZone(withID: zones[0].zoneID)
            try await database.save(CKRecordZone(zoneName: "Z201"))
            _ = await phone.takeTrace()
            stage.cloud.faults.fail(.operation(.fetchDatabaseChanges), with: .changeTokenExpired)
            let isReached = Locked(false)
            await phone.change { habits in
                habits.onEvent = { event, _ in
                    guard case .fetchedDatabaseChanges = event, !isReached.exchange(true) else { return }
                    stage.cloud.faults.fail(.operation(.fetchDatabaseChanges), with: .networkFailure)
                }
            }
            #expect(await thrownCode { try await phone.fetch() } == .networkFailure)
            try await phone.fetch()
            let trace = await phone.takeTrace()
            #expect(trace.contains("fetched zones [] gone [\"Z0 deleted\"]"))
        }
    }

    @Test("[T-06][T-09] a zone that was recreated meanwhile is reported as deleted before its new contents")
    func recreatedZone() async throws {
        try await withSyncStage { stage in
            try await fill(stage, ["a", "b"])
            let phone = try await stage.replica("phone")
            try await phone.fetch()
            try await stage.database("other").deleteRecordZone(withID: Replica.zoneID)
            try await fill(stage, ["c"])
            _ = await phone.takeTrace()
            try await phone.fetch()
            #expect(
                await phone.takeTrace() == [
                    "will fetch manual", "fetched zones [\"Notes\"] gone []", "will fetch Notes",
                    "fetched zones [] gone [\"Notes deleted\"]", "fetched +1 -0", "did fetch Notes",
                    "did fetch manual",
                ])
            #expect(await phone.texts == ["c": "1"])
        }
    }

    @Test("[O-08] cancelling ends running work with operationCancelled, and loses nothing")
    func cancelling() async throws {
        try await withSyncStage { stage in
            try await fill(stage, (1...300).map { "n\($0)" })
            let phone = try await stage.replica("phone")
            let isReached = Locked(false)
            await phone.change { habits in
                habits.onEvent = { event, engine in
                    guard case .fetchedRecordZoneChanges = event, !isReached.exchange(true) else { return }
                    await engine.cancelOperations()
                }
            }
            #expect(await thrownCode { try await phone.fetch() } == .operationCancelled)
            #expect(await phone.trace.last == "did fetch manual")
            try await phone.fetch()
            #expect(await phone.texts.count == 300)

            let task = Task { await thrownCode { try await phone.fetch() } }
            task.cancel()
            let code = await task.value
            #expect(code == .some(.operationCancelled) || code == .some(nil))
            await phone.engine.cancelOperations()
        }
    }
}
