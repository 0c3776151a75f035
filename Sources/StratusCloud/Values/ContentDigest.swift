// The digest by which contents are told apart and damage is found.

import Crypto

/// Digests of contents.
package enum ContentDigest {
    /// The SHA-256 of some bytes: 32 bytes.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }
}
