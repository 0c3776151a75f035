// The entries of a field's index in the order of its values, in either direction, one batch at a time.

import StratusLayout
import StratusModel
import StratusStore
import StratusTuple

/// An entry of a field's index.
struct ValueEntry {
    var element: TupleElement
    var name: RecordName
}

/// Gives the entries of ranges, one after the other.
final class ValueCursor {
    private let store: any StoreReader
    private let isForward: Bool
    private let prefixByteCount: Int
    private var rests: [LayoutRange]
    private var batch: [ValueEntry] = []
    private var lastKey: [UInt8] = []
    private var index = 0
    private var batchCount: Int

    /// The ranges lie in one field, in the order of the scan, whose keys have so many bytes before the element. So many
    /// entries are expected to be asked for.
    init(
        _ ranges: [LayoutRange], prefixByteCount: Int, isForward: Bool, expecting count: Int, in store: any StoreReader
    ) {
        batchCount = min(max(count, RangeNames.batchCounts.first), RangeNames.batchCounts.largest)
        self.store = store
        self.isForward = isForward
        self.prefixByteCount = prefixByteCount
        rests = ranges.filter { !$0.isEmpty }.reversed()
    }

    /// The next entry; nil at the end.
    func next() throws -> ValueEntry? {
        while index == batch.count {
            guard let range = rests.last else { return nil }
            try fill(range)
        }
        index += 1
        return batch[index - 1]
    }

    private func fill(_ range: LayoutRange) throws {
        batch.removeAll(keepingCapacity: true)
        index = 0
        let prefixByteCount = prefixByteCount
        try store.scan(range.keyRange, isForward ? .forward : .backward, limit: batchCount) { key, _ in
            let entry = try ZoneKeys.readFieldEntry(key, prefixByteCount: prefixByteCount)
            batch.append(ValueEntry(element: entry.element, name: entry.name))
            if batch.count == batchCount { lastKey = [UInt8](copying: key) }
            return .next
        }
        if batch.count < batchCount {
            rests.removeLast()
        } else {
            rests[rests.count - 1] = range.rest(behind: lastKey, isForward: isForward)
        }
        batchCount = min(batchCount * 4, RangeNames.batchCounts.largest)
    }
}
