// A predicate as a format again: in words for people, and with its values apart for archives.

import Foundation
import StratusCloud

/// Writes a predicate down.
struct PredicateText {
    /// Whether values stand in the text; else there are places for them.
    private let isForPeople: Bool
    private(set) var arguments: [PredicateConstant] = []

    /// The text that `predicateFormat` gives.
    static func text(of syntax: PredicateSyntax) -> String {
        var text = PredicateText(isForPeople: true)
        return text.condition(syntax, within: .none)
    }

    /// A format with a place for every value, and the values: parsed, they give the same tree.
    static func format(of syntax: PredicateSyntax) -> (format: String, arguments: [PredicateConstant]) {
        var text = PredicateText(isForPeople: false)
        let format = text.condition(syntax, within: .none)
        return (format, text.arguments)
    }

    /// What a condition stands in.
    private enum Surroundings {
        case none
        case and
        case or
        case not
    }

    private mutating func condition(_ syntax: PredicateSyntax, within outer: Surroundings) -> String {
        switch syntax {
        case .always(let isTrue): return isTrue ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison):
            let text = self.comparison(comparison)
            return outer == .not ? "(\(text))" : text
        case .and(let parts): return joined(parts, " AND ", .and, empty: "TRUEPREDICATE", isBare: outer == .none)
        case .or(let parts): return joined(parts, " OR ", .or, empty: "FALSEPREDICATE", isBare: outer == .none)
        case .not(let part): return "NOT " + condition(part, within: .not)
        }
    }

    private mutating func joined(
        _ parts: [PredicateSyntax], _ separator: String, _ kind: Surroundings, empty: String, isBare: Bool
    ) -> String {
        guard !parts.isEmpty else { return empty }
        let text = parts.map { condition($0, within: kind) }.joined(separator: separator)
        return isBare ? text : "(\(text))"
    }

    private mutating func comparison(_ comparison: PredicateComparison) -> String {
        let quantifier = comparison.quantifier.map { "\($0.rawValue) " } ?? ""
        let left = side(comparison.left)
        let options = comparison.options.isEmpty ? "" : "[\(comparison.options)]"
        return "\(quantifier)\(left) \(comparison.relation.rawValue)\(options) \(side(comparison.right))"
    }

    private mutating func side(_ side: PredicateSide) -> String {
        switch side {
        case .evaluatedObject: return "SELF"
        case .keyPath(let names): return path(names)
        case .variable(let name): return "$\(name)"
        case .aggregate(let parts): return "{\(list(parts))}"
        case .constant(.null): return "nil"
        case .constant(let constant):
            if isForPeople { return Self.words(for: constant) }
            arguments.append(constant)
            return "%@"
        case .function(let name, let parts):
            if let symbol = Self.symbols[name], parts.count == 2 {
                return "(\(self.side(parts[0])) \(symbol) \(self.side(parts[1])))"
            }
            if name == PredicateSide.negation, parts.count == 1 { return "(-(\(self.side(parts[0]))))" }
            return "\(name)(\(list(parts)))"
        }
    }

    private static let symbols = [
        PredicateSide.addition: "+", PredicateSide.subtraction: "-",
        PredicateSide.multiplication: "*", PredicateSide.division: "/", PredicateSide.power: "**",
    ]

    private mutating func list(_ parts: [PredicateSide]) -> String {
        parts.map { side($0) }.joined(separator: ", ")
    }

    /// A name that the parser would take for something else goes in as an argument of its own.
    private mutating func path(_ names: [String]) -> String {
        guard !isForPeople, !names.allSatisfy(Self.isPlain) else {
            return names.map { PredicateParser.reserved.contains($0.uppercased()) ? "#\($0)" : $0 }.joined(
                separator: ".")
        }
        arguments.append(.value(.string(names.joined(separator: "."))))
        return "%K"
    }

    private static func isPlain(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(0x30...0x39).contains(first),
            !PredicateParser.reserved.contains(name.uppercased())
        else { return false }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: true
            default: false
            }
        }
    }

    /// A value as people read it. What has no words of its own in formats is described.
    private static func words(for constant: PredicateConstant) -> String {
        switch constant {
        case .null: "nil"
        case .unusable(let type): "<\(type)>"
        case .value(let value):
            switch value {
            case .string(let text): quoted(text)
            case .int64(let number): "\(number)"
            case .double(let number): "\(number)"
            case .date(let date): "CAST(\(date.timeIntervalSinceReferenceDate), \"NSDate\")"
            case .bytes(let bytes): "<\(bytes.count) bytes>"
            case .location(let location): "\(CLLocation(location))"
            case .reference(let reference): "\(CKRecordID(reference.target))"
            case .asset: "<CKAsset>"
            case .list(let values): "{\(values.map { words(for: .value($0)) }.joined(separator: ", "))}"
            }
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for character in text {
            switch character {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case "\r": quoted += "\\r"
            case "\0": quoted += "\\0"
            default: quoted.append(character)
            }
        }
        return quoted + "\""
    }
}
