// What is wrong with a predicate. On Apple's systems most of it raises an exception; here it is remembered, and the
// query fails with `invalidArguments` and the same text.

import StratusCloud

/// Why a predicate cannot be asked, as a sentence that says what to write instead.
struct PredicateProblem: Error, Hashable, Sendable {
    var text: String

    init(_ text: String) { self.text = text }

    /// A format that does not parse.
    /// - Parameters:
    ///   - format: The whole format.
    ///   - column: Where it goes wrong: the number of the character, from 1.
    ///   - message: What was expected there.
    init(format: String, column: Int, _ message: String) {
        text = "Unable to parse the format string \"\(format)\": at column \(column), \(message)."
    }

    var error: CloudError { CloudError(.invalidArguments, text: text) }
}
