// Small cases, all of them: every tuple over a small alphabet, every short string of bytes as input.

import FoundationEssentials
import StratusLayout
import StratusTestSupport
import Testing

@Suite("every small tuple")
struct TupleExhaustiveTests {
    private let checker = OrderChecker { try TupleWriter.encoding(of: $0) }

    /// All tuples of at most `maximumCount` elements of the alphabet.
    private func tuples(over alphabet: [TupleElement], maximumCount: Int) -> [[TupleElement]] {
        var all: [[TupleElement]] = [[]]
        var longest: [[TupleElement]] = [[]]
        for _ in 0..<maximumCount {
            longest = longest.flatMap { tuple in alphabet.map { tuple + [$0] } }
            all += longest
        }
        return all
    }

    @Test("any two tuples of up to three elements sort by their bytes as by their values")
    func everyPair() throws {
        let alphabet: [TupleElement] = [
            .null, .bytes([]), .bytes([0]), .string(""), .string("\0"), .string("\u{1}"), .nested([]), .nested([.null]),
        ]
        #expect(try checker.violationInAllPairs(of: tuples(over: alphabet, maximumCount: 3)) == nil)
    }

    @Test("tuples of up to three elements over all types' boundaries sort by their bytes as by their values")
    func boundaries() throws {
        let identifier = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
        let alphabet: [TupleElement] = [
            .null, .bytes([]), .bytes([0xFF]), .string("\0"), .string("\u{10FFFF}"), .nested([]),
            .nested([.nested([.null])]), .integer(.min), .integer(-256), .integer(-1), .integer(0), .integer(255),
            .integer(256), .unsigned(.max), .double(-.infinity), .double(-0.0), .double(0.0), .double(.nan),
            .boolean(false), .boolean(true), .uuid(identifier), .date(Date(timeIntervalSinceReferenceDate: 0)),
        ]
        #expect(try checker.violationWhenSorted(tuples(over: alphabet, maximumCount: 3)) == nil)
    }

    @Test("nested tuples of every shape up to three deep sort by their bytes as by their values")
    func nestedShapes() throws {
        let leaves: [TupleElement] = [.null, .string("\0")]
        let once = tuples(over: leaves, maximumCount: 2).map { TupleElement.nested($0) }
        let twice = tuples(over: leaves + once, maximumCount: 2).map { TupleElement.nested($0) }
        let alphabet = Array(Set(leaves + once + twice))
        #expect(try checker.violationWhenSorted(tuples(over: alphabet, maximumCount: 2)) == nil)
    }

    @Test("all byte strings of up to four bytes around the escapes keep their order, alone and before another element")
    func bytes() throws {
        var contents: [[UInt8]] = [[]]
        var longest: [[UInt8]] = [[]]
        for _ in 0..<4 {
            longest = longest.flatMap { content in [0x00, 0x01, 0x02, 0xFF].map { content + [$0] } }
            contents += longest
        }
        let alone: [[TupleElement]] = contents.map { [.bytes($0)] }
        let followed: [[TupleElement]] = contents.map { [.bytes($0), .null] }
        #expect(try checker.violationInAllPairs(of: alone + followed) == nil)
        #expect(try checker.prefixViolation(in: alone + followed) == nil)
    }

    @Test("integers around every change of length keep their order")
    func integers() throws {
        var integers: Set<TupleElement> = [.integer(.min), .integer(.max), .unsigned(.max), .integer(0)]
        for shift in 0..<64 {
            let power = UInt64(1) << UInt64(shift)
            for value in [power &- 1, power, power &+ 1] {
                integers.insert(.unsigned(value))
                if let negative = Int64(exactly: value) { integers.insert(.integer(-negative)) }
            }
        }
        #expect(integers.count > 300)
        #expect(try checker.violationInAllPairs(of: integers.map { [$0] }) == nil)
    }

    @Test("any input of up to two bytes, or five significant ones, is refused or equals the encoder's output")
    func inputs() throws {
        var readable = 0
        for first in UInt8.min...(.max) {
            readable += try rewrites([first])
            for second in UInt8.min...(.max) { readable += try rewrites([first, second]) }
        }
        let telling: [UInt8] = [0x00, 0x01, 0x02, 0x03, 0x04, 0x0F, 0x10, 0x11, 0xFF]
        var inputs: [[UInt8]] = [[]]
        for _ in 0..<5 {
            inputs = inputs.flatMap { input in telling.map { input + [$0] } }
            for input in inputs { readable += try rewrites(input) }
        }
        #expect(readable > 1_000)
    }

    /// 1 if the bytes decode and encode to the same bytes; 0 if they are refused.
    private func rewrites(_ bytes: [UInt8]) throws -> Int {
        guard let elements = try? TupleReader.elements(of: bytes) else { return 0 }
        #expect(try TupleWriter.encoding(of: elements) == bytes)
        return 1
    }
}
