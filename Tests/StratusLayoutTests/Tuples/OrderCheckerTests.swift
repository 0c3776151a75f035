// The order checker must fail: each encoder here has one fault that a real one might have.

import FoundationEssentials
import StratusLayout
import Testing

@Suite("the order checker finds a broken encoder")
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

    @Test("it passes the encoder without a fault")
    func passes() throws {
        #expect(try violation { _ in nil } == nil)
        let checker = OrderChecker { try TupleWriter.encoding(of: $0) }
        #expect(try checker.violationWhenSorted(Self.tuples) == nil)
        #expect(try checker.prefixViolation(in: Self.tuples) == nil)
    }

    @Test("it finds bytes written with their length in front")
    func lengthPrefix() throws {
        let found = try violation { element in
            guard case .bytes(let value) = element else { return nil }
            return [TupleTypeCode.bytes, UInt8(value.count)] + value
        }
        #expect(found != nil)
    }

    @Test("it finds bytes written without escapes")
    func noEscapes() throws {
        let found = try violation { element in
            guard case .bytes(let value) = element else { return nil }
            return [TupleTypeCode.bytes] + value + [0]
        }
        #expect(found != nil)
    }

    @Test("it finds integers written in two's complement")
    func twosComplement() throws {
        let found = try violation { element in
            guard case .integer(let value) = element else { return nil }
            return [TupleTypeCode.integerZero]
                + (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> Int64($0 * 8)) }
        }
        #expect(found != nil)
    }

    @Test("it finds doubles written as their bit pattern")
    func rawDoubles() throws {
        let found = try violation { element in
            guard case .double(let value) = element else { return nil }
            return [TupleTypeCode.double]
                + (0..<8).reversed().map { UInt8(truncatingIfNeeded: value.bitPattern >> UInt64($0 * 8)) }
        }
        #expect(found != nil)
    }

    @Test("sorting finds negative zero written as zero")
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

    @Test("the prefix check finds bytes written without an end")
    func noEnd() throws {
        let checker = OrderChecker { tuple in try TupleWriter.encoding(of: tuple).dropLast(tuple.isEmpty ? 0 : 1) }
        #expect(try checker.prefixViolation(in: Self.tuples) != nil)
    }
}
