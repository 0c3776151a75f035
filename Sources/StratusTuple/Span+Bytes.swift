// Copies of spans of bytes.

extension [UInt8] {
    /// A copy of the bytes of a span.
    init(copying span: Span<UInt8>) {
        self.init(capacity: span.count) { output in
            for index in span.indices { output.append(span[index]) }
        }
    }
}
