// Random queries and records, and the formats in which a client writes such queries.

import Foundation
import StratusKit
import StratusTestSupport

/// Texts with their words: without case, accents, and words that every text has (Q-05).
enum NaiveText {
    static let all: [(text: String, words: Set<String>)] = [
        ("", []), ("Apfel", ["apfel"]), ("apfel", ["apfel"]), ("\u{C4}pfel", ["apfel"]), ("A\u{308}pfel", ["apfel"]),
        ("the red apfel", ["red", "apfel"]), ("Zo\u{EB}", ["zoe"]), ("Zoe\u{308}", ["zoe"]), ("zoe", ["zoe"]),
        ("ZOE-2", ["zoe", "2"]), ("red", ["red"]), ("Red", ["red"]), ("Red Zo\u{EB}", ["red", "zoe"]),
    ]
    static let wanted: [(written: String, folded: String?)] = [
        ("apfel", "apfel"), ("\u{C4}PFEL", "apfel"), ("zoe", "zoe"), ("Zo\u{EB}", "zoe"), ("RED", "red"), ("2", "2"),
        ("the", nil), ("nobody", "nobody"),
    ]
    static let beginnings = ["", "A", "Apf", "\u{C4}", "Z", "Zo", "re", "Red ", "the r", "x"]

    /// By bytes, for composed and decomposed texts are not the same.
    private static let known = Dictionary(uniqueKeysWithValues: all.map { (Array($0.text.utf8), $0.words) })

    static func words(of text: String) -> Set<String> { known[Array(text.utf8)] ?? [] }
}

struct NaiveDice {
    var random: SplitMix64

    static let names = (0..<18).map { "r\($0)" }
    /// Records that are always there: the root of the share hangs below the first.
    static let skeleton = ["attic", NaiveQuery.root, "shelf"]
    /// Twice the numbers: integers, among them two with the same double, and doubles.
    private static let wholes = [-8, -2, 0, 2, 4, 6, 14, 1 << 54, (1 << 54) + 2]
    private static let parts = [-3, 0, 1, 2, 4, 5, 14, 1 << 54, (1 << 54) + 4]

    // MARK: Values

    mutating func value(_ field: NaiveField, latest: Int) -> NaiveValue {
        switch field {
        case .text: return .text(text())
        case .count: return .number(halves: random.element(of: Self.wholes), isWhole: true)
        case .weight: return .number(halves: random.element(of: Self.parts), isWhole: false)
        case .due: return .date(halves: random.below(12) - 4)
        case .tags: return .texts((0...random.below(3)).map { _ in text() })
        case .created, .modified: return .date(halves: random.below(latest + 2))
        case .creator, .modifier: return .person(random.element(of: NaivePerson.allCases))
        case .parent: return .link(.folders, random.element(of: Self.skeleton))
        case .owner, .name:
            return .link(random.element(of: NaiveZone.allCases), random.element(of: Self.names + Self.skeleton))
        }
    }

    /// Some of the fields, or all. A reference stays in its zone (R-01).
    mutating func fields(in zone: NaiveZone, isWhole: Bool = false) -> [NaiveField: NaiveValue] {
        var fields: [NaiveField: NaiveValue] = [:]
        for field in NaiveField.stored where isWhole || !random.isOne(in: 4) {
            fields[field] =
                field == .owner
                ? .link(zone, random.element(of: Self.names + Self.skeleton)) : value(field, latest: 0)
        }
        return fields
    }

    private mutating func text() -> String { random.element(of: NaiveText.all).text }

    /// What a field is compared with: a number of either kind, a name as a text too.
    private mutating func operand(_ field: NaiveField, latest: Int) -> NaiveValue {
        switch field {
        case .count, .weight: return value(random.isOne(in: 2) ? .count : .weight, latest: latest)
        case .name where random.isOne(in: 3): return .text(random.element(of: Self.names))
        default: return value(field, latest: latest)
        }
    }

    // MARK: Questions

    /// A question. `latest` is the time, in half seconds.
    mutating func query(_ asker: NaivePerson, latest: Int, fault: NaiveFault?) -> NaiveQuery {
        var clauses: [NaiveClause] = []
        for _ in 0..<random.element(of: [1, 1, 1, 2, 2, 3]) { clauses.append(clause(latest: latest)) }
        var sorts: [NaiveSort] = []
        for _ in 0..<random.below(3) {
            let field = random.element(of: NaiveField.sorted)
            sorts.append(
                NaiveSort(field: field, key: random.element(of: field.spellings), isAscending: random.isOne(in: 2)))
            // A name leaves nothing for a later key to decide.
            if field == .name { break }
        }
        let zones: [NaiveZone?] = asker == .guest ? [.folders] : [nil, .folders, .notes]
        let zone = random.element(of: zones)
        return NaiveQuery(clauses: clauses, sorts: sorts, asker: asker, zone: zone, fault: fault)
    }

    private mutating func clause(latest: Int) -> NaiveClause {
        switch random.below(40) {
        case 0: return NaiveClause(test: .refused(random.element(of: Self.refused)))
        case 1, 2: return NaiveClause(test: .always(!random.isOne(in: 4)), isNegated: random.isOne(in: 6))
        case 3...5:
            let words = (0...random.below(2)).map { _ in random.element(of: NaiveText.wanted) }
            return NaiveClause(test: .words(words, all: random.isOne(in: 2)))
        default:
            let field = random.element(of: NaiveField.allCases)
            var clause = NaiveClause(
                field: field, key: random.element(of: field.spellings), test: test(field, latest: latest))
            if case .between = clause.test { return clause }
            clause.isNegated = random.isOne(in: 3)
            return clause
        }
    }

    private mutating func test(_ field: NaiveField, latest: Int) -> NaiveTest {
        if field == .tags {
            switch random.below(3) {
            case 0: return .holdsOneBeginning(random.element(of: NaiveText.beginnings))
            default: return .holdsAny((0...random.element(of: [0, 0, 1, 2])).map { _ in text() })
            }
        }
        let isOrdered = [.text, .count, .weight, .due, .created, .modified].contains(field)
        switch random.below(isOrdered ? 8 : 3) {
        case 0: return .isIn((0..<random.below(4)).map { _ in operand(field, latest: latest) })
        case 1, 2: return .compares(random.element(of: [.equals, .notEquals]), operand(field, latest: latest))
        case 3, 4: return .between(operand(field, latest: latest), operand(field, latest: latest))
        case 5 where field == .text: return .beginsWith(random.element(of: NaiveText.beginnings))
        default:
            return .compares(random.element(of: NaiveRelation.allCases), operand(field, latest: latest))
        }
    }

    private static let refused = [
        "(NOT (count BETWEEN {1, 2}))", "(text ENDSWITH 'a')", "(count = 1 OR weight = 2)", "(text LIKE 'a*')",
        "(NOT (count = 1 AND weight = 2))", "(ALL tags = 'red')", "(text =[c] 'red')", "(NOT (self CONTAINS 'red'))",
        "(text CONTAINS 'red')", "(count = 'red')", "(owner.text = 'red')",
    ]

    // MARK: Marks

    /// A schema that marks some of the fields.
    mutating func marks() -> NaiveMarks {
        var marks = NaiveMarks()
        for field in NaiveField.allCases where field != .parent && !random.isOne(in: 4) {
            marks.queryable.insert(field)
        }
        for field in NaiveField.sorted where !random.isOne(in: 3) { marks.sortable.insert(field) }
        for field in [NaiveField.text, .tags] where random.isOne(in: 2) { marks.searchable.insert(field) }
        return marks
    }
}

// MARK: Formats

/// Writes a question as a client does.
struct NaiveQueryWriter {
    var random: SplitMix64
    /// The name of a record or a person, as the caller uses it.
    let address: (NaiveValue) -> CKRecord.ID
    private(set) var arguments: [Any] = []

    init(_ random: SplitMix64, address: @escaping (NaiveValue) -> CKRecord.ID) {
        self.random = random
        self.address = address
    }

    /// Where the halves of dates are counted from.
    static let start = Date(timeIntervalSince1970: 1_735_689_600)

    /// The condition as a format, whose arguments are `arguments`.
    mutating func format(_ query: NaiveQuery) -> String {
        var parts: [String] = []
        for clause in query.clauses {
            let text = self.clause(clause)
            if clause.isNegated {
                parts.append(random.isOne(in: 2) ? "NOT (\(text))" : "!(\(text))")
            } else {
                parts.append(random.isOne(in: 2) ? "(\(text))" : text)
            }
        }
        return parts.joined(separator: random.element(of: [" AND ", " && "]))
    }

    private mutating func clause(_ clause: NaiveClause) -> String {
        switch clause.test {
        case .refused(let text): return text
        case .always(let isTrue): return isTrue ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .words(let words, let all):
            let text = value(.text(words.map(\.written).joined(separator: " ")))
            if all { return "ALL tokenize(\(text), 'Cdl') IN allTokens" }
            return random.element(of: ["self CONTAINS \(text)", "allTokens TOKENMATCHES[cdl] \(text)"])
        case .compares(let relation, let operand):
            if random.isOne(in: 4) {
                let left = value(operand)
                return "\(left) \(symbol(relation, isMirrored: true)) \(key(clause))"
            }
            let left = key(clause)
            return "\(left) \(symbol(relation, isMirrored: false)) \(value(operand))"
        case .between(let low, let high):
            let left = key(clause)
            return "\(left) BETWEEN \(list([low, high]))"
        case .isIn(let operands):
            if random.isOne(in: 4) {
                let left = list(operands)
                return "\(random.element(of: ["ANY", "SOME"])) \(left) = \(key(clause))"
            }
            let left = key(clause)
            return "\(left) IN \(list(operands))"
        case .beginsWith(let beginning):
            let left = key(clause)
            return "\(left) BEGINSWITH \(value(.text(beginning)))"
        case .holdsAny(let wanted): return membership(clause, wanted)
        case .holdsOneBeginning(let beginning):
            let left = key(clause)
            return "ANY \(left) BEGINSWITH \(value(.text(beginning)))"
        }
    }

    private mutating func membership(_ clause: NaiveClause, _ wanted: [String]) -> String {
        if wanted.count == 1, random.isOne(in: 4) {
            let left = value(.text(wanted[0]))
            return "\(left) IN \(key(clause))"
        }
        if random.isOne(in: 4) {
            let left = list(wanted.map { .text($0) })
            return "ANY \(left) = \(key(clause))"
        }
        let left = key(clause)
        guard wanted.count == 1 else { return "ANY \(left) IN \(list(wanted.map { .text($0) }))" }
        let right = value(.text(wanted[0]))
        return random.element(of: [
            "\(left) CONTAINS \(right)", "SOME \(left) CONTAINS \(right)", "ANY \(left) = \(right)",
        ])
    }

    private mutating func key(_ clause: NaiveClause) -> String {
        guard random.isOne(in: 4) else { return clause.key }
        arguments.append(clause.key)
        return "%K"
    }

    private mutating func symbol(_ relation: NaiveRelation, isMirrored: Bool) -> String {
        switch relation {
        case .equals: random.element(of: ["=", "=="])
        case .notEquals: random.element(of: ["!=", "<>"])
        case .less: isMirrored ? ">" : "<"
        case .greater: isMirrored ? "<" : ">"
        case .lessOrEqual: random.element(of: isMirrored ? [">=", "=>"] : ["<=", "=<"])
        case .greaterOrEqual: random.element(of: isMirrored ? ["<=", "=<"] : [">=", "=>"])
        }
    }

    private mutating func list(_ values: [NaiveValue]) -> String {
        if random.isOne(in: 2) {
            arguments.append(values.map(argument))
            return "%@"
        }
        var texts: [String] = []
        for value in values { texts.append(self.value(value)) }
        return "{\(texts.joined(separator: ", "))}"
    }

    private mutating func value(_ value: NaiveValue) -> String {
        switch value {
        case .text(let text) where random.isOne(in: 2): return "'\(text)'"
        case .number(let halves, let isWhole) where random.isOne(in: 2):
            return isWhole ? "\(halves / 2)" : "\(Double(halves) / 2)"
        case .number(let halves, true) where random.isOne(in: 2):
            arguments.append(halves / 2)
            return "%ld"
        case .link, .person:
            let id = address(value)
            var kinds: [Any] = [id, CKRecord.Reference(recordID: id, action: .none)]
            if case .link = value { kinds.append(CKRecord(recordType: NaiveQuery.recordType, recordID: id)) }
            arguments.append(random.element(of: kinds))
        default: arguments.append(argument(value))
        }
        return "%@"
    }

    private func argument(_ value: NaiveValue) -> Any {
        switch value {
        case .text(let text): text
        case .number(let halves, true): halves / 2
        case .number(let halves, false): Double(halves) / 2
        case .date(let halves): Self.date(halves)
        case .texts(let texts): texts
        case .link, .person: address(value)
        }
    }

    static func date(_ halves: Int) -> Date { start.addingTimeInterval(Double(halves) / 2) }
}
