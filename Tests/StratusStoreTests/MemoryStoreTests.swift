// Behaviour specific to the in-memory store. The conformance suite tests what every store must do.

import StratusStore
import StratusTestSupport
import Testing

@Suite("The in-memory store")
struct MemoryStoreTests {
    @Test("reset clears everything, while a started reader keeps its view")
    func reset() throws {
        let store = MemoryStore()
        try store.transact { try $0.set([1], to: [2]) }
        try store.read { reader in
            try store.reset()
            #expect(try reader.value(forKey: [1]) == [2])
        }
        #expect(try store.read { reader in try reader.contains([1]) } == false)
        #expect(store.entryCount == 0)
        #expect(try store.read { $0.version } == 2)
    }

    @Test("a store that runs bodies twice keeps and counts the second run only")
    func bodiesTwice() throws {
        let store = MemoryStore(runsBodiesTwice: true)
        var runCount: UInt8 = 0
        let found = try store.transact { transaction in
            runCount += 1
            let isThere = try transaction.contains([1])
            try transaction.set([1], to: [runCount])
            return isThere
        }
        #expect(runCount == 2)
        #expect(found == false)
        #expect(try store.read { try $0.value(forKey: [1]) } == [2])
        #expect(store.statistics.transactionsCommitted == 1)
        #expect(store.statistics.cost.entriesWritten == 1)
    }

    @Test("closing lets a started reader finish")
    func closingUnderAReader() throws {
        let store = MemoryStore()
        try store.transact { try $0.set([1], to: [2]) }
        try store.read { reader in
            store.close()
            let value = try reader.value(forKey: [1])
            #expect(value == [2])
        }
        #expect(throws: StoreError.self) { try store.read { _ in } }
        #expect(throws: StoreError.self) { try store.reset() }
    }
}
