// A store that is only read: what would write to it is a mistake of the verb, and in a copy it would be lost.

import StratusStore
import Synchronization

final class ReadingStore: OrderedStore {
    private let store: any OrderedStore
    private let isSealed = Atomic(false)

    init(_ store: any OrderedStore) { self.store = store }

    /// From here on transactions are refused: the store is laid out.
    func seal() { isSealed.store(true, ordering: .releasing) }

    func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result { try store.read(body) }

    func transact<Result>(_ body: (any StoreTransaction) throws -> Result) throws -> Result {
        guard !isSealed.load(ordering: .acquiring) else {
            throw StoreError(.notPermitted, "The store was opened to be read, and the verb tried to write.")
        }
        return try store.transact(body)
    }

    var statistics: StoreStatistics { store.statistics }
    var isUnderWritePressure: Bool { store.isUnderWritePressure }

    func close() { store.close() }
}
