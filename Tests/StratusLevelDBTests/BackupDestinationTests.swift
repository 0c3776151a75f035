// The destination of a backup: the backup touches only its own files, and reports faults of the destination.

import Foundation
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusLevelDB

@Suite struct BackupDestinationTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let target: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path(of: "store")
        target = directory.path(of: "copy")
        let store = try LevelDBStore.open(at: path)
        try store.transact { try $0.set([1], to: [1]) }
        store.close()
    }

    private func makeDirectory(_ name: String, holding file: String) throws {
        let path = directory.path(of: name)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try Data([1]).write(to: URL(fileURLWithPath: "\(path)/\(file)"))
    }

    private func backup(to destination: String) throws -> StoreError {
        try storeError { _ = try LevelDBStore.backup(ofStoreAt: path, to: destination) }
    }

    @Test("a backup deletes only its own files, names unfinished copies of others, and works next to them")
    func foreignFiles() throws {
        let unfinished = (1...3).map { "copy.incomplete-\(getpid())-\($0)" }
        let foreign = ["copy.incomplete", "copy.incomplete-", "copy.incomplete-notes", "copy.incomplete-1-1-1"]
        for name in unfinished + foreign { try makeDirectory(name, holding: "000005.ldb") }
        let report = try LevelDBStore.backup(ofStoreAt: path, to: target)
        #expect(report.unfinishedPaths == unfinished.map(directory.path(of:)))
        for name in unfinished + foreign {
            #expect(try files(in: directory.path(of: name)) == ["000005.ldb"], "\(name)")
        }
        #expect(try files(in: directory.path).count == 2 + unfinished.count + foreign.count)
    }

    @Test("copies left by killed processes are removed, but none in use, opened, or of another owner")
    func sweeping() throws {
        let working = try BackupDirectory.make(for: target)
        let opened = directory.path(of: "copy.incomplete-2-1")
        let store = try LevelDBStore.open(at: opened)
        var left: [String] = []
        for (number, suffix) in ["", "-interrupted"].enumerated() {
            let path = directory.path(of: "other.incomplete-1-\(number)\(suffix)")
            try LevelDBStore.open(at: path).close()
            try FileManager.default.createDirectory(atPath: "\(path)/assets/content", withIntermediateDirectories: true)
            try Data([1]).write(to: URL(fileURLWithPath: "\(path)/assets/content/file"))
            left.append(path)
        }
        try FileManager.default.createDirectory(
            atPath: directory.path(of: "third.incomplete-1-1"), withIntermediateDirectories: false)
        left.append(directory.path(of: "third.incomplete-1-1"))
        try makeDirectory("notes.incomplete-1-1", holding: "notes.txt")
        try FileManager.default.createSymbolicLink(
            atPath: directory.path(of: "link.incomplete-1-1"), withDestinationPath: path)
        #expect(BackupDirectory.sweep(directory.path) == left)
        store.close()
        #expect(BackupDirectory.sweep(directory.path) == [opened])
        #expect(
            try files(in: directory.path)
                == [
                    working.path, directory.path(of: "link.incomplete-1-1"), directory.path(of: "notes.incomplete-1-1"),
                    path,
                ].map { URL(fileURLWithPath: $0).lastPathComponent })
        #expect(try contents(LevelDBStore.open(at: path)) == [[1]: [1]])
    }

    @Test("an abandoned copy is removed, but not a file that someone else put into it")
    func removal() throws {
        let copy = try BackupDirectory.make(for: target)
        #expect(copy.path == "\(target).incomplete-\(getpid())-1")
        let own = "CURRENT LOCK LOG LOG.old MANIFEST-000002 000003.log 000005.ldb 000007.dbtmp STRATUS STRATUS.new"
        for name in "\(own) notes.txt".split(separator: " ") {
            try Data([1]).write(to: URL(fileURLWithPath: "\(copy.path)/\(name)"))
        }
        copy.remove()
        #expect(try files(in: copy.path) == ["notes.txt"])
        try FileManager.default.removeItem(atPath: "\(copy.path)/notes.txt")
        copy.remove()
        #expect(!FileManager.default.fileExists(atPath: copy.path))
    }

    @Test(
        "of concurrent backups to one destination one succeeds, the others report that it exists, and nothing is left")
    func oneDestination() async throws {
        try await TestThreads.offPool {
            for round in 0..<10 {
                let target = directory.path(of: "copy-\(round)")
                let results = Locked<[String]>([])
                try TestThreads.run(4) { _ in
                    do {
                        _ = try LevelDBStore.backup(ofStoreAt: path, to: target)
                        results.withLock { $0.append("done") }
                    } catch let error as StoreError {
                        results.withLock { $0.append(error.cause ?? "\(error)") }
                    }
                }
                #expect(results.value.sorted() == ["File exists", "File exists", "File exists", "done"])
                let copy = try LevelDBStore.open(at: target)
                defer { copy.close() }
                #expect(try contents(copy) == [[1]: [1]])
            }
            #expect(try files(in: directory.path).count == 11)
        }
    }

    @Test("a destination in a missing folder names the folder, and the store is not reported as corrupt")
    func missingFolder() throws {
        let missing = try backup(to: directory.path(of: "missing/copy"))
        #expect(missing.code == .inputOutput)
        #expect(missing.fields["missingFolder"] == directory.path(of: "missing"))
        let file = try backup(to: "\(path)/CURRENT/copy")
        #expect(file.code == .inputOutput)
        #expect(file.fields["missingFolder"] == "\(path)/CURRENT")
        #expect(try files(in: directory.path) == ["store"])
    }

    @Test("trailing slashes of a destination are ignored")
    func trailingSlashes() throws {
        _ = try LevelDBStore.backup(ofStoreAt: "\(path)//", to: "\(target)//")
        #expect(try files(in: directory.path) == ["copy", "store"])
        for taken in [target, "\(target)/"] {
            let error = try backup(to: taken)
            #expect(error.code == .inputOutput)
            #expect(error.fields["path"] == target)
            #expect(error.message.contains("at the destination already: choose another"))
        }
    }

    @Test("a file is not a store that can be copied or repaired")
    func fileAsSource() throws {
        let file = "\(path)/CURRENT"
        let copied = try storeError { _ = try LevelDBStore.backup(ofStoreAt: file, to: target) }
        #expect(copied.code == .notAStore)
        #expect(try storeError { try LevelDBStore.repairLosingDamagedData(at: file) }.code == .notAStore)
    }

    @Test("LevelDB does not recreate a removed directory, and names it by the given path")
    func takenAway() throws {
        let opened = #expect(throws: EngineError.self) {
            _ = try EngineDatabase(
                EnginePlace(path: target), options: EngineOptions(LevelDBOptions(), createIfMissing: true))
        }
        #expect(opened?.text.contains(" \(target)/LOCK: ") == true, "\(opened?.text ?? "")")
        #expect(throws: EngineError.self) {
            try EngineDatabase.repair(
                EnginePlace(path: target), options: EngineOptions(LevelDBOptions(), createIfMissing: false))
        }
        #expect(!FileManager.default.fileExists(atPath: target))
    }

    @Test("LevelDB's errors name files and the directory by the given path, whatever characters it has")
    func placeInErrors() throws {
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
        let empty = #expect(throws: EngineError.self) {
            _ = try EngineDatabase(
                EnginePlace(path: target), options: EngineOptions(LevelDBOptions(), createIfMissing: false))
        }
        #expect(empty?.text.contains(" \(target): ") == true, "\(empty?.text ?? "")")
        let texts = [
            "IO error: lock #/LOCK: already held by process",
            "IO error: #/000005.ldb: \(EngineError.systemText(ENOENT))",
            "Invalid argument: #: does not exist (create_if_missing is false)",
            "Corruption: CURRENT points to a non-existent file: #/MANIFEST-000004",
        ]
        for path in ["/x/store", "store", "/x/./store", "./store", "/x/store.", "/x/./.store"] {
            for text in texts {
                let told = text.replacing("#", with: "\(path)/.")
                let place = EnginePlace(path: path)
                #expect(place.name == "\(path)/.")
                #expect(place.asGiven(told) == text.replacing("#", with: path))
            }
        }
    }

    @Test("a failed system call of Stratus is never corruption, and names its path")
    func systemErrors() {
        let codes: [Int32: StoreError.Code] = [
            ENOENT: .inputOutput, ENOTDIR: .inputOutput, EINVAL: .inputOutput, EIO: .inputOutput, EEXIST: .inputOutput,
            EACCES: .notPermitted, EPERM: .notPermitted, EROFS: .notPermitted, ENOSPC: .diskFull, EDQUOT: .diskFull,
        ]
        for (number, code) in codes {
            let error = SystemError(number: number, call: "open", path: "/a/b").storeError
            #expect(error.code == code, "\(error)")
            #expect(error.fields == ["path": "/a/b", "call": "open"], "\(error)")
            #expect(error.cause == EngineError.systemText(number))
        }
        #expect(EngineError(text: "IO error: /a: \(EngineError.systemText(ENOENT))").storeCode == .corruption)
    }
}
