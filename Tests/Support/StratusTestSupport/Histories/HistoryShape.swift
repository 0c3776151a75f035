// The kind of a history: how many names, how deep, which zones. Small numbers, so that everything interacts.

package import StratusModel

/// The pool from which the steps of a history are drawn.
package struct HistoryShape: Sendable {
    package var depthLimit = 5
    package var names: [RecordName] = HistoryShape.plainNames
    package var shares: [RecordName] = ["s", "t"]
    /// Indexes into `HistoryContent.zones`.
    package var zones: [Int] = [0]
    package var largestBatch = 6
    /// Contents are drawn below this; over 900 some records are large.
    package var contentCount = 60

    package init() {}

    package static let plainNames: [RecordName] = "abcdefghijklmnopqrst".map { RecordName(String($0)) }

    /// Names that are hard to distinguish or to order: canonically equivalent ones, prefixes of each other, NULs.
    package static let hardNames: [RecordName] = [
        "a", "a\u{0}", "a\u{0}\u{0}", "a\u{0}b", "a\u{1}", "\u{0}", "\u{0}\u{FF}", "\u{E9}", "e\u{301}", "e", "\u{FF}",
        "\u{212B}", "\u{C5}", "A\u{30A}", "\u{10FFFF}", " ", "~", "\"", "\\", "\u{FFFD}", "\u{1F469}\u{200D}\u{1F4BB}",
    ]

    /// Names as long as the format allows, alike up to their end, and short ones.
    package static let longNames: [RecordName] =
        ["x", "y", "z", "v", "w"]
        + ["l", "m"].map { RecordName(String(repeating: "l", count: 254) + $0) }
        + [RecordName(String(repeating: "\u{20AC}", count: 255)), RecordName(String(repeating: "\u{0}", count: 255))]

    /// How many kinds of shapes there are.
    package static let count = 8

    /// The kind of shape of the history with this seed.
    package static func index(seed: UInt64) -> Int { Int(seed % UInt64(count)) }

    /// The shape of the history with this seed: all kinds in turn.
    package static func shape(seed: UInt64) -> HistoryShape {
        var shape = HistoryShape()
        switch index(seed: seed) {
        case 0: shape.depthLimit = 3
        case 1: shape.names = hardNames
        case 2:
            shape.zones = [0, 1, 2, 3]
            shape.names = Array(plainNames.prefix(6))
        case 3:
            shape.depthLimit = 30
            shape.largestBatch = 12
        case 4:
            shape.names = Array(plainNames.prefix(5))
            shape.depthLimit = 4
        case 5:
            shape.names = longNames
            shape.contentCount = 1_000
        case 6:
            shape.names = Array(plainNames.prefix(8)) + hardNames.prefix(8)
            shape.depthLimit = 7
            shape.zones = [0, 1]
        default:
            shape.depthLimit = 12
            shape.shares = ["s", "a", "b"]
        }
        return shape
    }
}
