// A log with acknowledged commits that is gone, or empty, is detected; one that never had any is not required.

import Foundation
import StratusStore
import Testing

@testable import StratusLevelDB

@Suite("logs with acknowledged commits")
struct AcknowledgedLogTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path(of: "store")
    }

    private func open(_ change: (inout LevelDBOptions) -> Void = { _ in }) throws -> LevelDBStore {
        var options = LevelDBOptions()
        options.testHooks.leavesLog = true
        change(&options)
        return try LevelDBStore.open(at: path, options: options)
    }

    private func fill(_ store: LevelDBStore, _ range: Range<Int> = 0..<3, byteCount: Int = 10) throws {
        for number in range {
            try store.transact { try $0.set([UInt8](number: number), to: [UInt8](repeating: 1, count: byteCount)) }
        }
    }

    private func notes() throws -> [String] { try files(in: path, suffix: ".acknowledged") }

    @Test("an idle store has an empty log and opens")
    func idle() throws {
        try open().close()
        let log = try #require(try files(in: path, suffix: ".log").last)
        #expect(try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(log)")).isEmpty)
        #expect(try notes().isEmpty)
        try open().close()
    }

    @Test(
        "a log is recorded with its first commit, with Stratus's own environment and without", arguments: [false, true])
    func noted(withoutEnvironment: Bool) throws {
        let store = try open { $0.testHooks.leavesLogsToLevelDB = withoutEnvironment }
        try fill(store)
        store.close()
        let log = try #require(try files(in: path, suffix: ".log").last)
        let number = try #require(UInt64(log.dropLast(4)))
        #expect(try notes() == [StoreFileName.acknowledgedName(number)])
    }

    @Test("unsynced commits give no guarantee, and nothing is recorded for them")
    func unsynced() throws {
        let store = try open { $0.syncsCommits = false }
        try fill(store)
        store.close()
        #expect(try notes().isEmpty)
    }

    @Test("records of logs whose contents are in tables are removed", arguments: [false, true])
    func rotation(withoutEnvironment: Bool) throws {
        let store = try open {
            $0.writeBufferByteCount = 64 << 10
            $0.testHooks.leavesLogsToLevelDB = withoutEnvironment
        }
        try fill(store, 0..<1_500, byteCount: 1_000)
        #expect((1...2).contains(try notes().count))
        store.close()
        let again = try open()
        #expect(try notes().isEmpty)
        again.close()
    }

    @Test("a missing log that the MANIFEST names is corruption, with its name", arguments: [false, true])
    func missing(isEmpty: Bool) throws {
        let store = try open()
        if !isEmpty { try fill(store) }
        store.close()
        let log = try #require(try files(in: path, suffix: ".log").last)
        for note in try notes() { try FileManager.default.removeItem(atPath: "\(path)/\(note)") }
        try FileManager.default.removeItem(atPath: "\(path)/\(log)")
        let error = try storeError { _ = try open() }
        #expect(error.code == .corruption, "\(error)")
        #expect(error.fields["candidateFiles"] == log, "\(error)")
        #expect(error.fields["path"] == path)
    }

    @Test(
        "a recorded log that the MANIFEST does not name and that is missing or empty is corruption",
        arguments: [false, true])
    func missingNewerLog(isEmpty: Bool) throws {
        let store = try open()
        try fill(store)
        store.close()
        let log = StoreFileName.logName(700)
        try Data().write(to: URL(fileURLWithPath: "\(path)/\(StoreFileName.acknowledgedName(700))"))
        if isEmpty { try Data().write(to: URL(fileURLWithPath: "\(path)/\(log)")) }
        let error = try storeError { _ = try open() }
        #expect(error.code == .corruption, "\(error)")
        #expect(error.fields["candidateFiles"] == log, "\(error)")
    }

    @Test("a log that was truncated to nothing, or zeroed, is corruption", arguments: [false, true])
    func emptied(isZeroed: Bool) throws {
        let store = try open()
        try fill(store)
        store.close()
        let log = try #require(try files(in: path, suffix: ".log").last)
        let url = URL(fileURLWithPath: "\(path)/\(log)")
        try Data(count: isZeroed ? try Data(contentsOf: url).count : 0).write(to: url)
        let error = try storeError { _ = try open() }
        #expect(error.code == .corruption, "\(error)")
        #expect(error.fields["candidateFiles"] == log, "\(error)")
    }

    @Test("a copy for reading of a store that has lost a log is corruption too")
    func copies() throws {
        let store = try open()
        try fill(store)
        store.close()
        let log = try #require(try files(in: path, suffix: ".log").last)
        try FileManager.default.removeItem(atPath: "\(path)/\(log)")
        let copy = directory.path(of: "copy")
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        let error = try storeError {
            _ = try LevelDBStore.copyToRead(path, into: copy, formatVersion: 1)
            _ = try LevelDBStore.open(at: copy)
        }
        #expect(error.code == .corruption, "\(error)")
        #expect(error.fields["candidateFiles"] == log, "\(error)")
    }

    @Test("a backup, and a copy for reading, of a store whose log was emptied are corruption too")
    func emptiedSource() throws {
        let store = try open()
        try fill(store)
        store.close()
        let log = try #require(try files(in: path, suffix: ".log").last)
        try Data().write(to: URL(fileURLWithPath: "\(path)/\(log)"))
        let backup = try storeError { _ = try LevelDBStore.backup(ofStoreAt: path, to: directory.path(of: "backup")) }
        #expect(backup.code == .corruption)
        #expect(backup.fields["candidateFiles"] == log)
        let copy = directory.path(of: "copy")
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        let reading = try storeError {
            _ = try LevelDBStore.copyToRead(path, into: copy, formatVersion: 1)
            _ = try LevelDBStore.open(at: copy)
        }
        #expect(reading.code == .corruption)
        #expect(reading.fields["candidateFiles"] == log)
    }
}
