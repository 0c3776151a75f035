// A client's data about its own writes returns with the feed (T-11).

import Foundation
import StratusKit
import StratusSharingSupport
import Synchronization
import Testing

@Suite("Clients' own change tokens")
struct ClientDataTests {
    /// Saves with client data; how the saved record's own result ended.
    private func save(_ record: CKRecord, _ data: String, as person: Person, _ place: Place) async -> Outcome {
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.savePolicy = .changedKeys
        operation.clientChangeTokenData = Data(data.utf8)
        let outcome = Mutex<Outcome?>(nil)
        operation.perRecordSaveBlock = { _, result in outcome.withLock { $0 = Outcome(result) } }
        await withCheckedContinuation { continuation in
            operation.modifyRecordsResultBlock = { result in
                if case .failure = result { outcome.withLock { $0 = Outcome(result) } }
                continuation.resume()
            }
            person.database(place).add(operation)
        }
        return outcome.withLock { $0 } ?? .done
    }

    /// The data that the feed returns with its last token.
    private func data(as person: Person, _ place: Place, since token: CKServerChangeToken?) async -> String? {
        let id = person.zoneID(place)
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [id], configurationsByRecordZoneID: [id: .init(previousServerChangeToken: token)])
        let data = Mutex<Data?>(nil)
        operation.recordZoneFetchResultBlock = { _, result in
            data.withLock { $0 = (try? result.get())?.clientChangeTokenData }
        }
        await withCheckedContinuation { continuation in
            operation.fetchRecordZoneChangesResultBlock = { _ in continuation.resume() }
            person.database(place).add(operation)
        }
        return data.withLock { $0 }.map { String(decoding: $0, as: UTF8.self) }
    }

    private func record(_ name: String, _ value: Int, _ person: Person, _ place: Place) -> CKRecord {
        let record = person.fresh(name, in: place)
        record["value"] = value
        return record
    }

    @Test("[T-11] a change token returns to its sender with the change, and to no one else")
    func echo() async throws {
        let tree = try await TreeTown()
        let (owner, ann, place) = (tree.owner, tree.ann, tree.place)
        try await tree.share("top", with: ann)
        let (token, annsToken) = (try await owner.pull(place).token, try await ann.pull(place).token)
        #expect(await data(as: owner, place, since: token) == nil)
        #expect(await save(record("leaf", 3, owner, place), "first", as: owner, place) == .done)
        #expect(await data(as: owner, place, since: token) == "first")
        #expect(await data(as: ann, place, since: annsToken) == nil)
        #expect(await save(record("leaf", 4, ann, place), "hers", as: ann, place) == .done)
        #expect(await data(as: ann, place, since: annsToken) == "hers")
        #expect(await data(as: owner, place, since: token) == "first")
        #expect(await save(record("leaf", 5, owner, place), "second", as: owner, place) == .done)
        #expect(await data(as: owner, place, since: token) == "second")
    }

    @Test("[T-11] a request that repeats a processed change has no effect")
    func repeated() async throws {
        let tree = try await TreeTown()
        let (owner, place) = (tree.owner, tree.place)
        #expect(await save(record("leaf", 3, owner, place), "once", as: owner, place) == .done)
        #expect(await owner.change("leaf", to: 7, in: place) == .done)
        let token = try await owner.pull(place).token
        _ = await save(record("leaf", 3, owner, place), "once", as: owner, place)
        #expect(try await owner.record("leaf", in: place)["value"] as? Int == 7)
        #expect(try await owner.pull(place, since: token).names == [])
        // Other data, another request.
        #expect(await save(record("leaf", 8, owner, place), "twice", as: owner, place) == .done)
        #expect(try await owner.record("leaf", in: place)["value"] as? Int == 8)
    }
}
