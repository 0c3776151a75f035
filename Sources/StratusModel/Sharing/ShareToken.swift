// The secret part of a share's URL: 128 bits that nobody can guess.
//
// Invariant: its text is 22 characters of the URL-safe base 64 alphabet, and no other text is the same token.

/// The secret of a share's URL or of a participant's one-time URL. Its description does not show it.
package struct ShareToken: Hashable, Sendable, CustomStringConvertible {
    package static let byteCount = 16
    package let bytes: [UInt8]

    /// A token of 16 bytes from the system's generator; nil for another number of them.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// The token that a URL shows; nil for a text that is none.
    package init?(text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 22 else { return nil }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var bitCount = 0
        for digit in digits {
            guard let value = Self.alphabet.firstIndex(of: digit) else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            }
        }
        // 22 digits hold four bits more than 16 bytes: they are zero in the only text that is written.
        guard bits & 0b1111 == 0 else { return nil }
        self.init(bytes: bytes)
    }

    /// The token as a URL shows it.
    package var text: String {
        var text = ""
        var bits: UInt32 = 0
        var bitCount = 0
        for byte in bytes + [0, 0] {
            bits = bits << 8 | UInt32(byte)
            bitCount += 8
            while bitCount >= 6, text.utf8.count < 22 {
                bitCount -= 6
                text.unicodeScalars.append(Unicode.Scalar(Self.alphabet[Int(bits >> UInt32(bitCount) & 0x3F)]))
            }
        }
        return text
    }

    /// Whether two tokens are the same, in a time that says nothing of where they differ.
    package func isSame(as other: ShareToken) -> Bool {
        var difference: UInt8 = 0
        for (own, others) in zip(bytes, other.bytes) { difference |= own ^ others }
        return difference == 0
    }

    package var description: String { "secret" }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
}
