// Every call of the file system fails in turn, and the power is cut after every call: what the ledger counts exists and
// is complete, and leftovers are removed by the next sweep.

import Foundation
import StratusCloud
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite("assets and the disk's failures")
struct AssetCrashTests {
    private static func start(lies: Set<MemoryFiles.Lie> = []) -> MemoryFiles {
        let files = MemoryFiles(lies: lies)
        files.put([], at: "/store/marker")
        // One content is longer than a buffer.
        for (number, byteCount) in [0, 10, 270_000, 300].enumerated() {
            files.put([UInt8](repeating: UInt8(number), count: byteCount), at: "/in/\(number)")
        }
        return files
    }

    /// Saves that share contents, replace them or fail, and a collection: each step ends whatever the others' results.
    private static func live(_ records: MemoryStore, _ files: MemoryFiles) throws {
        let fixture = try AssetFixture(on: records, directory: "/store/assets", files: files)
        let first = try? fixture.save("/in/0")
        _ = try? fixture.save("/in/0")
        _ = try? fixture.save("/in/1", owner: "_bob")
        if let first, let next = try? fixture.store.takeIn(path: "/in/2", owner: AssetFixture.owner) {
            try fixture.settle(adding: [next], removing: [first])
            fixture.store.release([next], owner: AssetFixture.owner)
        }
        if let lost = try? fixture.store.takeIn(path: "/in/3", owner: AssetFixture.owner) {
            fixture.store.release([lost], owner: AssetFixture.owner)
        }
        let several = fixture.store.takeIn(paths: ["/in/1", "/in/3", "/in/1"], owner: AssetFixture.owner)
        let taken = several.compactMap { try? $0.get() }
        try fixture.settle(adding: taken)
        fixture.store.release(taken, owner: AssetFixture.owner)
        if let copied = taken.first { _ = try? fixture.store.privateCopy(of: copied, owner: AssetFixture.owner) }
        _ = try? fixture.collector.collectOrphans()
        if let taken = taken.first { try fixture.settle(removing: [taken]) }
        _ = try? fixture.collector.sweep()
    }

    /// The faults after a failure: contents that the ledger counts must be complete, and nothing may be leaked.
    private static func problems(_ records: MemoryStore, _ files: MemoryFiles) throws -> [String] {
        let fixture = try AssetFixture(on: records, directory: "/store/assets", files: files, session: UUID())
        var problems = try fixture.verifier.verify().findings.compactMap { finding -> String? in
            if finding.kind == .orphaned { nil } else { "\(finding)" }
        }
        try fixture.collector.removeLeftovers()
        _ = try fixture.collector.sweep()
        if problems.isEmpty { problems += try fixture.verifier.verify().findings.map { "after the sweep: \($0)" } }
        for directory in ["incoming", "copies"] {
            let names = (try? files.names(in: "/store/assets/\(directory)")) ?? []
            if !names.isEmpty { problems.append("left in \(directory): \(names)") }
        }
        return problems
    }

    private static func callCount() throws -> Int {
        let files = start()
        try live(MemoryStore(), files)
        return files.callCount
    }

    @Test("a failure of any single call costs at most its request, and leaves no file open")
    func failures() throws {
        for call in 1...(try Self.callCount()) {
            for number in [FileFailure.inputOutput, FileFailure.noSpace] {
                let (files, records) = (Self.start(), MemoryStore())
                files.fail(at: call, number: number)
                try Self.live(records, files)
                #expect(files.openCount == 0, "call \(call)")
                files.clearFailure()
                #expect(try Self.problems(records, files) == [], "call \(call)")
            }
        }
    }

    @Test(
        "after a power loss at any call, every content that the ledger counts exists",
        arguments: MemoryFiles.Crash.allCases)
    func crashes(crash: MemoryFiles.Crash) throws {
        let count = try Self.callCount()
        for call in 1...count + 1 {
            let (files, records) = (Self.start(), MemoryStore())
            files.fail(at: call, repeats: true)
            try Self.live(records, files)
            files.crash(crash)
            #expect(try Self.problems(records, files) == [], "call \(call) of \(count)")
        }
    }

    @Test("the same test detects a disk that ignores syncs", arguments: MemoryFiles.Lie.allCases)
    func lies(lie: MemoryFiles.Lie) throws {
        var problemCount = 0
        for call in 1...(try Self.callCount() + 1) {
            for crash in MemoryFiles.Crash.allCases {
                let (files, records) = (Self.start(lies: [lie]), MemoryStore())
                files.fail(at: call, repeats: true)
                try Self.live(records, files)
                files.crash(crash)
                if try !Self.problems(records, files).isEmpty { problemCount += 1 }
            }
        }
        #expect(problemCount > 0)
    }

    @Test("a failure of any store operation leaves no record without its content")
    func storeFaults() throws {
        let files = Self.start()
        try FaultSweep.run {
            MemoryStore()
        } scenario: { store in
            let fixture = try AssetFixture(on: store, directory: "/store/assets", files: files)
            let asset = try fixture.save("/in/1")
            try fixture.save("/in/2")
            try fixture.settle(removing: [asset])
            try fixture.collector.collectOrphans()
            _ = try fixture.collector.sweep()
        } verify: { store, fault, _ in
            let fixture = try AssetFixture(on: store, directory: "/store/assets", files: files)
            for finding in try fixture.verifier.verify().findings {
                if finding.kind == .orphaned { continue }
                Issue.record("\(fault): \(finding)")
            }
            _ = try fixture.collector.sweep()
            #expect(try fixture.verifier.verify().findings.isEmpty)
        }
    }

    @Test("while threads save and delete the same few contents, collectors never remove one in use")
    func threads() throws {
        let (files, records) = (Self.start(), MemoryStore())
        for number in 0..<4 { files.put([UInt8](repeating: UInt8(number), count: 10), at: "/in/\(number)") }
        let fixture = try AssetFixture(on: records, directory: "/store/assets", files: files)
        let seed = SplitMix64.announced("asset threads")
        try TestThreads.run(6) { thread in
            var random = seed.generator(forCase: thread)
            for _ in 0..<120 {
                guard thread < 4 else {
                    if thread == 4 { try fixture.collector.collectOrphans() } else { _ = try fixture.collector.sweep() }
                    continue
                }
                let asset = try fixture.save("/in/\(random.below(4))")
                let copy = try fixture.store.privateCopy(of: asset, owner: AssetFixture.owner)
                try files.removeFile(copy)
                if random.isOne(in: 20) { continue }
                try fixture.settle(removing: [asset])
            }
        }
        #expect(try Self.problems(records, files) == [])
    }
}
