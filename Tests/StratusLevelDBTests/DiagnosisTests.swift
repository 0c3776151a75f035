// The errors of a directory that cannot be opened, and the holder of an open one.

import Foundation
import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

@Suite struct DiagnosisTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path(of: "store")
    }

    private func failure(_ change: (inout LevelDBOptions) -> Void = { _ in }) throws -> StoreError {
        var options = LevelDBOptions()
        change(&options)
        return try storeError { try LevelDBStore.open(at: path, options: options).close() }
    }

    private func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }

    private func create() throws {
        let store = try LevelDBStore.open(at: path)
        try store.transact { try $0.set([1], to: [1]) }
        store.close()
    }

    @Test("a path without a file is not a store, unless it may be created")
    func missing() throws {
        let error = try failure { $0.createIfMissing = false }
        #expect(error.code == .notAStore)
        #expect(error.fields["found"] == "nothing")
        #expect(!FileManager.default.fileExists(atPath: path))
        try create()
    }

    @Test("a path in a missing folder names the folder")
    func missingParent() throws {
        let error = try storeError { try LevelDBStore.open(at: "\(path)/deep/store").close() }
        #expect(error.code == .notAStore)
        #expect(error.fields["missingFolder"] == "\(path)/deep")
    }

    @Test("a file is not a store")
    func file() throws {
        try Data("hello".utf8).write(to: URL(fileURLWithPath: path))
        let error = try failure()
        #expect(error.code == .notAStore)
        #expect(error.fields["found"] == "a file")
        let below = try storeError { try LevelDBStore.open(at: "\(path)/store").close() }
        #expect(below.code == .notAStore)
        #expect(below.fields["missingFolder"] == path)
    }

    @Test("a directory with other files is not a store, and nothing is written into it")
    func foreignFiles() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try write("x", to: "notes.txt")
        let error = try failure()
        #expect(error.code == .notAStore)
        #expect(error.fields["found"] == "1 other files: notes.txt")
        #expect(try files(in: path) == ["notes.txt"])
    }

    @Test("another program's LevelDB database is not a store")
    func foreignDatabase() throws {
        try create()
        try FileManager.default.removeItem(atPath: "\(path)/STRATUS")
        let error = try failure()
        #expect(error.code == .notAStore)
        #expect(error.fields["found"] == "a LevelDB database of another program")
    }

    @Test("an empty directory becomes a store only if that is allowed")
    func emptyDirectory() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let error = try failure { $0.createIfMissing = false }
        #expect(error.code == .notAStore)
        #expect(error.fields["found"] == "an empty directory")
        try create()
    }

    @Test("a store of a newer format is refused with both numbers, and an older one must be migrated")
    func formats() throws {
        try create()
        #expect(try String(contentsOfFile: "\(path)/STRATUS", encoding: .utf8) == "stratus store\nformat 1\n")
        let older = try failure { $0.formatVersion = 2 }
        #expect(older.code == .olderFormat)
        #expect(older.fields["found"] == "1")
        #expect(older.fields["supported"] == "2")
        try write("stratus store\nformat 7\nsomething new\n", to: "STRATUS")
        let newer = try failure()
        #expect(newer.code == .newerFormat)
        #expect(newer.fields["found"] == "7")
        #expect(newer.fields["supported"] == "1")
    }

    @Test("a damaged marker is corruption", arguments: ["", "stratus", "stratus store\nformat x\n", "\n\n\n"])
    func damagedMarker(text: String) throws {
        try create()
        try write(text, to: "STRATUS")
        #expect(try failure().code == .corruption)
    }

    @Test("an interrupted creation is resumed")
    func interruptedCreation() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try write("stratus store\nformat 1\ncreating\n", to: "STRATUS")
        try write("half", to: "MANIFEST-000001")
        #expect(try failure { $0.createIfMissing = false }.code == .notAStore)
        try create()
        let store = try LevelDBStore.open(at: path)
        defer { store.close() }
        #expect(try contents(store) == [[1]: [1]])
    }

    @Test("a missing or damaged CURRENT, and a missing MANIFEST or table, is corruption")
    func missingFiles() throws {
        try create()
        try create()
        for name in try files(in: path) where name.hasPrefix("MANIFEST") || name == "CURRENT" || name.hasSuffix(".ldb")
        {
            try FileManager.default.moveItem(atPath: "\(path)/\(name)", toPath: directory.path(of: name))
            #expect(try failure().code == .corruption, "\(name)")
            try FileManager.default.moveItem(atPath: directory.path(of: name), toPath: "\(path)/\(name)")
        }
        let current = try String(contentsOfFile: "\(path)/CURRENT", encoding: .utf8)
        for text in ["", "\n", "MANIFEST-\n", "MANIFEST-999999\n", "../x\n", String(current.dropLast())] {
            try write(text, to: "CURRENT")
            #expect(try failure().code == .corruption, "\(text)")
        }
        try write(current, to: "CURRENT")
        let store = try LevelDBStore.open(at: path)
        defer { store.close() }
        #expect(try contents(store) == [[1]: [1]])
    }

    @Test("a store that is already open in this process is reported as such, by any path")
    func heldHere() throws {
        let store = try LevelDBStore.open(at: path)
        let link = directory.path(of: "link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        for other in [path, link, "\(directory.path)/./store/"] {
            let error = try storeError { try LevelDBStore.open(at: other).close() }
            #expect(error.code == .held)
            #expect(error.fields["holderProcessID"] == "\(getpid())")
            #expect(error.message.contains("This process"))
        }
        // The refusals must not have dropped the lock.
        #expect(try TestChild.run("hold", path).contains("held: Another process"))
        store.close()
        try create()
    }

    @Test("a store that is open in another process is reported with that process")
    func heldElsewhere() throws {
        try create()
        let child = try TestChild.start("hold", path)
        #expect(child.readLine() == "open")
        let error = try failure()
        #expect(error.code == .held)
        #expect(error.fields["holderProcessID"] == "\(child.processID)")
        #expect(error.fields["holderCommand"] == "stratus-test-pr")
        child.finish()
        try create()
    }

    @Test(
        "a store without read permission is reported as such", .enabled(if: getuid() == 0, "giving up root takes root"))
    func notPermitted() throws {
        try create()
        #expect(try TestChild.run("nobody", path).hasPrefix("notPermitted"))
    }
}
