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
    /// The first byte of a value in the tree.
    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let isSet = Flags(rawValue: 1)
        static let isNew = Flags(rawValue: 2)
    }

    fileprivate init(_ key: [UInt8], stored: [UInt8]) {
        self.key = key
        value = Flags(rawValue: stored.first ?? 0).contains(.isSet) ? [UInt8](stored.dropFirst()) : nil
    }

    /// Whether the first write of the group expected no entry under the key; nil if there was none.
    fileprivate static func isNew(stored: [UInt8]?) -> Bool? {
        stored?.first.map { Flags(rawValue: $0).contains(.isNew) }
    }

    fileprivate static func stored(_ value: [UInt8]?, isNew: Bool) -> [UInt8] {
        var flags: Flags = isNew ? .isNew : []
        if value != nil { flags.insert(.isSet) }
        return [flags.rawValue] + (value ?? [])
    }
}

/// Writes that can be undone to a mark.
final class WireOverlay {
    struct Mark {
        fileprivate let writes: ByteTree
        fileprivate let byteCount: Int
        fileprivate let divisions: [[UInt8]: Bool]
    }

    private(set) var writes = ByteTree()
    /// Keys and values of all writes, replaced ones included.
    private(set) var byteCount = 0
    /// Bounds, as `StoreTransaction.divide` gets them: whether entries from there on have other writers than those
    /// below.
    var divisions: [[UInt8]: Bool] = [:]

    var mark: Mark { Mark(writes: writes, byteCount: byteCount, divisions: divisions) }

    func undo(to mark: Mark) {
        writes = mark.writes
        byteCount = mark.byteCount
        divisions = mark.divisions
    }

    /// Sets a key, or deletes it if the value is nil. `isNew` says whether the store has no entry under the key, as
    /// far as the caller knows.
    func write(_ key: [UInt8], _ value: [UInt8]?, isNew: Bool = false) {
        writes.update(key) { OverlayWrite.stored(value, isNew: OverlayWrite.isNew(stored: $0) ?? isNew) }
        byteCount += key.count + (value?.count ?? 0)
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

    /// Everything that a commit must write. Entries are inserted if their writer said that they are new, or if their
    /// keys were read and are absent; none is inserted if `isAbsent` is nil.
    func written(isAbsent: ((_ key: [UInt8]) -> Bool)?) -> WrittenEntries {
        var written = WrittenEntries()
        written.divisions = divisions
        writes.scan(from: [], upTo: KeyRange.everything.upper, .forward) { key, stored in
            let write = OverlayWrite(key, stored: stored)
            guard let value = write.value else {
                written.deletes.append(key)
                return .next
            }
            if let isAbsent, OverlayWrite.isNew(stored: stored) == true || isAbsent(key) {
                written.inserts.append((key, value))
            } else {
                written.sets.append((key, value))
            }
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
