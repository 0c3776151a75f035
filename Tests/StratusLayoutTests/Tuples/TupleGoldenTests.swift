// The encoding as recorded text: these bytes are on disk, so a line of this file that changes is a format change.

import FoundationEssentials
import StratusLayout
import StratusTestSupport
import Testing

@Suite("the bytes of every element")
struct TupleGoldenTests {
    private static let tuples: [[TupleElement]] =
        [[], [.null], [.bytes([])], [.bytes([0, 1, 2, 0xFF])], [.string("")], [.string("a")], [.string("a\0b\u{1}c")]]
        + [[.string("\u{E9}")], [.string("e\u{301}")], [.string("\u{10FFFF}")], [.nested([])], [.nested([.null])]]
        + [[.nested([.string("a"), .nested([.integer(1)])]), .null]]
        + [Int64.min, .min + 1, -65_536, -65_535, -256, -255, -1, 0, 1, 255, 256, 65_535, 65_536, .max]
        .map { [.integer($0)] }
        + [[.unsigned(1 << 63)], [.unsigned(.max)]]
        + [-Double.nan, -.infinity, -1, -.leastNonzeroMagnitude, -0.0, 0, .leastNonzeroMagnitude, 1, .infinity, .nan]
        .map { [.double($0)] }
        + [[.boolean(false)], [.boolean(true)]]
        + [[.uuid(UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xFF)))]]
        + [-1, 0, 788_918_400.5].map { [.date(Date(timeIntervalSinceReferenceDate: $0))] }
        + [[.integer(1), .string("zone"), .bytes([7]), .boolean(true)]]

    @Test("the bytes of every element are the recorded ones")
    func elements() throws {
        let lines = try Self.tuples.map { tuple in
            let bytes = try TupleWriter.encoding(of: tuple)
            let hexadecimal = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
            return "\(TupleElement.nested(tuple)) = \(hexadecimal)"
        }
        #expect(GoldenFile("elements.txt").difference(from: lines.joined(separator: "\n")) == nil)
    }

    @Test(
        "the comparison with the recorded text detects a changed byte, a missing line and canonically equivalent text")
    func comparisonFails() {
        #expect(GoldenFile.firstDifference(recorded: "a\nb\n", actual: "a\nb\n") == nil)
        #expect(GoldenFile.firstDifference(recorded: "a\nb\n", actual: "a\nc\n")?.hasPrefix("line 2:") == true)
        #expect(GoldenFile.firstDifference(recorded: "a\nb", actual: "a") != nil)
        #expect(GoldenFile.firstDifference(recorded: "\u{E9}", actual: "e\u{301}") != nil)
        let missing = GoldenFile(path: "/nonexistent/golden.txt", recordsAnew: false)
        #expect(missing.difference(from: "")?.contains("STRATUS_RECORD=1") == true)
    }
}
