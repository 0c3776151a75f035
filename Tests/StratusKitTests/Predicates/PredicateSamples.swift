// What the tests of predicates share: words for filters, and trees at random.

import Foundation
import StratusCloud
import StratusModel
import StratusTestSupport

@testable import StratusKit

enum PredicateSamples {
    static let now = Date(timeIntervalSinceReferenceDate: 1_000)
    static let date = Date(timeIntervalSinceReferenceDate: 500.5)
    static let id = CKRecord.ID(recordName: "x", zoneID: CKRecordZone.ID(zoneName: "Notes"))
    static let place = CLLocation(latitude: 52, longitude: 13)

    /// A predicate as the server gets it, or the message it is refused with.
    static func lowered(_ predicate: NSPredicate) -> [String] {
        do throws(Misuse) {
            let lowered = try LoweredPredicate(try CapturedPredicate(predicate).content.get(), now: now)
            return (lowered.matchesNothing ? ["nothing"] : []) + lowered.filters.map(words)
        } catch {
            return ["! \(error.text)"]
        }
    }

    static func words(_ filter: QueryFilter) -> String {
        let radius = filter.radius.map { " within \($0)" } ?? ""
        return "\(filter.key) \(filter.comparator) \(words(filter.operand))\(radius)"
    }

    static func words(_ value: ClientValue) -> String {
        switch value {
        case .string(let text): "'\(text)'"
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .date(let date): "date \(date.timeIntervalSinceReferenceDate)"
        case .bytes(let bytes): "\(bytes.bytes)"
        case .location(let location): "\(location.latitudeDegrees)/\(location.longitudeDegrees)"
        case .reference(let reference): "→\(reference.target.recordName) in \(reference.target.zone.zoneName)"
        case .asset: "asset"
        case .list(let values): "[\(values.map(words).joined(separator: ", "))]"
        }
    }
}

/// Trees as the parser creates them, and formats that mean them in all spellings.
struct PredicateGenerator {
    var random: SplitMix64
    /// The arguments of the format that is being written.
    private(set) var arguments: [Any?] = []

    init(_ random: SplitMix64) { self.random = random }

    // MARK: Trees

    mutating func syntax(depth: Int) -> PredicateSyntax {
        switch depth == 0 ? random.below(4) : random.below(8) {
        case 0: return .always(random.isOne(in: 2))
        case 1...3: return .comparison(comparison())
        case 4, 5: return .and((0..<2 + random.below(3)).map { _ in syntax(depth: depth - 1) })
        case 6: return .or((0..<2 + random.below(2)).map { _ in syntax(depth: depth - 1) })
        default: return .not(syntax(depth: depth - 1))
        }
    }

    private mutating func comparison() -> PredicateComparison {
        let options = ["", "", "c", "cd", "cdl", "n"]
        let quantifiers = [nil, nil, nil] + PredicateComparison.Quantifier.allCases.map { Optional($0) }
        return PredicateComparison(
            quantifier: random.element(of: quantifiers), left: side(depth: 2),
            relation: random.element(of: PredicateComparison.Relation.allCases),
            options: random.element(of: options), right: side(depth: 2))
    }

    private mutating func side(depth: Int) -> PredicateSide {
        switch depth == 0 ? random.below(7) : random.below(11) {
        case 0, 1: return .keyPath([random.element(of: ["name", "age", "___recordID", "a1", "größe", "x$"])])
        case 2: return .keyPath(["owner", "name"])
        case 3: return .evaluatedObject
        case 4...6: return .constant(constant())
        case 7: return .aggregate((0..<random.below(4)).map { _ in side(depth: depth - 1) })
        case 8: return .variable(random.element(of: ["A", "value_1"]))
        case 9:
            return .function(
                random.element(of: ["now", "tokenize", PredicateSide.distance]),
                (0..<random.below(3)).map { _ in side(depth: depth - 1) })
        default:
            return .function(
                random.element(of: [
                    PredicateSide.addition, PredicateSide.subtraction, PredicateSide.multiplication,
                    PredicateSide.division, PredicateSide.power,
                ]), [side(depth: depth - 1), side(depth: depth - 1)])
        }
    }

    private mutating func constant() -> PredicateConstant {
        switch random.below(9) {
        case 0: .null
        case 1: .value(.date(PredicateSamples.date))
        case 2: .value(.reference(ClientReference(target: PredicateSamples.id.address, action: .none)))
        case 3: .value(.location(PredicateSamples.place.location))
        case 4: .value(.double(random.element(of: [0, 2.5, -1e300, 1e-7, 3])))
        case 5: .value(.int64(random.element(of: [0, 7, -7, .max, .min + 1])))
        default:
            .value(.string(random.element(of: ["", "plain", "it's", "say \"x\"", "a\\b", "\u{e9}%@", "AND", "\n"])))
        }
    }

    // MARK: Spellings

    /// A format that means the tree, with its arguments.
    mutating func format(_ syntax: PredicateSyntax) -> (format: String, arguments: [Any?]) {
        arguments = []
        let format = condition(syntax, isBare: true)
        return (random.isOne(in: 4) ? "(\(format))" : format, arguments)
    }

    private mutating func word(_ text: String) -> String {
        random.element(of: [text, text.lowercased(), text.capitalized])
    }

    private mutating func space() -> String { random.element(of: [" ", " ", "  ", "\n", "\t"]) }

    private mutating func condition(_ syntax: PredicateSyntax, isBare: Bool) -> String {
        switch syntax {
        case .always(let isTrue): return word(isTrue ? "TRUEPREDICATE" : "FALSEPREDICATE")
        case .comparison(let comparison):
            let text = self.comparison(comparison)
            return isBare && random.isOne(in: 2) ? text : "(\(text))"
        case .not(let part): return (random.isOne(in: 2) ? "!" : word("NOT") + space()) + condition(part, isBare: false)
        case .and(let parts): return joined(parts, "AND", "&&", isBare)
        case .or(let parts): return joined(parts, "OR", "||", isBare)
        }
    }

    private mutating func joined(
        _ parts: [PredicateSyntax], _ keyword: String, _ symbol: String, _ isBare: Bool
    ) -> String {
        var text = ""
        for (number, part) in parts.enumerated() {
            if number > 0 { text += space() + (random.isOne(in: 2) ? symbol : word(keyword)) + space() }
            text += condition(part, isBare: false)
        }
        return isBare ? text : "(\(text))"
    }

    private mutating func comparison(_ comparison: PredicateComparison) -> String {
        var text = ""
        if let quantifier = comparison.quantifier {
            text += word(quantifier == .any && random.isOne(in: 2) ? "SOME" : quantifier.rawValue) + space()
        }
        text += side(comparison.left) + space() + relation(comparison.relation)
        if !comparison.options.isEmpty { text += "[\(word(comparison.options))]" }
        return text + space() + side(comparison.right)
    }

    private mutating func relation(_ relation: PredicateComparison.Relation) -> String {
        switch relation {
        case .equals: random.element(of: ["=", "=="])
        case .notEquals: random.element(of: ["!=", "<>"])
        case .lessThanOrEquals: random.element(of: ["<=", "=<"])
        case .greaterThanOrEquals: random.element(of: [">=", "=>"])
        default: word(relation.rawValue)
        }
    }

    private mutating func side(_ side: PredicateSide) -> String {
        switch side {
        case .evaluatedObject: return word("SELF")
        case .variable(let name): return "$\(name)"
        case .aggregate(let parts): return "{ \(list(parts)) }"
        case .keyPath(let names):
            if random.isOne(in: 3) {
                arguments.append(names.joined(separator: "."))
                return "%K"
            }
            return names.map { random.isOne(in: 5) ? "#\($0)" : $0 }.joined(separator: ".")
        case .constant(let constant): return self.constant(constant)
        case .function(let name, let parts):
            let symbols = [
                PredicateSide.addition: "+", PredicateSide.subtraction: "-",
                PredicateSide.multiplication: "*", PredicateSide.division: "/",
                PredicateSide.power: "**",
            ]
            guard let symbol = symbols[name] else { return "\(name)(\(list(parts)))" }
            // One after the other, so that the arguments are in the order of the text.
            let left = self.side(parts[0])
            return "(\(left)\(space())\(symbol) \(self.side(parts[1])))"
        }
    }

    private mutating func list(_ parts: [PredicateSide]) -> String {
        var texts: [String] = []
        for part in parts { texts.append(side(part)) }
        return texts.joined(separator: random.element(of: [",", ", ", " , "]))
    }

    private mutating func constant(_ constant: PredicateConstant) -> String {
        guard case .value(let value) = constant else { return word(random.element(of: ["NULL", "NIL"])) }
        switch value {
        case .string(let text) where random.isOne(in: 2): return quoted(text)
        case .string(let text): arguments.append(text)
        case .int64(let number):
            switch random.below(4) {
            case 0: return "\(number)"
            case 1 where number >= 0: return "0x" + String(number, radix: 16)
            case 2:
                arguments.append(Int(number))
                return random.element(of: ["%d", "%ld", "%lld", "%i", "%lu"])
            default: arguments.append(number)
            }
        case .double(let number):
            switch random.below(3) {
            case 0: return "\(number)"
            case 1:
                arguments.append(number)
                return random.element(of: ["%f", "%g", "%lf", "%e"])
            default: arguments.append(NSNumber(value: number))
            }
        case .date(let date): arguments.append(random.isOne(in: 2) ? date : date as NSDate)
        case .location(let location): arguments.append(CLLocation(location))
        case .reference(let reference):
            let id = CKRecordID(reference.target)
            arguments.append(
                random.element(of: [
                    id, CKRecord.Reference(recordID: id, action: .deleteSelf), CKRecord(recordType: "T", recordID: id),
                ]))
        default: arguments.append(nil)
        }
        return "%@"
    }

    private mutating func quoted(_ text: String) -> String {
        let mark: Character = random.isOne(in: 2) ? "'" : "\""
        var quoted = String(mark)
        for character in text {
            if character == mark || character == "\\" { quoted.append("\\") }
            quoted += character == "\n" && random.isOne(in: 2) ? "\\n" : String(character)
        }
        return quoted + String(mark)
    }
}
