// Formats of predicates: what they parse to, and the errors of invalid ones.

import Foundation
import StratusCloud
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite struct PredicateParserTests {
    @Test(
        "a format parses to the same predicate in every spelling",
        arguments: [
            ("name = 'x'", "name == \"x\""),
            ("name==\"x\"&&age>3||NOT a<>1", "(name == \"x\" AND age > 3) OR NOT (a != 1)"),
            ("a =< 1 and b => 2", "a <= 1 AND b >= 2"),
            ("(((a > 1)))", "a > 1"),
            ("a BETWEEN { 1 , 2.5 }", "a BETWEEN {1, 2.5}"),
            ("some tags in {'a', 'b'}", "ANY tags IN {\"a\", \"b\"}"),
            ("self contains 'bob smith'", "SELF CONTAINS \"bob smith\""),
            ("allTokens TOKENMATCHES[DCL] 'x'", "allTokens TOKENMATCHES[cdl] \"x\""),
            (
                "a = -5 AND b = - 2.5e3 AND c = 0x1F AND d = 0b101 AND e = 0o17",
                "a == -5 AND b == -2500.0 AND c == 31 AND d == 5 AND e == 15"
            ),
            ("flag == YES && other == false && missing != NULL", "flag == 1 AND other == 0 AND missing != nil"),
            ("'it\\'s' = \"a\\tb\\u00e9\\x41\"", "\"it's\" == \"a\\tbéA\""),
            ("#in == 1 AND #or.#and == 2", "#in == 1 AND #or.#and == 2"),
            ("a + 1 * 2 ** 3 < (b - 1) / 4", "(a + (1 * (2 ** 3))) < ((b - 1) / 4)"),
            ("creationDate > CAST(500, 'NSDate')", "creationDate > CAST(500.0, \"NSDate\")"),
            ("x > now() AND y == $LIMIT", "x > now() AND y == $LIMIT"),
            ("distanceToLocation:fromLocation:(place, $P) < 10", "distanceToLocation:fromLocation:(place, $P) < 10"),
            ("self.name == 'x' and tags[0] == 1", "name == \"x\" AND objectFrom:withIndex:(tags, 0) == 1"),
            ("!a BEGINSWITH 'x'", "NOT (a BEGINSWITH \"x\")"),
            ("\"%@\" == name", "\"%@\" == name"),
            ("TRUEPREDICATE AND NOT FALSEPREDICATE", "TRUEPREDICATE AND NOT FALSEPREDICATE"),
        ])
    func spellings(format: String, expected: String) throws {
        let predicate = NSPredicate(format: format)
        #expect(predicate.description == expected)
        #expect(NSPredicate(format: expected) == predicate)
    }

    @Test(
        "an error gives the column and what was expected",
        arguments: [
            ("", 1, "a value or a field was expected"),
            ("name", 1, "a comparison was expected"),
            ("name = ", 8, "a value or a field was expected"),
            ("name 5", 6, "a comparison such as ==, IN or BEGINSWITH was expected"),
            ("(a = 1", 7, ") was expected"),
            ("a = 1 b = 2", 7, "AND or the end of the format was expected"),
            ("a = 'x", 5, "the string that begins here does not end: ' was expected"),
            ("a = 1 AND", 10, "a value or a field was expected"),
            ("a = 1 AND b", 11, "a comparison was expected"),
            ("a ==[x] 1", 6, "options of the letters c, d, l, n and w were expected"),
            ("a NOT IN {1}", 3, "a comparison such as ==, with NOT before its left side: NOT (a IN b) was expected"),
            ("a IS nil", 3, "a comparison such as == instead of IS was expected"),
            ("a IN {1, 2", 11, ", or } was expected"),
            ("a = %q", 5, "a kind of argument was expected after %, such as %@"),
            ("a = %y", 5, "%y is no kind of argument: write %@ for a value and %K for a field"),
            ("a = %%", 5, "%% has no meaning outside quotation marks"),
            ("a = %@", 5, "there is no argument for %@, which is the number 1"),
            ("a = ;", 5, "; has no meaning here"),
            ("a = 12b", 5, "a number was expected"),
            ("a = 0xZZ", 5, "an integer of the base 16 that fits 64 bits was expected"),
            ("and = 1", 1, "a value or a field, which is written #and where it is called so, was expected"),
            ("a = (b = 1)", 5, "a value or a field was expected"),
            ("(a = 1) = 2", 9, "AND or the end of the format was expected"),
            ("ANY (a = 1)", 12, "a comparison after ANY, ALL or NONE was expected"),
            ("a == \"\\u12\"", 9, "4 hexadecimal digits of a character were expected"),
            ("$ == 1", 2, "the name of a variable was expected after $"),
            (
                "SUBQUERY(a, $x, $x > 1) == 1", 17,
                "a value or a field was expected, for CloudKit takes no conditions within a side"
            ),
        ])
    func errors(format: String, column: Int, message: String) {
        let text = "Unable to parse the format string \"\(format)\": at column \(column), \(message)."
        #expect(PredicateSamples.lowered(NSPredicate(format: format)) == ["! " + text])
    }

    @Test("[X-25] an argument of another kind is an error with its position, and does not crash")
    func wrongArguments() {
        func told(_ predicate: NSPredicate) -> String { predicate.description }
        #expect(
            told(NSPredicate(format: "%K = 1", 5)).hasSuffix(
                "at column 1, %K takes the name of a field: its argument is 5."))
        #expect(told(NSPredicate(format: "%K = 1", "a..b")).hasSuffix("its argument is the text \"a..b\"."))
        #expect(
            told(NSPredicate(format: "a = %d", "x")).hasSuffix(
                "at column 5, %d takes a number: its argument is the text \"x\"."))
        #expect(told(NSPredicate(format: "a = %d", [1])).hasSuffix("its argument is a list."))
        #expect(told(NSPredicate(format: "a = %d", 1e300)).hasSuffix("its argument is 1e+300."))
        #expect(told(NSPredicate(format: "a = %d AND b = %f", 2.9, 2)) == "a == 2 AND b == 2.0")
        #expect(told(NSPredicate(format: "a = 1", "left", "over")) == "a == 1")
    }

    @Test("values of every type that a record holds are valid arguments, and so are lists, sets and optionals of them")
    func argumentTypes() {
        let none: String? = nil
        let some: String?? = "x"
        #expect(PredicateArgument(none) == .single(.null))
        #expect(PredicateArgument(some as Any) == .single(.value(.string("x"))))
        #expect(PredicateArgument(NSNull()) == .single(.null))
        #expect(PredicateArgument(true) == .single(.value(.int64(1))))
        #expect(PredicateArgument(UInt8(3)) == .single(.value(.int64(3))))
        #expect(PredicateArgument(UInt64.max) == .single(.unusable("UInt64")))
        #expect(PredicateArgument(Float(0.5)) == .single(.value(.double(0.5))))
        #expect(PredicateArgument(Data([1])) == .single(.value(.bytes(ClientBytes([1])))))
        #expect(PredicateArgument(["a", "b"]) == .list([.value(.string("a")), .value(.string("b"))]))
        #expect(PredicateArgument([] as [String]) == .list([]))
        #expect(PredicateArgument(Set([1])) == .list([.value(.int64(1))]))
        #expect(PredicateArgument(NSArray(array: [NSNumber(value: 2)])) == .list([.value(.int64(2))]))
        #expect(PredicateArgument([PredicateSamples.id]) == .list([PredicateConstant(PredicateSamples.id)]))
        #expect(PredicateArgument([[1]]) == .list([.unusable("Array<Int>")]))
        #expect(PredicateArgument(UUID()) == .single(.unusable("UUID")))
        #expect(PredicateArgument(CKAsset(fileURL: URL(fileURLWithPath: "/a"))) == .single(.unusable("CKAsset")))
    }

    @Test("[Q-08] references, records and their identifiers are one value, whatever the action")
    func references() {
        let id = PredicateSamples.id
        let reference = CKRecord.Reference(recordID: id, action: .deleteSelf)
        let all = [
            NSPredicate(format: "owner == %@", id), NSPredicate(format: "owner == %@", reference),
            NSPredicate(format: "owner == %@", CKRecord(recordType: "T", recordID: id)),
        ]
        #expect(Set(all).count == 1)
    }

    @Test("every tree parses from every spelling of it")
    func roundTrip() throws {
        var generator = PredicateGenerator(SplitMix64.announced("predicates"))
        for number in 0..<4_000 {
            let syntax = generator.syntax(depth: number % 4)
            let (format, arguments) = generator.format(syntax)
            let parsed = try? PredicateParser.parse(format, arguments: arguments.map { PredicateArgument($0) })
            try #require(parsed == syntax, "number \(number): \(format)")
            let written = PredicateText.format(of: syntax)
            let again = try? PredicateParser.parse(written.format, arguments: written.arguments.map { .single($0) })
            try #require(again == syntax, "number \(number): \(written.format)")
        }
    }

    @Test("no damaged format crashes the process")
    func damagedFormats() async throws {
        let caseCount = CaseCount.of(30_000, full: 100_000)
        let random = SplitMix64.announced("damaged predicates")
        let parsedCount = try await TestThreads.offPool { () -> Int in
            var generator = PredicateGenerator(random)
            let pieces = [
                "(", ")", "{", "}", "[", "]", "%", "%@", "%K", "\\", "'", "\"", "$", "#", "@", ".", ",", ":", "-", "**",
                "NOT ", " AND ", " OR ", "ANY ", "BETWEEN", "CAST(", "0x", "1e", "9999999999999999999", "\u{301}", "🏳️‍🌈",
                "\r\n",
            ]
            var count = 0
            var base: (format: String, arguments: [PredicateArgument]) = ("", [])
            for number in 0..<caseCount {
                if number % 50 == 0 {
                    let (format, arguments) = generator.format(generator.syntax(depth: number / 50 % 2))
                    base = (format, arguments.map { PredicateArgument($0) })
                }
                var characters = Array(base.format)
                for _ in 0..<1 + generator.random.below(3) {
                    let place = generator.random.below(characters.count + 1)
                    switch generator.random.below(3) {
                    case 0 where place < characters.count: characters.remove(at: place)
                    case 1 where place < characters.count:
                        characters.swapAt(place, generator.random.below(characters.count))
                    default: characters.insert(contentsOf: generator.random.element(of: pieces), at: place)
                    }
                }
                guard let syntax = try? PredicateParser.parse(String(characters), arguments: base.arguments) else {
                    continue
                }
                count += 1
                _ = try? LoweredPredicate(syntax, now: PredicateSamples.now)
            }
            return count
        }
        // Damage that is never noticed would prove nothing, and neither would damage that always is.
        #expect((caseCount / 100...caseCount * 9 / 10).contains(parsedCount))
    }

    @Test("depth and length are limited, so that no format exhausts the stack")
    func limits() {
        func isRefused(_ format: String) -> Bool { (try? PredicateParser.parse(format)) == nil }
        let many = 20_000
        #expect(isRefused(String(repeating: "(", count: many) + "a = 1" + String(repeating: ")", count: many)))
        #expect(isRefused(String(repeating: "NOT ", count: many / 2) + "a = 1"))
        #expect(isRefused("a = " + String(repeating: "-", count: many) + "b"))
        #expect(isRefused("a = b" + String(repeating: "+1", count: many)))
        #expect(isRefused("a = b" + String(repeating: "[0]", count: many)))
        #expect(isRefused("a = 2" + String(repeating: "**2", count: many)))
        #expect(isRefused("a = $b" + String(repeating: ".c", count: many)))
        #expect(isRefused("a = " + String(repeating: "{", count: many)))
        #expect(isRefused("a = 1" + String(repeating: " ", count: 70_000)))
        #expect(!isRefused(String(repeating: "(", count: 30) + "a = 1" + String(repeating: ")", count: 30)))
        #expect(!isRefused("a = 1" + String(repeating: " AND a = 1", count: 2_000)))
    }
}
