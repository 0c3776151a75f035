// What can go wrong between values and bytes. Damaged bytes are their own codes, never "not found".

/// An error of the layout: an open code, a message that says how to mend it, and the variables as fields.
package struct LayoutError: Error, Hashable, Sendable, CustomStringConvertible {
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        package let description: String

        /// The bytes of a key are not what this software writes.
        package static let corruptKey = Code(description: "corruptKey")
        /// The bytes of a value are not what this software writes.
        package static let corruptValue = Code(description: "corruptValue")
        /// The store's format is newer than this software.
        package static let newerFormat = Code(description: "newerFormat")
        /// A record, or a part of one, is over `LayoutLimits`.
        package static let tooLarge = Code(description: "tooLarge")
        /// A value cannot be stored as it is.
        package static let invalidValue = Code(description: "invalidValue")
        /// A line of text does not describe a key.
        package static let invalidDescription = Code(description: "invalidDescription")
    }

    package let code: Code
    package let message: String
    /// Variables such as `keyspace`, `position` (a byte offset) and `hex` (the first bytes of the damaged item).
    package var fields: [String: String]

    package init(_ code: Code, _ message: StaticString, _ fields: [String: String] = [:]) {
        self.code = code
        self.message = "\(message)"
        self.fields = fields
    }

    /// Whether bytes on disk are not what was written.
    package var isCorruption: Bool { code == .corruptKey || code == .corruptValue }

    /// The same error with one more variable, for a caller that knows more (the key of a damaged value, say).
    package func adding(_ name: String, _ value: String) -> LayoutError {
        var error = self
        error.fields[name] = value
        return error
    }

    package var description: String {
        let variables = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
        return variables.isEmpty ? "\(code): \(message)" : "\(code): \(message) (\(variables))"
    }
}

extension LayoutError {
    /// An error about a damaged key, which it shows as hex.
    static func corruptKey(_ message: StaticString, _ key: Span<UInt8>, at position: Int, in keyspace: String) -> Self {
        LayoutError(
            .corruptKey, message, ["keyspace": keyspace, "position": "\(position)", "hex": Hex.text(key, limit: 64)])
    }

    /// An error about a damaged value, which it shows as hex where it holds no secret.
    static func corruptValue(_ message: StaticString, _ value: Span<UInt8>, at position: Int, in item: String) -> Self {
        if SecretBytes.mayBe(in: value) { return corruptSecret(message, value, at: position, in: item) }
        return LayoutError(
            .corruptValue, message, ["item": item, "position": "\(position)", "hex": Hex.text(value, limit: 64)])
    }

    /// An error about a damaged value that holds a secret: its bytes are not shown, only how many there are.
    static func corruptSecret(_ message: StaticString, _ value: Span<UInt8>, at position: Int, in item: String) -> Self
    {
        LayoutError(
            .corruptValue, message, ["item": item, "position": "\(position)", "byteCount": "\(value.count)"])
    }
}
