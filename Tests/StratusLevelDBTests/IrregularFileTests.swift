// Pipes, devices and directories in place of a store's files are refused, without waiting for the other end of a pipe.

import Foundation
import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

@Suite struct IrregularFileTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path(of: "store")
        let store = try LevelDBStore.open(at: path)
        try store.transact { try $0.set([1], to: [1]) }
        // A table, next to the log.
        _ = try store.compact(.everything) { _, _ in }
        try store.transact { try $0.set([2], to: [2]) }
        store.close()
    }

    /// Runs `body` on its own thread. If it waits for the other end of the pipe, it gets it, and is reported.
    private static func refusal(at pipe: String, _ body: @escaping @Sendable () throws -> Void) async throws
        -> StoreError
    {
        let watch = Task {
            try await Task.sleep(for: .seconds(60))
            Issue.record("it waits for the other end of \(pipe)")
            try await TestThreads.offPool { SpecialFile.release(pipe) }
        }
        defer { watch.cancel() }
        return try await TestThreads.offPool { try storeError(body) }
    }

    @Test(
        "anything but a file in the place of a store's file is refused at once by opening, copying and repairing",
        arguments: SpecialFile.allCases)
    func refused(thing: SpecialFile) async throws {
        let path = path
        let names = try FileManager.default.contentsOfDirectory(atPath: path)
        let chosen = names.filter { $0 != "LOG" && $0 != "LOG.old" }
        #expect(chosen.contains("LOCK"))
        #expect(chosen.contains("STRATUS"))
        #expect(chosen.contains { $0.hasSuffix(".ldb") })
        for name in chosen {
            let (file, kept) = ("\(path)/\(name)", "\(path)-kept")
            try FileManager.default.copyItem(atPath: file, toPath: kept)
            guard try await TestThreads.offPool({ try thing.replace(file) }) else {
                try FileManager.default.moveItem(atPath: kept, toPath: file)
                continue
            }
            let copy = directory.path(of: "copy")
            let calls: [@Sendable () throws -> Void] = [
                { try LevelDBStore.open(at: path).close() },
                { _ = try LevelDBStore.backup(ofStoreAt: path, to: copy) },
                { try LevelDBStore.repairLosingDamagedData(ofStoreAt: path, to: copy) },
            ]
            for (index, call) in calls.enumerated() {
                // A copy contains no locks, and only the names of the records of logs.
                if index == 1, name.hasSuffix("LOCK") || name.hasSuffix(".lock") || name.hasSuffix(".acknowledged") {
                    continue
                }
                let error = try await Self.refusal(at: file, call)
                #expect(error.code == .corruption, "\(name), call \(index): \(error)")
                #expect(error.fields["file"]?.hasSuffix("/\(name)") == true, "\(name), call \(index): \(error)")
                #expect(!FileManager.default.fileExists(atPath: copy))
            }
            if name == "LOCK" {
                let error = try await Self.refusal(at: file) { _ = try LevelDBStore.holder(ofStoreAt: path) }
                #expect(error.code == .corruption, "\(error)")
            }
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.moveItem(atPath: kept, toPath: file)
        }
        let store = try LevelDBStore.open(at: path)
        #expect(try store.read { try $0.value(forKey: [2]) } == [2])
        store.close()
    }
}
