// Reads bytes and strings: content that ends with 0x00 and in which 0x01 begins an escape.

extension TupleReader {
    /// Reads bytes. Throws `.notCanonical` for an escape that no byte has.
    package mutating func readBytes() throws(TupleError) -> [UInt8] {
        try expect(TupleTypeCode.bytes)
        let content = try content()
        let value =
            content.escapeCount == 0
            ? [UInt8](copying: bytes.extracting(content.start..<content.end)) : unescaped(content)
        advance(by: content.end + 1 - position)
        return value
    }

    /// Reads a string. Throws `.invalidText` when it is not UTF-8, `.notCanonical` for an escape that no byte has.
    package mutating func readString() throws(TupleError) -> String {
        try expect(TupleTypeCode.string)
        let content = try content()
        let value =
            content.escapeCount == 0
            ? text(bytes.extracting(content.start..<content.end)) : text(unescaped(content).span)
        guard let value else { throw failure(.invalidText) }
        advance(by: content.end + 1 - position)
        return value
    }

    /// Passes over a string with the checks that reading makes.
    package mutating func skipString() throws(TupleError) {
        try expect(TupleTypeCode.string)
        try skipContent(isText: true)
    }

    /// Passes over bytes or a string with the checks that reading makes.
    mutating func skipContent(isText: Bool) throws(TupleError) {
        let content = try content()
        if isText {
            let isValid =
                content.escapeCount == 0
                ? isUTF8(bytes.extracting(content.start..<content.end)) : isUTF8(unescaped(content).span)
            guard isValid else { throw failure(.invalidText) }
        }
        advance(by: content.end + 1 - position)
    }

    /// Where the content of bytes or a string lies, and how many escapes are in it.
    private struct Content {
        var start: Int
        var end: Int
        var escapeCount: Int
    }

    /// The content of the element that is next, its escapes checked; the reader stays where it is.
    private func content() throws(TupleError) -> Content {
        let start = position + 1
        var content = Content(start: start, end: start, escapeCount: 0)
        while true {
            content.end = ordinaryEnd(from: content.end)
            guard content.end < bytes.count else { throw failure(.endOfBytes) }
            if bytes[content.end] == TupleTypeCode.end { return content }
            guard content.end + 1 < bytes.count else { throw failure(.endOfBytes) }
            let escaped = bytes[content.end + 1]
            guard escaped == TupleEscape.zero || escaped == TupleEscape.one else { throw failure(.notCanonical) }
            content.escapeCount += 1
            content.end += 2
        }
    }

    /// The offset of the first byte from `start` on that ends the content or begins an escape; else the end.
    ///
    /// Whole blocks are looked at without an early exit, so that the inner loop is vectorised.
    private func ordinaryEnd(from start: Int) -> Int {
        let blockByteCount = 16
        var offset = start
        while bytes.count - offset >= blockByteCount {
            let block = bytes.extracting(offset..<offset + blockByteCount)
            var lowest: UInt8 = .max
            for index in 0..<blockByteCount { lowest = min(lowest, block[index]) }
            if lowest <= TupleEscape.lead { break }
            offset += blockByteCount
        }
        while offset < bytes.count, bytes[offset] > TupleEscape.lead { offset += 1 }
        return offset
    }

    /// The content without its escapes, which `content()` has checked.
    private func unescaped(_ content: Content) -> [UInt8] {
        var value: [UInt8] = []
        value.reserveCapacity(content.end - content.start - content.escapeCount)
        var offset = content.start
        while offset < content.end {
            var byte = bytes[offset]
            if byte == TupleEscape.lead {
                offset += 1
                byte = bytes[offset] == TupleEscape.zero ? 0 : 1
            }
            value.append(byte)
            offset += 1
        }
        return value
    }

    private func text(_ bytes: Span<UInt8>) -> String? {
        guard let text = try? UTF8Span(validating: bytes) else { return nil }
        return String(copying: text)
    }

    private func isUTF8(_ bytes: Span<UInt8>) -> Bool {
        (try? UTF8Span(validating: bytes)) != nil
    }
}
