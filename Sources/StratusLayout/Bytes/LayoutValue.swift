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

    /// Number (how many bytes), those.
    static func append(_ content: [UInt8], to bytes: inout [UInt8]) {
        append(number: UInt64(content.count), to: &bytes)
        bytes.append(contentsOf: content)
    }

    static func append(_ date: Date, to bytes: inout [UInt8]) {
        append(fixed: date.timeIntervalSinceReferenceDate.bitPattern, to: &bytes)
    }

    /// Appends parts, one after the other.
    static func append<each Part: ValuePart>(_ parts: repeat each Part, to bytes: inout [UInt8]) {
        repeat (each parts).write(to: &bytes)
    }

    /// Number (how many), in the byte order of the names a text: name · what `appendValue` appends.
    static func append<Name: ByteComparedName, Value>(
        _ values: [Name: Value], to bytes: inout [UInt8], _ appendValue: (Value, inout [UInt8]) -> Void
    ) {
        append(number: UInt64(values.count), to: &bytes)
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            append(name.text, to: &bytes)
            appendValue(value, &bytes)
        }
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

    /// Reads a name, or returns `known` if that is the name: it takes no memory then.
    mutating func readName(orSharing known: RecordName?) throws(StoreError) -> RecordName {
        let start = position
        let span = try readSpan(byteCount: try readCount())
        if let known, known.text.hasBytes(span) { return known }
        position = start
        return RecordName(try readText())
    }

    /// Reads parts, one after the other.
    mutating func read<each Part: ValuePart>() throws(StoreError) -> (repeat each Part) {
        (repeat try (each Part).read(from: &self))
    }

    /// Reads names in ascending order, each with what `readValue` reads.
    mutating func readDictionary<Name: ByteComparedName, Value>(
        _ readValue: (inout ValueReader) throws(StoreError) -> Value
    ) throws(StoreError) -> [Name: Value] {
        var values: [Name: Value] = [:]
        var last: Name?
        for _ in 0..<(try readCount()) {
            let name = Name(try readText())
            if let last, !(last < name) { throw corrupt("The names of the value are not in ascending order.") }
            last = name
            values[name] = try readValue(&self)
        }
        return values
    }

    mutating func readBytes() throws(StoreError) -> [UInt8] {
        [UInt8](copying: try readSpan(byteCount: try readCount()))
    }

    /// Reads as many bytes, without their number.
    mutating func readBytes(count: Int) throws(StoreError) -> [UInt8] {
        [UInt8](copying: try readSpan(byteCount: count))
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

extension String {
    fileprivate func hasBytes(_ bytes: Span<UInt8>) -> Bool {
        let own = utf8Span.span
        guard own.count == bytes.count else { return false }
        for index in own.indices where own[index] != bytes[index] { return false }
        return true
    }
}

// MARK: Parts of values

/// A type that values have as a part.
protocol ValuePart {
    func write(to bytes: inout [UInt8])
    static func read(from reader: inout ValueReader) throws(StoreError) -> Self
}

/// A number.
extension UInt64: ValuePart {
    func write(to bytes: inout [UInt8]) { ValueWriter.append(number: self, to: &bytes) }
    static func read(from reader: inout ValueReader) throws(StoreError) -> UInt64 { try reader.readNumber() }
}

/// The number of a database or zone, which is never 0.
extension ValuePart where Self: RawRepresentable<UInt64> {
    func write(to bytes: inout [UInt8]) { ValueWriter.append(number: rawValue, to: &bytes) }

    static func read(from reader: inout ValueReader) throws(StoreError) -> Self {
        guard let value = Self(rawValue: try reader.readPositive()) else {
            throw reader.corrupt("No database or zone has this number.")
        }
        return value
    }
}

/// A byte.
extension UInt8: ValuePart {
    func write(to bytes: inout [UInt8]) { bytes.append(self) }
    static func read(from reader: inout ValueReader) throws(StoreError) -> UInt8 { try reader.readByte() }
}

/// A byte that is the raw value of a case.
extension ValuePart where Self: RawRepresentable<UInt8> {
    func write(to bytes: inout [UInt8]) { bytes.append(rawValue) }
    static func read(from reader: inout ValueReader) throws(StoreError) -> Self { try reader.readCase() }
}

extension ParticipantRole: ValuePart {}
extension ParticipantPermission: ValuePart {}
extension AcceptanceStatus: ValuePart {}

/// Byte 0 or 1.
extension Bool: ValuePart {
    func write(to bytes: inout [UInt8]) { bytes.append(self ? 1 : 0) }
    static func read(from reader: inout ValueReader) throws(StoreError) -> Bool { try reader.readFlag() }
}

/// A text.
extension String: ValuePart {
    func write(to bytes: inout [UInt8]) { ValueWriter.append(self, to: &bytes) }
    static func read(from reader: inout ValueReader) throws(StoreError) -> String { try reader.readText() }
}

/// A name, as a text.
extension ValuePart where Self: ByteComparedName {
    func write(to bytes: inout [UInt8]) { ValueWriter.append(text, to: &bytes) }
    static func read(from reader: inout ValueReader) throws(StoreError) -> Self { Self(try reader.readText()) }
}

extension RecordName: ValuePart {}
extension ZoneName: ValuePart {}
extension RecordType: ValuePart {}
extension UserName: ValuePart {}
extension ContainerName: ValuePart {}
extension AccountID: ValuePart {}
extension ParticipantID: ValuePart {}

/// Number (how many), each of them.
extension Array: ValuePart where Element: ValuePart {
    func write(to bytes: inout [UInt8]) {
        ValueWriter.append(number: UInt64(count), to: &bytes)
        for element in self { element.write(to: &bytes) }
    }

    static func read(from reader: inout ValueReader) throws(StoreError) -> [Element] {
        let count = try reader.readCount()
        var elements: [Element] = []
        // A damaged count must not reserve much.
        elements.reserveCapacity(Swift.min(count, 64))
        for _ in 0..<count { elements.append(try Element.read(from: &reader)) }
        return elements
    }
}

/// Byte 0, or byte 1 and the part.
extension Optional: ValuePart where Wrapped: ValuePart {
    func write(to bytes: inout [UInt8]) {
        bytes.append(self == nil ? 0 : 1)
        if let self { self.write(to: &bytes) }
    }

    static func read(from reader: inout ValueReader) throws(StoreError) -> Wrapped? {
        try reader.readFlag() ? try Wrapped.read(from: &reader) : nil
    }
}

extension Date: ValuePart {
    func write(to bytes: inout [UInt8]) { ValueWriter.append(self, to: &bytes) }
    static func read(from reader: inout ValueReader) throws(StoreError) -> Date { try reader.readDate() }
}

/// Date · text: user.
extension Stamp: ValuePart {
    func write(to bytes: inout [UInt8]) { ValueWriter.append(date, user, to: &bytes) }

    static func read(from reader: inout ValueReader) throws(StoreError) -> Stamp {
        Stamp(date: try reader.readDate(), user: UserName(try reader.readText()))
    }
}

/// Its 16 bytes.
extension UUID: ValuePart {
    func write(to bytes: inout [UInt8]) {
        let own = self.bytes
        bytes.append(copying: own.span)
    }

    static func read(from reader: inout ValueReader) throws(StoreError) -> UUID {
        UUID(try reader.readSpan(byteCount: 16))
    }
}
