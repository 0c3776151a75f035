// What can go wrong between values and bytes. Damaged bytes are their own codes, never "not found".
//
// Readers are tried on bytes that may be anything, so an error about a key keeps what it knows as it is; the text of it is
// made when the fields are asked for.

import StratusModel

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
    /// Where a key is damaged.
    private let damage: KeyDamage?
    private var otherFields: [String: String]

    package init(_ code: Code, _ message: StaticString, _ fields: [String: String] = [:]) {
        self.code = code
        self.message = message.description
        self.damage = nil
        self.otherFields = fields
    }

    private init(_ code: Code, _ message: StaticString, _ damage: KeyDamage) {
        self.code = code
        self.message = message.description
        self.damage = damage
        self.otherFields = [:]
    }

    /// Variables such as `keyspace`, `position` (a byte offset) and `hex` (the first bytes of the damaged item).
    package var fields: [String: String] {
        guard let damage else { return otherFields }
        return damage.fields.merging(otherFields) { _, other in other }
    }

    /// Where in the damaged item, as text.
    var position: String { damage.map { "\($0.position)" } ?? otherFields["position"] ?? "0" }

    /// Whether bytes on disk are not what was written.
    package var isCorruption: Bool { code == .corruptKey || code == .corruptValue }

    /// The same error with one more variable, for a caller that knows more (the key of a damaged value, say).
    package func adding(_ name: String, _ value: String) -> LayoutError {
        var error = self
        error.otherFields[name] = value
        return error
    }

    package var description: String {
        let variables = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
        return variables.isEmpty ? "\(code): \(message)" : "\(code): \(message) (\(variables))"
    }
}

/// What is known of a damaged key.
private struct KeyDamage: Hashable, Sendable {
    /// So many bytes of the key are shown.
    static let shownByteCount = 64

    let keyspace: String
    let position: Int
    /// The first bytes of the key.
    let bytes: [UInt8]
    /// How many bytes the whole key has.
    let byteCount: Int
    let cause: TupleError?

    var fields: [String: String] {
        let digits = Hex.text(bytes)
        var fields = ["keyspace": keyspace, "position": "\(position)"]
        fields["hex"] = byteCount > bytes.count ? "\(digits)… (\(byteCount.counting("byte")))" : digits
        if let cause { fields["cause"] = "\(cause)" }
        return fields
    }
}

extension LayoutError {
    /// An error about a damaged key, which it shows as hex.
    static func corruptKey(
        _ message: StaticString, _ key: Span<UInt8>, at position: Int, in keyspace: String, cause: TupleError? = nil
    ) -> Self {
        let shown = key.extracting(0..<min(key.count, KeyDamage.shownByteCount))
        return LayoutError(
            .corruptKey, message,
            KeyDamage(
                keyspace: keyspace, position: position, bytes: [UInt8](copying: shown), byteCount: key.count,
                cause: cause))
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
