// Contents of a store that several hosts have open: one may still copy what another one finds unused.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("Contents of a store with several hosts")
struct SharedContentsTests {
    private let memory = MemoryStore()
    private let contents = MemoryContents { 1_000 }
    private let time = Locked(MonotonicTime(nanoseconds: 1_000_000_000))
    private let name = GlobalKeys.content(
        ContentKeyParts(owner: "_alice", digest: [UInt8](repeating: 7, count: 32), upload: UUID()))

    private func engine() throws -> RecordEngine {
        var options = RecordEngineOptions()
        options.monotonicNow = { [time] in time.value }
        return try RecordEngine(
            store: ContentsStore(TripStore(memory), contents), options: options, incarnation: UUID())
    }

    private func collector(_ engine: RecordEngine) -> AssetCollector {
        AssetCollector(
            engine: engine,
            store: AssetStore(
                directory: "/store/assets", session: UUID(), clock: HandClock(), files: MemoryFiles(),
                engine: engine))
    }

    /// Leaves a content that no record holds.
    private func leaveContent(by engine: RecordEngine) throws {
        try contents.append([[1, 2, 3]], from: 0, to: name)
        try engine.transact { try $0.set(name, to: EmptyEntry().encoded()) }
    }

    @Test("[R-14] a host alone removes an unused content at once")
    func alone() throws {
        let engine = try engine()
        try leaveContent(by: engine)
        #expect(try collector(engine).collectOrphans() == 1)
        #expect(contents.count == 0)
    }

    @Test("[R-14] beside another host an unused content stays for an hour, and goes at once when that host leaves")
    func beside() throws {
        let (engine, other) = (try engine(), try engine())
        let collector = collector(engine)
        try leaveContent(by: engine)
        func wait(minutes: Int) throws {
            for _ in 0..<(minutes * 20) {
                time.withLock { $0 = $0 + 3 }
                try other.beat()
            }
        }
        try other.beat()
        #expect(try collector.collectOrphans() == 0)
        try wait(minutes: 59)
        #expect(try collector.collectOrphans() == 0)
        #expect(contents.count == 1)
        try wait(minutes: 2)
        #expect(try collector.collectOrphans() == 1)
        try leaveContent(by: engine)
        #expect(try collector.collectOrphans() == 0)
        other.leave()
        #expect(try collector.collectOrphans() == 1)
        #expect(contents.count == 0)
    }
}
