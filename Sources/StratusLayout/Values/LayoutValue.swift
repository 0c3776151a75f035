// What every small value has in common: one byte of version, its parts, and not a byte more.

/// A value that lies under a key. Encoding and decoding are exact inverses; a value has one encoding.
package protocol LayoutValue: Hashable, Sendable {
    /// Appends the value's bytes.
    func append(to bytes: inout [UInt8])

    /// Reads a value. Throws `.corruptValue` for bytes that `append` does not write.
    init(decoding bytes: Span<UInt8>) throws(LayoutError)
}

extension LayoutValue {
    /// Empties `bytes`, keeping its capacity, and writes the value into it.
    package func encode(into bytes: inout [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        append(to: &bytes)
    }

    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        // Enough for every small value, so that the bytes are not moved while they grow.
        bytes.reserveCapacity(64)
        append(to: &bytes)
        return bytes
    }
}
