// Comparisons where an index key is less precise than the value: long texts, large numbers, long lists.

import Foundation
import StratusCloud
import StratusModel
import Testing

@Suite("bounds of queries")
struct QueryBoundTests {
    /// A bench with these values of one field, by record.
    private func bench(_ values: [(name: String, value: ClientValue)]) throws -> RecordBench {
        let bench = try RecordBench(inMemory: true)
        try bench.makeNotes()
        for (name, value) in values { try bench.save(.new(name, ["field": value])) }
        try bench.buildIndexes()
        return bench
    }

    private func names(
        _ bench: RecordBench, _ comparator: QueryComparator, _ operand: ClientValue
    ) throws -> [String] {
        try bench.names(.all("Note", .where("field", comparator, operand))).sorted()
    }

    /// Lengths around the 128 bytes after which the key of a text is cut, and the 1,024 after which it is not sorted
    /// by.
    private static let lengths = [120, 123, 124, 125, 127, 128, 129, 200, 1_023, 1_024, 1_025]

    @Test("[Q-06] texts with a common prefix longer than an index key are compared in full", arguments: lengths)
    func longTexts(length: Int) throws {
        let beginning = String(repeating: "x", count: length)
        func text(_ end: String) -> ClientValue { .string(beginning + end) }
        let bench = try bench([("a", text("a")), ("b", text("b")), ("c", text("c")), ("short", text(""))])
        #expect(try names(bench, .greaterThan, text("b")) == ["c"])
        #expect(try names(bench, .greaterThanOrEquals, text("b")) == ["b", "c"])
        #expect(try names(bench, .lessThan, text("b")) == ["a", "short"])
        #expect(try names(bench, .lessThanOrEquals, text("b")) == ["a", "b", "short"])
        #expect(try names(bench, .equals, text("b")) == ["b"])
        #expect(try names(bench, .notEquals, text("b")) == ["a", "c", "short"])
        #expect(try names(bench, .beginsWith, text("b")) == ["b"])
        #expect(try names(bench, .greaterThan, text("")) == ["a", "b", "c"])
        #expect(try names(bench, .lessThan, text("")) == [])
    }

    @Test("[Q-06] texts whose key is cut inside a character are found, on either side of it", arguments: lengths)
    func cutCharacters(length: Int) throws {
        let beginning = String(repeating: "x", count: length)
        let ends = [("a", "a"), ("e", "é"), ("euro", "€"), ("face", "😀"), ("last", "\u{10FFFF}")]
        let bench = try bench(ends.map { ($0.0, .string(beginning + $0.1)) })
        for (index, (name, end)) in ends.enumerated() {
            let text = ClientValue.string(beginning + end)
            let (before, behind) = (ends[..<index].map(\.0), ends[(index + 1)...].map(\.0))
            #expect(try names(bench, .equals, text) == [name], "equal to \(name)")
            #expect(try names(bench, .lessThan, text) == before, "before \(name)")
            #expect(try names(bench, .greaterThan, text) == behind, "behind \(name)")
            #expect(try names(bench, .beginsWith, text) == [name], "beginning with \(name)")
        }
    }

    /// Integers, some of which have the same double as a neighbour, and doubles.
    private static let largeNumbers: [[(String, ClientValue)]] = [
        [-1, 0, 1, 2].map { ("integer \($0 + 1)", .int64(1 << 53 + $0)) } + [("integer max", .int64(.max))],
        [0, 2, 4].map { ("number \($0)", .double(0x1p53 + $0)) } + [("number of no end", .double(.infinity))],
    ]

    @Test("[Q-03] integers and numbers beyond 2^53, which share keys, are compared exactly", arguments: [0, 1])
    func largeNumbers(kind: Int) throws {
        let values = Self.largeNumbers[kind]
        let bench = try bench(values)
        for (index, (name, value)) in values.enumerated() {
            let (before, behind) = (values[..<index].map(\.0), values[(index + 1)...].map(\.0))
            #expect(try names(bench, .equals, value) == [name], "equal to \(name)")
            #expect(try names(bench, .lessThan, value) == before, "below \(name)")
            #expect(try names(bench, .lessThanOrEquals, value) == before + [name], "at most \(name)")
            #expect(try names(bench, .greaterThan, value) == behind, "above \(name)")
            #expect(try names(bench, .greaterThanOrEquals, value) == [name] + behind, "at least \(name)")
        }
    }

    @Test("[Q-03] an integer beyond 2^53 is greater than the number that it would round to")
    func mixedNumbers() throws {
        let bench = try bench(Self.largeNumbers[0])
        let above = ["integer 2", "integer 3", "integer max"]
        #expect(try names(bench, .greaterThan, .double(0x1p53)) == above)
        #expect(try names(bench, .greaterThanOrEquals, .double(0x1p53)) == ["integer 1"] + above)
        #expect(try names(bench, .equals, .double(0x1p53)) == ["integer 1"])
        #expect(try names(bench, .lessThanOrEquals, .double(0x1p53)) == ["integer 0", "integer 1"])
    }

    @Test("[Q-03] 0.0 and −0.0 are equal")
    func zeros() throws {
        let bench = try bench([("a", .double(-1)), ("b", .double(0)), ("c", .double(-0.0))])
        for zero in [ClientValue.int64(0), .double(0), .double(-0.0)] {
            #expect(try names(bench, .equals, zero) == ["b", "c"])
            #expect(try names(bench, .notEquals, zero) == ["a"])
            #expect(try names(bench, .lessThan, zero) == ["a"])
            #expect(try names(bench, .greaterThan, zero) == [])
            #expect(try names(bench, .greaterThanOrEquals, zero) == ["b", "c"])
        }
    }

    @Test(
        "[Q-04] every member of a list is found, even in a list longer than an index takes", arguments: [255, 256, 257])
    func longLists(count: Int) throws {
        func list(_ letter: String) -> ClientValue { .list((0..<count).map { .string("\(letter)\($0)") }) }
        let bench = try bench([("a", list("a")), ("b", list("b")), ("few", .texts("a0", "b0"))])
        for index in [0, 1, 128, 254, count - 1] {
            let expected = index == 0 ? ["a", "few"] : ["a"]
            #expect(try names(bench, .listContains, .string("a\(index)")) == expected, "a\(index)")
        }
        #expect(try names(bench, .listContains, .string("a\(count)")) == [])
        #expect(try names(bench, .listDoesNotContain, .string("a\(count - 1)")) == ["b", "few"])
        #expect(try names(bench, .listContainsAll, .texts("b1", "b\(count - 1)")) == ["b"])
        #expect(try names(bench, .listContainsAny, .texts("a\(count - 1)", "b\(count - 1)")) == ["a", "b"])
        #expect(try names(bench, .listMemberBeginsWith, .string("b\(count - 1)")) == ["b"])
    }
}
