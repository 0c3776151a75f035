// The result of a tidy rule. A rule is a pure function from text to findings, so that each can be shown to fail.

/// One place in the project that violates a rule, with the remedy.
struct Finding: Hashable, CustomStringConvertible {
    let path: String
    /// Counted from 1; 0 means the file as a whole.
    let line: Int
    let message: String

    init(_ path: String, line: Int = 0, _ message: String) {
        self.path = path
        self.line = line
        self.message = message
    }

    var description: String { line == 0 ? "\(path): \(message)" : "\(path):\(line): \(message)" }
}
