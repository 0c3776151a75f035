// Whatever a host does to its store's directory, no second process writes to it, and nothing is acknowledged that
// others cannot find.

import Foundation
import Glibc
import StratusStore
import Testing

@testable import StratusLevelDB

@Suite("the lock of a store")
struct StoreLockTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path(of: "store")
    }

    private func open(byPath: Bool = false) throws -> LevelDBStore {
        var options = LevelDBOptions()
        options.testHooks.reachesDirectoryByPath = byPath
        let store = try LevelDBStore.open(at: path, options: options)
        try store.transact { try $0.set([1], to: [1]) }
        return store
    }

    /// Another process tries to open the store.
    private func expectIsHeld(_ comment: Comment) throws {
        let output = try TestChild.run("hold", path)
        #expect(output.contains("held: Another process"), comment)
        #expect(output.contains("holderProcessID=\(getpid())"), comment)
    }

    /// The store stops, and reports what it found at its path.
    private func expectIsDisplaced(_ store: LevelDBStore, found: String) throws {
        let error = try storeError { try store.transact { try $0.set([2], to: [2]) } }
        #expect(error.code == .commitUnknown, "\(error)")
        #expect(error.cause?.contains(found) == true, "\(error)")
        for later in [
            try storeError { try store.transact { try $0.set([3], to: [3]) } },
            try storeError { _ = try store.read { try $0.value(forKey: [1]) } },
        ] {
            #expect(later.code == .unavailable, "\(later)")
            #expect(later.fields["found"] == found, "\(later)")
            #expect(later.fields["path"] == path, "\(later)")
        }
    }

    @Test("a host that copies its own store's directory keeps the lock")
    func copying() throws {
        let store = try open()
        defer { store.close() }
        for name in try files(in: path) { _ = try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")) }
        try FileManager.default.copyItem(atPath: path, toPath: directory.path(of: "copy"))
        try expectIsHeld("the directory was copied")
        try store.transact { try $0.set([2], to: [2]) }
    }

    @Test("a store whose LOCK is removed stays locked and continues")
    func removedEngineLock() throws {
        let store = try open()
        try FileManager.default.removeItem(atPath: "\(path)/LOCK")
        try expectIsHeld("LOCK was removed")
        try store.transact { try $0.set([2], to: [2]) }
        store.close()
        let again = try open()
        defer { again.close() }
        #expect(try contents(again) == [[1]: [1], [2]: [2]])
    }

    @Test("a store whose STRATUS.lock is removed or replaced acknowledges nothing more", arguments: [false, true])
    func removedLock(isReplaced: Bool) throws {
        let store = try open()
        defer { store.close() }
        try FileManager.default.removeItem(atPath: "\(path)/STRATUS.lock")
        if isReplaced { try Data().write(to: URL(fileURLWithPath: "\(path)/STRATUS.lock")) }
        try expectIsDisplaced(store, found: isReplaced ? "another lock file" : "no lock file")
        #expect(try TestChild.run("hold", path).contains("held: "), "LevelDB's own lock is still there")
    }

    @Test(
        "a store whose directory is moved acknowledges nothing more, and writes nothing at its old path",
        arguments: [false, true])
    func movedDirectory(byPath: Bool) throws {
        let store = try open(byPath: byPath)
        defer { store.close() }
        #expect(store.notices.map(\.code) == (byPath ? [.reachedByPath] : []))
        try FileManager.default.moveItem(atPath: path, toPath: directory.path(of: "moved"))
        try expectIsDisplaced(store, found: "nothing at its path")
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("a store whose directory is removed before its first commit reports it, and reads stop")
    func removedDirectory() throws {
        let store = try LevelDBStore.open(at: path)
        defer { store.close() }
        try FileManager.default.removeItem(atPath: path)
        try expectIsDisplaced(store, found: "nothing at its path")
    }

    @Test("a store with a backup in its place acknowledges nothing more, and does not change the backup")
    func backupInItsPlace() throws {
        let store = try open()
        let backup = directory.path(of: "backup")
        _ = try LevelDBStore.backup(ofStoreAt: path, to: backup)
        let names = try files(in: backup)
        let moved = directory.path(of: "moved")
        try FileManager.default.moveItem(atPath: path, toPath: moved)
        try FileManager.default.moveItem(atPath: backup, toPath: path)
        try expectIsDisplaced(store, found: "another directory at its path")
        // A compaction and closing create and remove files, too.
        try? store.compact(.everything)
        store.close()
        #expect(try files(in: path) == names)
        #expect(try files(in: moved, suffix: ".log").isEmpty == false)
        let other = try LevelDBStore.open(at: path)
        defer { other.close() }
        #expect(try contents(other) == [[1]: [1]])
    }

    @Test("a store that is no longer at its path is not emptied, and neither is its replacement")
    func emptying() throws {
        let store = try open()
        defer { store.close() }
        let moved = directory.path(of: "moved")
        try FileManager.default.moveItem(atPath: path, toPath: moved)
        #expect(try storeError { try store.beginEmptying() }.code == .unavailable)
        #expect(try LevelDBStore.isBeingEmptied(moved) == false)
    }

    @Test("LevelDB works in the directory that is held, wherever it was moved")
    func reaching() throws {
        var options = LevelDBOptions()
        options.syncsCommits = false
        options.writeBufferByteCount = 64 << 10
        let store = try LevelDBStore.open(at: path, options: options)
        let moved = directory.path(of: "moved")
        try FileManager.default.moveItem(atPath: path, toPath: moved)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        for number in 0..<2_000 {
            try store.transact { try $0.set([UInt8](number: number), to: [UInt8](repeating: 5, count: 500)) }
        }
        try store.compact(.everything)
        store.close()
        #expect(try files(in: path).isEmpty)
        #expect(try files(in: moved, suffix: ".ldb").isEmpty == false)
    }

    @Test("errors name the given path, not the internal path to the directory")
    func names() throws {
        let store = try open()
        try store.compact(.everything)
        let table = try #require(try files(in: path, suffix: ".ldb").first)
        store.close()
        try Data().write(to: URL(fileURLWithPath: "\(path)/\(table)"))
        let damaged = try LevelDBStore.open(at: path)
        let error = try storeError { _ = try damaged.read { try $0.value(forKey: [1]) } }
        #expect(!error.description.contains("/proc/"), "\(error)")
        damaged.close()
        try FileManager.default.removeItem(atPath: "\(path)/CURRENT")
        let missing = try storeError { _ = try LevelDBStore.open(at: path) }
        #expect(missing.code == .corruption, "\(missing)")
        #expect(missing.fields["path"] == path, "\(missing)")
    }

    @Test("while it is held, the lock file names the process and its command")
    func holder() throws {
        let store = try open()
        let text = try String(contentsOfFile: "\(path)/STRATUS.lock", encoding: .utf8)
        #expect(text.hasPrefix("stratus lock\nprocess \(getpid())\ncommand "))
        store.close()
        let child = try TestChild.start("hold", path)
        #expect(child.readLine() == "open")
        try FileManager.default.removeItem(atPath: "\(path)/LOCK")
        let holder = try LevelDBStore.holder(ofStoreAt: path)
        #expect(holder?.processID == child.processID)
        #expect(holder?.command == "stratus-test-pr")
        child.finish()
        #expect(try LevelDBStore.holder(ofStoreAt: path) == nil)
    }

    @Test("a relative path stays valid when the process changes its working directory")
    func relativePath() throws {
        // The working directory is the whole process's, so a child changes it.
        #expect(try TestChild.run("roam", path) == "saved\n")
    }

    @Test("a pipe in the place of a lock file is refused at once", arguments: ["LOCK", "STRATUS.lock"])
    func pipes(name: String) throws {
        try open().close()
        try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        #expect(unsafe mkfifo("\(path)/\(name)", 0o600) == 0)
        let error = try storeError { _ = try LevelDBStore.open(at: path) }
        #expect(error.code == .corruption, "\(error)")
        #expect(error.fields["file"] == "\(path)/\(name)", "\(error)")
    }

    @Test("another owner's directory is refused without a trace")
    func foreignDirectory() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try Data().write(to: URL(fileURLWithPath: "\(path)/file"))
        #expect(try storeError { _ = try LevelDBStore.open(at: path) }.code == .notAStore)
        #expect(try files(in: path) == ["file"])
    }
}
