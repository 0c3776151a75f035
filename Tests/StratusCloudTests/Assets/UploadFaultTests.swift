// Every step of a save with files into a store that has contents fails once: not done, or done without an answer. The
// steps are reads, transactions, and calls for contents. Afterwards the host goes on, or another one takes over.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("faults of uploads into the store")
struct UploadFaultTests {
    private static func save(_ name: String, _ files: Int...) -> RecordSave {
        let fields = Dictionary(
            uniqueKeysWithValues: files.map { ("file\($0)", ClientField(.file($0))) })
        return RecordSave(
            address: RecordAddress(recordName: name, zone: AssetTown.notes), type: "Note", fields: fields,
            changedKeys: Set(fields.keys))
    }

    @Test(
        "whatever step fails, no acknowledged content is lost, and after upkeep each content has an owner",
        arguments: FaultPlan.Effect.allCases, [false, true])
    func sweep(effect: FaultPlan.Effect, isTakenOver: Bool) throws {
        var stepCount = 0
        while try strikes(at: stepCount + 1, effect, isTakenOver: isTakenOver) {
            stepCount += 1
            try #require(stepCount < 1_000, "the save has no end")
        }
        #expect(stepCount == 8, "a save has other steps: look which")
    }

    /// Saves with a fault at a step, and checks what is left. Returns whether there was such a step.
    private func strikes(at step: Int, _ effect: FaultPlan.Effect, isTakenOver: Bool) throws -> Bool {
        let clock = HandClock()
        let store = FaultyStore(MemoryContents(partByteCount: 60) { UInt64(clock.uptimeSeconds * 1_000) })
        let town = try AssetTown(over: store)
        try town.makeZones(AssetTown.notes)
        _ = try town.modify([Self.save("kept", 0)]).saves[0].get()

        store.plan.fail(at: step, effect)
        let answer = try? town.modify([Self.save("new", 1, 2), Self.save("other", 2)])
        let isAcknowledged = (try? answer?.saves.map { try $0.get() }) != nil
        let hasStruck = store.plan.end()

        let next = isTakenOver ? try AssetTown(over: store, seed: 8) : town
        if isTakenOver { try next.service.removeLeftovers() }
        clock.advance(seconds: 61)
        try next.service.performUpkeep(historySeconds: nil, UpkeepPace(pause: {}))
        try check(next, store, holds: isAcknowledged ? ["kept", "new", "other"] : ["kept"], step)

        for result in try next.modify([Self.save("new", 1, 2), Self.save("other", 2)]).saves { _ = try result.get() }
        try next.service.performUpkeep(historySeconds: nil, UpkeepPace(pause: {}))
        try check(next, store, holds: ["kept", "new", "other"], step)
        #expect(store.memory.count == 3, "step \(step)")
        return hasStruck
    }

    private func check(_ town: AssetTown, _ store: FaultyStore, holds names: [String], _ step: Int) throws {
        let request = FetchRecordsRequest(
            addresses: names.map { RecordAddress(recordName: $0, zone: AssetTown.notes) })
        for record in try town.service.fetchRecords(request, as: town.caller(), in: .private).records {
            #expect(cloudErrorCode { try record.get() } == nil, "step \(step)")
        }
        let assets = try #require(town.service.assets)
        let verifier = AssetVerifier(engine: town.service.engine, store: assets)
        let report = try verifier.verifyCounts(addingTo: verifier.verify(), owner: { _ in town.alice.userName })
        #expect(report.findings.isEmpty, "step \(step): \(report.findings)")
        #expect(report.strayCount == 0, "step \(step)")
        let (owned, others) = try town.service.engine.read { reader in
            let others = try [GlobalKeyspace.uploads, .collecting].map {
                try reader.store.keys(in: GlobalKeys.keyspace($0)).count
            }
            return (try reader.store.keys(in: GlobalKeys.keyspace(.assets)).count, others)
        }
        #expect(others == [0, 0], "step \(step)")
        #expect(store.memory.count == owned, "step \(step)")
    }
}

/// Which step fails, and how.
final class FaultPlan: Sendable {
    enum Effect: CaseIterable, Sendable {
        /// Nothing is done.
        case nothing
        /// It is done, and the answer is lost.
        case everything
    }

    private struct State {
        var left = 0
        var effect = Effect.nothing
    }

    private let state = Locked(State())

    /// Lets the step with this number fail, counted from now.
    func fail(at step: Int, _ effect: Effect) { state.withLock { $0 = State(left: step, effect: effect) } }

    /// Ends the plan. Returns whether the step has failed.
    func end() -> Bool {
        state.withLock { state in
            defer { state.left = 0 }
            return state.left == 0
        }
    }

    func step<Result>(_ body: () throws -> Result) throws -> Result {
        let effect: Effect? = state.withLock { state in
            guard state.left > 0 else { return nil }
            state.left -= 1
            return state.left == 0 ? state.effect : nil
        }
        guard let effect else { return try body() }
        if effect == .everything { _ = try body() }
        throw StoreError(
            effect == .everything ? .commitUnknown : .unavailable, "A planned fault: look at what is left.")
    }
}

/// A store with contents, in memory, of which one step fails.
private final class FaultyStore: StoreWrapper {
    let plan = FaultPlan()
    let memory: MemoryContents
    let wrapped: any OrderedStore
    var contents: (any StoreContents)? { FaultyContents(memory, plan) }

    init(_ memory: MemoryContents) {
        self.memory = memory
        wrapped = MemoryStore()
    }

    func read<Result>(_ scope: ReadScope, _ body: (any StoreReader) throws -> Result) throws -> Result {
        try plan.step { try wrapped.read(scope, body) }
    }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        try plan.step { try wrapped.transact(lane: lane, body) }
    }
}

private final class FaultyContents: StoreContents {
    private let memory: MemoryContents
    private let plan: FaultPlan

    init(_ memory: MemoryContents, _ plan: FaultPlan) { (self.memory, self.plan) = (memory, plan) }

    var partByteCount: Int { memory.partByteCount }

    func append(_ parts: [[UInt8]], from index: Int, to name: [UInt8]) throws {
        try plan.step { try memory.append(parts, from: index, to: name) }
    }

    func part(_ index: Int, of name: [UInt8]) throws -> [UInt8]? { try plan.step { memory.part(index, of: name) } }

    func names(after name: [UInt8]?, limit: Int) throws -> [[UInt8]] {
        try plan.step { memory.names(after: name, limit: limit) }
    }

    func remove(_ name: [UInt8], limit: Int) throws -> Bool { try plan.step { memory.remove(name, limit: limit) } }

    func milliseconds() throws -> UInt64 { try plan.step { memory.milliseconds() } }
}
