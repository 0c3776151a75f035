// Reads all entries, past whatever is damaged, and tells between which keys the damage lies.
//
// LevelDB passes over a block that it cannot read, and its iterator remembers the first error for ever. So an iterator
// is asked at every step, and behind the damage a new one goes on. A new one may meet the same damage at once: when a
// table cannot be opened at all, or when entries of another level lie among the damaged ones. Then the next keys are
// tried, and after too many of them the stretch counts as damaged up to where the next table begins.
//
// Unsafe: a key is copied out of LevelDB's memory, which stays as it is because its iterator stands still meanwhile.

internal import StratusStore

struct ChecksumReader {
    /// So many keys are tried behind a damage.
    private static let maximumTryCount = 1_000
    /// Entries between two calls of `progress`.
    private static let progressEntryCount = 10_000
    /// Behind every key.
    static let end = [UInt8](repeating: 0xFF, count: StoreLimits.maximumKeyByteCount + 1)

    private(set) var entryCount = 0
    private(set) var damages: [(error: EngineError, range: KeyRange)] = []
    private let snapshot: EngineSnapshot
    /// In order.
    private let tableStarts: [[UInt8]]

    init(_ snapshot: EngineSnapshot, tableStarts: [[UInt8]]) {
        self.snapshot = snapshot
        self.tableStarts = tableStarts
    }

    /// Reads everything. `progress` is told now and then up to which key. Throws what is not corruption.
    mutating func read(_ progress: (_ key: [UInt8]) -> Void) throws {
        var position: [UInt8]? = []
        while let start = position {
            let iterator = snapshot.makeIterator()
            defer { iterator.destroy() }
            iterator.seek(start)
            guard let (error, lower) = pass(iterator, from: start, progress) else { break }
            guard error.isCorruption else { throw error.storeError() }
            position = nextSoundKey(iterator)
            damages.append((error, KeyRange(from: lower, upTo: position ?? Self.end)))
        }
        progress(Self.end)
    }

    /// Counts entries up to the first error. Returns it with the lowest key that it may have swallowed.
    private mutating func pass(
        _ iterator: EngineIterator, from start: [UInt8], _ progress: ([UInt8]) -> Void
    ) -> (error: EngineError, lower: [UInt8])? {
        var last: [UInt8] = []
        var hasRead = false
        while true {
            do {
                try iterator.check()
            } catch {
                return (error, hasRead ? last + [0] : start)
            }
            guard iterator.isValid else { return nil }
            unsafe iterator.key.copy(to: &last)
            hasRead = true
            entryCount += 1
            if entryCount % Self.progressEntryCount == 0 { progress(last) }
            iterator.moveForward()
        }
    }

    /// Where reading can go on, from where an iterator stands that has met damage; nil when nothing is left.
    private func nextSoundKey(_ iterator: EngineIterator) -> [UInt8]? {
        var key: [UInt8] = []
        for _ in 0..<Self.maximumTryCount {
            guard iterator.isValid else { return nil }
            unsafe iterator.key.copy(to: &key)
            if isSound(key) { return key }
            iterator.moveForward()
        }
        return tableStarts.first { key.lexicographicallyPrecedes($0) }
    }

    private func isSound(_ key: [UInt8]) -> Bool {
        let iterator = snapshot.makeIterator()
        defer { iterator.destroy() }
        iterator.seek(key)
        return (try? iterator.check()) != nil
    }
}
