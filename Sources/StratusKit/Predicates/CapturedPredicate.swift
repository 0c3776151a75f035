// What a predicate of a client's says, whatever made it.

import Foundation

/// A predicate as a query keeps it.
struct CapturedPredicate: Hashable, Sendable {
    /// How many conditions compounds may hold, since a client can put a compound into itself.
    private static let partLimit = 4_096

    var content: Result<PredicateSyntax, PredicateProblem>

    init(_ content: Result<PredicateSyntax, PredicateProblem>) { self.content = content }

    /// Looks into a predicate without evaluating anything.
    init(_ predicate: NSPredicate) {
        var partCount = 0
        content = Result { () throws(PredicateProblem) in
            try Self.syntax(of: predicate, depth: 0, &partCount)
        }
    }

    private static func syntax(
        of predicate: NSPredicate, depth: Int, _ partCount: inout Int
    ) throws(PredicateProblem) -> PredicateSyntax {
        partCount += 1
        guard depth < PredicateParser.depthLimit, partCount <= partLimit else {
            throw PredicateProblem("The compound predicate is too large, or holds itself.")
        }
        if let format = predicate as? FormatPredicate { return try format.content.get() }
        if let compound = predicate as? NSCompoundPredicate {
            var parts: [PredicateSyntax] = []
            for part in compound.subpredicates {
                parts.append(try syntax(of: part, depth: depth + 1, &partCount))
            }
            switch compound.compoundPredicateType {
            case .and: return .and(parts)
            case .or: return .or(parts)
            case .not:
                guard let part = parts.first else { throw PredicateProblem("A compound of NOT holds a predicate.") }
                return .not(part)
            }
        }
        // Foundation's own are true, false, or a block. Their being equal is told without calling the block.
        if type(of: predicate) == NSPredicate.self {
            for value in [true, false] where predicate.isEqual(NSPredicate(value: value)) { return .always(value) }
        }
        throw PredicateProblem(
            "CloudKit cannot look into a predicate that was made of a block, or of a class of its own: write NSPredicate(format:)."
        )
    }

    /// A predicate that says the same, for compounds one of their kind.
    var predicate: NSPredicate {
        switch content {
        case .success(let syntax): syntax.predicate
        case .failure: FormatPredicate(content)
        }
    }
}

extension PredicateSyntax {
    fileprivate var predicate: NSPredicate {
        switch self {
        case .always(let value): NSPredicate(value: value)
        case .comparison: FormatPredicate(.success(self))
        case .and(let parts): NSCompoundPredicate(andPredicateWithSubpredicates: parts.map(\.predicate))
        case .or(let parts): NSCompoundPredicate(orPredicateWithSubpredicates: parts.map(\.predicate))
        case .not(let part): NSCompoundPredicate(notPredicateWithSubpredicate: part.predicate)
        }
    }
}
