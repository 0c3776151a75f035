// What is wrong with a text in the schema language, and where.

/// A text that is no schema.
package struct SchemaTextError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Counted from 1.
    package let line: Int
    /// Counted from 1, in characters of the line.
    package let column: Int
    package let message: String

    package init(line: Int, column: Int, _ message: String) {
        self.line = line
        self.column = column
        self.message = message
    }

    package var description: String { "line \(line), column \(column): \(message)" }
}
