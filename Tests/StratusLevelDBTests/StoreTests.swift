// The store's everyday behaviour on a directory.

import Foundation
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusLevelDB

@Suite struct StoreTests {
    @Test("committed data is there after reopening")
    func reopens() throws {
        let directory = try TemporaryDirectory()
        let store = try LevelDBStore.open(at: directory.path(of: "store"))
        try store.transact { transaction in
            for number in 0..<100 as Range<UInt8> { try transaction.set([1, number], to: [number]) }
            try transaction.delete([1, 50])
        }
        store.close()
        let again = try LevelDBStore.open(at: directory.path(of: "store"))
        defer { again.close() }
        let keys = try again.read { reader in
            var keys: [UInt8] = []
            try reader.scan(KeyRange(from: [1], upTo: [2])) { key, _ in
                keys.append(key[1])
                return .next
            }
            return keys
        }
        #expect(keys == (0..<100).filter { $0 != 50 })
    }

    @Test("a store whose emptying was interrupted is emptied by the next opening, except its lock and marker")
    func emptying() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(of: "store")
        let store = try LevelDBStore.open(at: path)
        try store.transact { try $0.set([1], to: [1]) }
        try FileManager.default.createDirectory(atPath: "\(path)/other/deep", withIntermediateDirectories: true)
        #expect(try !LevelDBStore.isBeingEmptied(path))
        try store.beginEmptying()
        #expect(try LevelDBStore.isBeingEmptied(path))
        store.close()
        let lock = try SystemFiles.status("\(path)/LOCK")?.identity
        // Until then it is not a store that can be copied or repaired.
        for copy in [
            { _ = try LevelDBStore.backup(ofStoreAt: path, to: directory.path(of: "copy")) },
            { try LevelDBStore.repairLosingDamagedData(ofStoreAt: path, to: directory.path(of: "copy")) },
        ] {
            #expect(try storeError(copy).code == .unavailable)
        }
        var options = LevelDBOptions()
        options.createIfMissing = false
        var told: [[Int]] = []
        let emptied = try LevelDBStore.open(at: path, options: options) { told.append([$0, $1]) }
        #expect(try contents(emptied).isEmpty)
        #expect(told.first?.first == 0)
        #expect(told.last == [told.count - 1, told.count - 1])
        #expect(told.count > 5)
        #expect(try SystemFiles.status("\(path)/LOCK")?.identity == lock)
        #expect(try !SystemFiles.names(in: path).contains("other"))
        try emptied.transact { try $0.set([2], to: [2]) }
        emptied.close()
        let again = try LevelDBStore.open(at: path, options: options)
        defer { again.close() }
        #expect(try contents(again) == [[2]: [2]])
    }

    @Test("a transaction's scan merges its writes with the stored data, in both directions")
    func mergesScans() throws {
        let directory = try TemporaryDirectory()
        let store = try LevelDBStore.open(at: directory.path(of: "store"))
        defer { store.close() }
        try store.transact { transaction in
            for number in stride(from: 0, to: 20, by: 2) { try transaction.set([UInt8(number)], to: [0]) }
        }
        try store.transact { transaction in
            for number in stride(from: 0, to: 20, by: 3) { try transaction.set([UInt8(number)], to: [1]) }
            try transaction.delete([4])
            try transaction.delete([6])
            for direction in [ScanDirection.forward, .backward] {
                var found: [[UInt8]] = []
                try transaction.scan(KeyRange(from: [2], upTo: [18]), direction, limit: .max) { key, value in
                    found.append([key[0], value[0]])
                    try transaction.set([key[0] &+ 1], to: [9])
                    try transaction.delete([key[0] &+ 1])
                    return .next
                }
                let expected: [[UInt8]] = [
                    [2, 0], [3, 1], [8, 0], [9, 1], [10, 0], [12, 1], [14, 0], [15, 1], [16, 0],
                ]
                #expect(found == (direction == .forward ? expected : expected.reversed()))
                for number in [3, 9, 15] as [UInt8] { try transaction.set([number], to: [1]) }
                for number in [12] as [UInt8] { try transaction.set([number], to: [1]) }
                for number in [10, 16] as [UInt8] { try transaction.set([number], to: [0]) }
                try transaction.delete([13])
            }
        }
    }

    @Test("closing waits for current readers, which can read until they finish")
    func closingWaits() async throws {
        try await TestThreads.offPool {
            let directory = try TemporaryDirectory()
            let store = try LevelDBStore.open(at: directory.path(of: "store"))
            try store.transact { try $0.set([1], to: [2]) }
            let isReading = Latch("the reader to be in")
            let isClosed = Locked(false)
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    try store.read { reader in
                        isReading.open()
                        // Until closing has begun, and then long enough for a caller that does not wait.
                        while (try? store.read { _ in }) != nil { TestThreads.yield() }
                        for _ in 0..<50_000 where !isClosed.value { TestThreads.yield() }
                        #expect(!isClosed.value)
                        let value = try reader.value(forKey: [1])
                        #expect(value == [2])
                    }
                } else {
                    try isReading.wait()
                    store.close()
                    isClosed.withLock { $0 = true }
                }
            }
            #expect(isClosed.value)
        }
    }

    @Test("a scan over own writes shows the state at its beginning, however far ahead its visitor writes")
    func visitorsWrites() throws {
        let directory = try TemporaryDirectory()
        let store = try LevelDBStore.open(at: directory.path(of: "store"))
        defer { store.close() }
        try store.transact { transaction in
            for number in [2, 4, 6, 8] as [UInt8] { try transaction.set([number], to: [1]) }
            var found: [[UInt8]] = []
            try transaction.scan(KeyRange(from: [0], upTo: [20])) { key, value in
                found.append([key[0], value[0]])
                guard key[0] == 2 else { return .next }
                for number in [5, 6, 9] as [UInt8] { try transaction.set([number], to: [7]) }
                try transaction.delete([8])
                return .next
            }
            #expect(found == [[2, 1], [4, 1], [6, 1], [8, 1]])
            #expect(try transaction.value(forKey: [6]) == [7])
        }
    }
}
