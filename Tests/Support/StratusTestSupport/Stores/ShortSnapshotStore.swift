// A store whose snapshots end after some reads, as those of a store at the other end of a network may after some
// seconds. It proves that long reads need no long snapshot.

package import StratusStore
import Synchronization

/// Ends every snapshot of the store it wraps after `readCount` look-ups and visited entries.
///
/// For writers that write beside a reader, it can be told to run a step of theirs before every n-th snapshot. Unlike
/// threads, that finds the same in every run.
package final class ShortSnapshotStore: StoreWrapper {
    private struct Beside {
        var interval = 0
        var snapshotCount = 0
        var isRunning = false
        var step: (@Sendable () throws -> Void)?
    }

    package let wrapped: any OrderedStore
    private let readCount: Int
    private let endedCount = Atomic(0)
    private let beside = Locked(Beside())

    package init(_ wrapped: any OrderedStore, endingAfter readCount: Int) {
        (self.wrapped, self.readCount) = (wrapped, readCount)
    }

    package var snapshotsLast: Bool { false }

    /// How many snapshots have ended before their reader was done.
    package var endedSnapshotCount: Int { endedCount.load(ordering: .relaxed) }

    package func read<Result>(_ scope: ReadScope, _ body: (any StoreReader) throws -> Result) throws -> Result {
        if scope == .wholeStore { return try body(PagedReader(self)) }
        try runStepBeside()
        return try wrapped.read(scope) { reader in
            let ending = EndingReader(reader, endingAfter: readCount)
            defer { if ending.hasEnded { endedCount.add(1, ordering: .relaxed) } }
            return try body(ending)
        }
    }

    /// Runs `step` before every `interval`-th snapshot while `body` runs. One thread may use the store meanwhile.
    package func running<Result>(
        every interval: Int, _ step: @escaping @Sendable () throws -> Void, while body: () throws -> Result
    ) rethrows -> Result {
        beside.withLock { $0 = Beside(interval: interval, step: step) }
        defer { beside.withLock { $0 = Beside() } }
        return try body()
    }

    private func runStepBeside() throws {
        let step = beside.withLock { beside -> (@Sendable () throws -> Void)? in
            // The step itself takes snapshots.
            guard !beside.isRunning, let step = beside.step else { return nil }
            beside.snapshotCount += 1
            guard beside.snapshotCount.isMultiple(of: beside.interval) else { return nil }
            beside.isRunning = true
            return step
        }
        guard let step else { return }
        defer { beside.withLock { $0.isRunning = false } }
        try step()
    }
}

/// A reader that ends.
private final class EndingReader: ReaderWrapper {
    let wrapped: any StoreReader
    private var left: Int

    init(_ wrapped: any StoreReader, endingAfter readCount: Int) { (self.wrapped, left) = (wrapped, readCount) }

    var hasEnded: Bool { left < 0 }

    private func count() throws {
        left -= 1
        guard left < 0 else { return }
        throw StoreError(.snapshotEnded, "The snapshot has ended: read the rest in another one.")
    }

    func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        try count()
        return try wrapped.visitValue(forKey: key, body)
    }

    func values(forKeys keys: [[UInt8]]) throws -> [[UInt8]?] {
        try keys.map { try value(forKey: $0) }
    }

    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        try wrapped.scan(range, direction, limit: limit) { key, value in
            try count()
            return try visit(key, value)
        }
    }

    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int, following follow: EntryFollower,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        try scan(range, direction, limit: limit, visit)
    }
}
