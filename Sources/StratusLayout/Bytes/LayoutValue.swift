// What every small value has in common: one byte of version, its parts, and not a byte more.

import FoundationEssentials

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

// The primitives of which every value is made. Values need no order, so lengths stand in front and nothing is escaped:
// a reader passes over what it does not want in one step.
//
// Byte layout (explicit, never changes):
//   number    unsigned, 7 bits a byte, lowest first, the top bit set on all but the last byte; fewest bytes only
//   fixed     unsigned, 4 or 8 bytes, big-endian
//   text      number (how many bytes), UTF-8
//   date      8 bytes: the bits of the seconds since 2001-01-01 00:00 UTC, an IEEE 754 double, big-endian
//   UUID      its 16 bytes

/// Appends the primitives of values to a buffer.
enum ValueWriter {
    static func append(number: UInt64, to bytes: inout [UInt8]) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    static func append(fixed value: UInt32, to bytes: inout [UInt8]) {
        bytes.append(addingCapacity: 4) { output in
            output.append(UInt8(truncatingIfNeeded: value >> 24))
            output.append(UInt8(truncatingIfNeeded: value >> 16))
            output.append(UInt8(truncatingIfNeeded: value >> 8))
            output.append(UInt8(truncatingIfNeeded: value))
        }
    }

    static func append(fixed value: UInt64, to bytes: inout [UInt8]) {
        append(fixed: UInt32(truncatingIfNeeded: value >> 32), to: &bytes)
        append(fixed: UInt32(truncatingIfNeeded: value), to: &bytes)
    }

    static func append(_ text: String, to bytes: inout [UInt8]) {
        append(number: UInt64(text.utf8.count), to: &bytes)
        bytes.append(contentsOf: text.utf8)
    }

    static func append(_ date: Date, to bytes: inout [UInt8]) {
        append(fixed: date.timeIntervalSinceReferenceDate.bitPattern, to: &bytes)
    }

    static func append(_ identifier: UUID, to bytes: inout [UInt8]) {
        let b = identifier.uuid
        let content: InlineArray<16, UInt8> = [
            b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7, b.8, b.9, b.10, b.11, b.12, b.13, b.14, b.15,
        ]
        bytes.append(copying: content.span)
    }
}

// Reads the primitives of values in place; `ValueWriter` has the byte layout.
//
// Invariants: nothing is read outside the bytes and nothing traps, whatever they are. Only what `ValueWriter` writes is
// read: a number in more bytes than it needs, text that is not UTF-8 and bytes after the end are `.corruptValue`.

/// Reads the parts of one value, one after the other.
struct ValueReader: ~Escapable {
    let bytes: Span<UInt8>
    /// What is read, for errors: the type that is decoded.
    let item: StaticString
    /// Whether the bytes hold a secret, so that no error may show them.
    let isSecret: Bool
    private(set) var position = 0

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, _ item: StaticString, isSecret: Bool = false) {
        self.bytes = bytes
        self.item = item
        self.isSecret = isSecret
    }

    var isAtEnd: Bool { position == bytes.count }
    var remainingByteCount: Int { bytes.count - position }

    mutating func readByte() throws(LayoutError) -> UInt8 {
        guard position < bytes.count else { throw cutOff() }
        let byte = bytes[position]
        position += 1
        return byte
    }

    mutating func readNumber() throws(LayoutError) -> UInt64 {
        let first = try readByte()
        if first < 0x80 { return UInt64(first) }
        var value = UInt64(first & 0x7F)
        var shift: UInt64 = 7
        while true {
            let byte = try readByte()
            // The tenth byte holds the topmost bit alone, and a last byte of zero would be needless.
            guard shift < 63 || byte <= 1 else { throw corrupt("A number does not fit in 64 bits.") }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 {
                guard byte != 0 else { throw corrupt("A number takes more bytes than it needs.") }
                return value
            }
            shift += 7
        }
    }

    /// Reads a number that counts bytes or items that are still to come, each of at least one byte.
    mutating func readCount() throws(LayoutError) -> Int {
        let number = try readNumber()
        guard number <= UInt64(remainingByteCount) else { throw cutOff() }
        return Int(number)
    }

    mutating func readFixed32() throws(LayoutError) -> UInt32 {
        guard remainingByteCount >= 4 else { throw cutOff() }
        var value: UInt32 = 0
        for index in position..<position + 4 { value = value << 8 | UInt32(bytes[index]) }
        position += 4
        return value
    }

    mutating func readFixed64() throws(LayoutError) -> UInt64 {
        guard remainingByteCount >= 8 else { throw cutOff() }
        var value: UInt64 = 0
        for index in position..<position + 8 { value = value << 8 | UInt64(bytes[index]) }
        position += 8
        return value
    }

    mutating func readDate() throws(LayoutError) -> Date {
        Date(timeIntervalSinceReferenceDate: Double(bitPattern: try readFixed64()))
    }

    mutating func readText() throws(LayoutError) -> String {
        try readText(byteCount: try readCount())
    }

    /// Reads UTF-8 of a known length, which the caller has checked against `remainingByteCount`.
    mutating func readText(byteCount: Int) throws(LayoutError) -> String {
        let span = try readSpan(byteCount: byteCount)
        guard let text = try? UTF8Span(validating: span) else { throw corrupt("A text is not UTF-8.") }
        return String(copying: text)
    }

    /// The bytes of a text in place, not checked to be UTF-8.
    @_lifetime(copy self)
    mutating func readTextSpan() throws(LayoutError) -> Span<UInt8> {
        try readSpan(byteCount: try readCount())
    }

    @_lifetime(copy self)
    mutating func readSpan(byteCount: Int) throws(LayoutError) -> Span<UInt8> {
        guard byteCount >= 0, byteCount <= remainingByteCount else { throw cutOff() }
        let start = position
        position += byteCount
        return bytes.extracting(start..<position)
    }

    mutating func skip(byteCount: Int) throws(LayoutError) {
        guard byteCount >= 0, byteCount <= remainingByteCount else { throw cutOff() }
        position += byteCount
    }

    mutating func readUUID() throws(LayoutError) -> UUID {
        guard remainingByteCount >= 16 else { throw cutOff() }
        let s = bytes.extracting(position..<position + 16)
        position += 16
        return UUID(
            uuid: (
                s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15]
            ))
    }

    /// Reads the byte that says how the rest is laid out.
    mutating func expectVersion(_ version: UInt8) throws(LayoutError) {
        let found = try readByte()
        guard found == version else {
            throw corrupt("The value's version is unknown: it is damaged, or written by newer software.")
                .adding("version", "\(found)")
        }
    }

    /// Refuses a value that goes on.
    func expectEnd() throws(LayoutError) {
        guard isAtEnd else { throw corrupt("There are bytes after the value's end.") }
    }

    func corrupt(_ message: StaticString) -> LayoutError {
        isSecret
            ? .corruptSecret(message, bytes, at: position, in: "\(item)")
            : .corruptValue(message, bytes, at: position, in: "\(item)")
    }

    private func cutOff() -> LayoutError { corrupt("The value ends too early: check or restore the store.") }
}
