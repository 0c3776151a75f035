// A file system that promises no more than POSIX: a file's content survives after its sync, and its name after its
// directory's. After each acknowledged commit the machine loses power.

import Foundation
import StratusLevelDB
import StratusStore
import StratusTestSupport
import Synchronization
import Testing

@Suite("a strict file system")
struct StrictDiskTests {
    private static let commitCount = 90

    /// Commits, cuts the power after each, and returns the commits that were acknowledged and lost. With `slowTables` a
    /// new table, and the sync of names that follows it, waits for a power cut after the next commit.
    private func lostCommits(
        slowTables: Bool = false, _ change: (inout LevelDBTestHooks) -> Void
    ) throws -> [String] {
        let directory = try ScratchDirectory()
        let path = "\(directory.path)/store"
        let environment = try FaultyEnvironment()
        let disk = try StrictDisk(of: path, in: directory.path)
        environment.observeSyncs { file in
            disk.didSync(file)
            if slowTables, file.hasSuffix(".ldb") { disk.waitForCut() }
        }
        var options = LevelDBOptions()
        options.writeBufferByteCount = 128 << 10
        options.compression = .none
        options.testHooks.environment = environment
        options.testHooks.didSyncDirectory = { disk.didSyncNames() }
        change(&options.testHooks)
        let store = try LevelDBStore.open(at: path, options: options)
        defer {
            disk.endWaits()
            store.close()
        }
        // Creating a store syncs everything before it returns.
        disk.didSyncEverything()
        var lost: [String] = []
        for number in 0..<Self.commitCount {
            try store.transact { try $0.set([UInt8(number)], to: [UInt8](repeating: UInt8(number), count: 9_000)) }
            let image = try disk.cutPower(in: directory.path)
            do {
                let found = try LevelDBStore.open(at: image.path)
                defer { found.close() }
                let count = try found.read { reader in
                    try (0...number).count { try reader.value(forKey: [UInt8($0)])?.count == 9_000 }
                }
                if count < number + 1 {
                    lost.append("commit \(number): \(number + 1 - count) of those before are gone")
                }
            } catch { lost.append("commit \(number): \(error)") }
        }
        return lost
    }

    @Test("no acknowledged commit is lost by a power cut after it, with Stratus's own environment and without")
    func cuts() async throws {
        for withoutEnvironment in [false, true] {
            let lost = try await TestThreads.offPool {
                try lostCommits { $0.leavesLogsToLevelDB = withoutEnvironment }
            }
            #expect(lost == [])
        }
    }

    @Test("no acknowledged commit is lost by a power cut while a store is closed, or afterwards")
    func closing() async throws {
        try await TestThreads.offPool {
            let directory = try ScratchDirectory()
            let path = "\(directory.path)/store"
            let environment = try FaultyEnvironment()
            let disk = try StrictDisk(of: path, in: directory.path)
            let isClosing = Locked(false)
            let images = Locked<[Result<ScratchDirectory, any Error>]>([])
            environment.observeSyncs { file in
                disk.didSync(file)
                guard isClosing.value else { return }
                images.withLock { $0.append(Result { try disk.cutPower(in: directory.path) }) }
            }
            var options = LevelDBOptions()
            options.testHooks.environment = environment
            options.testHooks.didSyncDirectory = { disk.didSyncNames() }
            let store = try LevelDBStore.open(at: path, options: options)
            disk.didSyncEverything()
            for number in 0..<20 as Range<UInt8> { try store.transact { try $0.set([number], to: [number]) } }
            isClosing.withLock { $0 = true }
            store.close()
            // The table, and the MANIFEST that names it.
            #expect(images.value.count >= 2)
            images.withLock { $0.append(Result { try disk.cutPower(in: directory.path) }) }
            for image in images.value {
                let found = try LevelDBStore.open(at: try image.get().path)
                defer { found.close() }
                let missing = try found.read { reader in try (0..<20).filter { try reader.value(forKey: [$0]) == nil } }
                #expect(missing == [])
            }
        }
    }

    @Test("a store that does not sync the names of its logs is detected")
    func planted() async throws {
        let lost = try await TestThreads.offPool { try lostCommits(slowTables: true) { $0.leavesLogsUnnoted = true } }
        #expect(lost.count > 3)
    }
}

/// The state of a directory after a power cut: the names of the last sync of the directory, and of each file its
/// content at its own last sync. Names are kept as hard links, so that removed files last.
private final class StrictDisk: Sendable {
    private struct State {
        /// By inode.
        var syncedByteCounts: [UInt64: Int] = [:]
        var cutCount = 0
        var mayWait = true
    }

    private let path: String
    private let names: String
    private let state = Mutex(State())

    init(of path: String, in folder: String) throws {
        self.path = path
        names = "\(folder)/names"
        try FileManager.default.createDirectory(atPath: names, withIntermediateDirectories: false)
    }

    /// LevelDB syncs the directory before each MANIFEST. Both in one step here: no power cut comes between them, after
    /// which the MANIFEST would name missing files.
    func didSync(_ file: String) {
        state.withLock { state in
            if file.split(separator: "/").last?.hasPrefix("MANIFEST") == true { noteNames() }
            note(file, in: &state)
        }
    }

    /// Waits until the power was cut once more, or nothing may wait any longer.
    func waitForCut() {
        let count = state.withLock { $0.cutCount }
        while state.withLock({ $0.mayWait && $0.cutCount == count }) { usleep(200) }
    }

    func endWaits() { state.withLock { $0.mayWait = false } }

    func didSyncNames() { state.withLock { _ in noteNames() } }

    /// The caller holds the lock.
    private func noteNames() {
        let manager = FileManager.default
        let present = Set((try? manager.contentsOfDirectory(atPath: path)) ?? [])
        for name in (try? manager.contentsOfDirectory(atPath: names)) ?? [] {
            if inode("\(names)/\(name)") != inode("\(path)/\(name)") {
                try? manager.removeItem(atPath: "\(names)/\(name)")
            }
        }
        for name in present { try? manager.linkItem(atPath: "\(path)/\(name)", toPath: "\(names)/\(name)") }
    }

    func didSyncEverything() {
        state.withLock { state in
            noteNames()
            for name in (try? FileManager.default.contentsOfDirectory(atPath: names)) ?? [] {
                note("\(names)/\(name)", in: &state)
            }
        }
    }

    /// A directory as the next start would find it.
    func cutPower(in folder: String) throws -> ScratchDirectory {
        let image = try ScratchDirectory()
        try state.withLock { state in
            state.cutCount += 1
            for name in try FileManager.default.contentsOfDirectory(atPath: names) {
                let file = "\(names)/\(name)"
                let count = inode(file).flatMap { state.syncedByteCounts[$0] } ?? 0
                let data = try Data(contentsOf: URL(fileURLWithPath: file)).prefix(count)
                try data.write(to: URL(fileURLWithPath: "\(image.path)/\(name)"))
            }
        }
        return image
    }

    private func note(_ file: String, in state: inout State) {
        guard let inode = inode(file) else { return }
        let attributes = try? FileManager.default.attributesOfItem(atPath: file)
        state.syncedByteCounts[inode] = (attributes?[.size] as? NSNumber)?.intValue ?? 0
    }

    private func inode(_ file: String) -> UInt64? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file)
        return (attributes?[.systemFileNumber] as? NSNumber)?.uint64Value
    }
}
