// A store on LevelDB, or hosts of one store, with a clock that stands still, and devices of people in it.

import Foundation
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

final class SyncStage: Sendable {
    static let container = "iCloud.com.example.notes"

    let directory: HostDirectory
    let clock = Stratus.ManualClock()
    let cloud: Stratus
    /// All hosts of the store. Devices use them in turn, and another one after each restart.
    let hosts: [Stratus]
    let alice: Stratus.Account
    private let turn = Locked(0)

    /// With `isShared` the store has several hosts, where the chosen kind of stores has them.
    init(isShared: Bool = false, _ change: (inout Stratus.Options) -> Void = { _ in }) throws {
        directory = try HostDirectory()
        let clock = clock
        func settings(_ options: inout Stratus.Options) {
            options.clock = .manual(clock)
            // Not in the closure, which runs outside of this task.
            if let kind = TestStores.chosen {
                options.makeMemoryStore = { try TestStores.$chosen.withValue(kind) { try TestStores.make() } }
            }
            change(&options)
        }
        let options = Stratus.Options.tested(settings)
        let shared = try isShared ? Stratus.testedHosts(settings) : nil
        cloud =
            try shared?.first
            ?? (options.makeMemoryStore == nil
                ? Stratus.open(at: directory.store, options: options) : Stratus.inMemory(options: options))
        hosts = shared ?? [cloud]
        alice = try cloud.createAccount(.init(emails: ["alice@example.com"]), externalID: "alice")
    }

    /// The private database of a person on a device, at the host whose turn it is.
    func database(_ device: String, of account: Stratus.Account? = nil) throws -> CKDatabase {
        let host = hosts[turn.takeNext() % hosts.count]
        return try host.device(device, signedInAs: account ?? alice).container(Self.container).privateCloudDatabase
    }

    /// Waits until every host has done what it can. Where there are several, each then looks for what the others have
    /// done, as it does every few seconds: once for the host that delivers, and once for those that hear of it.
    func settle() async {
        for host in hosts { await host.settle() }
        guard hosts.count > 1 else { return }
        for _ in 0..<2 {
            for host in hosts { host.session.hub.wake() }
            for host in hosts { await host.settle() }
        }
    }

    func close() { for host in hosts { host.close() } }

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
        var texts: [String: String] = [:]
        var (token, isMoreComing): (CKServerChangeToken?, Bool) = (nil, true)
        while isMoreComing {
            let page = try await database("observer").recordZoneChanges(inZoneWith: zoneID, since: token)
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
    isShared: Bool = false, _ change: (inout Stratus.Options) -> Void = { _ in },
    _ body: (SyncStage) async throws -> Void
) async throws {
    let stage = try SyncStage(isShared: isShared, change)
    do {
        try await body(stage)
    } catch {
        try await TestThreads.offPool { stage.close() }
        throw error
    }
    try await TestThreads.offPool { stage.close() }
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
