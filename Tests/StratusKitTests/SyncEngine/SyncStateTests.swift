// An engine's state in the program's hands, and the values that engines and programs exchange.

import Foundation
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

@Suite("Parts of sync engines") struct SyncStateTests {
    /// A state with a bit of everything in it.
    private func stored(_ stage: SyncStage) async throws -> CKSyncEngine.State.Serialization {
        let other = try stage.database("other")
        for name in ["A", "B"] { try await other.save(CKRecordZone(zoneName: name)) }
        let phone = try await stage.replica("phone")
        try await phone.fetch(.zoneIDs([CKRecordZone.ID(zoneName: "A")]))
        let encrypted = CKRecordZone(zoneName: "C")
        encrypted.encryptionScope = .perZone
        let state = await phone.engine.state
        state.add(pendingDatabaseChanges: [
            .deleteZone(CKRecordZone.ID(zoneName: "B")), .saveZone(encrypted), .saveZone(CKRecordZone(zoneName: "D")),
        ])
        state.add(pendingRecordZoneChanges: [
            .saveRecord(Replica.recordID("1")), .deleteRecord(CKRecord.ID(recordName: "2", zoneID: encrypted.zoneID)),
            .saveRecord(Replica.recordID("2")),
        ])
        state.hasPendingUntrackedChanges = true
        await stage.cloud.settle()
        return try #require(await phone.disk.state)
    }

    @Test("[E-09] a state round-trips through JSON and through a property list")
    func coding() async throws {
        try await withSyncStage { stage in
            let state = try await stored(stage)
            let json = try JSONDecoder().decode(
                CKSyncEngine.State.Serialization.self, from: try JSONEncoder().encode(state))
            let list = try PropertyListDecoder().decode(
                CKSyncEngine.State.Serialization.self, from: try PropertyListEncoder().encode(json))
            let sorted = JSONEncoder()
            sorted.outputFormatting = .sortedKeys
            #expect(try sorted.encode(list) == sorted.encode(state))
            let replica = try await stage.replica("phone", Replica.Stored(state: list))
            let restored = await replica.engine.state
            #expect(
                restored.pendingRecordZoneChanges == [
                    .saveRecord(Replica.recordID("1")),
                    .deleteRecord(CKRecord.ID(recordName: "2", zoneID: CKRecordZone.ID(zoneName: "C"))),
                    .saveRecord(Replica.recordID("2")),
                ])
            #expect(
                restored.pendingDatabaseChanges == [
                    .deleteZone(CKRecordZone.ID(zoneName: "B")), .saveZone(CKRecordZone(zoneName: "C")),
                    .saveZone(CKRecordZone(zoneName: "D")),
                ])
            guard case .saveZone(let zone) = restored.pendingDatabaseChanges[1] else { return }
            #expect(zone.encryptionScope == .perZone)
            #expect(restored.hasPendingUntrackedChanges)
            #expect(restored.zoneIDsWithUnfetchedServerChanges == [CKRecordZone.ID(zoneName: "B")])
            // Its tokens are valid: only unfetched changes come.
            try await replica.fetch()
            #expect(await replica.trace.filter { $0.hasPrefix("will fetch") } == ["will fetch manual", "will fetch B"])
        }
    }

    @Test("[E-09] a damaged state is an error of decoding, never a trap")
    func damage() async throws {
        try await withSyncStage { stage in
            struct Outer: Codable { var data: Data }
            let state = try await stored(stage)
            let bytes = try JSONDecoder().decode(Outer.self, from: try JSONEncoder().encode(state)).data
            func decode(_ bytes: Data) -> Bool {
                guard let json = try? JSONEncoder().encode(Outer(data: bytes)) else { return false }
                return (try? JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: json)) != nil
            }
            #expect(decode(bytes))
            for count in 0..<bytes.count where decode(Data(bytes.prefix(count))) {
                Issue.record("cut off after \(count) bytes it is decoded")
            }
            let text = try #require(String(data: bytes, encoding: .utf8))
            #expect(!decode(Data(text.replacingOccurrences(of: "\"version\":1", with: "\"version\":2").utf8)))
            #expect(!decode(Data(text.replacingOccurrences(of: "\"zone\":", with: "\"zone\":9").utf8)))
            #expect(!decode(Data(text.replacingOccurrences(of: "\"name\":\"B\"", with: "\"name\":\"A\"").utf8)))
            var random = SplitMix64.announced("damaged sync states")
            for _ in 0..<500 {
                var damaged = bytes
                damaged[random.below(damaged.count)] = UInt8(random.below(256))
                let json = try JSONEncoder().encode(Outer(data: damaged))
                // Every decoded state can start an engine.
                guard let state = try? JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: json) else {
                    continue
                }
                let replica = try await stage.replica("phone", Replica.Stored(state: state))
                _ = await replica.engine.state.pendingRecordZoneChanges
            }
        }
    }

    @Test("[X-24] tokens that the store did not create are refused, and the engine starts over")
    func foreignTokens() async throws {
        var state: CKSyncEngine.State.Serialization?
        try await withSyncStage { state = try await stored($0) }
        let foreign = try #require(state)
        try await withSyncStage { stage in
            let database = try stage.database("other")
            try await database.save(CKRecordZone(zoneID: Replica.zoneID))
            let replica = try await stage.replica("phone", Replica.Stored(state: foreign))
            try await replica.fetch()
            #expect(await replica.trace.contains("will fetch Notes"))
        }
    }

    @Test("scopes contain what they name")
    func scopes() {
        let (a, b) = (CKRecordZone.ID(zoneName: "A"), CKRecordZone.ID(zoneName: "B"))
        let (inA, inB) = (CKRecord.ID(recordName: "1", zoneID: a), CKRecord.ID(recordName: "1", zoneID: b))
        typealias Fetch = CKSyncEngine.FetchChangesOptions.Scope
        typealias Send = CKSyncEngine.SendChangesOptions.Scope
        func zones(_ scope: Fetch) -> [Bool] { [scope.contains(a), scope.contains(b)] }
        func records(_ scope: Send) -> [Bool] {
            #expect(scope.contains(.saveRecord(inA)) == scope.contains(inA))
            #expect(scope.contains(.deleteRecord(inB)) == scope.contains(inB))
            return [scope.contains(inA), scope.contains(inB)]
        }
        #expect(zones(.all) == [true, true])
        #expect(records(.all) == [true, true])
        #expect(zones(.allExcluding([a])) == [false, true])
        #expect(records(.allExcluding([a])) == [false, true])
        #expect(zones(.zoneIDs([a])) == [true, false])
        #expect(records(.zoneIDs([a])) == [true, false])
        #expect(records(.recordIDs([inB])) == [false, true])
        #expect(Fetch.zoneIDs([a]) == .zoneIDs([CKRecordZone.ID(zoneName: "A")]))
        #expect(Fetch.all != .zoneIDs([a]))
        #expect(Send.recordIDs([inA]) != .recordIDs([inB]))
    }

    @Test("values and events have descriptions for logs")
    func descriptions() async throws {
        try await withSyncStage { stage in
            let lines = Locked<[String]>([])
            var habits = Replica.Habits()
            habits.onEvent = { event, engine in lines.append("\(event)") }
            let replica = try await Replica.started("phone", try stage.database("phone"), habits: habits)
            await replica.createZone()
            await replica.write("a", "1")
            try await replica.send()
            try await replica.fetch()
            let names = Set(lines.value.map { String($0.prefix { $0 != "(" }) })
            #expect(
                names == [
                    "stateUpdate", "accountChange", "willSendChanges", "sentDatabaseChanges", "sentRecordZoneChanges",
                    "didSendChanges", "willFetchChanges", "fetchedDatabaseChanges", "willFetchRecordZoneChanges",
                    "fetchedRecordZoneChanges", "didFetchRecordZoneChanges", "didFetchChanges",
                ])
            let engine = await replica.engine
            #expect("\(engine)".contains("automaticallySync=false"))
            #expect("\(CKSyncEngine.SyncReason.manual)" == "manual")
            #expect("\(CKSyncEngine.SyncReason.scheduled)" == "scheduled")
            let id = Replica.recordID("a")
            #expect("\(CKSyncEngine.PendingRecordZoneChange.saveRecord(id))".hasPrefix("saveRecord("))
            #expect("\(CKSyncEngine.PendingRecordZoneChange.deleteRecord(id))".hasPrefix("deleteRecord("))
            #expect("\(CKSyncEngine.PendingDatabaseChange.deleteZone(id.zoneID))".hasPrefix("deleteZone("))
            #expect("\(CKSyncEngine.FetchChangesOptions())".contains("scope=all"))
            #expect("\(CKSyncEngine.SendChangesOptions(scope: .recordIDs([id])))".contains("recordIDs"))
            #expect("\(CKSyncEngine.RecordZoneChangeBatch(recordIDsToDelete: [id]))".contains("1 to delete"))
        }
    }
}
