// The keys of one zone. All begin with (database number, zone number), so a zone is one contiguous range of the store.
//
// Each key comes in two forms: one that appends it to a buffer of the caller's (no allocation while its capacity
// suffices), and one that returns bytes of its own.

package import StratusModel

/// Builds and reads the keys of one zone.
package struct ZoneKeys: Hashable, Sendable {
    package let database: DatabaseNumber
    package let zone: ZoneNumber
    /// The encoded (database, zone): how every key of the zone begins.
    package let prefix: [UInt8]

    /// Both numbers are at least 1: zero stands outside every database and zone.
    package init(database: DatabaseNumber, zone: ZoneNumber) {
        precondition(database != .outside && zone != .outside, "Zone keys need the number of a database and a zone.")
        self.database = database
        self.zone = zone
        self.prefix = KeyBuilder.prefix(database, zone)
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.database == right.database && left.zone == right.zone
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(database)
        hasher.combine(zone)
    }

    /// Appends the beginning of every key of `keyspace`.
    package func begin(_ keyspace: ZoneKeyspace, into key: inout [UInt8]) {
        KeyBuilder.begin(&key, prefix, tag: keyspace.rawValue)
    }

    /// How many bytes every key of a keyspace begins with before its own parts.
    package var keyspacePrefixByteCount: Int { prefix.count + 2 }

    /// A key of its own, written by one of the functions that append to a buffer.
    func key(_ fill: (inout [UInt8]) -> Void) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(prefix.count + 64)
        fill(&key)
        return key
    }
}

extension ZoneKeys {
    package func header(into key: inout [UInt8]) { begin(.header, into: &key) }
    package func header() -> [UInt8] { key { header(into: &$0) } }

    /// The key of a record or its tombstone; the first chunk of a large record lies here too.
    package func record(_ name: RecordName, into key: inout [UInt8]) {
        begin(.records, into: &key)
        TupleWriter.appendString(name.text, to: &key)
    }
    package func record(_ name: RecordName) -> [UInt8] { key { record(name, into: &$0) } }

    /// The key of the record whose name is the end of another key, from `nameOffset` on: names are the same bytes in all
    /// keys.
    package func record(namedIn other: Span<UInt8>, from nameOffset: Int, into key: inout [UInt8]) {
        begin(.records, into: &key)
        key.append(addingCapacity: other.count - nameOffset) { output in
            for index in nameOffset..<other.count { output.append(other[index]) }
        }
    }

    /// The key of a later chunk of a large record: `index` is 1 or more.
    package func recordChunk(_ name: RecordName, index: Int, into key: inout [UInt8]) {
        precondition(index >= 1, "The first chunk of a record lies under the record's own key.")
        record(name, into: &key)
        TupleWriter.appendInteger(UInt64(index), to: &key)
    }
    package func recordChunk(_ name: RecordName, index: Int) -> [UInt8] {
        key { recordChunk(name, index: index, into: &$0) }
    }

    /// The key of the small entry that names a record's parent and share.
    package func parent(of name: RecordName, into key: inout [UInt8]) {
        begin(.parents, into: &key)
        TupleWriter.appendString(name.text, to: &key)
    }
    package func parent(of name: RecordName) -> [UInt8] { key { parent(of: name, into: &$0) } }

    package func child(parent: RecordName, name: RecordName, into key: inout [UInt8]) {
        begin(.children, into: &key)
        TupleWriter.appendString(parent.text, to: &key)
        TupleWriter.appendString(name.text, to: &key)
    }
    package func child(parent: RecordName, name: RecordName) -> [UInt8] {
        key { child(parent: parent, name: name, into: &$0) }
    }

    package func shareRoot(_ name: RecordName, into key: inout [UInt8]) {
        begin(.shareRoots, into: &key)
        TupleWriter.appendString(name.text, to: &key)
    }
    package func shareRoot(_ name: RecordName) -> [UInt8] { key { shareRoot(name, into: &$0) } }

    /// The key of a record's share count: its parent (nil for a record that has none) stands first.
    package func shareCount(parent: RecordName?, name: RecordName, into key: inout [UInt8]) {
        begin(.shareCounts, into: &key)
        KeyBuilder.append(parent, to: &key)
        TupleWriter.appendString(name.text, to: &key)
    }
    package func shareCount(parent: RecordName?, name: RecordName) -> [UInt8] {
        key { shareCount(parent: parent, name: name, into: &$0) }
    }
}

// The keys of a zone's indexes, its feed and its history.

extension ZoneKeys {
    package func reference(
        target: RecordName, source: RecordName, field: FieldKey, action: ReferenceAction, into key: inout [UInt8]
    ) {
        begin(.references, into: &key)
        TupleWriter.appendString(target.text, to: &key)
        TupleWriter.appendString(source.text, to: &key)
        TupleWriter.appendString(field.text, to: &key)
        TupleWriter.appendInteger(UInt64(action.rawValue), to: &key)
    }
    package func reference(
        target: RecordName, source: RecordName, field: FieldKey, action: ReferenceAction
    ) -> [UInt8] {
        key { reference(target: target, source: source, field: field, action: action, into: &$0) }
    }

    package func type(_ type: RecordType, name: RecordName, into key: inout [UInt8]) {
        begin(.types, into: &key)
        TupleWriter.appendString(type.text, to: &key)
        TupleWriter.appendString(name.text, to: &key)
    }
    package func type(_ type: RecordType, name: RecordName) -> [UInt8] {
        key { self.type(type, name: name, into: &$0) }
    }

    /// Throws `.invalidValue` when `value` nests tuples too deeply.
    package func field(
        type: RecordType, field: FieldKey, value: TupleElement, name: RecordName, into key: inout [UInt8]
    ) throws(LayoutError) {
        begin(.fields, into: &key)
        TupleWriter.appendString(type.text, to: &key)
        TupleWriter.appendString(field.text, to: &key)
        do throws(TupleError) {
            try TupleWriter.append(value, to: &key)
        } catch {
            throw LayoutError(.invalidValue, "The indexed value nests tuples too deeply.", ["field": field.text])
        }
        TupleWriter.appendString(name.text, to: &key)
    }
    package func field(
        type: RecordType, field: FieldKey, value: TupleElement, name: RecordName
    ) throws(LayoutError) -> [UInt8] {
        var key: [UInt8] = []
        try self.field(type: type, field: field, value: value, name: name, into: &key)
        return key
    }

    /// The same for an element that nests no tuples, as those of `IndexedValue`.
    package func fieldEntry(
        type: RecordType, field: FieldKey, element: TupleElement, name: RecordName, into key: inout [UInt8]
    ) {
        do throws(LayoutError) {
            try self.field(type: type, field: field, value: element, name: name, into: &key)
        } catch {
            preconditionFailure("An element of an index nests no tuples.")
        }
    }

    package func token(_ token: String, field: FieldKey, name: RecordName, into key: inout [UInt8]) {
        begin(.tokens, into: &key)
        TupleWriter.appendString(token, to: &key)
        TupleWriter.appendString(field.text, to: &key)
        TupleWriter.appendString(name.text, to: &key)
    }
    package func token(_ token: String, field: FieldKey, name: RecordName) -> [UInt8] {
        key { self.token(token, field: field, name: name, into: &$0) }
    }

    package func change(sequence: UInt64, into key: inout [UInt8]) {
        begin(.changes, into: &key)
        TupleWriter.appendInteger(sequence, to: &key)
    }
    package func change(sequence: UInt64) -> [UInt8] { key { change(sequence: sequence, into: &$0) } }

    /// The key of a parent that `child` had until the change `ended`.
    package func endedParent(child: RecordName, ended: UInt64, into key: inout [UInt8]) {
        begin(.endedParents, into: &key)
        TupleWriter.appendString(child.text, to: &key)
        TupleWriter.appendInteger(ended, to: &key)
    }
    package func endedParent(child: RecordName, ended: UInt64) -> [UInt8] {
        key { endedParent(child: child, ended: ended, into: &$0) }
    }

    /// The key of a child that `parent` had until the change `ended`. The change stands before the child, so that the
    /// children that ended after a token are one range.
    package func endedChild(parent: RecordName, child: RecordName, ended: UInt64, into key: inout [UInt8]) {
        begin(.endedChildren, into: &key)
        TupleWriter.appendString(parent.text, to: &key)
        TupleWriter.appendInteger(ended, to: &key)
        TupleWriter.appendString(child.text, to: &key)
    }
    package func endedChild(parent: RecordName, child: RecordName, ended: UInt64) -> [UInt8] {
        key { endedChild(parent: parent, child: child, ended: ended, into: &$0) }
    }

    /// The key of a share that `root` was the root of until the change `ended`.
    package func endedShare(root: RecordName, ended: UInt64, into key: inout [UInt8]) {
        begin(.endedShares, into: &key)
        TupleWriter.appendString(root.text, to: &key)
        TupleWriter.appendInteger(ended, to: &key)
    }
    package func endedShare(root: RecordName, ended: UInt64) -> [UInt8] {
        key { endedShare(root: root, ended: ended, into: &$0) }
    }
}

// The keys of what a zone keeps of its shares beside the share records: URL secrets, events, acceptances that ended.

/// The parts of a key of the share events keyspace.
package struct ShareEventKeyParts: Hashable, Sendable {
    /// The change of the zone with which it happened.
    package var sequence: UInt64
    /// What happened with the same change is numbered from 0.
    package var index: UInt64

    package init(sequence: UInt64, index: UInt64) {
        self.sequence = sequence
        self.index = index
    }
}

/// The parts of a key of the ended acceptances keyspace.
package struct EndedAcceptanceKeyParts: Hashable, Sendable {
    package var user: UserName
    package var ended: UInt64
    package var share: RecordName

    package init(user: UserName, ended: UInt64, share: RecordName) {
        self.user = user
        self.ended = ended
        self.share = share
    }
}

extension ZoneKeys {
    /// The key of the secret of a root's URL; nil for that of the whole zone.
    package func shareToken(_ root: RecordName?) -> [UInt8] {
        key {
            begin(.shareTokens, into: &$0)
            KeyBuilder.append(root, to: &$0)
        }
    }
    package var shareTokens: LayoutRange { keyspace(.shareTokens) }
    /// The root of a key of the share tokens keyspace; nil for the whole zone.
    package func readShareTokenKey(_ key: Span<UInt8>) throws(LayoutError) -> RecordName? {
        var reader = try reader(key, .shareTokens)
        let root = try reader.readOptionalName()
        try reader.expectEnd()
        return root
    }

    package func shareEvent(_ parts: ShareEventKeyParts) -> [UInt8] {
        key {
            begin(.shareEvents, into: &$0)
            TupleWriter.appendInteger(parts.sequence, to: &$0)
            TupleWriter.appendInteger(parts.index, to: &$0)
        }
    }
    package func shareEvent(sequence: UInt64, index: UInt64) -> [UInt8] {
        shareEvent(ShareEventKeyParts(sequence: sequence, index: index))
    }
    /// What happened to shares of the zone, in that order.
    package var shareEvents: LayoutRange { keyspace(.shareEvents) }
    package func shareEvents(after parts: ShareEventKeyParts) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.successor(of: shareEvent(parts)), upper: shareEvents.upper)
    }
    package func readShareEventKey(_ key: Span<UInt8>) throws(LayoutError) -> ShareEventKeyParts {
        var reader = try reader(key, .shareEvents)
        let parts = ShareEventKeyParts(sequence: try reader.readNumber(), index: try reader.readNumber())
        try reader.expectEnd()
        return parts
    }

    /// The key of what `user` was admitted to until the change `ended`. The change stands before the share, so that what
    /// ended for a person after a token is one range.
    package func endedAcceptance(user: UserName, ended: UInt64, share: RecordName) -> [UInt8] {
        key {
            begin(.endedAcceptances, into: &$0)
            TupleWriter.appendString(user.text, to: &$0)
            TupleWriter.appendInteger(ended, to: &$0)
            TupleWriter.appendString(share.text, to: &$0)
        }
    }
    package var endedAcceptances: LayoutRange { keyspace(.endedAcceptances) }
    package func endedAcceptances(of user: UserName) -> LayoutRange {
        KeyBuilder.range(
            of: key {
                begin(.endedAcceptances, into: &$0)
                TupleWriter.appendString(user.text, to: &$0)
            })
    }
    /// What ended for a person after the change `sequence`.
    package func endedAcceptances(of user: UserName, after sequence: UInt64) -> LayoutRange {
        let prefix = key {
            begin(.endedAcceptances, into: &$0)
            TupleWriter.appendString(user.text, to: &$0)
            TupleWriter.appendInteger(sequence, to: &$0)
        }
        return LayoutRange(lower: KeyBuilder.upperBound(of: prefix), upper: endedAcceptances(of: user).upper)
    }
    /// The key of what a user's client sent with its last change of the zone.
    package func clientToken(of user: UserName) -> [UInt8] {
        key {
            begin(.clientTokens, into: &$0)
            TupleWriter.appendString(user.text, to: &$0)
        }
    }
    package var clientTokens: LayoutRange { keyspace(.clientTokens) }
    package func readClientTokenKey(_ key: Span<UInt8>) throws(LayoutError) -> UserName {
        var reader = try reader(key, .clientTokens)
        let user = UserName(try reader.readText())
        try reader.expectEnd()
        return user
    }
    package func readEndedAcceptanceKey(_ key: Span<UInt8>) throws(LayoutError) -> EndedAcceptanceKeyParts {
        var reader = try reader(key, .endedAcceptances)
        let user = UserName(try reader.readText())
        let ended = try reader.readNumber()
        let parts = EndedAcceptanceKeyParts(user: user, ended: ended, share: try reader.readName())
        try reader.expectEnd()
        return parts
    }
}

// The ranges of a zone. A range that goes on "after" something excludes it and everything that belongs to it.

extension ZoneKeys {
    /// Every key of the zone and no other.
    package var all: LayoutRange { KeyBuilder.range(of: prefix) }

    /// Every key of one keyspace of the zone.
    package func keyspace(_ keyspace: ZoneKeyspace) -> LayoutRange {
        KeyBuilder.range(of: key { begin(keyspace, into: &$0) })
    }

    /// Every record, tombstone and chunk, in the order of names.
    package var records: LayoutRange { keyspace(.records) }

    /// The records after `name` and all its chunks.
    package func records(after name: RecordName) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.upperBound(of: record(name)), upper: records.upper)
    }

    /// A record with all its chunks.
    package func recordWithChunks(_ name: RecordName) -> LayoutRange { KeyBuilder.range(of: record(name)) }

    /// The later chunks of a record, without the first.
    package func recordChunks(_ name: RecordName) -> LayoutRange {
        var range = recordWithChunks(name)
        range.lower = KeyBuilder.successor(of: range.lower)
        return range
    }

    package var parents: LayoutRange { keyspace(.parents) }
    package func parents(after name: RecordName) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.successor(of: parent(of: name)), upper: parents.upper)
    }

    package var children: LayoutRange { keyspace(.children) }
    /// The children of a record; `lower` is the prefix that `child(in:prefixByteCount:)` wants.
    package func children(of parent: RecordName) -> LayoutRange { range(.children, parent) }
    package func children(of parent: RecordName, after child: RecordName) -> LayoutRange {
        LayoutRange(
            lower: KeyBuilder.successor(of: self.child(parent: parent, name: child)),
            upper: children(of: parent).upper)
    }

    package var shareRoots: LayoutRange { keyspace(.shareRoots) }
    package func shareRoots(after name: RecordName) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.successor(of: shareRoot(name)), upper: shareRoots.upper)
    }

    package var shareCounts: LayoutRange { keyspace(.shareCounts) }
    /// The share counts of a record's children, or of the records that have no parent.
    package func shareCounts(below parent: RecordName?) -> LayoutRange { range(.shareCounts, parent) }

    package var references: LayoutRange { keyspace(.references) }
    /// Every reference to a record.
    package func references(to target: RecordName) -> LayoutRange { range(.references, target) }
    /// The references to a record after those of `source`.
    package func references(to target: RecordName, after source: RecordName) -> LayoutRange {
        let prefix = key {
            begin(.references, into: &$0)
            TupleWriter.appendString(target.text, to: &$0)
            TupleWriter.appendString(source.text, to: &$0)
        }
        return LayoutRange(lower: KeyBuilder.upperBound(of: prefix), upper: references(to: target).upper)
    }

    package var types: LayoutRange { keyspace(.types) }
    /// The live records of a type, in the order of names.
    package func types(of type: RecordType) -> LayoutRange { range(.types, RecordName(type.text)) }
    package func types(of type: RecordType, after name: RecordName) -> LayoutRange {
        LayoutRange(
            lower: KeyBuilder.successor(of: self.type(type, name: name)), upper: types(of: type).upper)
    }

    package var changes: LayoutRange { keyspace(.changes) }
    package func changes(after sequence: UInt64) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.successor(of: change(sequence: sequence)), upper: changes.upper)
    }
    /// The changes after `sequence`, up to and including `last`.
    package func changes(after sequence: UInt64, upTo last: UInt64) -> LayoutRange {
        LayoutRange(
            lower: KeyBuilder.successor(of: change(sequence: sequence)),
            upper: KeyBuilder.successor(of: change(sequence: max(sequence, last))))
    }

    /// Every key of a keyspace whose first part is `name`, or null.
    private func range(_ keyspace: ZoneKeyspace, _ name: RecordName?) -> LayoutRange {
        KeyBuilder.range(
            of: key {
                begin(keyspace, into: &$0)
                KeyBuilder.append(name, to: &$0)
            })
    }
}

extension ZoneKeys {
    package var endedParents: LayoutRange { keyspace(.endedParents) }
    package func endedParents(of child: RecordName) -> LayoutRange { range(.endedParents, child) }
    /// The parents that ended after the change `sequence`.
    package func endedParents(of child: RecordName, after sequence: UInt64) -> LayoutRange {
        LayoutRange(
            lower: KeyBuilder.successor(of: endedParent(child: child, ended: sequence)),
            upper: endedParents(of: child).upper)
    }

    package var endedChildren: LayoutRange { keyspace(.endedChildren) }
    /// Every child a record once had, in the order of the changes that ended it.
    package func endedChildren(of parent: RecordName) -> LayoutRange { range(.endedChildren, parent) }
    /// The children of a record that ended after the change `sequence`.
    package func endedChildren(of parent: RecordName, after sequence: UInt64) -> LayoutRange {
        let prefix = key {
            begin(.endedChildren, into: &$0)
            TupleWriter.appendString(parent.text, to: &$0)
            TupleWriter.appendInteger(sequence, to: &$0)
        }
        return LayoutRange(lower: KeyBuilder.upperBound(of: prefix), upper: endedChildren(of: parent).upper)
    }

    package var endedShares: LayoutRange { keyspace(.endedShares) }
    package func endedShares(of root: RecordName) -> LayoutRange { range(.endedShares, root) }
    /// The shares that ended after the change `sequence`.
    package func endedShares(of root: RecordName, after sequence: UInt64) -> LayoutRange {
        LayoutRange(
            lower: KeyBuilder.successor(of: endedShare(root: root, ended: sequence)),
            upper: endedShares(of: root).upper)
    }
}

// Reads the parts of a zone's keys in place. The caller got the key from a range of the same zone, so its beginning
// is known; `keyspaceOf` looks at keys that may be anything.
//
// Everything here throws `.corruptKey` for a key that is not what this file's sisters write, and never traps.

/// The parts of a key of the records keyspace.
package struct RecordKeyParts: Hashable, Sendable {
    package var name: RecordName
    /// Which later chunk of the record lies here; nil for the record itself.
    package var chunkIndex: Int?
}

/// The parts of a key of the children keyspace.
package struct ChildKeyParts: Hashable, Sendable {
    package var parent: RecordName
    package var child: RecordName
}

/// The parts of a key of the share counts keyspace.
package struct ShareCountKeyParts: Hashable, Sendable {
    package var parent: RecordName?
    package var name: RecordName
}

/// The parts of a key of the references keyspace.
package struct ReferenceKeyParts: Hashable, Sendable {
    package var target: RecordName
    package var source: RecordName
    package var field: FieldKey
    package var action: ReferenceAction
}

/// The parts of a key of the types keyspace.
package struct TypeKeyParts: Hashable, Sendable {
    package var type: RecordType
    package var name: RecordName
}

/// The parts of a key of the fields keyspace.
package struct FieldKeyParts: Hashable, Sendable {
    package var type: RecordType
    package var field: FieldKey
    package var value: TupleElement
    package var name: RecordName
}

/// The parts of a key of the tokens keyspace.
package struct TokenKeyParts: Hashable, Sendable {
    package var token: String
    package var field: FieldKey
    package var name: RecordName
}

/// The parts of a key of the ended parents or ended shares keyspace.
package struct EndedKeyParts: Hashable, Sendable {
    /// The child, or the root.
    package var name: RecordName
    package var ended: UInt64
}

/// The parts of a key of the ended children keyspace.
package struct EndedChildKeyParts: Hashable, Sendable {
    package var parent: RecordName
    package var child: RecordName
    package var ended: UInt64
}

extension ZoneKeys {
    /// The database number of any key of a database.
    package static func databaseNumber(of key: Span<UInt8>) throws(LayoutError) -> DatabaseNumber {
        var reader = try KeyReader(key, after: 0, in: .unknown)
        return DatabaseNumber(try reader.readNumber())
    }

    /// The zone number of any key of a database.
    package static func zoneNumber(of key: Span<UInt8>) throws(LayoutError) -> ZoneNumber {
        var reader = try KeyReader(key, after: 0, in: .unknown)
        _ = try reader.readNumber()
        return ZoneNumber(try reader.readNumber())
    }

    /// Which keyspace of this zone a key belongs to; nil when it is not a key of this zone or the tag is unknown.
    package func keyspace(of key: Span<UInt8>) -> ZoneKeyspace? {
        guard key.count >= prefix.count else { return nil }
        for index in prefix.indices where key[index] != prefix[index] { return nil }
        var reader = TupleReader(key.extracting(prefix.count..<key.count))
        guard let tag = try? reader.readUnsigned(), let rawValue = UInt8(exactly: tag) else { return nil }
        return ZoneKeyspace(rawValue: rawValue)
    }

    package func readRecordKey(_ key: Span<UInt8>) throws(LayoutError) -> RecordKeyParts {
        var reader = try reader(key, .records)
        let name = try reader.readName()
        guard !reader.isAtEnd else { return RecordKeyParts(name: name, chunkIndex: nil) }
        guard let index = Int(exactly: try reader.readNumber()), index >= 1 else {
            throw reader.corrupt("The index of a later chunk is 1 or more: check or restore the store.")
        }
        try reader.expectEnd()
        return RecordKeyParts(name: name, chunkIndex: index)
    }

    /// The record of a key of the parents keyspace.
    package func readParentKey(_ key: Span<UInt8>) throws(LayoutError) -> RecordName {
        try readName(key, .parents)
    }

    package func readChildKey(_ key: Span<UInt8>) throws(LayoutError) -> ChildKeyParts {
        var reader = try reader(key, .children)
        let parts = ChildKeyParts(parent: try reader.readName(), child: try reader.readName())
        try reader.expectEnd()
        return parts
    }

    /// The child alone, of a key out of `children(of:)`: the range's lower bound is `prefixByteCount` bytes long.
    package static func readChild(_ key: Span<UInt8>, prefixByteCount: Int) throws(LayoutError) -> RecordName {
        var reader = try KeyReader(key, after: prefixByteCount, in: .zone(.children))
        let name = try reader.readName()
        try reader.expectEnd()
        return name
    }

    package func readShareRootKey(_ key: Span<UInt8>) throws(LayoutError) -> RecordName {
        try readName(key, .shareRoots)
    }

    package func readShareCountKey(_ key: Span<UInt8>) throws(LayoutError) -> ShareCountKeyParts {
        var reader = try reader(key, .shareCounts)
        let parts = ShareCountKeyParts(parent: try reader.readOptionalName(), name: try reader.readName())
        try reader.expectEnd()
        return parts
    }

    package func readReferenceKey(_ key: Span<UInt8>) throws(LayoutError) -> ReferenceKeyParts {
        var reader = try reader(key, .references)
        let target = try reader.readName()
        let source = try reader.readName()
        let field = FieldKey(try reader.readText())
        guard let number = UInt8(exactly: try reader.readNumber()), let action = ReferenceAction(rawValue: number)
        else { throw reader.corrupt("No reference action has this number: check or restore the store.") }
        try reader.expectEnd()
        return ReferenceKeyParts(target: target, source: source, field: field, action: action)
    }

    package func readTypeKey(_ key: Span<UInt8>) throws(LayoutError) -> TypeKeyParts {
        var reader = try reader(key, .types)
        let parts = TypeKeyParts(type: RecordType(try reader.readText()), name: try reader.readName())
        try reader.expectEnd()
        return parts
    }

    package func readFieldKey(_ key: Span<UInt8>) throws(LayoutError) -> FieldKeyParts {
        var reader = try reader(key, .fields)
        let parts = FieldKeyParts(
            type: RecordType(try reader.readText()), field: FieldKey(try reader.readText()),
            value: try reader.readElement(), name: try reader.readName())
        try reader.expectEnd()
        return parts
    }

    package func readTokenKey(_ key: Span<UInt8>) throws(LayoutError) -> TokenKeyParts {
        var reader = try reader(key, .tokens)
        let parts = TokenKeyParts(
            token: try reader.readText(), field: FieldKey(try reader.readText()), name: try reader.readName())
        try reader.expectEnd()
        return parts
    }

    /// The sequence of a key of the changes keyspace.
    package func readChangeKey(_ key: Span<UInt8>) throws(LayoutError) -> UInt64 {
        var reader = try reader(key, .changes)
        let sequence = try reader.readNumber()
        try reader.expectEnd()
        return sequence
    }

    package func readEndedParentKey(_ key: Span<UInt8>) throws(LayoutError) -> EndedKeyParts {
        try readEnded(key, .endedParents)
    }

    package func readEndedChildKey(_ key: Span<UInt8>) throws(LayoutError) -> EndedChildKeyParts {
        var reader = try reader(key, .endedChildren)
        let parent = try reader.readName()
        let ended = try reader.readNumber()
        let parts = EndedChildKeyParts(parent: parent, child: try reader.readName(), ended: ended)
        try reader.expectEnd()
        return parts
    }

    package func readEndedShareKey(_ key: Span<UInt8>) throws(LayoutError) -> EndedKeyParts {
        try readEnded(key, .endedShares)
    }

    private func readEnded(_ key: Span<UInt8>, _ keyspace: ZoneKeyspace) throws(LayoutError) -> EndedKeyParts {
        var reader = try reader(key, keyspace)
        let parts = EndedKeyParts(name: try reader.readName(), ended: try reader.readNumber())
        try reader.expectEnd()
        return parts
    }

    private func readName(_ key: Span<UInt8>, _ keyspace: ZoneKeyspace) throws(LayoutError) -> RecordName {
        var reader = try reader(key, keyspace)
        let name = try reader.readName()
        try reader.expectEnd()
        return name
    }

    /// A reader behind the zone's prefix and the tag, which are compared: a caller that mixes up zones is told so.
    @_lifetime(copy key)
    func reader(_ key: Span<UInt8>, _ keyspace: ZoneKeyspace) throws(LayoutError) -> KeyReader {
        guard self.keyspace(of: key) == keyspace else {
            throw .corruptKey(
                "The key is not of this zone and keyspace: check or restore the store.", key, at: 0, in: keyspace.name)
        }
        return try KeyReader(key, after: keyspacePrefixByteCount, in: .zone(keyspace))
    }
}
