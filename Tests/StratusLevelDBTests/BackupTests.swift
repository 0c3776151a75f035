// Backups of a store that is written at full speed: each is a prefix of the commits, and the live store stays whole.

import Foundation
import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

@Suite struct BackupTests {
    private static let slotCount = 300
    private static let padding = [UInt8](repeating: 7, count: 600)

    private static var options: LevelDBOptions {
        var options = LevelDBOptions()
        options.writeBufferByteCount = 64 << 10
        options.fileByteCount = 64 << 10
        options.syncsCommits = false
        return options
    }

    /// Commit `number` writes the counter and two entries that must agree.
    private static func commit(_ number: Int, _ store: LevelDBStore) throws {
        let slot = [UInt8](number: number % slotCount)
        let value = [UInt8](number: number)
        try store.transact { transaction in
            try transaction.set([0], to: value)
            try transaction.set([1] + slot, to: value + padding)
            try transaction.set([2] + slot, to: value)
        }
    }

    /// The newest commit in the store, or the store's fault.
    private static func newestCommit(_ store: LevelDBStore) throws -> Int {
        let entries = try contents(store)
        let newest = try #require(entries[[0]]).number
        guard entries.count == 1 + 2 * min(newest, slotCount) else {
            throw ConformanceFailure("\(entries.count) entries after \(newest) commits")
        }
        for number in max(1, newest - slotCount + 1)...newest {
            let slot = [UInt8](number: number % slotCount)
            let value = [UInt8](number: number)
            guard entries[[1] + slot] == value + padding, entries[[2] + slot] == value else {
                throw ConformanceFailure("commit \(number) of \(newest) is not there as it was made")
            }
        }
        return newest
    }

    @Test("a backup is taken again if a log became a table after the MANIFEST was read, and no commit is lost")
    func changedMeanwhile() async throws {
        try await TestThreads.offPool {
            let directory = try TemporaryDirectory()
            let path = directory.path(of: "store")
            let store = try LevelDBStore.open(at: path, options: Self.options)
            defer { store.close() }
            func logs() throws -> Set<String> {
                Set(try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".log") })
            }
            for number in 1...100 { try Self.commit(number, store) }
            try store.compact(KeyRange(from: [0], upTo: [9]))
            try Self.commit(101, store)
            let before = try logs()
            var newest = 101
            let target = directory.path(of: "backup")
            let report = try LevelDBStore.backup(
                ofStoreAt: path, to: target,
                copying: { _, _ in
                    #expect(throws: Never.self) {
                        // LevelDB removes a log when what it holds is in a table. All older tables stay.
                        while try newest < 1_000 && !logs().isDisjoint(with: before) {
                            newest += 1
                            try Self.commit(newest, store)
                            if newest > 300 { usleep(1_000) }
                        }
                    }
                })
            #expect(try logs().isDisjoint(with: before))
            #expect(report.attemptCount > 1)
            let copy = try LevelDBStore.open(at: target, options: Self.options)
            defer { copy.close() }
            #expect(try Self.newestCommit(copy) == newest)
        }
    }

    @Test("50 backups under full load are prefixes of the commits, and the live store is unaffected")
    func underLoad() async throws {
        try await TestThreads.offPool {
            let directory = try TemporaryDirectory()
            let path = directory.path(of: "store")
            let store = try LevelDBStore.open(at: path, options: Self.options)
            let written = Locked(0)
            let isDone = Locked(false)
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    var number = 0
                    while !isDone.value {
                        number += 1
                        try Self.commit(number, store)
                        let newest = number
                        written.withLock { $0 = newest }
                    }
                    return
                }
                defer { isDone.withLock { $0 = true } }
                while written.value < 500 { TestThreads.yield() }
                for round in 0..<50 {
                    let before = written.value
                    let target = directory.path(of: "backup-\(round)")
                    let report = try LevelDBStore.backup(ofStoreAt: path, to: target)
                    let copy = try LevelDBStore.open(at: target, options: Self.options)
                    let newest = try Self.newestCommit(copy)
                    #expect(newest >= before, "backup \(round)")
                    #expect(newest <= written.value + 1, "backup \(round)")
                    #expect(report.copiedTableCount == 0)
                    // Writing into the copy must not reach the original's files.
                    for number in newest + 1...newest + 60 { try Self.commit(number, copy) }
                    try copy.compact(KeyRange(from: [0], upTo: [9]))
                    copy.close()
                    try FileManager.default.removeItem(atPath: target)
                }
            }
            let newest = written.value
            #expect(try Self.newestCommit(store) == newest)
            #expect(try store.verifyChecksums().damages.isEmpty)
            store.close()
            let again = try LevelDBStore.open(at: path, options: Self.options)
            defer { again.close() }
            #expect(try Self.newestCommit(again) == newest)
            #expect(try again.verifyChecksums().damages.isEmpty)
        }
    }

    @Test("the check of a backup detects a lost commit, half a commit and a lost counter")
    func checkFindsFaults() throws {
        let half = [2] + [UInt8](number: 5)
        let faults: [@Sendable (any StoreTransaction) throws -> Void] = [
            { try $0.delete([1] + [UInt8](number: 5)) },
            { try $0.set(half, to: [UInt8](number: 5)) },
            { try $0.set([0], to: [UInt8](number: 399)) },
        ]
        for fault in faults {
            let directory = try TemporaryDirectory()
            let store = try LevelDBStore.open(at: directory.path(of: "store"), options: Self.options)
            defer { store.close() }
            for number in 1...400 { try Self.commit(number, store) }
            #expect(try Self.newestCommit(store) == 400)
            try store.transact(fault)
            #expect(throws: (any Error).self) { try Self.newestCommit(store) }
        }
    }

    @Test("a backup of a closed store equals that store")
    func closedStore() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(of: "store")
        let store = try LevelDBStore.open(at: path, options: Self.options)
        for number in 1...700 { try Self.commit(number, store) }
        store.close()
        let report = try LevelDBStore.backup(ofStoreAt: path, to: directory.path(of: "copy"))
        #expect(report.entryCount == 601)
        #expect(report.linkedTableCount > 0)
        #expect(report.attemptCount == 1)
        let copy = try LevelDBStore.open(at: directory.path(of: "copy"))
        defer { copy.close() }
        #expect(try Self.newestCommit(copy) == 700)
    }

    @Test(
        "a backup refuses a path without a store, an existing target, and a damaged source, and leaves nothing behind")
    func refusals() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(of: "store")
        let target = directory.path(of: "copy")
        #expect(try storeError { _ = try LevelDBStore.backup(ofStoreAt: path, to: target) }.code == .notAStore)
        let store = try LevelDBStore.open(at: path, options: Self.options)
        for number in 1...700 { try Self.commit(number, store) }
        try store.compact(KeyRange(from: [0], upTo: [9]))
        store.close()
        let taken = try storeError { _ = try LevelDBStore.backup(ofStoreAt: path, to: directory.path) }
        #expect(taken.code == .inputOutput)
        #expect(taken.cause?.hasSuffix("File exists") == true)
        let table = "\(path)/\(try #require(try files(in: path, suffix: ".ldb").first))"
        var bytes = try Data(contentsOf: URL(fileURLWithPath: table))
        bytes[bytes.count / 3] ^= 1
        try bytes.write(to: URL(fileURLWithPath: table))
        #expect(try storeError { _ = try LevelDBStore.backup(ofStoreAt: path, to: target) }.code == .corruption)
        try FileManager.default.removeItem(atPath: table)
        let missing = try storeError { _ = try LevelDBStore.backup(ofStoreAt: path, to: target) }
        #expect(missing.code == .corruption)
        #expect(missing.fields["candidateFiles"] != nil)
        #expect(try files(in: directory.path) == ["store"])
    }

    @Test("the list of tables that a backup uses is LevelDB's own")
    func readsManifests() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(of: "store")
        let store = try LevelDBStore.open(at: path, options: Self.options)
        defer { store.close() }
        for number in 1...900 { try Self.commit(number, store) }
        try store.compact(KeyRange(from: [0], upTo: [9]))
        let report = try LevelDBStore.backup(ofStoreAt: path, to: directory.path(of: "copy"))
        let figures = try store.figures()
        #expect(report.linkedTableCount == figures.filesByLevel.reduce(0, +))
        #expect(figures.filesByLevel.reduce(0, +) > 0)
        #expect(figures.memoryByteCount > 0)
        #expect(figures.tableListText.contains("--- level 0 ---"))
        #expect(figures.statisticsText.contains("Level"))
        #expect(try store.approximateByteCount(of: KeyRange(from: [1], upTo: [2])) > 0)
        #expect(!store.isUnderWritePressure)
    }
}
