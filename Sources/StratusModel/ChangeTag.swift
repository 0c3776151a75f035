// The change tag: opaque to everybody above, new at every write. It is not stored as text: a record keeps the sequence
// of its write and a salt, and the text is made of both.
//
// The text is the sequence in base 36 without leading zeros, then the salt in base 36 in exactly seven digits. So the
// map between text and numbers is one to one, and a store that was restored to an earlier state, where sequences come
// again, gives other tags as its salts are drawn anew.

/// Makes and reads change tags.
package enum ChangeTag {
    private static let saltDigitCount = 7
    private static let radix: UInt64 = 36

    /// The text of a tag.
    package static func text(sequence: UInt64, salt: UInt32) -> String {
        // Seven digits of salt and at most thirteen of a 64-bit number: twenty, written from the end.
        var digits: InlineArray<20, UInt8> = .init(repeating: 0)
        var start = digits.count
        var rest = UInt64(salt)
        for _ in 0..<saltDigitCount {
            start -= 1
            digits[start] = digit(rest % radix)
            rest /= radix
        }
        rest = sequence
        repeat {
            start -= 1
            digits[start] = digit(rest % radix)
            rest /= radix
        } while rest > 0
        // Digits are ASCII, so that the check never fails; it is the way to a string without a loop of appends.
        guard let text = try? UTF8Span(validating: digits.span.extracting(start..<digits.count)) else { return "" }
        return String(copying: text)
    }

    /// The numbers of a tag, or nil when `text` is not a tag this software made.
    package static func numbers(of text: String) -> (sequence: UInt64, salt: UInt32)? {
        let digits = text.utf8
        let sequenceDigitCount = digits.count - saltDigitCount
        guard (1...13).contains(sequenceDigitCount) else { return nil }
        guard
            let sequence = number(digits.prefix(sequenceDigitCount)),
            let wideSalt = number(digits.suffix(saltDigitCount)), let salt = UInt32(exactly: wideSalt),
            sequenceDigitCount == 1 || digits.first != UInt8(ascii: "0")
        else { return nil }
        return (sequence, salt)
    }

    /// Whether `text` is the tag of this sequence and salt.
    package static func matches(_ text: String, sequence: UInt64, salt: UInt32) -> Bool {
        guard let numbers = numbers(of: text) else { return false }
        return numbers.sequence == sequence && numbers.salt == salt
    }

    private static func digit(_ value: UInt64) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value)
        return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    private static func number(_ digits: some Sequence<UInt8>) -> UInt64? {
        var result: UInt64 = 0
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a") + 10
            default: return nil
            }
            let (product, overflow) = result.multipliedReportingOverflow(by: radix)
            let (sum, carry) = product.addingReportingOverflow(UInt64(value))
            guard !overflow, !carry else { return nil }
            result = sum
        }
        return result
    }
}
