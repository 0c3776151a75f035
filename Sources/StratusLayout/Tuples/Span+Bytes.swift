// Copies between spans and arrays of bytes.

extension [UInt8] {
    /// Appends a copy of the bytes of a span.
    mutating func append(copying span: Span<UInt8>) {
        append(addingCapacity: span.count) { output in
            for index in span.indices { output.append(span[index]) }
        }
    }

    /// A copy of the bytes of a span.
    init(copying span: Span<UInt8>) {
        self.init(capacity: span.count) { output in
            for index in span.indices { output.append(span[index]) }
        }
    }
}
