// A store that runs bodies outside the lane and checks too little when it commits: planted isolation faults.

@testable import StratusStore
import StratusTestSupport
import Synchronization

final class OptimisticStore: StoreWrapper {
    enum Validation {
        /// Commits regardless of reads: updates are lost.
        case nothing
        /// Commits if the written keys are unchanged: snapshot isolation, which permits write skew and phantoms.
        case writtenKeys
        /// Serialisable, but every write is a commit of its own: readers see half of a transaction.
        case appliedOneByOne
    }

    private enum Write {
        case set([UInt8], [UInt8])
        case delete([UInt8])

        var key: [UInt8] {
            switch self {
            case .set(let key, _), .delete(let key): key
            }
        }

        func apply(to transaction: any StoreTransaction) throws {
            switch self {
            case .set(let key, let value): try transaction.set(key, to: value)
            case .delete(let key): try transaction.delete(key)
            }
        }
    }

    private struct Conflict: Error {}

    let wrapped: any OrderedStore
    private let memory: MemoryStore
    private let validation: Validation
    private let commits = Locked<Int>(0)

    init(_ memory: MemoryStore, _ validation: Validation) {
        wrapped = memory
        self.memory = memory
        self.validation = validation
    }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        while true {
            do {
                guard case .appliedOneByOne = validation else { return try attempt(body) }
                var result: Result?
                try commits.withLock { _ in result = try attempt(body) }
                if let result { return result }
            } catch is Conflict {}
        }
    }

    private func attempt<Result>(_ body: (any StoreTransaction) throws -> Result) throws -> Result {
        let (tree, version) = memory.published.withLock { ($0.tree, $0.version) }
        let scratch = MemoryTransaction(tree: tree, version: version)
        let log = WriteLog(scratch)
        let result = try body(log)
        if case .appliedOneByOne = validation {
            for write in log.writes {
                try memory.transact { try write.apply(to: $0) }
                TestThreads.yield()
            }
            return result
        }
        try memory.transact { transaction in
            for write in log.writes {
                if case .writtenKeys = validation,
                    try transaction.value(forKey: write.key) != tree.value(forKey: write.key)
                {
                    throw Conflict()
                }
            }
            for write in log.writes { try write.apply(to: transaction) }
        }
        return result
    }

    private final class WriteLog: TransactionWrapper {
        let wrappedTransaction: any StoreTransaction
        private(set) var writes: [Write] = []

        init(_ wrapped: any StoreTransaction) {
            wrappedTransaction = wrapped
        }

        func set(_ key: [UInt8], to value: [UInt8]) throws {
            try wrappedTransaction.set(key, to: value)
            writes.append(.set(key, value))
        }

        func delete(_ key: [UInt8]) throws {
            try wrappedTransaction.delete(key)
            writes.append(.delete(key))
        }
    }
}
