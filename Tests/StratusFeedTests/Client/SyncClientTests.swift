// Clients of an owner and of two participants, during random histories: after each synchronisation they have the
// server's state.

import Foundation
import StratusKit
import StratusSharingSupport
import StratusTestSupport
import Testing

@Suite("Clients that synchronise")
struct SyncClientTests {
    /// A client, and its owner.
    private struct Device {
        let user: Int
        let isShared: Bool
        var client: SyncClient
    }

    @Test(
        "[T-01][T-09][T-15][D-01] a client that keeps archived tokens has the server's state after every synchronisation",
        arguments: 1...12 as ClosedRange<UInt64>)
    func convergence(seed: UInt64) async throws {
        let clock = Stratus.ManualClock()
        var performer = try SharingPerformer { $0.clock = .manual(clock) }
        let oracle = FeedOracle()
        var generator = SharingGenerator(seed: seed, zones: [0, 1, 2])
        var random = SplitMix64(seed: seed)
        var devices: [Device] = []
        for (user, isShared) in [(0, false), (0, true), (1, false), (1, true), (2, true)] {
            let client = SyncClient(
                user, of: performer.town, isShared: isShared, pageLimit: random.element(of: [0, 1, 3]))
            devices.append(Device(user: user, isShared: isShared, client: client))
        }
        for step in generator.begin() { try await carryOut(step, &performer, oracle) }
        for round in 0..<12 {
            for _ in 0..<8 { try await carryOut(generator.next(), &performer, oracle) }
            if round == 8 {
                clock.advance(by: 40 * 24 * 3600)
                try await performer.town.store.performUpkeep()
            }
            for index in devices.indices where !oracle.isSuspended(devices[index].user) {
                // Some stay away for long.
                if random.isOne(in: 4), round != 11 { continue }
                try await devices[index].client.fetchDatabase()
                if random.isOne(in: 4), round != 11 {
                    // Something happens meanwhile: the contents are unknown until the next time.
                    try await carryOut(generator.next(), &performer, oracle)
                    guard !oracle.isSuspended(devices[index].user) else { continue }
                    try await devices[index].client.fetchZones()
                } else {
                    try await devices[index].client.fetchZones()
                    compare(devices[index], performer, oracle, "seed \(seed), round \(round)")
                }
            }
        }
    }

    private func carryOut(_ step: SharingStep, _ performer: inout SharingPerformer, _ oracle: FeedOracle) async throws {
        let outcome = await performer.carryOut(step)
        #expect(oracle.apply(step).contains(outcome), "\(step)")
        guard outcome.isDone, case .share(let user, let zone, _, let share) = step.sharing else { return }
        let saved = try await performer.town.people[user].shareRecord(share, in: performer.place(zone))
        if let url = saved.url { performer.learn(url, of: share, zone) }
    }

    private func compare(_ device: Device, _ performer: SharingPerformer, _ oracle: FeedOracle, _ when: String) {
        let person = performer.town.people[device.user]
        var wanted: [CKRecordZone.ID: [String: String]] = [:]
        for zone in oracle.zones(of: device.user, isShared: device.isShared) {
            wanted[person.zoneID(performer.place(zone))] = oracle.view(device.user, zone, at: oracle.moment)
        }
        let held = device.client.zones.mapValues(\.records)
        #expect(held == wanted, "\(when), person \(device.user)")
    }
}

extension SharingStep {
    /// The same step, with the share of a zone treated like one of a record.
    fileprivate var sharing: SharingStep {
        if case .shareZone(let user, let zone) = self {
            return .share(user: user, zone: zone, root: "", share: SharingHistory.zoneShare)
        }
        return self
    }
}
