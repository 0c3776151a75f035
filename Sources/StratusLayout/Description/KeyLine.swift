// Reads the line of a key, as `KeyDescription` writes it, back into the key's bytes.

import FoundationEssentials
import StratusModel
package import StratusStore

extension KeyDescription {
    /// The key that a line describes. A line that ends before the key does (`db 3 / zone 7 / children / "folder"`)
    /// gives the beginning of all keys that it fits, so that it can name a range.
    ///
    /// Throws `.invalidRequest`, with the position in the line.
    package static func bytes(of line: String) throws(StoreError) -> [UInt8] {
        var scanner = LineScanner(line)
        var key: [UInt8] = []
        guard let parts = try readBeginning(&scanner, &key) else { return key }
        for part in parts {
            if scanner.isAtEnd { return key }
            try scanner.expect(" / ")
            try read(part, &scanner, &key)
        }
        guard scanner.isAtEnd else { throw scanner.invalid("The line has more parts than the key.") }
        return key
    }

    /// Every key that a line, or its beginning, describes.
    package static func range(of line: String) throws(StoreError) -> KeyRange {
        KeyBuilder.range(of: try bytes(of: line))
    }

    /// Reads and writes the database, zone and keyspace. Returns the parts that follow; nil if the line ends before
    /// them.
    private static func readBeginning(_ scanner: inout LineScanner, _ key: inout [UInt8]) throws(StoreError)
        -> [KeyPart]?
    {
        if scanner.take("global") {
            key = KeyBuilder.prefix(.outside, .outside)
            guard !scanner.isAtEnd else { return nil }
            return try readKeyspace(GlobalKeyspace.self, &scanner, &key)
        }
        try scanner.expect("db ")
        let database = DatabaseNumber(try scanner.readNumber())
        guard database != .outside else { throw scanner.invalid("No database has the number 0: write global.") }
        guard !scanner.isAtEnd else {
            TupleWriter.appendInteger(database.rawValue, to: &key)
            return nil
        }
        guard scanner.take(" / zone ") else {
            key = KeyBuilder.prefix(database, .outside)
            return try readKeyspace(DatabaseKeyspace.self, &scanner, &key)
        }
        let zone = ZoneNumber(try scanner.readNumber())
        guard zone != .outside else { throw scanner.invalid("No zone has the number 0.") }
        key = KeyBuilder.prefix(database, zone)
        guard !scanner.isAtEnd else { return nil }
        return try readKeyspace(ZoneKeyspace.self, &scanner, &key)
    }

    private static func readKeyspace<Level: Keyspace>(
        _ level: Level.Type, _ scanner: inout LineScanner, _ key: inout [UInt8]
    ) throws(StoreError) -> [KeyPart] {
        try scanner.expect(" / ")
        let name = scanner.takeWord()
        guard let keyspace = level.allCases.first(where: { $0.name == name }) else {
            throw scanner.invalid("No keyspace has this name.").adding(["name": name])
        }
        TupleWriter.appendInteger(UInt64(keyspace.rawValue), to: &key)
        return keyspace.parts
    }

    private static func read(
        _ part: KeyPart, _ scanner: inout LineScanner, _ key: inout [UInt8]
    ) throws(StoreError) {
        try scanner.expect(part.label)
        switch part {
        case .text: TupleWriter.appendString(try scanner.readText(), to: &key)
        case .optionalText: try (scanner.take("null") ? nil : scanner.readText()).append(to: &key)
        case .number, .database, .zone, .chunk: TupleWriter.appendInteger(try scanner.readNumber(), to: &key)
        case .bytes: TupleWriter.appendBytes(try scanner.readBytes(), to: &key)
        case .uuid:
            guard case .uuid(let uuid) = try readElement(&scanner, depth: 0) else {
                throw scanner.invalid("A UUID is missing.")
            }
            TupleWriter.appendUUID(uuid, to: &key)
        case .element: try readElement(&scanner, depth: 0).append(to: &key)
        case .action: try appendCase(ReferenceAction.self, &scanner, &key)
        case .scope: try appendCase(DatabaseScope.self, &scanner, &key)
        case .identityKind: try appendCase(IdentityKind.self, &scanner, &key)
        }
    }

    private static func appendCase<Value: CaseIterable & RawRepresentable<UInt8>>(
        _ type: Value.Type, _ scanner: inout LineScanner, _ key: inout [UInt8]
    ) throws(StoreError) {
        let name = scanner.takeWord()
        guard let value = Value.allCases.first(where: { "\($0)" == name }) else {
            throw scanner.invalid("No case has this name.").adding(["name": name])
        }
        TupleWriter.appendInteger(UInt64(value.rawValue), to: &key)
    }

    private static func readElement(_ scanner: inout LineScanner, depth: Int) throws(StoreError) -> TupleElement {
        if scanner.next == "\"" { return .string(try scanner.readText()) }
        if scanner.take("(") { return .nested(try readElements(&scanner, depth: depth)) }
        if scanner.take("double(") { return .double(try readDouble(&scanner)) }
        if scanner.take("date(") { return .date(Date(timeIntervalSinceReferenceDate: try readDouble(&scanner))) }
        if scanner.next == "x" { return .bytes(try scanner.readBytes()) }
        let word = scanner.takeWord()
        switch word {
        case "null": return .null
        case "true": return .boolean(true)
        case "false": return .boolean(false)
        default:
            if let number = Int64(word) { return .integer(number) }
            if let number = UInt64(word) { return .unsigned(number) }
            if let uuid = UUID(uuidString: word) { return .uuid(uuid) }
            throw scanner.invalid("No element begins with these characters.")
        }
    }

    private static func readElements(_ scanner: inout LineScanner, depth: Int) throws(StoreError) -> [TupleElement] {
        guard depth < TupleLimits.maximumNestedDepth else { throw scanner.invalid("The tuples are nested too deeply.") }
        var elements: [TupleElement] = []
        if scanner.take(")") { return elements }
        while true {
            elements.append(try readElement(&scanner, depth: depth + 1))
            if scanner.take(")") { return elements }
            try scanner.expect(", ")
        }
    }

    /// Reads a number as `bits(of:)` writes it, and the parenthesis after it.
    private static func readDouble(_ scanner: inout LineScanner) throws(StoreError) -> Double {
        let number =
            scanner.take("bits ")
            ? UInt64(scanner.takeWord(), radix: 16).map { Double(bitPattern: $0) } : Double(scanner.takeWord())
        guard let number else { throw scanner.invalid("A number is missing.") }
        try scanner.expect(")")
        return number
    }
}

/// Reads the pieces of one line: words, numbers, quoted text, hexadecimal bytes. Every error has its position in the
/// line.
struct LineScanner {
    private let scalars: [Unicode.Scalar]
    private(set) var position = 0

    init(_ line: String) { scalars = Array(line.unicodeScalars) }

    var isAtEnd: Bool { position == scalars.count }

    var next: Unicode.Scalar? { isAtEnd ? nil : scalars[position] }

    /// Skips `text` if it comes next.
    mutating func take(_ text: String) -> Bool {
        var end = position
        for scalar in text.unicodeScalars {
            guard end < scalars.count, scalars[end] == scalar else { return false }
            end += 1
        }
        position = end
        return true
    }

    mutating func expect(_ text: String) throws(StoreError) {
        guard take(text) else {
            throw invalid("The line does not continue as a key does.").adding(["expected": text])
        }
    }

    /// Takes letters, digits, signs and points, up to any other character.
    mutating func takeWord() -> String {
        var word = ""
        while let scalar = next, scalar.isASCII {
            guard
                scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "+-.".unicodeScalars.contains(scalar)
            else { break }
            word.unicodeScalars.append(scalar)
            position += 1
        }
        return word
    }

    mutating func readNumber() throws(StoreError) -> UInt64 {
        guard let number = UInt64(takeWord()) else { throw invalid("A number is missing.") }
        return number
    }

    /// Reads text in double quotes, as `ReadableText.quoted` writes it.
    mutating func readText() throws(StoreError) -> String {
        try expect("\"")
        var text = ""
        while !isAtEnd {
            if take("\"") { return text }
            if take("\\") {
                text.unicodeScalars.append(try readEscape())
            } else {
                text.unicodeScalars.append(scalars[position])
                position += 1
            }
        }
        throw invalid("A quotation mark is missing.")
    }

    private mutating func readEscape() throws(StoreError) -> Unicode.Scalar {
        if take("\"") { return "\"" }
        if take("\\") { return "\\" }
        try expect("u{")
        guard let value = UInt32(takeWord(), radix: 16), let scalar = Unicode.Scalar(value) else {
            throw invalid("An escaped character does not exist.")
        }
        try expect("}")
        return scalar
    }

    /// Reads `x'…'`.
    mutating func readBytes() throws(StoreError) -> [UInt8] {
        try expect("x'")
        guard let bytes = Hex.bytes(takeWord()) else { throw invalid("Bytes are not an even number of digits.") }
        try expect("'")
        return bytes
    }

    func invalid(_ message: StaticString) -> StoreError {
        StoreError(.invalidRequest, message, ["position": "\(position)"])
    }
}
