// Random tuples that favour the values at which an encoding breaks: boundaries, escapes, near duplicates.

package import StratusLayout

import FoundationEssentials

extension SplitMix64 {
    /// A tuple of up to `maximumCount` elements.
    package mutating func tuple(maximumCount: Int = 4) -> [TupleElement] {
        (0..<below(maximumCount + 1)).map { _ in tupleElement() }
    }

    /// An element of any type; nested tuples are at most `depth` deep.
    package mutating func tupleElement(depth: Int = 2) -> TupleElement {
        switch below(depth > 0 ? 10 : 9) {
        case 0: .null
        case 1: .bytes(awkwardBytes())
        case 2, 3: .string(awkwardText())
        case 4: .integer(awkwardInteger())
        case 5: .unsigned(UInt64(bitPattern: awkwardInteger()))
        case 6: .double(awkwardDouble())
        case 7: .boolean(isOne(in: 2))
        case 8: isOne(in: 2) ? .uuid(uuid()) : .date(Date(timeIntervalSinceReferenceDate: awkwardDouble()))
        default: .nested((0..<below(4)).map { _ in tupleElement(depth: depth - 1) })
        }
    }

    /// The same tuple, or one that differs from it in one place, so that comparisons get past the first element.
    package mutating func neighbour(of tuple: [TupleElement]) -> [TupleElement] {
        var neighbour = tuple
        switch below(5) {
        case 0: break
        case 1: neighbour.append(tupleElement())
        case 2 where !neighbour.isEmpty: neighbour.removeLast()
        case 3 where !neighbour.isEmpty: neighbour[below(neighbour.count)] = tupleElement()
        default:
            if let last = neighbour.popLast() { neighbour.append(self.neighbour(ofElement: last)) }
        }
        return neighbour
    }

    private mutating func neighbour(ofElement element: TupleElement) -> TupleElement {
        switch element {
        case .bytes(let value): .bytes(value + [self.element(of: [0, 1, 2, 0xFF])])
        case .string(let value): .string(value + self.element(of: ["\0", "\u{1}", "\u{2}", "a", "\u{10FFFF}"]))
        case .integer(let value): .integer(isOne(in: 2) ? value &+ 1 : value &- 1)
        case .unsigned(let value): .unsigned(value &+ 1)
        case .double(let value): .double(isOne(in: 2) ? value.nextUp : -value)
        case .boolean(let value): .boolean(!value)
        case .nested(let inner): .nested(neighbour(of: inner))
        case .null, .uuid, .date: tupleElement()
        }
    }

    /// Any length class of an integer, and the numbers next to a change of length.
    package mutating func awkwardInteger() -> Int64 {
        switch below(4) {
        case 0: Int64(below(5)) - 2
        case 1: (Int64(1) << Int64(below(63))) &+ Int64(below(3)) - 1
        case 2: 0 &- ((Int64(1) << Int64(below(64))) &+ Int64(below(3)) &- 1)
        default: Int64(bitPattern: next()) >> Int64(below(64))
        }
    }

    /// Any bit pattern, the special values, and small numbers.
    package mutating func awkwardDouble() -> Double {
        switch below(3) {
        case 0:
            element(of: [
                0.0, -0.0, 1, -1, .infinity, -.infinity, .nan, -.nan, .leastNonzeroMagnitude, -.leastNonzeroMagnitude,
                .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNormalMagnitude, .signalingNaN, .pi,
            ])
        case 1: Double(awkwardInteger())
        default: Double(bitPattern: next())
        }
    }

    /// Few distinct bytes, mostly those that need escapes, in lengths around the size of a scanned block.
    package mutating func awkwardBytes() -> [UInt8] {
        let count = isOne(in: 8) ? 14 + below(40) : below(6)
        return (0..<count).map { _ in isOne(in: 3) ? element(of: [0, 1, 2, 0xFE, 0xFF]) : UInt8(below(256)) }
    }

    /// Text of one to four byte scalars, NUL and combining marks included.
    package mutating func awkwardText() -> String {
        let scalars: [Unicode.Scalar] = [
            "\0", "\u{1}", "\u{2}", "a", "b", "\u{7F}", "\u{80}", "é", "e", "\u{301}", "\u{7FF}", "\u{800}", "\u{FFFF}",
            "\u{D7FF}", "\u{E000}", "\u{10000}", "😀", "\u{10FFFF}",
        ]
        var text = String.UnicodeScalarView()
        let count = isOne(in: 8) ? 14 + below(40) : below(6)
        let plain = isOne(in: 2)
        for _ in 0..<count { text.append(plain ? Unicode.Scalar(UInt8(97 + below(3))) : element(of: scalars)) }
        return String(text)
    }
}
