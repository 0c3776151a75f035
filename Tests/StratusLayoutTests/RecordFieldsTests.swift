// The ordered fields of a record against a dictionary.

import StratusModel
import StratusTestSupport
import Testing

@Suite struct RecordFieldsTests {
    @Test("fields behave like a dictionary, in the byte order of their keys, under any updates")
    func dictionary() throws {
        // Two keys that Swift's strings call equal and two bytes that sort otherwise as characters.
        let keys = ["a", "B", "é", "e\u{301}", "z", "aa", "ß", ""].map { FieldKey($0) }
        var random = SplitMix64(seed: 11)
        for _ in 0..<500 {
            var fields = RecordFields()
            var oracle: [FieldKey: Field] = [:]
            for step in 0..<20 {
                let key = keys[Int(random.next() % UInt64(keys.count))]
                let field = random.next() % 3 == 0 ? nil : Field(.int64(Int64(step)))
                fields[key] = field
                oracle[key] = field
                try #require(fields.count == oracle.count)
                for key in keys { try #require(fields[key] == oracle[key]) }
            }
            let order = oracle.keys.sorted { Array($0.text.utf8).lexicographicallyPrecedes(Array($1.text.utf8)) }
            try #require(fields.map(\.key.text.unicodeScalars.count) == order.map(\.text.unicodeScalars.count))
            try #require(zip(fields, order).allSatisfy { $0.key == $1 && $0.value == oracle[$1] })
            try #require(fields == RecordFields(oracle))
            try #require(fields.hashValue == RecordFields(oracle).hashValue)
        }
    }

    @Test("if a key is written twice, the last field counts")
    func twice() {
        let fields: RecordFields = ["b": Field(.int64(1)), "a": Field(.int64(2)), "b": Field(.int64(3))]
        #expect(fields.map(\.key) == ["a", "b"])
        #expect(fields["b"] == Field(.int64(3)))
    }

    @Test("in a record with many fields each field is found, and no others")
    func many() {
        var fields = RecordFields()
        for number in 0..<40 { fields[FieldKey("key\(number)")] = Field(.int64(Int64(number))) }
        for number in 0..<40 { #expect(fields[FieldKey("key\(number)")] == Field(.int64(Int64(number)))) }
        #expect(fields["key40"] == nil)
        #expect(fields["key99"] == nil)
        #expect(fields.only(["key1", "key50"]).map(\.key) == ["key1"])
    }

    @Test("names with the same letters and marks in another order are different names")
    func names() {
        // Canonically equivalent, and as many bytes.
        let (one, other) = ("a\u{323}\u{307}", "a\u{307}\u{323}")
        #expect(one == other)
        #expect(RecordName(one) != RecordName(other))
        #expect(FieldKey(one) != FieldKey(other))
    }
}
