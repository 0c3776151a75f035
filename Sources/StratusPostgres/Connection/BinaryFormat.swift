// PostgreSQL's binary format: parameters of statements, and rows of results.
//
// Numbers are big-endian. A `bytea` is its bytes. An array has the number of its dimensions, a flag for nulls, the type
// of its elements, and for its dimension a length and a lower bound; then each element's length and bytes.
//
// Unsafe: pointers into parameters are valid during one call, in which libpq copies them. Pointers into a result are
// valid until its owner frees it, and callers get a span that is valid during one call.

internal import StratusStore

/// The parameters of one execution of a statement, encoded.
struct StatementParameters: Hashable, Sendable {
    /// The object identifiers of element types. They never change.
    private enum ElementType {
        static let bytes: Int32 = 17
        static let text: Int32 = 25
    }

    private(set) var bytes: [UInt8] = []
    /// Where each parameter ends.
    private var ends: [Int] = []

    init() {}

    var count: Int { ends.count }

    /// A parameter of type `bytea`.
    mutating func add(_ value: [UInt8]) {
        bytes += value
        ends.append(bytes.count)
    }

    /// A parameter of type `text`.
    mutating func add(_ text: String) {
        bytes += text.utf8
        ends.append(bytes.count)
    }

    /// A parameter of type `int8`.
    mutating func add(_ number: Int64) {
        append(number)
        ends.append(bytes.count)
    }

    /// A parameter of type `int4`.
    mutating func add(_ number: Int32) {
        append(number)
        ends.append(bytes.count)
    }

    /// A parameter of type `bytea[]`.
    mutating func add(array values: some Collection<[UInt8]>) {
        appendHead(of: ElementType.bytes, count: values.count)
        for value in values {
            append(Int32(value.count))
            bytes += value
        }
        ends.append(bytes.count)
    }

    /// A parameter of type `text[]`.
    mutating func add(array texts: some Collection<String>) {
        appendHead(of: ElementType.text, count: texts.count)
        for text in texts {
            append(Int32(text.utf8.count))
            bytes += text.utf8
        }
        ends.append(bytes.count)
    }

    /// Statement parameters are limited to 1 MiB or 1,000 keys, so all counts fit.
    private mutating func appendHead(of element: Int32, count: Int) {
        append(Int32(count == 0 ? 0 : 1))
        append(Int32(0))
        append(element)
        guard count > 0 else { return }
        append(Int32(count))
        append(Int32(1))
    }

    private mutating func append(_ number: some FixedWidthInteger) {
        var rest = number.bitWidth
        while rest > 0 {
            rest -= 8
            bytes.append(UInt8(truncatingIfNeeded: number >> rest))
        }
    }

    /// Calls `body` with the values, lengths and formats as libpq takes them.
    @unsafe func withPointers<Result>(
        _ body: (UnsafePointer<CString?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Result
    ) -> Result {
        // A pointer of libpq's that is null means a null value, so even no bytes need an address.
        let padded = bytes + [0]
        return unsafe padded.withUnsafeBytes { buffer in
            let base = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            var values: [CString?] = unsafe []
            var lengths: [Int32] = []
            var start = 0
            for end in ends {
                unsafe values.append(base.map { unsafe $0 + start })
                lengths.append(Int32(end - start))
                start = end
            }
            let formats = [Int32](repeating: ValueFormat.binary, count: ends.count)
            return unsafe body(values, lengths, formats)
        }
    }
}

/// Decoders of values.
enum BinaryFormat {
    static func integer<Number: FixedWidthInteger>(_ bytes: Span<UInt8>, as type: Number.Type) throws -> Number {
        guard bytes.count == Number.bitWidth / 8 else { throw unexpected("\(type)", bytes.count) }
        var number: Number = 0
        for index in bytes.indices { number = number << 8 | Number(truncatingIfNeeded: bytes[index]) }
        return number
    }

    static func truth(_ bytes: Span<UInt8>) throws -> Bool {
        guard bytes.count == 1 else { throw unexpected("Bool", bytes.count) }
        return bytes[0] != 0
    }

    fileprivate static func unexpected(_ type: String, _ byteCount: Int) -> StoreError {
        StoreError(
            .inputOutput, "PostgreSQL has answered with a value of an unexpected type: use version 15.",
            ["expected": type, "byteCount": "\(byteCount)"])
    }
}

/// Owns a `PGresult`: the rows of a statement, or its command's tag. One thread at a time uses it.
@safe final class QueryResult {
    private let handle: Handle
    private let symbols: LibpqSymbols
    let rowCount: Int
    private let columnCount: Int

    /// Takes the result over.
    @unsafe init(_ handle: Handle, _ symbols: LibpqSymbols) {
        unsafe self.handle = unsafe handle
        self.symbols = symbols
        rowCount = unsafe Int(symbols.rowCount(handle))
        columnCount = unsafe Int(symbols.columnCount(handle))
    }

    deinit {
        unsafe symbols.clear(handle)
    }

    /// What the server did: `COMMIT`, `ROLLBACK`, `INSERT 0 3`.
    var commandTag: String { unsafe symbols.commandTag(handle).map { unsafe String(cString: $0) } ?? "" }

    /// Calls `body` with the value in place; not for null, which is nil.
    func withBytes<Result>(_ row: Int, _ column: Int, _ body: (Span<UInt8>) throws -> Result) throws -> Result? {
        guard (0..<rowCount).contains(row), (0..<columnCount).contains(column) else {
            throw BinaryFormat.unexpected("row \(row), column \(column)", 0)
        }
        let (row, column) = (Int32(row), Int32(column))
        guard unsafe symbols.isNull(handle, row, column) == 0 else { return nil }
        guard let value = unsafe symbols.value(handle, row, column) else { return nil }
        let count = unsafe Int(symbols.length(handle, row, column))
        let bytes = unsafe UnsafeRawPointer(value).assumingMemoryBound(to: UInt8.self)
        return try body(unsafe Span(_unsafeStart: bytes, count: count))
    }

    /// A copy of the value; nil if it is null.
    func bytes(_ row: Int, _ column: Int) throws -> [UInt8]? {
        try withBytes(row, column) { [UInt8](copying: $0) }
    }

    /// A value of type `text`; empty if it is null.
    func text(_ row: Int, _ column: Int) throws -> String {
        String(decoding: try bytes(row, column) ?? [], as: UTF8.self)
    }

    /// A value of type `int8`, `int4` or `int2`, by the type that the caller wants.
    func integer<Number: FixedWidthInteger>(_ row: Int, _ column: Int, as type: Number.Type = Number.self) throws
        -> Number
    {
        guard let number = try withBytes(row, column, { try BinaryFormat.integer($0, as: type) }) else {
            throw BinaryFormat.unexpected("\(type)", 0)
        }
        return number
    }

    /// A value of type `bool`.
    func truth(_ row: Int, _ column: Int) throws -> Bool {
        guard let truth = try withBytes(row, column, { try BinaryFormat.truth($0) }) else {
            throw BinaryFormat.unexpected("Bool", 0)
        }
        return truth
    }
}
