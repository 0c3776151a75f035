// The references of a record, found without decoding its other fields.

package import StratusModel

extension RecordCodec {
    /// Every reference in the fields of a record, lists of references included, in the order of keys and items.
    package static func references(
        in bytes: Span<UInt8>
    ) throws(LayoutError) -> [(field: FieldKey, reference: RecordReference)] {
        var reader = ValueReader(bytes, "Record")
        try RecordHeader.skip(&reader)
        var cursor = FieldCursor(count: try reader.readCount())
        var references: [(field: FieldKey, reference: RecordReference)] = []
        while let entry = try cursor.next(&reader) {
            let end = reader.position + entry.byteCount
            switch entry.type {
            case .reference:
                let reference = try FieldCodec.readReference(byteCount: entry.byteCount, &reader)
                references.append((FieldKey(try entry.key(reader)), reference))
            case .list:
                guard try FieldCodec.readItemType(byteCount: entry.byteCount, &reader) == .reference else { break }
                let field = FieldKey(try entry.key(reader))
                while reader.position < end {
                    let byteCount = try reader.readCount()
                    guard byteCount <= end - reader.position else {
                        throw reader.corrupt("A list's item is too long.")
                    }
                    references.append((field, try FieldCodec.readReference(byteCount: byteCount, &reader)))
                }
            default: break
            }
            try reader.skip(byteCount: end - reader.position)
        }
        try reader.expectEnd()
        return references
    }
}
