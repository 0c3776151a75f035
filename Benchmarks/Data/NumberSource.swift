// Records without end, each with a name of its own, for savers on many threads.

import StratusModel
import Synchronization

/// Hands out numbers and the records that belong to them.
final class NumberSource: Sendable {
    private static let seed: UInt64 = 77
    private let last = Atomic(0)

    struct Item {
        let number: Int
        let content: RecordContent
        let record: Record
    }

    func next() -> Item {
        let number = last.add(1, ordering: .relaxed).newValue
        let content = RecordContent(seed: Self.seed, index: number)
        let record = Record(
            name: RecordName(seed: Self.seed, index: number), type: content.type, fields: content.fields)
        return Item(number: 10_000_000 + number, content: content, record: record)
    }
}
