// The entry that a walk up a chain reads on every level: kept small, and readable in part without making a string.

package import StratusModel

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
