// The primitives of all values, and what small values have in common: a version byte, their parts, nothing after them.
// Values need no order, so lengths come first and nothing is escaped: a reader skips a part in one step.
//
// Byte layout (explicit, never changes):
//   number    unsigned, 7 bits a byte, lowest first, the top bit set on all but the last byte; fewest bytes only
//   fixed     unsigned, 4 or 8 bytes, big-endian
//   text      number (how many bytes), UTF-8
//   bytes     number (how many bytes), those
//   text?     byte 0, or byte 1 and a text
//   texts     number (how many), a text for each
//   date      8 bytes: the bits of the seconds since 2001-01-01 00:00 UTC, an IEEE 754 double, big-endian
//   UUID      its 16 bytes
//
// Invariants of `ValueReader`: for any bytes, nothing is read outside them and nothing traps. It reads only what
// `ValueWriter` writes: a number in more bytes than it needs, text that is not UTF-8 and bytes after the end are
// `.corruption`.

import FoundationEssentials
import StratusModel
package import StratusStore

/// A value that is stored under a key. Encoding and decoding are exact inverses; a value has one encoding.
package protocol LayoutValue: Hashable, Sendable {
    /// Appends the value's bytes.
    func append(to bytes: inout [UInt8])

    /// Reads a value. Throws `.corruption` for bytes that `append` does not write.
    init(decoding bytes: Span<UInt8>) throws(StoreError)
}

extension LayoutValue {
    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        // Enough for every small value, so that the bytes are not moved while they grow.
        bytes.reserveCapacity(64)
        append(to: &bytes)
        return bytes
    }
}

/// A value whose bytes are the version 1 and its parts.
package protocol VersionedValue: LayoutValue {
    /// Whether the bytes hold a secret, so that no error may show them.
    static var holdsSecret: Bool { get }

    /// Appends all parts after the version.
    func appendParts(to bytes: inout [UInt8])

    /// Reads all parts after the version.
    init(parts reader: inout ValueReader) throws(StoreError)
}

extension VersionedValue {
    package static var holdsSecret: Bool { false }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        appendParts(to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(StoreError) {
        var reader = ValueReader(bytes, Self.self, isSecret: Self.holdsSecret)
        try reader.expectVersion(1)
        try self.init(parts: &reader)
        try reader.expectEnd()
    }
}

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

    /// Byte 0, or byte 1 and a text.
    static func append(optional text: String?, to bytes: inout [UInt8]) {
        bytes.append(text == nil ? 0 : 1)
        if let text { append(text, to: &bytes) }
    }

    /// Number (how many), a text for each.
    static func append(texts: [String], to bytes: inout [UInt8]) {
        append(number: UInt64(texts.count), to: &bytes)
        for text in texts { append(text, to: &bytes) }
    }

    /// Number (how many bytes), those.
    static func append(_ content: [UInt8], to bytes: inout [UInt8]) {
        append(number: UInt64(content.count), to: &bytes)
        bytes.append(contentsOf: content)
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

/// Reads the parts of one value, one after the other.
package struct ValueReader: ~Escapable {
    let bytes: Span<UInt8>
    /// The type that is decoded, for errors.
    private let item: any Any.Type
    private let isSecret: Bool
    private(set) var position = 0

    /// `isSecret`: whether the bytes hold a secret, so that no error may show them.
    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, _ item: any Any.Type, isSecret: Bool = false) {
        self.bytes = bytes
        self.item = item
        self.isSecret = isSecret
    }

    var isAtEnd: Bool { position == bytes.count }
    var remainingByteCount: Int { bytes.count - position }

    mutating func readByte() throws(StoreError) -> UInt8 {
        guard position < bytes.count else { throw cutOff() }
        let byte = bytes[position]
        position += 1
        return byte
    }

    /// Reads a byte that is the raw value of a case.
    mutating func readCase<Value: RawRepresentable<UInt8>>(
        _ message: StaticString = "No case has this number."
    ) throws(StoreError) -> Value {
        guard let value = Value(rawValue: try readByte()) else { throw corrupt(message) }
        return value
    }

    /// Reads a byte of flags, all of them below `limit`.
    mutating func readFlags(below limit: UInt8) throws(StoreError) -> UInt8 {
        let flags = try readByte()
        guard flags < limit else { throw corrupt("A flag of the value is unknown.") }
        return flags
    }

    /// Reads byte 0 or 1.
    mutating func readFlag() throws(StoreError) -> Bool { try readFlags(below: 2) == 1 }

    mutating func readNumber() throws(StoreError) -> UInt64 {
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

    /// Reads a number that is never 0.
    mutating func readPositive() throws(StoreError) -> UInt64 {
        let number = try readNumber()
        guard number >= 1 else { throw corrupt("A number that must be 1 or more is 0.") }
        return number
    }

    /// Reads the number of bytes or items that follow, each of at least one byte.
    mutating func readCount() throws(StoreError) -> Int {
        let number = try readNumber()
        guard number <= UInt64(remainingByteCount) else { throw cutOff() }
        return Int(number)
    }

    mutating func readFixed32() throws(StoreError) -> UInt32 {
        guard remainingByteCount >= 4 else { throw cutOff() }
        var value: UInt32 = 0
        for index in position..<position + 4 { value = value << 8 | UInt32(bytes[index]) }
        position += 4
        return value
    }

    mutating func readFixed64() throws(StoreError) -> UInt64 {
        guard remainingByteCount >= 8 else { throw cutOff() }
        var value: UInt64 = 0
        for index in position..<position + 8 { value = value << 8 | UInt64(bytes[index]) }
        position += 8
        return value
    }

    mutating func readDate() throws(StoreError) -> Date {
        Date(timeIntervalSinceReferenceDate: Double(bitPattern: try readFixed64()))
    }

    mutating func readText() throws(StoreError) -> String {
        try readText(byteCount: try readCount())
    }

    /// Reads UTF-8 of a known length, which the caller has checked against `remainingByteCount`.
    mutating func readText(byteCount: Int) throws(StoreError) -> String {
        let span = try readSpan(byteCount: byteCount)
        guard let text = try? UTF8Span(validating: span) else { throw corrupt("A text is not UTF-8.") }
        return String(copying: text)
    }

    mutating func readOptionalText() throws(StoreError) -> String? { try readFlag() ? try readText() : nil }

    mutating func readTexts() throws(StoreError) -> [String] {
        var texts: [String] = []
        for _ in 0..<(try readCount()) { texts.append(try readText()) }
        return texts
    }

    /// Reads a name that must come after the previous one, and remembers it.
    mutating func readName<Name: ByteComparedName>(after last: inout Name?) throws(StoreError) -> Name {
        let name = Name(try readText())
        if let last, !(last < name) { throw corrupt("The names of the value are not in ascending order.") }
        last = name
        return name
    }

    mutating func readBytes() throws(StoreError) -> [UInt8] {
        [UInt8](copying: try readSpan(byteCount: try readCount()))
    }

    /// The bytes of a text in place, not checked to be UTF-8.
    @_lifetime(copy self)
    mutating func readTextSpan() throws(StoreError) -> Span<UInt8> {
        try readSpan(byteCount: try readCount())
    }

    /// Skips a text without checking it.
    mutating func skipText() throws(StoreError) {
        try skip(byteCount: try readCount())
    }

    @_lifetime(copy self)
    mutating func readSpan(byteCount: Int) throws(StoreError) -> Span<UInt8> {
        let start = position
        try skip(byteCount: byteCount)
        return bytes.extracting(start..<position)
    }

    mutating func skip(byteCount: Int) throws(StoreError) {
        guard byteCount >= 0, byteCount <= remainingByteCount else { throw cutOff() }
        position += byteCount
    }

    mutating func readUUID() throws(StoreError) -> UUID {
        let s = try readSpan(byteCount: 16)
        return UUID(
            uuid: (
                s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15]
            ))
    }

    mutating func expectVersion(_ version: UInt8) throws(StoreError) {
        let found = try readByte()
        guard found == version else {
            throw corrupt("The value's version is unknown: it is damaged, or written by newer software.")
                .adding(["version": "\(found)"])
        }
    }

    /// Throws if bytes are left.
    func expectEnd() throws(StoreError) {
        guard isAtEnd else { throw corrupt("There are bytes after the value's end.") }
    }

    func corrupt(_ message: StaticString) -> StoreError {
        isSecret
            ? .corruptSecret(message, bytes, at: position, in: "\(item)")
            : .corruptValue(message, bytes, at: position, in: "\(item)")
    }

    private func cutOff() -> StoreError { corrupt("The value ends too early: check or restore the store.") }
}
