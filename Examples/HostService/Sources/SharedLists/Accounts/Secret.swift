// A secret that only one person knows: created from the system's randomness, and stored only as a hash.
//
// A token has 256 random bits and cannot be guessed, so a plain hash protects it. A code has 50, because a person may
// have to type it; it is short-lived, and the number of guesses is limited.

import Crypto
import Foundation

enum Secret {
    /// Letters and digits that are not mistaken for each other.
    private static let codeAlphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
    private static let codeLength = 10

    /// A token, 43 characters that need no escaping in a header.
    static func makeToken() -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return Data(bytes).base64URLText
    }

    /// A code that a person can type.
    static func makeCode() -> String {
        var generator = SystemRandomNumberGenerator()
        return String((0..<codeLength).compactMap { _ in codeAlphabet.randomElement(using: &generator) })
    }

    /// The hash that identifies a secret.
    static func hash(_ secret: String) -> String {
        SHA256.hash(data: Data(secret.utf8)).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

extension Data {
    /// Base 64 in the alphabet of URLs, without padding.
    var base64URLText: String {
        base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    /// Nil if the text does not come from `base64URLText`.
    init?(base64URLText text: String) {
        let standard = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        self.init(base64Encoded: standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4))
    }
}
