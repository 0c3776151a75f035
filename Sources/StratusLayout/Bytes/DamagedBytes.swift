// Errors about damaged keys and values, and how errors and descriptions show bytes. No error shows bytes that may hold
// a secret.

import StratusModel
import StratusStore

extension StoreError {
    /// How many bytes of a damaged item an error shows.
    private static let shownByteCount = 64

    /// An error about a damaged key, which it shows as hex.
    static func corruptKey(
        _ message: StaticString, _ key: Span<UInt8>, at position: Int, in keyspace: String, cause: TupleError? = nil
    ) -> StoreError {
        StoreError(
            .corruption, message,
            ["keyspace": keyspace, "position": "\(position)", "hex": Hex.text(key, limit: shownByteCount)],
            cause: cause.map { "\($0)" }, damage: .entry)
    }

    /// An error about a damaged value, which it shows as hex unless it may hold a secret.
    static func corruptValue(
        _ message: StaticString, _ value: Span<UInt8>, at position: Int, in item: String
    ) -> StoreError {
        if SecretBytes.mayBe(in: value) { return corruptSecret(message, value, at: position, in: item) }
        return StoreError(
            .corruption, message,
            ["item": item, "position": "\(position)", "hex": Hex.text(value, limit: shownByteCount)], damage: .entry)
    }

    /// An error about a damaged value that holds a secret. It shows how many bytes there are, and none of them.
    static func corruptSecret(
        _ message: StaticString, _ value: Span<UInt8>, at position: Int, in item: String
    ) -> StoreError {
        StoreError(
            .corruption, message, ["item": item, "position": "\(position)", "byteCount": "\(value.count)"],
            damage: .entry)
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
            guard let value = Character(Unicode.Scalar(digit)).hexDigitValue.map(UInt8.init) else { return nil }
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
}
