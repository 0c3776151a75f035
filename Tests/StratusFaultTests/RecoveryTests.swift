// A store whose write has failed is reopened in place, in the same process: acknowledged data is there, later writes
// are accepted, and versions continue.

import Foundation
import StratusLevelDB
import StratusStore
import StratusTestSupport
import Synchronization
import Testing

@Suite("reopening a store after a failed write")
struct RecoveryTests {
    private static let writes: [EngineFaultPoint] = [.append, .flush, .sync, .openWritable]
    private static let effects: [EngineFaultEffect] = [.refused, .shortened, .done, .lost]

    private func key(_ number: Int) -> [UInt8] { Array("\(number)".utf8) }

    /// Commits until one fails or `count` have succeeded. Returns the acknowledged numbers.
    private func commit(_ numbers: Range<Int>, to store: LevelDBStore) throws -> [Int] {
        var acknowledged: [Int] = []
        for number in numbers {
            do {
                try store.transact {
                    try $0.set(key(number), to: [UInt8](repeating: UInt8(number % 251), count: 9_000))
                }
                acknowledged.append(number)
            } catch let error as StoreError {
                #expect([.commitUnknown, .unavailable].contains(error.code), "\(error)")
                return acknowledged
            }
        }
        return acknowledged
    }

    private func check(_ store: LevelDBStore, holds acknowledged: [Int], _ comment: Comment) throws {
        try store.read { reader in
            for number in acknowledged {
                let value = try reader.value(forKey: key(number))
                #expect(value == [UInt8](repeating: UInt8(number % 251), count: 9_000), comment)
            }
        }
    }

    @Test("after a fault at any write or sync nothing acknowledged is lost, and the store continues", arguments: writes)
    func everyWrite(point: EngineFaultPoint) async throws {
        try await TestThreads.offPool {
            for effect in Self.effects where effect == .refused || effect == .done || point == .append || point == .sync
            {
                for occurrence in [1, 2, 3, 5, 8, 13, 21] {
                    try recover(from: EngineFault(point, effect, at: occurrence, repetitions: 1_000_000))
                }
            }
        }
    }

    private func recover(from fault: EngineFault) throws {
        let directory = try ScratchDirectory()
        let environment = try FaultyEnvironment()
        let failures = Atomic(0)
        let store = try FaultBench.open(directory.path, environment) {
            $0.didFailWrite = { _ in failures.add(1, ordering: .relaxed) }
        }
        var acknowledged = try commit(0..<20, to: store)
        environment.arm(fault)
        acknowledged += try commit(20..<60, to: store)
        let hasFailed = store.failure != nil
        #expect(hasFailed == (failures.load(ordering: .relaxed) == 1), "\(fault)")
        if hasFailed { try check(store, holds: acknowledged, "durable reads go on after \(fault)") }
        let version = try store.read { $0.version }
        environment.disarm()

        try store.checkRoom()
        let continuation = store.closeToReopen(readerSeconds: 1)
        #expect(continuation.version == version, "\(fault)")
        let again = try LevelDBStore.open(at: directory.path, options: FaultBench.options, continuing: continuation)
        defer { again.close() }
        #expect(try again.read { $0.version } > version, "\(fault)")
        try check(again, holds: acknowledged, "\(fault)")
        #expect(try commit(100..<110, to: again).count == 10, "\(fault)")
    }

    @Test("a fault during reopening is an error or a complete store, and the next attempt has everything")
    func whileReopening() async throws {
        try await TestThreads.offPool {
            var failureCount = 0
            for (point, effects) in OpeningFaultTests.effects {
                for effect in effects {
                    for occurrence in 1... {
                        let result = try reopen(with: EngineFault(point, effect, at: occurrence))
                        if result == .failed { failureCount += 1 }
                        if result == .neverStruck { break }
                    }
                }
            }
            #expect(failureCount > 20)
        }
    }

    private enum Reopening { case failed, opened, neverStruck }

    /// Makes a write fail, and reopens the store while another request fails.
    private func reopen(with fault: EngineFault) throws -> Reopening {
        let directory = try ScratchDirectory()
        let environment = try FaultyEnvironment()
        let store = try FaultBench.open(directory.path, environment)
        let acknowledged = try commit(0..<12, to: store)
        environment.arm(EngineFault(.sync, at: 1, repetitions: 1_000))
        _ = try commit(12..<13, to: store)
        environment.disarm()
        let continuation = store.closeToReopen(readerSeconds: 1)

        let reopening = try FaultyEnvironment()
        reopening.arm(fault)
        var options = FaultBench.options
        options.testHooks.environment = reopening
        var result = Reopening.failed
        do {
            let again = try LevelDBStore.open(at: directory.path, options: options, continuing: continuation)
            defer { again.close() }
            reopening.waitUntilIdle()
            result = reopening.faultCount == 0 ? .neverStruck : .opened
            try check(again, holds: acknowledged, "opened in spite of \(fault)")
        } catch let error as StoreError {
            #expect([.inputOutput, .corruption].contains(error.code), "\(fault): \(error)")
            #expect(error.cause != nil, "\(fault): \(error)")
        }
        let last = try LevelDBStore.open(at: directory.path, options: FaultBench.options, continuing: continuation)
        defer { last.close() }
        try check(last, holds: acknowledged, "opened after \(fault)")
        #expect(try commit(100..<103, to: last).count == 3, "\(fault)")
        return result
    }

    @Test(
        "a copy from before the last acknowledged commit is refused in the place of the open store")
    func olderCopy() throws {
        let folder = try ScratchDirectory()
        let (path, older) = ("\(folder.path)/store", "\(folder.path)/older")
        let environment = try FaultyEnvironment()
        let store = try FaultBench.open(path, environment)
        _ = try commit(0..<3, to: store)
        _ = try LevelDBStore.backup(ofStoreAt: path, to: older, options: FaultBench.options)
        let acknowledged = try commit(3..<4, to: store)
        #expect(acknowledged == [3])
        environment.arm(EngineFault(.sync, at: 1, repetitions: 1_000))
        _ = try commit(4..<5, to: store)
        environment.disarm()
        let continuation = store.closeToReopen(readerSeconds: 1)
        try FileManager.default.moveItem(atPath: path, toPath: "\(folder.path)/moved")
        try FileManager.default.moveItem(atPath: older, toPath: path)
        do {
            try LevelDBStore.open(at: path, options: FaultBench.options, continuing: continuation).close()
            Issue.record("the older copy was opened")
        } catch let error as StoreError {
            #expect(error.code == .unavailable, "\(error)")
            #expect(error.message.contains("older copy"), "\(error)")
        }
        try FileManager.default.moveItem(atPath: path, toPath: older)
        try FileManager.default.moveItem(atPath: "\(folder.path)/moved", toPath: path)
        let again = try LevelDBStore.open(at: path, options: FaultBench.options, continuing: continuation)
        defer { again.close() }
        try check(again, holds: [0, 1, 2, 3], "the right store")
    }

    @Test("readers that do not finish in time are refused at their next read, and new ones at once")
    func readers() async throws {
        let directory = try ScratchDirectory()
        let store = try LevelDBStore.open(at: directory.path)
        try store.transact { try $0.set([1], to: [1]) }
        let isIn = Gate("the reader is in")
        let mayGoOn = Gate("the reader may go on")
        try await TestThreads.offPool {
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    let error = try #require(throws: StoreError.self) {
                        try store.read { reader in
                            isIn.open()
                            try mayGoOn.wait()
                            // The bounded time passes while this reader reads on.
                            while true { _ = try reader.value(forKey: [1]) }
                        }
                    }
                    #expect(error.code == .reopening)
                } else {
                    try isIn.wait()
                    mayGoOn.open()
                    _ = store.closeToReopen(readerSeconds: 0.1)
                    #expect(throws: StoreError.self) { try store.read { _ in } }
                }
            }
        }
    }

    @Test(
        "a full disk is noticed before the store is closed: reads work, and once there is space the store reopens")
    func fullDisk() async throws {
        try await TestThreads.offPool {
            let volume = try SmallVolume(byteCount: 3 << 20)
            guard volume.isMounted else { return }
            let path = "\(volume.path)/store"
            var options = LevelDBOptions()
            options.compression = .none
            options.writeBufferByteCount = 256 << 10
            let store = try LevelDBStore.open(at: path, options: options)
            let acknowledged = Locked<[Int]>([])
            try TestThreads.run(16) { thread in
                let own = try commit(thread * 1_000..<thread * 1_000 + 500, to: store)
                acknowledged.withLock { $0 += own }
            }
            #expect(store.failure?.fields["reason"] == "diskFull")
            let error = try #require(throws: StoreError.self) { try store.checkRoom() }
            #expect(error.code == .diskFull, "\(error)")
            #expect(error.fields["path"]?.hasPrefix(path) == true, "\(error)")
            #expect(!FileManager.default.fileExists(atPath: "\(path)/STRATUS.room"))
            try check(store, holds: acknowledged.value, "reads go on")

            #expect(volume.resize(byteCount: 64 << 20))
            try store.checkRoom()
            let again = try LevelDBStore.open(
                at: path, options: options, continuing: store.closeToReopen(readerSeconds: 1))
            defer { again.close() }
            try check(again, holds: acknowledged.value, "opened again")
            #expect(try commit(50_000..<50_100, to: again).count == 100)
        }
    }
}
