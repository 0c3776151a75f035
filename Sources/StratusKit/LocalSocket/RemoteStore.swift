// The entries of a store that another process has open, read over its socket. Nothing is written this way.

import Foundation
import StratusStore
import Synchronization

/// A store that is only read. Each snapshot is one of the host's.
final class RemoteStore: OrderedStore {
    private let client: LocalClient
    /// Counts down. The host's commits are not heard of here, so that nothing that was kept of one snapshot may be used for a
    /// later one; whoever keeps things by versions gives none to a reader whose version is older.
    private let nextVersion = Atomic<StoreVersion>(.max - 1)

    init(_ client: LocalClient) { self.client = client }

    func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
        let version = nextVersion.subtract(1, ordering: .relaxed).newValue
        do {
            return try client.reading { try body(RemoteReader($0, version: version)) }
        } catch let error as LocalSocketError {
            throw error.told()
        }
    }

    func transact<Result>(_ body: (any StoreTransaction) throws -> Result) throws -> Result {
        throw StoreError(
            .notPermitted, "The store is another process's, which does this only by itself: stop it first.")
    }

    /// What the host's store has done, for whoever reads and for all others.
    var statistics: StoreStatistics { (try? client.ask(.host(.statistics))) ?? StoreStatistics() }
    var isUnderWritePressure: Bool { false }

    func close() {}
}

private final class RemoteReader: StoreReader {
    /// The first page of a scan, which often needs no more; each next one is larger.
    private static let firstPageCount = 32
    private static let lastPageCount = 4_096

    let version: StoreVersion
    private let channel: LocalChannel

    init(_ channel: LocalChannel, version: StoreVersion) {
        self.channel = channel
        self.version = version
    }

    /// The host counts what it is asked.
    var cost: StoreCost { StoreCost() }

    func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        let answer: ReadValue = try LocalClient.ask(.read(.value(key: Data(key))), over: channel)
        guard let value = answer.value.map({ [UInt8]($0) }) else { return false }
        try body(value.span)
        return true
    }

    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        var (range, remaining, pageCount) = (range, limit, Self.firstPageCount)
        while remaining > 0 {
            let page: ReadEntries = try LocalClient.ask(
                .read(
                    .entries(
                        from: Data(range.lower), upTo: Data(range.upper), isBackward: direction == .backward,
                        limit: min(remaining, pageCount))),
                over: channel)
            for entry in page.entries {
                let (key, value) = ([UInt8](entry.key), [UInt8](entry.value))
                guard case .next = try visit(key.span, value.span) else { return }
            }
            guard !page.isAtEnd, let last = page.entries.last?.key else { return }
            remaining -= page.entries.count
            pageCount = min(pageCount * 4, Self.lastPageCount)
            switch direction {
            case .forward: range.lower = [UInt8](last) + [0]
            case .backward: range.upper = [UInt8](last)
            }
        }
    }
}
