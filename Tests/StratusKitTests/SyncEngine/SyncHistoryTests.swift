// Several devices with engines, under all kinds of faults: after all have synced, each has the server's data, which a
// naive model has predicted.

import Foundation
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

/// One random history.
private struct SyncHistory {
    /// What may happen in addition to writing and syncing.
    struct Hardships {
        var deletes = false
        var deletesZones = false
        var faults = false
        var restarts = false
        var isAutomatic = false
    }

    let stage: SyncStage
    let hardships: Hardships
    var random: SplitMix64
    var devices: [Replica] = []
    /// The last text written under each name, which is the greatest.
    var written: [String: String] = [:]
    var everWritten: Set<String> = []
    var number = 0
    var log: [String] = []

    static let names = (0..<8).map { "n\($0)" }

    init(_ stage: SyncStage, _ hardships: Hardships, _ random: SplitMix64) async throws {
        (self.stage, self.hardships, self.random) = (stage, hardships, random)
        for name in ["phone", "tablet", "laptop"] {
            devices.append(try await stage.replica(name, isAutomatic: hardships.isAutomatic))
        }
        await devices[0].createZone()
        try? await devices[0].send()
        for device in devices { try await device.fetch() }
        await stage.settle()
    }

    mutating func step() async throws {
        let index = random.below(devices.count)
        let device = devices[index]
        switch random.below(20) {
        case 0...8: await write(device)
        case 9...11:
            await sync("\(device.name) sends") { try await device.send() }
            // A client that never fetches does not learn that a zone was recreated.
            if hardships.deletesZones { await sync("\(device.name) fetches too") { try await device.fetch() } }
        case 12...14: await sync("\(device.name) fetches") { try await device.fetch() }
        case 15 where hardships.deletes:
            let name = random.element(of: Self.names)
            log.append("\(device.name) deletes \(name)")
            await device.delete(name)
        case 16 where hardships.deletesZones && random.isOne(in: 4):
            log.append("\(device.name) deletes the zone")
            await device.engine.state.add(pendingDatabaseChanges: [.deleteZone(Replica.zoneID)])
        case 17 where hardships.restarts: try await restart(index)
        case 18, 19: if hardships.faults { plan() }
        default: break
        }
        if hardships.isAutomatic { await stage.settle() }
    }

    private mutating func write(_ device: Replica) async {
        number += 1
        let name = random.element(of: Self.names)
        let text = String(10_000 + number)
        (written[name], everWritten) = (text, everWritten.union(["\(name) \(text)"]))
        log.append("\(device.name) writes \(name) \(text)")
        await device.write(name, text)
        // The state is reported, so what was written is on the disk.
        await stage.settle()
    }

    private mutating func sync(_ what: String, _ body: () async throws -> Void) async {
        let code = await thrownCode(body)
        log.append(what + (code.map { ": \($0)" } ?? ""))
    }

    /// The program ends and restarts with its stored data.
    private mutating func restart(_ index: Int) async throws {
        let device = devices[index]
        log.append("\(device.name) restarts")
        let disk = try JSONDecoder().decode(Replica.Stored.self, from: try JSONEncoder().encode(await device.disk))
        await device.letGo()
        devices[index] = try await stage.replica(device.name, isAutomatic: hardships.isAutomatic, disk)
    }

    /// Plans a fault at every host.
    private mutating func plan() {
        let record = Replica.recordID(random.element(of: Self.names))
        let kind = random.below(8)
        for faults in stage.hosts.map(\.faults) {
            switch kind {
            case 0: faults.fail(.operation(.modifyRecords), with: .networkFailure)
            case 1: faults.fail(.operation(.fetchZoneChanges), with: .networkUnavailable)
            case 2: faults.fail(.operation(.fetchDatabaseChanges), with: .serviceUnavailable, retryAfter: 3)
            case 3: faults.fail(.zone(Replica.zoneID), with: .zoneBusy, retryAfter: 2)
            case 4: faults.fail(.record(record), with: .quotaExceeded)
            case 5: faults.loseAnswers(of: .modifyRecords)
            case 6: faults.fail(.operation(.fetchZoneChanges), with: .changeTokenExpired)
            default: faults.fail(.everything, with: .requestRateLimited, retryAfter: 5)
            }
        }
        log.append("a fault is planned")
    }

    /// Lets everything settle, and checks it.
    mutating func check() async throws {
        for host in stage.hosts { host.faults.removeAll() }
        if hardships.isAutomatic {
            for _ in 0..<8 {
                stage.clock.advance(by: 60)
                await stage.settle()
            }
        } else {
            for _ in 0..<4 {
                for device in devices {
                    await sync("\(device.name) fetches at last") { try await device.fetch() }
                    await sync("\(device.name) sends at last") { try await device.send() }
                }
            }
            for device in devices { try await device.fetch() }
        }
        let story = log.joined(separator: "\n")
        let server = (try? await stage.serverTexts()) ?? [:]
        for device in devices {
            let texts = await device.texts
            #expect(texts == server, "\(device.name) differs from the server:\n\(story)")
            let state = await device.engine.state
            #expect(state.pendingRecordZoneChanges.isEmpty, "\(device.name) has not sent all:\n\(story)")
        }
        for (name, text) in server {
            #expect(everWritten.contains("\(name) \(text)"), "\(name) \(text) was never written:\n\(story)")
        }
        guard !hardships.deletes, !hardships.deletesZones else { return }
        #expect(server == written, "something was lost:\n\(story)")
    }
}

@Suite("Histories of sync engines") struct SyncHistoryTests {
    private func run(
        _ count: Int, _ seed: UInt64, _ hardships: SyncHistory.Hardships, steps: Int = 40
    ) async throws {
        let random = SplitMix64.announced("sync histories", defaultSeed: seed)
        let isOnServer = TestStores.chosen?.isOnServer == true
        for index in 0..<(isOnServer ? min(count, Int(PostgresTestStore.historyCount)) : count) {
            try await withSyncStage(isShared: true) { stage in
                var history = try await SyncHistory(stage, hardships, random.generator(forCase: index))
                for _ in 0..<steps { try await history.step() }
                try await history.check()
            }
        }
    }

    @Test("[E-04][E-06] devices that sync manually converge, and the last text of every note wins")
    func plain() async throws { try await run(6, 1, .init()) }

    @Test("[E-04][E-06] devices of a store at the other end of a wire converge, too")
    func overWire() async throws {
        try await TestStores.$chosen.withValue(.wire) {
            try await run(1, 7, .init(deletes: true, faults: true, restarts: true))
        }
    }

    @Test(
        """
        [E-04][E-06][E-07][E-09] devices that use two or four hosts of one store, and another one after each restart, \
        lose no write
        """, arguments: [2, 4])
    func onManyHosts(hostCount: Int) async throws {
        try await TestStores.withHosts(hostCount) {
            try await run(2, 8, .init())
            try await run(3, 9, .init(faults: true, restarts: true))
        }
    }

    @Test(
        "[E-06][Z-07] devices of two or four hosts agree on deletions of notes and zones, with faults and restarts",
        arguments: [2, 4])
    func deletionsOnManyHosts(hostCount: Int) async throws {
        try await TestStores.withHosts(hostCount) {
            try await run(4, 10, .init(deletes: true, deletesZones: true, faults: true, restarts: true))
        }
    }

    @Test(
        "[E-07][E-12] engines at two or four hosts that sync automatically converge, and lose nothing by faults and restarts",
        arguments: [2, 4])
    func automaticOnManyHosts(hostCount: Int) async throws {
        try await TestStores.withHosts(hostCount) {
            try await run(2, 11, .init(isAutomatic: true))
            try await run(2, 12, .init(faults: true, restarts: true, isAutomatic: true))
            try await run(
                2, 13, .init(deletes: true, deletesZones: true, faults: true, restarts: true, isAutomatic: true))
        }
    }

    @Test("[E-07][E-09] with faults and restarts no write is lost")
    func hard() async throws { try await run(10, 2, .init(faults: true, restarts: true)) }

    @Test("[E-06][Z-07] with deletions of notes and zones, faults and restarts, all devices have the server's data")
    func deletions() async throws {
        try await run(10, 3, .init(deletes: true, deletesZones: true, faults: true, restarts: true))
    }

    @Test("[E-07][E-12] engines that sync automatically converge without calls")
    func automatic() async throws { try await run(6, 4, .init(isAutomatic: true)) }

    @Test("[E-07][E-12] engines that sync automatically survive faults and restarts, and lose nothing")
    func automaticHard() async throws { try await run(6, 5, .init(faults: true, restarts: true, isAutomatic: true)) }

    @Test("[E-07][E-12] engines that sync automatically agree on deletions of notes and zones")
    func automaticDeletions() async throws {
        try await run(6, 6, .init(deletes: true, deletesZones: true, faults: true, restarts: true, isAutomatic: true))
    }
}
