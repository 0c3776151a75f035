// The writes of a group that is not committed yet: every transaction of the group reads through them.
//
// The writes are in a tree whose copies cost nothing, so a mark, an undo and the beginning of a scan are assignments.

/// The newest write of a key.
struct OverlayWrite {
    let key: [UInt8]
    /// Nil if the key is deleted.
    let value: [UInt8]?
}

extension OverlayWrite {
    // The first byte of a value in the tree.
    fileprivate static let deletion: UInt8 = 0
    fileprivate static let setting: UInt8 = 1

    fileprivate init(_ key: [UInt8], stored: [UInt8]) {
        self.key = key
        value = stored.first == Self.setting ? [UInt8](stored.dropFirst()) : nil
    }
}

/// Writes that can be undone to a mark.
final class WireOverlay {
    struct Mark {
        fileprivate let writes: ByteTree
        fileprivate let byteCount: Int
    }

    private(set) var writes = ByteTree()
    /// Keys and values of all writes, replaced ones included.
    private(set) var byteCount = 0

    var mark: Mark { Mark(writes: writes, byteCount: byteCount) }

    func undo(to mark: Mark) {
        writes = mark.writes
        byteCount = mark.byteCount
    }

    func set(_ key: [UInt8], to value: [UInt8]) {
        writes.set(key, to: [OverlayWrite.setting] + value)
        byteCount += key.count + value.count
    }

    func delete(_ key: [UInt8]) {
        writes.set(key, to: [OverlayWrite.deletion])
        byteCount += key.count
    }

    /// The write of a key; nil if the group has not written it.
    func write(to key: [UInt8]) -> OverlayWrite? {
        guard writes.count > 0 else { return nil }
        return writes.value(forKey: key).map { OverlayWrite(key, stored: $0) }
    }

    /// Whether any key of the range is written, including deletions of absent keys.
    func holdsWrite(in range: KeyRange) -> Bool {
        guard !range.isEmpty else { return false }
        var isFound = false
        writes.scan(from: range.lower, upTo: range.upper, .forward) { _, _ in
            isFound = true
            return .stop
        }
        return isFound
    }

    /// Everything that a commit must write.
    var written: WrittenEntries {
        var written = WrittenEntries()
        writes.scan(from: [], upTo: KeyRange.everything.upper, .forward) { key, stored in
            let write = OverlayWrite(key, stored: stored)
            if let value = write.value { written.sets.append((key, value)) } else { written.deletes.append(key) }
            return .next
        }
        return written
    }
}

/// Walks through the writes of a range. It takes few at a time, and more each time, because most scans stop early.
struct OverlayCursor {
    private static let firstBatchCount = 8
    private static let largestBatchCount = 512

    private let writes: ByteTree
    private let direction: ScanDirection
    private var rest: KeyRange
    private var batch: [OverlayWrite] = []
    private var index = 0
    private var batchCount = OverlayCursor.firstBatchCount

    /// The write at the cursor; nil behind the last one.
    var current: OverlayWrite? { index < batch.count ? batch[index] : nil }

    init(_ writes: ByteTree, _ range: KeyRange, _ direction: ScanDirection) {
        self.writes = writes
        self.direction = direction
        rest = range
        if writes.count > 0 { fill() }
    }

    mutating func advance() {
        index += 1
        if index == batch.count { fill() }
    }

    private mutating func fill() {
        index = 0
        batch = []
        guard !rest.isEmpty else { return }
        let count = batchCount
        var writes: [OverlayWrite] = []
        self.writes.scan(from: rest.lower, upTo: rest.upper, direction) { key, stored in
            writes.append(OverlayWrite(key, stored: stored))
            return writes.count < count ? .next : .stop
        }
        batch = writes
        batchCount = min(count * 2, Self.largestBatchCount)
        guard writes.count == count, let last = writes.last else {
            rest.upper = rest.lower
            return
        }
        rest.begin(at: direction == .forward ? last.key.successor : last.key, direction)
    }
}
