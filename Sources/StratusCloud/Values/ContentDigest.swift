// The digest by which contents are told apart and damage is found.

import Crypto

/// Digests of contents: in one piece, or piece by piece.
package struct ContentDigest {
    private var hash = SHA256()

    package init() {}

    /// Adds the next bytes.
    package mutating func add(_ bytes: ArraySlice<UInt8>) { hash.update(data: bytes) }

    /// The SHA-256 of everything that was added: 32 bytes.
    package func finish() -> [UInt8] { Array(hash.finalize()) }

    /// The SHA-256 of some bytes: 32 bytes.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }
}
