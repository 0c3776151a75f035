// A store on LevelDB with a clock that stands still, and devices of people in it.

import Foundation
import StratusKit
import StratusTestSupport
import Testing

final class SyncStage: Sendable {
    static let container = "iCloud.com.example.notes"

    let directory: HostDirectory
    let clock = Stratus.ManualClock()
    let cloud: Stratus
    let alice: Stratus.Account

    init(_ change: (inout Stratus.Options) -> Void = { _ in }) throws {
        directory = try HostDirectory()
        let clock = clock
        let options = Stratus.Options.tested { options in
            options.clock = .manual(clock)
            // Not in the closure, which runs outside of this task.
            if let kind = TestStores.chosen {
                options.makeMemoryStore = { try TestStores.$chosen.withValue(kind) { try TestStores.make() } }
            }
            change(&options)
        }
        cloud =
            try options.makeMemoryStore == nil
            ? Stratus.open(at: directory.store, options: options) : Stratus.inMemory(options: options)
        alice = try cloud.createAccount(.init(emails: ["alice@example.com"]), externalID: "alice")
    }

    /// The private database of a person on a device.
    func database(_ device: String, of account: Stratus.Account? = nil) throws -> CKDatabase {
        try cloud.device(device, signedInAs: account ?? alice).container(Self.container).privateCloudDatabase
    }

    /// The private database of the signed-in account.
    var localDatabase: CKDatabase { cloud.container(Self.container).privateCloudDatabase }

    /// A program on a device.
    func replica(
        _ device: String, of account: Stratus.Account? = nil, isAutomatic: Bool = false, _ stored: Replica.Stored? = nil
    ) async throws -> Replica {
        try await Replica.started(device, try database(device, of: account), isAutomatic: isAutomatic, stored)
    }

    /// The texts of all records in a zone on the server, by name.
    func serverTexts(in zoneID: CKRecordZone.ID = Replica.zoneID) async throws -> [String: String] {
        let database = try database("observer")
        var texts: [String: String] = [:]
        var (token, isMoreComing): (CKServerChangeToken?, Bool) = (nil, true)
        while isMoreComing {
            let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
            for (id, result) in page.modificationResultsByID {
                texts[id.recordName] = try result.get().record["text"] as? String
            }
            (token, isMoreComing) = (page.changeToken, page.moreComing)
        }
        return texts
    }
}

/// Runs a test with a stage, and closes its store on a thread that may wait.
func withSyncStage(
    _ change: (inout Stratus.Options) -> Void = { _ in }, _ body: (SyncStage) async throws -> Void
) async throws {
    let stage = try SyncStage(change)
    do {
        try await body(stage)
    } catch {
        try await TestThreads.offPool { stage.cloud.close() }
        throw error
    }
    try await TestThreads.offPool { stage.cloud.close() }
}

/// The code of a thrown error; nil if there is none.
func thrownCode(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CKError)?.code ?? .internalError
    }
}
