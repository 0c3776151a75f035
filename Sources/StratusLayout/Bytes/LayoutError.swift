// Errors between values and bytes, and how errors and descriptions show bytes. Damaged bytes have codes of their own
// and are never "not found".
//
// Readers run on bytes that may be anything, so an error about a key stores what it knows and builds its text only when
// a caller reads the fields. No error shows bytes that may hold a secret.

import StratusModel

/// An error of the layout: an open code, a message with the remedy, and the variables as fields.
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
        /// A value cannot be stored.
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
        self.init(code, message, nil, fields)
    }

    private init(_ code: Code, _ message: StaticString, _ damage: KeyDamage?, _ fields: [String: String]) {
        self.code = code
        self.message = message.description
        self.damage = damage
        self.otherFields = fields
    }

    /// Variables such as `keyspace`, `position` (a byte offset) and `hex` (the first bytes of the damaged item).
    package var fields: [String: String] {
        guard let damage else { return otherFields }
        return damage.fields.merging(otherFields) { _, other in other }
    }

    /// The offset in the damaged item, as text.
    var position: String { damage.map { "\($0.position)" } ?? otherFields["position"] ?? "0" }

    /// Whether bytes on disk are not what was written.
    package var isCorruption: Bool { code == .corruptKey || code == .corruptValue }

    /// The same error with one more variable, for a caller that knows more, such as the key of a damaged value.
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

/// What an error knows about a damaged key.
private struct KeyDamage: Hashable, Sendable {
    /// The number of bytes of a key that an error shows.
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
        let damage = KeyDamage(
            keyspace: keyspace, position: position, bytes: [UInt8](copying: shown), byteCount: key.count, cause: cause)
        return LayoutError(.corruptKey, message, damage, [:])
    }

    /// An error about a damaged value, which it shows as hex unless it may hold a secret.
    static func corruptValue(_ message: StaticString, _ value: Span<UInt8>, at position: Int, in item: String) -> Self {
        if SecretBytes.mayBe(in: value) { return corruptSecret(message, value, at: position, in: item) }
        return LayoutError(
            .corruptValue, message, ["item": item, "position": "\(position)", "hex": Hex.text(value, limit: 64)])
    }

    /// An error about a damaged value that holds a secret. It shows how many bytes there are, and none of them.
    static func corruptSecret(_ message: StaticString, _ value: Span<UInt8>, at position: Int, in item: String) -> Self
    {
        LayoutError(
            .corruptValue, message, ["item": item, "position": "\(position)", "byteCount": "\(value.count)"])
    }
}

/// Recognises values that may hold a secret: records of shares, which hold the secrets of URLs.
enum SecretBytes {
    /// Every whole record of a share holds both words, so one damaged byte does not hide that it holds secrets.
    private static let marks = [ShareContent.fieldKey.text, ShareContent.recordType.text].map { Array($0.utf8) }

    /// Whether the bytes look like the record of a share, or a part of one. Slow: only errors and descriptions ask.
    static func mayBe(in bytes: Span<UInt8>) -> Bool {
        for start in bytes.indices {
            for mark in marks where starts(bytes, at: start, with: mark) { return true }
        }
        return false
    }

    private static func starts(_ bytes: Span<UInt8>, at start: Int, with mark: [UInt8]) -> Bool {
        guard bytes.count - start >= mark.count else { return false }
        for (offset, byte) in mark.enumerated() where bytes[start + offset] != byte { return false }
        return true
    }
}

/// Converts between bytes and lower-case hexadecimal digits.
package enum Hex {
    /// Two digits a byte. Of more than `limit` bytes it shows the first ones and the total number.
    package static func text(_ bytes: Span<UInt8>, limit: Int = .max) -> String {
        let shownCount = min(bytes.count, limit)
        var digits: [UInt8] = []
        digits.reserveCapacity(shownCount * 2)
        for index in 0..<shownCount {
            digits.append(digit(bytes[index] >> 4))
            digits.append(digit(bytes[index] & 0xF))
        }
        let text = String(decoding: digits, as: UTF8.self)
        return bytes.count > limit ? "\(text)… (\(bytes.count.counting("byte")))" : text
    }

    package static func text(_ bytes: [UInt8], limit: Int = .max) -> String { text(bytes.span, limit: limit) }

    /// The bytes of an even number of digits; nil if `text` is anything else.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in text.utf8 {
            guard let value = value(ofDigit: digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? bytes : nil
    }

    /// The digit of a number below 16.
    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + (value - 10)
    }

    private static func value(ofDigit digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
