// What the change feeds keep in the store: the secret of all tokens, and what clients sent with their changes.

/// What change tokens and cursors are authenticated and hidden with. Bytes: version 1 · the secret's 32 bytes.
package struct TokenSecretEntry: LayoutValue {
    package static let byteCount = 32

    /// Bytes from the system's generator, `byteCount` of them.
    package var secret: [UInt8]

    package init(secret: [UInt8]) {
        precondition(secret.count == Self.byteCount, "The secret of tokens has 32 bytes.")
        self.secret = secret
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(contentsOf: secret)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "TokenSecretEntry", isSecret: true)
        try reader.expectVersion(1)
        secret = [UInt8](copying: try reader.readSpan(byteCount: Self.byteCount))
        try reader.expectEnd()
    }
}

/// What a user's client sent with its last change of a zone (T-11). The user is in the key.
///
/// Bytes: version 1 · number: sequence · number: bytes · those.
package struct ClientTokenEntry: LayoutValue {
    /// The zone's last change of the commit with which it came.
    package var sequence: UInt64
    package var data: [UInt8]

    package init(sequence: UInt64, data: [UInt8]) {
        self.sequence = sequence
        self.data = data
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: sequence, to: &bytes)
        ValueWriter.append(number: UInt64(data.count), to: &bytes)
        bytes.append(contentsOf: data)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ClientTokenEntry")
        try reader.expectVersion(1)
        sequence = try reader.readNumber()
        data = [UInt8](copying: try reader.readSpan(byteCount: try reader.readCount()))
        try reader.expectEnd()
    }
}
