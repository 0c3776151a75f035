// Stores with one fault each, so that the checker of histories is shown to detect it.

import StratusLayout
import StratusStore

/// A fault below or inside the engine.
package enum PlantedFault: String, CaseIterable, Sendable {
    /// Writes to the share counts are lost.
    case losesShareCounts
    /// Deletions of entries of children are lost.
    case keepsOldChildren
    /// Places that ended are not remembered.
    case losesEndedParents
    /// Tombstones are not in the feed.
    case losesChanges
    /// The caches do not learn of commits.
    case publishesNothing
    /// Readers of old snapshots claim to be as new as any, so that the cache gives them entries that are too new.
    case ignoresVersions

    /// A subject in memory with the cache on and this fault.
    package var subject: HistorySubject {
        HistorySubject("memory with \(rawValue)", ancestorCacheByteCount: 4 << 20) {
            WrappingHistoryPlace(MemoryHistoryPlace()) { FaultyStore($0, self) }
        }
    }

    fileprivate func losesWrite(_ key: [UInt8], isDeletion: Bool) -> Bool {
        let place = KeyDescription.text(of: key)
        return switch self {
        case .losesShareCounts: place.contains("/ shareCounts /")
        case .keepsOldChildren: isDeletion && place.contains("/ children /")
        case .losesEndedParents: !isDeletion && place.contains("/ endedParents /")
        case .losesChanges: !isDeletion && place.contains("/ zone ") && place.contains("/ changes /")
        case .publishesNothing, .ignoresVersions: false
        }
    }
}

private final class FaultyStore: StoreWrapper {
    let wrapped: any OrderedStore
    private let fault: PlantedFault

    init(_ wrapped: any OrderedStore, _ fault: PlantedFault) {
        self.wrapped = wrapped
        self.fault = fault
    }

    func read<Result>(_ scope: ReadScope, _ body: (any StoreReader) throws -> Result) throws -> Result {
        try wrapped.read(scope) { try body(FaultyReader($0, fault)) }
    }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        try wrapped.transact(lane: lane) { try body(FaultyTransaction($0, fault)) }
    }
}

private final class FaultyReader: ReaderWrapper {
    let wrapped: any StoreReader
    private let fault: PlantedFault

    init(_ wrapped: any StoreReader, _ fault: PlantedFault) {
        self.wrapped = wrapped
        self.fault = fault
    }

    var version: StoreVersion { fault == .ignoresVersions ? .max - 1 : wrapped.version }
}

private final class FaultyTransaction: TransactionWrapper {
    let wrappedTransaction: any StoreTransaction
    private let fault: PlantedFault

    init(_ wrapped: any StoreTransaction, _ fault: PlantedFault) {
        wrappedTransaction = wrapped
        self.fault = fault
    }

    func set(_ key: [UInt8], to value: [UInt8]) throws {
        if !fault.losesWrite(key, isDeletion: false) { try wrappedTransaction.set(key, to: value) }
    }

    func delete(_ key: [UInt8]) throws {
        if !fault.losesWrite(key, isDeletion: true) { try wrappedTransaction.delete(key) }
    }

    func onPublish(_ action: @escaping @Sendable (StoreVersion) -> Void) {
        if fault != .publishesNothing { wrappedTransaction.onPublish(action) }
    }
}
