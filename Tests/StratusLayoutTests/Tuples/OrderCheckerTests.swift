// The order checker must fail: each encoder here has one fault that a real one might have.

import FoundationEssentials
import StratusLayout
import Testing

@Suite("the order checker detects a broken encoder")
struct OrderCheckerTests {
    private static let tuples: [[TupleElement]] = [
        [], [.bytes([])], [.bytes([0])], [.bytes([0, 0])], [.bytes([1])], [.bytes([2])], [.bytes([1, 0])],
        [.bytes([0xFF])], [.bytes([]), .bytes([0])], [.bytes([0]), .bytes([])],
        [.integer(-256)], [.integer(-255)], [.integer(-1)], [.integer(0)], [.integer(1)], [.integer(255)],
        [.integer(256)], [.double(-2)], [.double(-1)], [.double(-0.0)], [.double(0)], [.double(1)], [.double(.nan)],
    ]

    private func violation(_ fault: @escaping (TupleElement) -> [UInt8]?) throws -> String? {
        try OrderChecker { tuple in try tuple.flatMap { try fault($0) ?? TupleWriter.encoding(of: [$0]) } }
            .violationInAllPairs(of: Self.tuples)
    }

    @Test("it accepts the correct encoder")
    func passes() throws {
        #expect(try violation { _ in nil } == nil)
        let checker = OrderChecker { try TupleWriter.encoding(of: $0) }
        #expect(try checker.violationWhenSorted(Self.tuples) == nil)
        #expect(try checker.prefixViolation(in: Self.tuples) == nil)
    }

    @Test("it detects bytes written with a length prefix")
    func lengthPrefix() throws {
        let found = try violation { element in
            guard case .bytes(let value) = element else { return nil }
            return [TupleTypeCode.bytes, UInt8(value.count)] + value
        }
        #expect(found != nil)
    }

    @Test("it detects bytes written without escapes")
    func noEscapes() throws {
        let found = try violation { element in
            guard case .bytes(let value) = element else { return nil }
            return [TupleTypeCode.bytes] + value + [0]
        }
        #expect(found != nil)
    }

    @Test("it detects integers written in two's complement")
    func twosComplement() throws {
        let found = try violation { element in
            guard case .integer(let value) = element else { return nil }
            return [TupleTypeCode.integerZero]
                + (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> Int64($0 * 8)) }
        }
        #expect(found != nil)
    }

    @Test("it detects doubles written as their bit pattern")
    func rawDoubles() throws {
        let found = try violation { element in
            guard case .double(let value) = element else { return nil }
            return [TupleTypeCode.double]
                + (0..<8).reversed().map { UInt8(truncatingIfNeeded: value.bitPattern >> UInt64($0 * 8)) }
        }
        #expect(found != nil)
    }

    @Test("sorting detects negative zero written as zero")
    func mergedZeros() throws {
        let checker = OrderChecker { tuple in
            try TupleWriter.encoding(
                of: tuple.map { element in
                    if case .double(let value) = element, value == 0 { return .double(0.0) }
                    return element
                })
        }
        #expect(try checker.violationWhenSorted(Self.tuples) != nil)
    }

    @Test("the prefix check detects bytes written without a terminator")
    func noEnd() throws {
        let checker = OrderChecker { tuple in try TupleWriter.encoding(of: tuple).dropLast(tuple.isEmpty ? 0 : 1) }
        #expect(try checker.prefixViolation(in: Self.tuples) != nil)
    }
}
