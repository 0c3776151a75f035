// The values of the hierarchy: parents, children and share roots of the present, and those that have ended.

package import StratusModel
package import StratusStore

/// A record's parent and the share it is the root of, with the changes since which both hold.
///
/// A walk up a chain reads this entry on every level, so it is small. It and `ChildEntry` decode without
/// `VersionedValue`, whose calls through a protocol would slow walks.
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
        ValueWriter.append(parentSince, shareSince, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(StoreError) {
        var reader = ValueReader(bytes, ParentEntry.self)
        try reader.expectVersion(1)
        let flags = try reader.readFlags(below: Flag.all + 1)
        parent = flags & Flag.parent != 0 ? RecordName(try reader.readText()) : nil
        share = flags & Flag.share != 0 ? RecordName(try reader.readText()) : nil
        parentSince = try reader.readNumber()
        shareSince = try reader.readNumber()
        hasChildren = flags & Flag.children != 0
        try reader.expectEnd()
    }

    /// Bits of the second byte. Never change.
    private enum Flag {
        static let parent: UInt8 = 1
        static let share: UInt8 = 2
        static let children: UInt8 = 4
        static let all: UInt8 = 7
    }
}

/// A child of a record. Bytes: version 1 · byte: 1 if it has children, else 0 · number: since.
package struct ChildEntry: LayoutValue {
    /// The change with which the child got this parent.
    package var since: UInt64
    /// Whether the child has children itself, so that a walk of a tree skips empty levels.
    package var hasChildren: Bool

    package init(since: UInt64, hasChildren: Bool) {
        self.since = since
        self.hasChildren = hasChildren
    }

    package func append(to bytes: inout [UInt8]) {
        ValueWriter.append(UInt8(1), hasChildren, since, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(StoreError) {
        var reader = ValueReader(bytes, ChildEntry.self)
        try reader.expectVersion(1)
        (hasChildren, since) = try reader.read()
        try reader.expectEnd()
    }
}

/// How many share roots are at or below a record, or how many fields and list items of a zone's records hold an asset.
/// Bytes: version 1 · number: count.
package struct CountEntry: VersionedValue {
    package var count: UInt64

    package init(count: UInt64) { self.count = count }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(count, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { count = try reader.read() }
}

/// The share whose root a record is. Bytes: version 1 · text: share · number: since.
package struct ShareRootEntry: VersionedValue {
    package var share: RecordName
    /// The change with which the record became its root.
    package var since: UInt64

    package init(share: RecordName, since: UInt64) {
        self.share = share
        self.since = since
    }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(share, since, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { (share, since) = try reader.read() }
}

/// A parent that a record had, or a period in which it had none.
///
/// Bytes: version 1, or 2 if the record was deleted · byte: 1 if it had a parent, else 0 · (1) text: parent · number:
/// began · (version 2) text: type.
package struct EndedParentEntry: LayoutValue {
    package var parent: RecordName?
    /// The change with which the record got this parent.
    package var began: UInt64
    /// The type of the record that was deleted. Nil if it only got another parent, and in entries that are older than
    /// this part.
    package var deletedType: RecordType?

    package init(parent: RecordName?, began: UInt64, deletedType: RecordType? = nil) {
        self.parent = parent
        self.began = began
        self.deletedType = deletedType
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(deletedType == nil ? 1 : 2)
        ValueWriter.append(parent, began, to: &bytes)
        if let deletedType { ValueWriter.append(deletedType, to: &bytes) }
    }

    package init(decoding bytes: Span<UInt8>) throws(StoreError) {
        var reader = ValueReader(bytes, EndedParentEntry.self)
        let isDeletion = bytes.count > 0 && bytes[0] == 2
        try reader.expectVersion(isDeletion ? 2 : 1)
        (parent, began) = try reader.read()
        deletedType = isDeletion ? try reader.read() as RecordType : nil
        try reader.expectEnd()
    }
}

/// A child that a record had, or an acceptance that a person had. Bytes: version 1 · number: began.
package struct EndedPeriodEntry: VersionedValue {
    /// The change with which the child got this parent, or since which the person saw the shared records.
    package var began: UInt64

    package init(began: UInt64) { self.began = began }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(began, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { began = try reader.read() }
}

/// A share whose root a record was. Bytes: version 1 · text: share · number: began.
package struct EndedShareEntry: VersionedValue {
    package var share: RecordName
    /// The change with which the record became its root.
    package var began: UInt64

    package init(share: RecordName, began: UInt64) {
        self.share = share
        self.began = began
    }

    package func appendParts(to bytes: inout [UInt8]) { ValueWriter.append(share, began, to: &bytes) }

    package init(parts reader: inout ValueReader) throws(StoreError) { (share, began) = try reader.read() }
}
