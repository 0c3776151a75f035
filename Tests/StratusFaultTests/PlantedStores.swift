// Stores that break a rule on purpose, to show that the fault tests detect it.

import StratusStore
import StratusTestSupport

/// Reports a commit of unknown outcome as successful.
final class ConfidentStore: StoreWrapper {
    let wrapped: any OrderedStore

    init(_ wrapped: any OrderedStore) { self.wrapped = wrapped }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        var results: [Result] = []
        do {
            return try wrapped.transact(lane: lane) { transaction in
                let result = try body(transaction)
                results.append(result)
                return result
            }
        } catch let error as StoreError where error.code == .commitUnknown {
            guard let result = results.last else { throw error }
            return result
        }
    }
}

/// Writes the last entry of a transaction in a commit of its own.
final class SplittingStore: StoreWrapper {
    let wrapped: any OrderedStore

    init(_ wrapped: any OrderedStore) { self.wrapped = wrapped }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        var rest: [(key: [UInt8], value: [UInt8]?)] = []
        let result = try wrapped.transact(lane: lane) { transaction in
            let gathering = GatheringTransaction(transaction)
            let result = try body(gathering)
            rest = gathering.writes.suffix(1)
            for write in gathering.writes.dropLast() { try Self.apply(write, to: transaction) }
            return result
        }
        try wrapped.transact(lane: lane) { transaction in
            for write in rest { try Self.apply(write, to: transaction) }
        }
        return result
    }

    private static func apply(
        _ write: (key: [UInt8], value: [UInt8]?), to transaction: any StoreTransaction
    ) throws {
        if let value = write.value {
            try transaction.set(write.key, to: value)
        } else {
            try transaction.delete(write.key)
        }
    }
}

/// Collects writes, which its own reads do not see.
private final class GatheringTransaction: TransactionWrapper {
    let wrappedTransaction: any StoreTransaction
    private(set) var writes: [(key: [UInt8], value: [UInt8]?)] = []

    init(_ wrapped: any StoreTransaction) { wrappedTransaction = wrapped }

    func set(_ key: [UInt8], to value: [UInt8]) { writes.append((key, value)) }

    func delete(_ key: [UInt8]) { writes.append((key, nil)) }
}

/// Treats a failed look-up as a missing key.
final class ForgetfulStore: StoreWrapper {
    let wrapped: any OrderedStore

    init(_ wrapped: any OrderedStore) { self.wrapped = wrapped }

    func read<Result>(_ scope: ReadScope, _ body: (any StoreReader) throws -> Result) throws -> Result {
        try wrapped.read(scope) { try body(ForgetfulReader($0)) }
    }
}

private final class ForgetfulReader: ReaderWrapper {
    let wrapped: any StoreReader

    init(_ wrapped: any StoreReader) { self.wrapped = wrapped }

    func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        (try? wrapped.visitValue(forKey: key, body)) ?? false
    }

    func values(forKeys keys: [[UInt8]]) throws -> [[UInt8]?] { try keys.map { try value(forKey: $0) } }
}
