// Reading for longer than a snapshot lasts: page by page, each page in a snapshot of its own.
//
// A store whose snapshots end early answers `read(.wholeStore)` with a `PagedReader`. Its reader does not show one
// moment (`showsOneMoment`), so what two entries say together may never have been true. A verifier, which compares
// entries, confirms what it finds (`confirmed`); a caller that needs entries together reads them with `atOneMoment`.

/// A reader over many snapshots. Each look-up has its own. A scan is read in pages, each in its own snapshot, and the
/// visitor runs between them. A snapshot that ends within a page is taken again.
///
/// Its version is 0, so no cache that answers by version is used or filled.
package final class PagedReader: StoreReader {
    /// How often a snapshot is taken again that ended before it had read anything.
    private static let attemptCount = 16

    private let store: any OrderedStore
    private let pageCount: Int
    private let pageByteCount: Int
    package private(set) var cost = StoreCost()

    /// Reads `store` in pages of at most so many entries, and about so many bytes.
    package init(_ store: any OrderedStore, pageCount: Int = 1_024, pageByteCount: Int = 1 << 20) {
        (self.store, self.pageCount, self.pageByteCount) = (store, pageCount, pageByteCount)
    }

    package var version: StoreVersion { 0 }

    package var showsOneMoment: Bool { false }

    package func atOneMoment<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
        var attempt = 1
        while true {
            do {
                return try store.read(.page, body)
            } catch let error as StoreError where error.code == .snapshotEnded && attempt < Self.attemptCount {
                attempt += 1
            }
        }
    }

    package func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        cost.pointReads += 1
        guard let value = try atOneMoment({ try $0.value(forKey: key) }) else { return false }
        try body(value.span)
        return true
    }

    package func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        guard !range.isEmpty, limit > 0 else { return }
        cost.seeks += 1
        var (rest, left) = (range, limit)
        while left > 0, !rest.isEmpty {
            let page = try page(of: rest, direction, limit: min(left, pageCount))
            for entry in page.entries {
                cost.cursorSteps += 1
                guard try visit(entry.key.span, entry.value.span) == .next else { return }
            }
            guard page.hasMore, let last = page.entries.last else { return }
            left -= page.entries.count
            switch direction {
            case .forward: rest.lower = last.key + [0]
            case .backward: rest.upper = last.key
            }
        }
    }

    private struct Page {
        var entries: [(key: [UInt8], value: [UInt8])] = []
        var hasMore = false
    }

    /// The first entries of a range in one snapshot. If that ends within the page, those before its end.
    private func page(of range: KeyRange, _ direction: ScanDirection, limit: Int) throws -> Page {
        var page = Page()
        var attempt = 1
        while true {
            do {
                try store.read(.page) { reader in
                    page = Page()
                    var byteCount = 0
                    try reader.scan(range, direction, limit: limit) { key, value in
                        page.entries.append(([UInt8](copying: key), [UInt8](copying: value)))
                        byteCount += key.count + value.count
                        page.hasMore = page.entries.count == limit || byteCount >= pageByteCount
                        return page.hasMore ? .stop : .next
                    }
                }
                return page
            } catch let error as StoreError where error.code == .snapshotEnded {
                page.hasMore = true
                if !page.entries.isEmpty { return page }
                guard attempt < Self.attemptCount else { throw error }
                attempt += 1
            }
        }
    }
}

/// The result of a verification.
package protocol ConfirmableReport {
    /// Whether anything was found.
    var hasFindings: Bool { get }
    /// Forgets what an earlier run of the same verification has not found.
    mutating func keepOnly(whatFound earlier: Self)
    /// Drops the details that only `keepOnly` needs. Counts stay.
    mutating func finishConfirming()
}

extension OrderedStore {
    /// Runs a verification that reads with `.wholeStore`.
    ///
    /// Where snapshots last, it reads one moment, and its findings are certain. Elsewhere it runs again while it finds
    /// something, twice at most, each time in later snapshots; the report keeps what all runs have found. A store
    /// without findings is read once.
    package func confirmed<Report: ConfirmableReport>(_ run: () throws -> Report) throws -> Report {
        var report = try run()
        guard !snapshotsLast else { return report }
        for _ in 0..<2 where report.hasFindings {
            var later = try run()
            later.keepOnly(whatFound: report)
            report = later
        }
        report.finishConfirming()
        return report
    }
}
