// An endless supply of records, each with its own name, for savers on many threads.

package import StratusModel
import Synchronization

/// Returns numbers and the records that belong to them.
package final class NumberSource: Sendable {
    private static let seed: UInt64 = 77
    private let last: Atomic<Int>

    /// A record, its source data, and its number.
    package struct Item {
        package let number: Int
        package let content: RecordContent
        package let record: Record
    }

    /// The first number is the one after `last`, so that several processes have numbers of their own.
    package init(after last: Int = 0) { self.last = Atomic(last) }

    package func next() -> Item {
        let number = last.add(1, ordering: .relaxed).newValue
        let content = RecordContent(seed: Self.seed, index: number)
        let record = Record(
            name: RecordName(seed: Self.seed, index: number), type: content.type, fields: content.fields)
        return Item(number: 10_000_000 + number, content: content, record: record)
    }
}
