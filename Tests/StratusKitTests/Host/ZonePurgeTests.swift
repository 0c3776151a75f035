// A host deletes a person's zone on their behalf, as Settings does: what their apps see, and what is deleted.

import Foundation
import StratusKit
import Testing

@Suite("Purged zones")
struct ZonePurgeTests {
    private static let container = "iCloud.test"
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private func make() async throws -> (store: Stratus, account: Stratus.Account, database: CKDatabase) {
        let (store, account) = try Stratus.tested()
        let database = store.container(Self.container, signedInAs: account).privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        _ = try await database.save(note("a", in: "Notes"))
        return (store, account, database)
    }

    private func code<Value>(_ body: () async throws -> Value) async -> CKError.Code? {
        do {
            _ = try await body()
            return nil
        } catch { return (error as? CKError)?.code ?? .internalError }
    }

    @Test("[Z-07][S-12] after a purge every request for the zone is userDeletedZone, until an app creates it again")
    func userDeleted() async throws {
        let (store, account, database) = try await make()
        try await onThread { try store.purgeZone(zoneID, of: account, inContainer: Self.container) }
        let recordID = CKRecord.ID(recordName: "a", zoneID: zoneID)
        #expect(await code { try await database.record(for: recordID) } == .userDeletedZone)
        #expect(await code { try await database.save(note("b", in: "Notes")) } == .userDeletedZone)
        #expect(await code { try await database.deleteRecord(withID: recordID) } == .userDeletedZone)
        #expect(await code { try await database.recordZone(for: zoneID) } == .userDeletedZone)
        #expect(await code { try await database.deleteRecordZone(withID: zoneID) } == .userDeletedZone)
        #expect(try await database.allRecordZones().map(\.zoneID.zoneName) == [CKRecordZone.ID.defaultZoneName])
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        #expect(await code { try await database.record(for: recordID) } == .unknownItem)
        #expect(await code { try await database.save(note("b", in: "Notes")) } == nil)
    }

    @Test("[Z-08] after a loss of keys it is zoneNotFound with the mark, and for an unknown zone without it")
    func encryptedDataReset() async throws {
        let (store, account, database) = try await make()
        try await onThread {
            try store.purgeZone(zoneID, of: account, inContainer: Self.container, reason: .encryptedDataReset)
        }
        for (name, isMarked) in [("Notes", true), ("Never", false)] {
            let error = try await #require(throws: CKError.self) {
                try await database.recordZone(for: CKRecordZone.ID(zoneName: name))
            }
            #expect(error.code == .zoneNotFound)
            #expect((error.userInfo[CKErrorUserDidResetEncryptedDataKey] as? NSNumber)?.boolValue ?? false == isMarked)
        }
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        #expect(await code { try await database.save(note("b", in: "Notes")) } == nil)
    }

    @Test("[Z-04] what cannot be purged is refused with its own code, and nothing changes")
    func refusals() async throws {
        let (store, account, database) = try await make()
        let other = try await store.createAccount(.init(), externalID: "other")
        let gone = try await store.createAccount(.init(), externalID: "gone")
        try await onThread { try store.deleteAccountWithAllData(gone) }
        let theirs = CKRecordZone.ID(zoneName: "Notes", ownerName: other.userRecordName)
        let never = CKRecordZone.ID(zoneName: "Never")
        let container = Self.container
        let refused: [(CKRecordZone.ID, Stratus.Account, String, StratusError.Code)] = [
            (zoneID, gone, container, .unknownAccount), (zoneID, other, container, .unknownZone),
            (never, account, container, .unknownZone), (zoneID, account, "iCloud.other", .unknownZone),
            (theirs, account, container, .invalidArgument),
        ]
        for (zone, account, container, code) in refused {
            let error = try await onThread {
                do {
                    try store.purgeZone(zone, of: account, inContainer: container)
                    return StratusError.Code?.none
                } catch { return (error as? StratusError)?.code }
            }
            #expect(error == code, "\(zone)")
        }
        #expect(await code { try await database.record(for: .init(recordName: "a", zoneID: zoneID)) } == nil)
        // A second purge finds no zone, and the reason stays.
        try await onThread { try store.purgeZone(zoneID, of: account, inContainer: container) }
        await #expect(throws: StratusError.self) {
            try await onThread {
                try store.purgeZone(zoneID, of: account, inContainer: container, reason: .encryptedDataReset)
            }
        }
        #expect(await code { try await database.recordZone(for: zoneID) } == .userDeletedZone)
    }

    @Test("[S-16] usage falls at once, also for the default zone, which stays as an empty zone")
    func usage() async throws {
        let (store, account, database) = try await make()
        let directory = try HostDirectory()
        let file = directory.url.appendingPathComponent("photo")
        try Data(repeating: 7, count: 10_000).write(to: file)
        for zone in ["Notes", nil] {
            let record = note("photo", in: zone)
            record["file"] = CKAsset(fileURL: file)
            try await database.save(record)
        }
        #expect(try await store.usageByteCount(of: account) > 20_000)
        try await onThread { try store.purgeZone(zoneID, of: account, inContainer: Self.container) }
        #expect((10_000..<20_000).contains(try await store.usageByteCount(of: account)))
        try await onThread { try store.purgeZone(.default, of: account, inContainer: Self.container) }
        #expect(try await store.usageByteCount(of: account) == 0)
        #expect(await code { try await database.record(for: .init(recordName: "photo")) } == .unknownItem)
        #expect(await code { try await database.save(note("new")) } == nil)
        try await onThread { try store.performUpkeep() }
        #expect(await code { try await database.record(for: .init(recordName: "new")) } == nil)
    }
}
