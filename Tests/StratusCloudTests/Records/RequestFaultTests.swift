// Everything that can fail under a request with assets, a quota and two zones fails once: reads, writes and commits of
// the store, and calls of the file system. Afterwards the store is opened again: acknowledged writes are there, no zone
// is partial, and every verifier passes.

import Foundation
@testable import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

/// Three zones with files, and two requests that change them.
private struct FaultScene {
    static let zones = [AssetTown.notes, AssetTown.other, .defaultZone]

    let store = MemoryStore()
    let files = AssetTown.files()

    init() throws {
        let town = try AssetTown(over: store, files: files)
        try town.makeZones(AssetTown.notes, AssetTown.other)
        let saves = [
            RecordSave.new("p", ["file": .file(1)]),
            .new("c", parent: "p", ["owner": .owned(by: "p"), "file": .file(1)]),
            .new("d", ["owner": .owned(by: "c"), "file": .file(4)]), .new("k", ["n": .int64(1), "file": .file(0)]),
            .new("x", in: AssetTown.other, ["n": .int64(1), "file": .file(0)]),
            .new("y", in: AssetTown.other, ["file": .file(1)]), .new("z", in: .defaultZone, ["n": .int64(1)]),
        ]
        for result in try town.modify(saves).saves { _ = try result.get() }
        _ = try town.service.changeAccount(town.alice.id) { $0.quotaByteCount = 1_500 }
    }

    /// The first request: in Notes a cascade, another file and a new child; in Other another file and a deletion.
    static func first(isAtomic: Bool) -> ModifyRecordsRequest {
        ModifyRecordsRequest(
            saves: [
                .new("k", ["n": .int64(2), "file": .file(2)]), .new("m", parent: "k", ["new": .file(3)]),
                .new("x", in: AssetTown.other, ["n": .int64(2), "file": .file(4)]),
            ], deletes: [.note("p"), RecordAddress(recordName: "y", zone: AssetTown.other)], policy: .changedKeys,
            isAtomic: isAtomic)
    }

    /// The second request: the quota has room for one of two records.
    static var second: ModifyRecordsRequest {
        let large = ClientValue.string(String(repeating: "x", count: 2_000))
        return ModifyRecordsRequest(
            saves: [
                .new("z", in: .defaultZone, ["n": .int64(2), "file": .file(0)]),
                .new("large", in: .defaultZone, type: "Large", ["text": large, "file": .file(1)]),
            ], policy: .changedKeys)
    }

    /// The records of a zone: their numbers, and the sizes of their files.
    static func state(of zone: ZoneAddress, _ town: AssetTown) throws -> String {
        let names = ["p", "c", "d", "k", "m", "x", "y", "z", "large"]
        let request = FetchRecordsRequest(addresses: names.map { RecordAddress(recordName: $0, zone: zone) })
        let records = try town.service.fetchRecords(request, as: town.caller(), in: .private).records
        return zip(names, records).compactMap { name, result in
            guard case .success(let record) = result else { return nil }
            var text = name
            if case .int64(let number) = record.fields["n"]?.value { text += " \(number)" }
            for key in ["file", "new"] { text += record.fields[key]?.value.content.map { " \($0.byteCount)" } ?? "" }
            return text
        }.joined(separator: ", ")
    }

    static let before = ["p 101, c 101, d 104, k 1 100", "x 1 100, y 101", "z 1"]
    static let after = ["k 2 102, m 103", "x 2 104", "z 2 100"]
}

/// What became of the items of each zone.
private struct Outcomes {
    enum Outcome { case done, notDone, unknown }
    var zones = [Outcome](repeating: .notDone, count: FaultScene.zones.count)

    /// Carries both requests out. Throws when items of one zone were answered differently.
    mutating func run(_ town: AssetTown, isAtomic: Bool) throws {
        try answer(FaultScene.first(isAtomic: isAtomic), town, failing: [])
        try answer(FaultScene.second, town, failing: ["large"])
    }

    private mutating func answer(_ request: ModifyRecordsRequest, _ town: AssetTown, failing: Set<String>) throws {
        let addresses = request.saves.map(\.address) + request.deletes
        let errors: [CloudError?]
        do {
            let response = try town.service.modifyRecords(request, as: town.caller(), in: .private)
            errors = response.saves.map { $0.error } + response.deletes.map { $0.error }
        } catch { errors = addresses.map { _ in error } }
        for (index, zone) in FaultScene.zones.enumerated() {
            let own = zip(addresses, errors).filter { $0.0.zone == zone }
            guard !own.isEmpty else { continue }
            for (address, error) in own where failing.contains(address.recordName) && error == nil {
                throw ConformanceFailure("\(address) was saved")
            }
            let answers = Set(
                own.filter { !failing.contains($0.0.recordName) }.map { _, error -> Outcome in
                    guard let error else { return .done }
                    return error.code == .serverResponseLost ? .unknown : .notDone
                })
            guard answers.count == 1, let answer = answers.first else {
                throw ConformanceFailure("\(zone): \(own.map { $0.1?.description ?? "done" })")
            }
            zones[index] = answer
        }
    }

    /// Throws if the contents are not what was acknowledged, or a verifier finds something.
    func check(_ scene: FaultScene, _ what: String) throws {
        let town = try AssetTown(over: scene.store, files: scene.files, seed: 11)
        for (index, zone) in FaultScene.zones.enumerated() {
            let state = try FaultScene.state(of: zone, town)
            let allowed =
                switch zones[index] {
                case .done: [FaultScene.after[index]]
                case .notDone: [FaultScene.before[index]]
                case .unknown: [FaultScene.before[index], FaultScene.after[index]]
                }
            guard allowed.contains(state) else {
                throw ConformanceFailure("\(what): \(zone) is \(state) after \(zones[index])")
            }
        }
        let schema = try town.service.exportSchema(of: AssetTown.container)
        guard !schema.contains("Large") else { throw ConformanceFailure("\(what): learnt from what was refused") }
        guard try town.service.engine.verify().isClean else { throw ConformanceFailure("\(what): indexes") }
        let accounts = try AccountVerifier(engine: town.service.engine).verify().findings
        guard accounts.isEmpty else { throw ConformanceFailure("\(what): \(accounts)") }
        for finding in try town.service.verifyAssets() {
            if finding.kind == .orphaned { continue }
            throw ConformanceFailure("\(what): \(finding)")
        }
        if let assets = town.service.assets {
            _ = try AssetCollector(engine: town.service.engine, store: assets).sweep()
        }
        let findings = try town.service.verifyAssets()
        guard findings.isEmpty else { throw ConformanceFailure("\(what): after the sweep \(findings)") }
    }
}

@Suite("faults under requests with files, a quota and two zones")
struct RequestFaultTests {
    @Test("without faults, everything allowed is done, and the checks see the difference")
    func undisturbed() throws {
        for isAtomic in [true, false] {
            let scene = try FaultScene()
            var outcomes = Outcomes()
            try outcomes.run(try AssetTown(over: scene.store, files: scene.files), isAtomic: isAtomic)
            #expect(outcomes.zones == [.done, .done, .done])
            try outcomes.check(scene, "undisturbed")
            outcomes.zones[1] = .notDone
            #expect(throws: ConformanceFailure.self) { try outcomes.check(scene, "planted") }
        }
    }

    @Test(
        "[A-01][A-02][S-16][S-21] if any store operation fails, each zone is written or not as the answer said",
        arguments: [true, false])
    func storeFaults(isAtomic: Bool) async throws {
        let report = try await TestThreads.offPool {
            var scene = try FaultScene()
            var outcomes = Outcomes()
            return try FaultSweep.run {
                scene = try FaultScene()
                outcomes = Outcomes()
                return scene.store
            } scenario: { store in
                try outcomes.run(try AssetTown(over: store, files: scene.files), isAtomic: isAtomic)
            } verify: { _, fault, thrown in
                if let thrown = thrown as? ConformanceFailure { throw thrown }
                try outcomes.check(scene, "\(fault)")
            }
        }
        #expect(report.runCounts.count == StratusTestSupport.FaultPoint.allCases.count)
    }

    @Test("[S-16] if any file system operation fails, no record lacks its content and nothing is leaked")
    func fileFaults() async throws {
        let callCount = try await TestThreads.offPool {
            let undisturbed = try FaultScene()
            let first = undisturbed.files.callCount
            var outcomes = Outcomes()
            try outcomes.run(try AssetTown(over: undisturbed.store, files: undisturbed.files), isAtomic: true)
            let callCount = undisturbed.files.callCount - first
            for call in 1...callCount {
                for number in [FileFailure.inputOutput, FileFailure.noSpace] {
                    let scene = try FaultScene()
                    scene.files.fail(at: call, number: number)
                    var outcomes = Outcomes()
                    try outcomes.run(try AssetTown(over: scene.store, files: scene.files), isAtomic: true)
                    guard scene.files.openCount == 0 else { throw ConformanceFailure("call \(call): a file is open") }
                    scene.files.clearFailure()
                    try outcomes.check(scene, "call \(call)")
                }
            }
            return callCount
        }
        #expect(callCount > 30)
    }
}
