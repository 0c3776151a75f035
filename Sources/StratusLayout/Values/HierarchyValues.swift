// The values of share roots, and of parents, children and share marks that have ended.

package import StratusModel

/// The share a record is the root of. Bytes: version 1 · text: share · number: since.
package struct ShareRootEntry: LayoutValue {
    package var share: RecordName
    /// The change with which the record became its root.
    package var since: UInt64

    package init(share: RecordName, since: UInt64) {
        self.share = share
        self.since = since
    }

    package func append(to bytes: inout [UInt8]) { NameAndNumber.append(share, since, to: &bytes) }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        (share, since) = try NameAndNumber.read(bytes, "ShareRootEntry")
    }
}

/// A parent that a record had, or a time in which it had none.
///
/// Bytes: version 1, or 2 where the record was deleted · byte: 1 when it had a parent, else 0 · (1) text: parent · number:
/// began · (version 2) text: type.
package struct EndedParentEntry: LayoutValue {
    package var parent: RecordName?
    /// The change with which the record got this parent.
    package var began: UInt64
    /// The type of the record that was deleted; nil where it only got another parent, and in what was deleted before types
    /// were kept.
    package var deletedType: RecordType?

    package init(parent: RecordName?, began: UInt64, deletedType: RecordType? = nil) {
        self.parent = parent
        self.began = began
        self.deletedType = deletedType
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(deletedType == nil ? 1 : 2)
        bytes.append(parent == nil ? 0 : 1)
        if let parent { ValueWriter.append(parent.text, to: &bytes) }
        ValueWriter.append(number: began, to: &bytes)
        if let deletedType { ValueWriter.append(deletedType.text, to: &bytes) }
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "EndedParentEntry")
        let isDeletion = bytes.count > 0 && bytes[0] == 2
        try reader.expectVersion(isDeletion ? 2 : 1)
        let flag = try reader.readByte()
        guard flag <= 1 else { throw reader.corrupt("A flag of the entry is unknown.") }
        parent = flag == 1 ? RecordName(try reader.readText()) : nil
        began = try reader.readNumber()
        deletedType = isDeletion ? RecordType(try reader.readText()) : nil
        try reader.expectEnd()
    }
}

/// A child that a record had. Bytes: version 1 · number: began.
package struct EndedChildEntry: LayoutValue {
    /// The change with which the child got this parent.
    package var began: UInt64

    package init(began: UInt64) { self.began = began }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: began, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "EndedChildEntry")
        try reader.expectVersion(1)
        began = try reader.readNumber()
        try reader.expectEnd()
    }
}

/// A share that a record was the root of. Bytes: version 1 · text: share · number: began.
package struct EndedShareEntry: LayoutValue {
    package var share: RecordName
    /// The change with which the record became its root.
    package var began: UInt64

    package init(share: RecordName, began: UInt64) {
        self.share = share
        self.began = began
    }

    package func append(to bytes: inout [UInt8]) { NameAndNumber.append(share, began, to: &bytes) }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        (share, began) = try NameAndNumber.read(bytes, "EndedShareEntry")
    }
}

/// The layout that two entries share: version 1, a name and the change since which it holds.
private enum NameAndNumber {
    static func append(_ name: RecordName, _ number: UInt64, to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(name.text, to: &bytes)
        ValueWriter.append(number: number, to: &bytes)
    }

    static func read(_ bytes: Span<UInt8>, _ item: StaticString) throws(LayoutError) -> (RecordName, UInt64) {
        var reader = ValueReader(bytes, item)
        try reader.expectVersion(1)
        let name = RecordName(try reader.readText())
        let number = try reader.readNumber()
        try reader.expectEnd()
        return (name, number)
    }
}
