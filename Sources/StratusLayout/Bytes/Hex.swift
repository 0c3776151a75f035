// Bytes as hexadecimal text, for errors and descriptions.

import StratusModel

/// Conversions between bytes and lower-case hexadecimal digits.
package enum Hex {
    /// Two digits a byte; of more than `limit` bytes the first ones and how many there are in all.
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

    /// The bytes of an even number of digits, or nil when `text` is anything else.
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
