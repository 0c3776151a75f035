// The record layer over one store: the only way into it is `read` and `transact`.

package import FoundationEssentials
import StratusLayout
package import StratusStore
import Synchronization

/// Records, indexes and hierarchy on an ordered store. Knows no users.
///
/// Calls block their thread; they are never made on the cooperative pool.
package final class RecordEngine: Sendable {
    package let store: any OrderedStore
    package let options: RecordEngineOptions
    package let ancestorCache: AncestorCache
    /// What told this store from every other, copies of it included, when it was opened.
    package let openedIncarnation: UUID
    /// Half of these are kept for certain: twenty times the zones that a database may have.
    let directoryCache = ZoneDirectoryCache(maximumCount: 40_000)
    /// Whether this engine rebuilds indexes: one zone at a time.
    let isRebuilding = Atomic(false)
    /// The zones whose indexes are not to be relied on: those that have a rebuild entry in the newest published version.
    let rebuilding: Locked<Set<CacheZone>>

    /// Opens the record layer of a store, and lays it out if the store is empty.
    ///
    /// `incarnation` is drawn by the caller and used only for an empty store.
    ///
    /// Throws `RecordsError` with `newerFormat` when a newer version of this software wrote the store, with `olderFormat`
    /// when an older one did and the options refuse that, with `notAStore` when it holds something else, and the store's own errors as `RecordsError` of the same code.
    package init(store: any OrderedStore, options: RecordEngineOptions = .init(), incarnation: UUID) throws {
        self.store = store
        self.options = options
        self.ancestorCache = AncestorCache(capacityByteCount: options.ancestorCacheByteCount)
        let (opened, rebuilding) = try Self.wrappingErrors {
            let opened = try StoreFormat.check(store, incarnation: incarnation, olderFormat: options.olderFormat)
            return (opened, try store.read { try RebuildMark.zones(in: $0) })
        }
        openedIncarnation = opened
        self.rebuilding = Locked(rebuilding)
    }

    /// Runs `body` on a snapshot of everything committed.
    ///
    /// Throws what `body` throws; errors of the floors below come as `RecordsError`.
    package func read<Result>(_ body: (RecordReader) throws -> Result) throws -> Result {
        try Self.wrappingErrors {
            try store.read { reader in
                try body(RecordReader(store: reader, transaction: nil, engine: self))
            }
        }
    }

    /// Runs `body` as one transaction and returns when it is durable. The body may run twice.
    ///
    /// Throws what `body` throws, with nothing written; errors of the floors below come as `RecordsError`.
    @discardableResult
    package func transact<Result>(_ body: (RecordTransaction) throws -> Result) throws -> Result {
        try Self.wrappingErrors {
            try store.transact { writer in
                try body(RecordTransaction(writer, engine: self))
            }
        }
    }

    private static func wrappingErrors<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            throw RecordsError(wrapping: error)
        } catch let error as LayoutError {
            throw RecordsError(wrapping: error)
        }
    }
}
