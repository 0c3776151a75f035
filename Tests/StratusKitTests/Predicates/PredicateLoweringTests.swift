// How predicates are lowered for the server, and the errors for those that CloudKit does not accept.

import Foundation
import StratusCloud
import Testing

@testable import StratusKit

@Suite struct PredicateLoweringTests {
    private func lowered(_ format: String, _ arguments: Any?...) -> [String] {
        PredicateSamples.lowered(NSPredicate(format: format, argumentArray: arguments.map { $0 ?? NSNull() }))
    }

    @Test(
        "[Q-01][Q-02] comparisons joined by AND become filters",
        arguments: [
            ("a = 1", ["a equals 1"]),
            (
                "a != 1 AND b < 2 AND c <= 3 AND d > 4 AND e >= 5",
                [
                    "a notEquals 1", "b lessThan 2", "c lessThanOrEquals 3", "d greaterThan 4",
                    "e greaterThanOrEquals 5",
                ]
            ),
            (
                "1 = a AND 2 > b AND 3 >= c AND 4 < d AND 5 <= e",
                ["a equals 1", "b lessThan 2", "c lessThanOrEquals 3", "d greaterThan 4", "e greaterThanOrEquals 5"]
            ),
            ("(a = 1 AND b = 2) AND c = 3", ["a equals 1", "b equals 2", "c equals 3"]),
            ("a BETWEEN {1, 5}", ["a greaterThanOrEquals 1", "a lessThanOrEquals 5"]),
            ("a IN {1, 2}", ["a isIn [1, 2]"]), ("a IN {}", ["a isIn []"]),
            ("name BEGINSWITH 'x'", ["name beginsWith 'x'"]),
            ("tags CONTAINS 'x'", ["tags listContains 'x'"]), ("'x' IN tags", ["tags listContains 'x'"]),
            ("ANY tags = 'x'", ["tags listContains 'x'"]),
            ("SOME tags IN {'x', 'y'}", ["tags listContainsAny ['x', 'y']"]),
            ("ANY {'x', 'y'} = tags", ["tags isAnyOf ['x', 'y']"]), ("SOME 1 == a", ["a isAnyOf [1]"]),
            ("ANY tags CONTAINS 'x'", ["tags listContains 'x'"]), ("SOME tags CONTAINS 'x'", ["tags listContains 'x'"]),
            ("ANY tags BEGINSWITH 'x'", ["tags listMemberBeginsWith 'x'"]),
            ("TRUEPREDICATE", []), ("FALSEPREDICATE", ["nothing"]),
            ("a = 1 AND FALSEPREDICATE", ["nothing", "a equals 1"]),
            ("self.name = 'x'", ["name equals 'x'"]), ("cloudkit.title = 'x'", ["cloudkit.title equals 'x'"]),
            ("creationDate < now()", ["creationDate lessThan date 1000.0"]),
            ("creationDate < CAST(5, 'NSDate')", ["creationDate lessThan date 5.0"]),
            ("isDone = YES", ["isDone equals 1"]),
        ] as [(String, [String])])
    func filters(format: String, expected: [String]) {
        #expect(lowered(format) == expected)
    }

    @Test(
        "[Q-01][Q-03] NOT before a comparison inverts it, and is refused where CloudKit refuses it",
        arguments: [
            ("NOT a = 1", "a notEquals 1"), ("NOT a != 1", "a equals 1"), ("NOT a < 1", "a greaterThanOrEquals 1"),
            ("NOT a <= 1", "a greaterThan 1"), ("NOT a > 1", "a lessThanOrEquals 1"), ("!(a >= 1)", "a lessThan 1"),
            ("NOT a IN {1}", "a isNotIn [1]"), ("NOT a BEGINSWITH 'x'", "a doesNotBeginWith 'x'"),
            ("NOT a CONTAINS 1", "a listDoesNotContain 1"), ("NOT 1 IN a", "a listDoesNotContain 1"),
            ("NOT ANY a = 1", "a listDoesNotContain 1"), ("NOT ANY a IN {1}", "a listContainsNoneOf [1]"),
            ("NOT ANY {1, 2} = a", "a isNoneOf [1, 2]"), ("NOT SOME a CONTAINS 1", "a listDoesNotContain 1"),
            ("NOT ANY a BEGINSWITH 'x'", "a noListMemberBeginsWith 'x'"), ("NOT NOT a = 1", "a equals 1"),
            ("NOT TRUEPREDICATE", "nothing"),
            (
                "NOT (a = 1 AND b = 2)",
                "! CloudKit takes no NOT before conditions joined by AND: write it before single comparisons."
            ),
            (
                "NOT a BETWEEN {1, 2}",
                "! CloudKit takes no NOT, ANY or ALL before BETWEEN: write < or > for each side of it."
            ),
            ("NOT self CONTAINS 'x'", "! CloudKit takes no NOT before a comparison of words."),
        ])
    func negation(format: String, expected: String) {
        #expect(lowered(format) == [expected])
    }

    @Test("[Q-04][Q-05] words are searched in all searchable text")
    func words() {
        let any = [" containsAnyToken 'bob smith'"]
        #expect(lowered("self CONTAINS 'bob smith'") == any)
        #expect(lowered("SELF contains[cd] 'bob smith'") == any)
        #expect(lowered("allTokens TOKENMATCHES[cdl] %@", "bob smith") == any)
        #expect(lowered("ANY tokenize:using:('bob smith', 'Cdl') IN allTokens") == any)
        #expect(lowered("ALL tokenize('bob smith', 'Cdl') IN allTokens") == [" containsAllTokens 'bob smith'"])
        #expect(
            lowered("allTokens TOKENMATCHES[cd] 'x'") == [
                "! CloudKit takes TOKENMATCHES with its options [cdl] alone."
            ])
        #expect(lowered("self CONTAINS 5") == ["! The words to search for are not a text: pass a String."])
    }

    @Test("[Q-07] a location is found by its distance")
    func distances() {
        let expected = ["place isNear 52.0/13.0 within 500.0"]
        let place = PredicateSamples.place
        #expect(lowered("distanceToLocation:fromLocation:(place, %@) < %f", place, 500) == expected)
        #expect(lowered("distanceToLocation:fromLocation:(%@, %K) <= 500", place, "place") == expected)
        #expect(lowered("500 > distanceToLocation:fromLocation:(place, %@)", place) == expected)
        for format in [
            "distanceToLocation:fromLocation:(place, %@) > 5", "NOT distanceToLocation:fromLocation:(place, %@) < 5",
            "distanceToLocation:fromLocation:(place) < 5", "distanceToLocation:fromLocation:(place, 5) < %@",
            "distanceToLocation:fromLocation:(place, %@) < 'x'", "place = %@",
        ] {
            #expect(lowered(format, place).first?.hasPrefix("! ") == true, "\(format)")
        }
    }

    @Test("[Q-08][Q-09] records and system fields")
    func records() {
        let id = PredicateSamples.id
        #expect(lowered("recordID = %@", id) == ["recordID equals →x in Notes"])
        #expect(
            lowered("___createTime > %@", PredicateSamples.date as NSDate) == ["___createTime greaterThan date 500.5"])
        #expect(
            lowered("%K IN %@", "owner", [CKRecord.Reference(recordID: id, action: .deleteSelf)]) == [
                "owner isIn [→x in Notes]"
            ])
        #expect(lowered("%@ = parent", CKRecord(recordType: "T", recordID: id)) == ["parent equals →x in Notes"])
        #expect(lowered("%K CONTAINS %@", "friends", id) == ["friends listContains →x in Notes"])
        #expect(lowered("a BETWEEN %@", [1, 2.5]) == ["a greaterThanOrEquals 1.0", "a lessThanOrEquals 2.5"])
    }

    @Test(
        "[Q-01][Q-02][Q-04] what CloudKit refuses is refused with a remedy",
        arguments: [
            ("a = 1 OR b = 2", "CloudKit takes no OR: write field IN {…}"),
            ("a LIKE 'x*'", "CloudKit takes no LIKE here: write BEGINSWITH"),
            ("a MATCHES 'x.*'", "CloudKit takes no MATCHES here: write BEGINSWITH"),
            ("a ENDSWITH 'x'", "CloudKit takes no ENDSWITH here: write BEGINSWITH"),
            ("a TOKENMATCHES[cdl] 'x'", "CloudKit compares as its indexes do"),
            ("a TOKENMATCHES 'x'", "CloudKit takes no TOKENMATCHES here: write self CONTAINS"),
            ("a ==[c] 'x'", "CloudKit compares as its indexes do and takes no options. Leave [c] out."),
            ("a CONTAINS[cd] 'x'", "CloudKit compares as its indexes do and takes no options. Leave [cd] out."),
            ("owner.name = 'x'", "CloudKit takes no key paths, such as owner.name"),
            ("tags.@count > 2", "CloudKit takes no key paths, such as tags.@count"),
            ("ALL tags = 'x'", "CloudKit takes no ALL: write field CONTAINS value"),
            ("NONE tags = 'x'", "CloudKit takes no NONE: write NOT (ANY …)."),
            ("ANY tags > 5", "CloudKit takes ANY before ==, IN, CONTAINS and BEGINSWITH, and not before >."),
            ("a = b", "CloudKit compares a field with a value, and not with the field b."),
            ("1 = 1", "One side of a comparison is a field: both are values."),
            ("a = nil", "CloudKit cannot compare with nil"),
            ("nil != a", "CloudKit cannot compare with nil"),
            ("a = {1, 2}", "A list may only be on the right side of IN and BETWEEN"),
            ("a IN 'xyz'", "IN takes a list on its right side"),
            ("a IN {1, b}", "CloudKit compares a field with a value, and not with the field b."),
            ("a BETWEEN {1, 2, 3}", "BETWEEN takes a list of two values"),
            ("a BEGINSWITH 5", "The right side of BEGINSWITH is not a text"),
            ("a = 1 + 2", "CloudKit computes no add:to:: compute the value first"),
            ("length(a) > 5", "CloudKit computes no length"),
            ("a = $LIMIT", "The variable $LIMIT has no value: use withSubstitutionVariables(_:)."),
            ("self = 'x'", "CloudKit takes SELF in self CONTAINS 'words' alone"),
            ("a = self", "CloudKit takes SELF in self CONTAINS 'words' alone"),
        ])
    func refusals(format: String, beginning: String) {
        let told = lowered(format)
        #expect(told.count == 1)
        #expect(told.first?.hasPrefix("! " + beginning) == true, "\(told)")
    }

    @Test("a value that no record can hold is named by its type")
    func unusableValues() {
        #expect(
            lowered("a = %@", UUID()) == [
                "! UUID is not a type that a record can hold, so that no record has such a value."
            ])
        #expect(
            lowered("a = %@", CKAsset(fileURL: URL(fileURLWithPath: "/etc/hostname"))).first?.hasPrefix("! CKAsset")
                == true)
    }

    @Test("compounds are traversed, and block predicates are refused without being called")
    func compounds() {
        func told(_ predicate: NSPredicate) -> [String] { PredicateSamples.lowered(predicate) }
        let first = NSPredicate(format: "a = 1")
        let second = NSPredicate(format: "b = %@", "x")
        #expect(
            told(NSCompoundPredicate(andPredicateWithSubpredicates: [first, second])) == ["a equals 1", "b equals 'x'"])
        #expect(told(NSCompoundPredicate(notPredicateWithSubpredicate: first)) == ["a notEquals 1"])
        #expect(told(NSCompoundPredicate(orPredicateWithSubpredicates: [first])) == ["a equals 1"])
        #expect(told(NSCompoundPredicate(orPredicateWithSubpredicates: [])) == ["nothing"])
        #expect(told(NSCompoundPredicate(andPredicateWithSubpredicates: [])) == [])
        #expect(
            told(NSCompoundPredicate(orPredicateWithSubpredicates: [first, second])).first?.hasPrefix(
                "! CloudKit takes no OR") == true)
        #expect(told(NSPredicate(value: true)) == [])
        #expect(told(NSPredicate(value: false)) == ["nothing"])
        let block = NSPredicate { _, _ in
            Issue.record("A block was called.")
            return true
        }
        #expect(
            told(block).first?.hasPrefix("! CloudKit cannot read a predicate with a block") == true)
        #expect(
            told(NSCompoundPredicate(andPredicateWithSubpredicates: [first, block])).first?.hasPrefix(
                "! CloudKit cannot")
                == true)
        #expect(told(NSCompoundPredicate(format: "a = 1 AND b = 2")) == ["a equals 1", "b equals 2"])
    }

    @Test("a compound that contains itself is refused, and does not crash")
    func circles() {
        let compound = NSCompoundPredicate(andPredicateWithSubpredicates: [])
        compound.subpredicates = [compound, compound]
        defer { compound.subpredicates = [] }
        #expect(
            PredicateSamples.lowered(compound) == ["! The compound predicate is too large, or contains itself."])
        let query = CKQuery(recordType: "Note", predicate: compound)
        #expect(query.predicate.description.contains("contains itself"))
        _ = compound.withSubstitutionVariables([:])
    }

    @Test("variables are substituted, in formats and compounds")
    func variables() {
        let format = NSPredicate(format: "a = $A AND b IN {$A, $B}")
        #expect(
            PredicateSamples.lowered(format.withSubstitutionVariables(["A": 1, "B": 2])) == [
                "a equals 1", "b isIn [1, 2]",
            ])
        #expect(PredicateSamples.lowered(format.withSubstitutionVariables(["A": 1])).first?.contains("$B") == true)
        let compound = NSCompoundPredicate(andPredicateWithSubpredicates: [NSPredicate(format: "c IN $C"), format])
        #expect(
            PredicateSamples.lowered(compound.withSubstitutionVariables(["A": 1, "B": 2, "C": ["x"]])) == [
                "c isIn ['x']", "a equals 1", "b isIn [1, 2]",
            ])
    }

    @Test("[X-25] a format is not evaluated, and evaluating it does not crash")
    func evaluation() {
        #expect(!NSPredicate(format: "a = 1").evaluate(with: NSObject()))
        #expect(!NSPredicate(format: "a = ").evaluate(with: nil))
        #expect(NSPredicate(format: "TRUEPREDICATE").evaluate(with: nil))
        #expect(NSArray(array: [NSNumber(value: 1)]).filtered(using: NSPredicate(format: "self > 0")).isEmpty)
    }

    @Test("predicates with equal meaning are equal, and so is a copy")
    func equality() {
        let predicate = NSPredicate(format: "a = %d", 1)
        #expect(predicate == NSPredicate(format: "(a == 1)"))
        #expect(predicate.hash == NSPredicate(format: "(a == 1)").hash)
        #expect(predicate.copy() as? NSPredicate === predicate)
        #expect(predicate != NSPredicate(format: "a = 2"))
        #expect(predicate != NSPredicate(value: false))
    }
}
