// A process that writes without pause is copied from outside, repeatedly. Each copy is a prefix of its commits, with
// everything that was acknowledged before the copy began; and the process is not affected.

import Foundation
import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

@Suite struct LiveCopyTests {
    private static let copyCount = 50
    /// The same as in the child.
    private static let slotCount = 300

    @Test("50 copies of a store that another process writes at full speed are prefixes of its commits")
    func underLoad() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(of: "store")
        let counts = try await TestThreads.offPool {
            let child = try TestChild.start("write", path)
            defer { kill(child.processID, SIGKILL) }
            var acknowledged = 0
            while acknowledged < 500 { acknowledged = try Self.number(child.readLastLine()) }
            let first = acknowledged
            for number in 0..<Self.copyCount {
                acknowledged = try Self.number(child.readLastLine())
                guard try LevelDBStore.holder(ofStoreAt: path)?.processID == child.processID else {
                    throw ConformanceFailure("the writer does not hold its store")
                }
                try Self.checkCopy(of: path, in: directory.path, floor: acknowledged, isThorough: number % 20 == 0)
            }
            kill(child.processID, SIGKILL)
            child.finish()
            let store = try LevelDBStore.open(at: path)
            defer { store.close() }
            guard try store.verifyChecksums().damages.isEmpty else { throw ConformanceFailure("the store is damaged") }
            return (first: first, acknowledged: acknowledged, newest: try Self.newestCommit(store))
        }
        #expect(counts.acknowledged > counts.first + Self.copyCount, "the writer hardly wrote meanwhile")
        #expect(counts.newest >= counts.acknowledged)
        #expect(try files(in: directory.path) == ["store"])
    }

    private static func number(_ line: String) throws -> Int {
        guard let number = Int(line) else { throw ConformanceFailure("the writer says: \(line)") }
        return number
    }

    private static func checkCopy(of path: String, in folder: String, floor: Int, isThorough: Bool) throws {
        let copy = try PrivateDirectory.make(in: folder, prefix: "copy-")
        defer { copy.remove() }
        let report = try LevelDBStore.copyToRead(path, into: copy.path, formatVersion: 1)
        let store = try LevelDBStore.open(at: copy.path)
        defer { store.close() }
        guard report.copiedTableCount == 0 else { throw ConformanceFailure("a table was copied") }
        guard try newestCommit(store) >= floor else {
            throw ConformanceFailure("commit \(floor) was acknowledged and is not there")
        }
        if isThorough, let damage = try store.verifyChecksums().damages.first { throw damage }
    }

    /// The newest commit. Throws the store's fault.
    private static func newestCommit(_ store: LevelDBStore) throws -> Int {
        var entries: [[UInt8]: Int] = [:]
        try store.read { reader in
            try reader.scan(KeyRange(from: [0], upTo: [9])) { key, value in
                entries[Array(copying: key)] = Array(copying: value).prefix(8).reduce(0) { $0 << 8 | Int($1) }
                return .next
            }
        }
        guard let newest = entries[[0]], newest > 0 else { throw ConformanceFailure("the counter is missing") }
        for number in max(1, newest - slotCount + 1)...newest {
            let slot = number % slotCount
            guard entries[[1, UInt8(slot >> 8), UInt8(slot & 0xFF)]] == number else {
                throw ConformanceFailure("commit \(number) of \(newest) is not there as it was made")
            }
        }
        return newest
    }
}
