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

// The entry that a walk up a chain reads on every level: kept small, and readable in part without making a string.

/// A record's parent and the share it is the root of, with the changes since which both hold.
///
/// Bytes: version 1 · flags (1 has a parent, 2 is a share root, 4 has children) · (1) text: parent · (2) text: share ·
/// number: parent since · number: share since.
package struct ParentEntry: LayoutValue {
    package var parent: RecordName?
    /// The change with which `parent` began, nil parents included.
    package var parentSince: UInt64
    package var share: RecordName?
    /// The change with which `share` began, nil shares included.
    package var shareSince: UInt64
    package var hasChildren: Bool

    package init(
        parent: RecordName?, parentSince: UInt64, share: RecordName? = nil, shareSince: UInt64 = 0,
        hasChildren: Bool = false
    ) {
        self.parent = parent
        self.parentSince = parentSince
        self.share = share
        self.shareSince = shareSince
        self.hasChildren = hasChildren
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        let flags = (parent != nil ? Flag.parent : 0) | (share != nil ? Flag.share : 0)
        bytes.append(flags | (hasChildren ? Flag.children : 0))
        if let parent { ValueWriter.append(parent.text, to: &bytes) }
        if let share { ValueWriter.append(share.text, to: &bytes) }
        ValueWriter.append(number: parentSince, to: &bytes)
        ValueWriter.append(number: shareSince, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ParentEntry")
        let flags = try Self.readFlags(&reader)
        parent = flags & Flag.parent != 0 ? RecordName(try reader.readText()) : nil
        share = flags & Flag.share != 0 ? RecordName(try reader.readText()) : nil
        parentSince = try reader.readNumber()
        shareSince = try reader.readNumber()
        hasChildren = flags & Flag.children != 0
        try reader.expectEnd()
    }

    /// Bits of the second byte. Never change.
    fileprivate enum Flag {
        static let parent: UInt8 = 1
        static let share: UInt8 = 2
        static let children: UInt8 = 4
        static let all: UInt8 = 7
    }

    fileprivate static func readFlags(_ reader: inout ValueReader) throws(LayoutError) -> UInt8 {
        try reader.expectVersion(1)
        let flags = try reader.readByte()
        guard flags & ~Flag.all == 0 else { throw reader.corrupt("A flag of the entry is unknown.") }
        return flags
    }
}

/// A parent entry read in place: each part costs only what it reads. Nothing is copied.
package struct ParentEntryView: ~Escapable {
    private let bytes: Span<UInt8>
    private let flags: UInt8

    /// Throws `.corruptValue` when the first two bytes are not those of a parent entry.
    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>) throws(LayoutError) {
        self.bytes = bytes
        var reader = ValueReader(bytes, "ParentEntry")
        flags = try ParentEntry.readFlags(&reader)
    }

    package var hasParent: Bool { flags & ParentEntry.Flag.parent != 0 }
    package var isShareRoot: Bool { flags & ParentEntry.Flag.share != 0 }
    package var hasChildren: Bool { flags & ParentEntry.Flag.children != 0 }

    /// The UTF-8 bytes of the parent's name, not checked to be UTF-8; empty when there is no parent.
    @_lifetime(copy self)
    package func parentSpan() throws(LayoutError) -> Span<UInt8> {
        guard hasParent else { return bytes.extracting(0..<0) }
        var reader = ValueReader(bytes.extracting(2..<bytes.count), "ParentEntry")
        return try reader.readTextSpan()
    }

    /// The parent, without reading the rest.
    package func parent() throws(LayoutError) -> RecordName? {
        guard hasParent else { return nil }
        var reader = ValueReader(bytes.extracting(2..<bytes.count), "ParentEntry")
        return RecordName(try reader.readText())
    }

    /// The share of which the record is the root.
    package func share() throws(LayoutError) -> RecordName? {
        guard isShareRoot else { return nil }
        var reader = ValueReader(bytes.extracting(2..<bytes.count), "ParentEntry")
        if hasParent { try reader.skip(byteCount: try reader.readCount()) }
        return RecordName(try reader.readText())
    }
}
