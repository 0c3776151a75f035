// The predicate that `NSPredicate(format:)` makes. Foundation on Linux has no formats: its predicates are blocks, which
// nobody can look into. This one keeps what it says as a tree.
//
// Invariant: immutable, so that a copy is the object itself.

import Foundation
import StratusStore

/// A predicate made of a format.
final class FormatPredicate: NSPredicate {
    /// What it says, or what is wrong with its format.
    let content: Result<PredicateSyntax, PredicateProblem>

    init(_ content: Result<PredicateSyntax, PredicateProblem>) {
        self.content = content
        super.init(value: false)
    }

    /// Parses a format.
    convenience init(format: String, arguments: [Any?]) {
        let parsed = Result { () throws(PredicateProblem) in
            try PredicateParser.parse(format, arguments: arguments.map { PredicateArgument($0) })
        }
        if case .failure(let problem) = parsed {
            var memory: String?
            StratusMisuse.note(problem.text, in: &memory)
        }
        self.init(parsed)
    }

    override func copy(with zone: NSZone? = nil) -> Any { self }

    override func isEqual(_ object: Any?) -> Bool { (object as? FormatPredicate)?.content == content }

    override var hash: Int { content.hashValue }

    /// The predicate as a format.
    override var predicateFormat: String {
        switch content {
        case .success(let syntax): PredicateText.text(of: syntax)
        case .failure(let problem): problem.text
        }
    }

    override var description: String { predicateFormat }

    /// A format is a question to a database, and is not evaluated here: only `TRUEPREDICATE` is true of an object. Where
    /// mistakes end the process (``StratusMisuse``), so does evaluating any other.
    override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
        if case .success(.always(let isTrue)) = content { return isTrue }
        var memory: String?
        StratusMisuse.note(
            "NSPredicate(format:) is not evaluated on Linux: give it to a CKQuery, or filter with a closure.",
            in: &memory)
        return false
    }
}
