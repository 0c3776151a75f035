// The keys of one zone, and at the end those of a database outside its zones. The keys of a zone begin with (database
// number, zone number), so a zone is one contiguous range of the store.
//
// Keys that are built often come in two forms: one appends to a caller's buffer (no allocation while its capacity
// suffices), the other returns new bytes. A range "after" something excludes it and everything that belongs to it.
//
// Every `read…Key` throws `.corruption` for a key that its sister does not build, or that is of another zone or
// keyspace, and never traps. `QueryKeys.swift` has the keys that queries read.

package import StratusModel
package import StratusStore

/// The parts of a key of the share events keyspace.
package struct ShareEventKeyParts: Hashable, Sendable {
    /// The change of the zone that the event belongs to.
    package var sequence: UInt64
    /// Events of one change are numbered from 0.
    package var index: UInt64

    package init(sequence: UInt64, index: UInt64) {
        self.sequence = sequence
        self.index = index
    }
}

/// Builds and reads the keys of one zone.
package struct ZoneKeys: Hashable, Sendable {
    package let database: DatabaseNumber
    package let zone: ZoneNumber
    /// The encoded (database, zone): how every key of the zone begins.
    package let prefix: [UInt8]

    /// Both numbers are at least 1: zero is outside every database and zone.
    package init(database: DatabaseNumber, zone: ZoneNumber) {
        precondition(database != .outside && zone != .outside, "Zone keys need the number of a database and a zone.")
        self.database = database
        self.zone = zone
        self.prefix = KeyBuilder.prefix(database, zone)
    }

    /// Every key of the zone and no other.
    package var all: KeyRange { KeyBuilder.range(of: prefix) }

    /// The zone's key in the purges, releases, rebuilds or index builds keyspace.
    package func listed(in list: GlobalKeyspace) -> [UInt8] { GlobalKeys.zone(database, zone, in: list) }

    /// Every key of one keyspace of the zone.
    package func keyspace(_ keyspace: ZoneKeyspace) -> KeyRange { range(keyspace) }

    /// Appends how every key of a keyspace begins. Each part then appends itself: these keys are written for every
    /// record, and a parameter pack would copy each part and call it through a witness.
    func begin(_ keyspace: ZoneKeyspace, _ key: inout [UInt8]) {
        key.append(contentsOf: prefix)
        TupleWriter.appendInteger(UInt64(keyspace.rawValue), to: &key)
    }

    func key<each Part: KeyElement>(_ keyspace: ZoneKeyspace, _ parts: repeat each Part) -> [UInt8] {
        KeyBuilder.key(prefix, tag: keyspace.rawValue, repeat each parts)
    }

    /// All keys of a keyspace that begin with these parts.
    func range<each Part: KeyElement>(_ keyspace: ZoneKeyspace, _ parts: repeat each Part) -> KeyRange {
        KeyBuilder.range(of: key(keyspace, repeat each parts))
    }

    /// A reader after the zone's prefix and the tag. It compares both, so that a caller that mixes up zones gets an
    /// error.
    @_lifetime(copy key)
    func reader(_ key: Span<UInt8>, _ keyspace: ZoneKeyspace) throws(StoreError) -> KeyReader {
        guard self.keyspace(of: key) == keyspace else {
            throw .corruptKey(
                "The key is not of this zone and keyspace: check or restore the store.", key, at: 0, in: keyspace.name)
        }
        return try KeyReader(key, after: prefix.count + 2, in: keyspace)
    }

    /// What `make` builds from the parts of a key.
    func read<each Part: KeyElement, Parts>(
        _ key: Span<UInt8>, _ keyspace: ZoneKeyspace, _ make: (repeat each Part) -> Parts
    ) throws(StoreError) -> Parts {
        var reader = try reader(key, keyspace)
        return try reader.finish(make)
    }

    /// The database number of any key of a database.
    package static func databaseNumber(of key: Span<UInt8>) throws(StoreError) -> DatabaseNumber {
        var reader = try KeyReader(key, after: 0)
        return DatabaseNumber(try reader.readNumber())
    }

    /// The zone number of any key of a database.
    package static func zoneNumber(of key: Span<UInt8>) throws(StoreError) -> ZoneNumber {
        var reader = try KeyReader(key, after: 0)
        _ = try reader.readNumber()
        return ZoneNumber(try reader.readNumber())
    }

    /// The keyspace of this zone that a key belongs to; nil if the key is not of this zone or its tag is unknown.
    package func keyspace(of key: Span<UInt8>) -> ZoneKeyspace? {
        guard key.count >= prefix.count else { return nil }
        for index in prefix.indices where key[index] != prefix[index] { return nil }
        var reader = TupleReader(key.extracting(prefix.count..<key.count))
        guard let tag = try? reader.readUnsigned(), let rawValue = UInt8(exactly: tag) else { return nil }
        return ZoneKeyspace(rawValue: rawValue)
    }
}

// MARK: Records and the feed

extension ZoneKeys {
    package func header() -> [UInt8] { key(.header) }

    /// The key of a record or its tombstone, and of the first chunk of a large record.
    package func record(_ name: RecordName, into key: inout [UInt8]) {
        begin(.records, &key)
        name.append(to: &key)
    }
    package func record(_ name: RecordName) -> [UInt8] { key(.records, name) }

    /// The key of the record whose name is the end of another key, from `nameOffset` on: a name has the same bytes in
    /// all keys.
    package func record(namedIn other: Span<UInt8>, from nameOffset: Int, into key: inout [UInt8]) {
        begin(.records, &key)
        key.append(addingCapacity: other.count - nameOffset) { output in
            for index in nameOffset..<other.count { output.append(other[index]) }
        }
    }

    /// The key of a later chunk of a large record: `index` is 1 or more.
    package func recordChunk(_ name: RecordName, index: Int, into key: inout [UInt8]) {
        precondition(index >= 1, "The first chunk of a record is stored under the record's own key.")
        begin(.records, &key)
        name.append(to: &key)
        UInt64(index).append(to: &key)
    }
    package func recordChunk(_ name: RecordName, index: Int) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(prefix.count + 64)
        recordChunk(name, index: index, into: &key)
        return key
    }

    /// The records after `name` and all its chunks; all records after nil.
    package func records(after name: RecordName?) -> KeyRange {
        name.map { keyspace(.records).after(prefix: record($0)) } ?? keyspace(.records)
    }
    /// A record with all its chunks.
    package func recordWithChunks(_ name: RecordName) -> KeyRange { range(.records, name) }

    /// The index is that of a later chunk; nil for the record itself.
    package func readRecordKey(_ key: Span<UInt8>) throws(StoreError) -> (name: RecordName, chunkIndex: Int?) {
        var reader = try reader(key, .records)
        let name = try RecordName.read(&reader)
        guard !reader.isAtEnd else { return (name, nil) }
        guard let index = Int(exactly: try reader.readNumber()), index >= 1 else {
            throw reader.corrupt("The index of a later chunk is 1 or more: check or restore the store.")
        }
        try reader.expectEnd()
        return (name, index)
    }

    package func change(sequence: UInt64, into key: inout [UInt8]) {
        begin(.changes, &key)
        sequence.append(to: &key)
    }
    package func change(sequence: UInt64) -> [UInt8] { key(.changes, sequence) }
    package func changes(after sequence: UInt64) -> KeyRange { keyspace(.changes).after(change(sequence: sequence)) }
    /// The changes after `sequence`, up to and including `last`.
    package func changes(after sequence: UInt64, upTo last: UInt64) -> KeyRange {
        KeyRange(
            from: KeyBuilder.successor(of: change(sequence: sequence)),
            upTo: KeyBuilder.successor(of: change(sequence: max(sequence, last))))
    }
    /// The sequence in a key of the changes keyspace.
    package func readChangeKey(_ key: Span<UInt8>) throws(StoreError) -> UInt64 {
        try read(key, .changes) { $0 }
    }

    /// The key of the last token that a user's client sent with a change of the zone.
    package func clientToken(of user: UserName) -> [UInt8] { key(.clientTokens, user) }
    package func readClientTokenKey(_ key: Span<UInt8>) throws(StoreError) -> UserName {
        try read(key, .clientTokens) { $0 }
    }
}

// MARK: Hierarchy, references and types

extension ZoneKeys {
    /// The key of the small entry that names a record's parent and share.
    package func parent(of name: RecordName, into key: inout [UInt8]) {
        begin(.parents, &key)
        name.append(to: &key)
    }
    package func parent(of name: RecordName) -> [UInt8] { key(.parents, name) }
    /// The record in a key of the parents keyspace.
    package func readParentKey(_ key: Span<UInt8>) throws(StoreError) -> RecordName {
        try read(key, .parents) { $0 }
    }

    package func child(parent: RecordName, name: RecordName, into key: inout [UInt8]) {
        begin(.children, &key)
        parent.append(to: &key)
        name.append(to: &key)
    }
    package func child(parent: RecordName, name: RecordName) -> [UInt8] { key(.children, parent, name) }
    /// The children of a record. `readChild(_:prefixByteCount:)` wants the number of bytes of `lower`.
    package func children(of parent: RecordName) -> KeyRange { range(.children, parent) }
    package func children(of parent: RecordName, after child: RecordName) -> KeyRange {
        children(of: parent).after(self.child(parent: parent, name: child))
    }
    package func readChildKey(_ key: Span<UInt8>) throws(StoreError) -> (parent: RecordName, child: RecordName) {
        try read(key, .children) { ($0, $1) }
    }
    /// The child in a key out of `children(of:)`, whose lower bound is `prefixByteCount` bytes long.
    package static func readChild(_ key: Span<UInt8>, prefixByteCount: Int) throws(StoreError) -> RecordName {
        var reader = try KeyReader(key, after: prefixByteCount, in: ZoneKeyspace.children)
        return try reader.finish { $0 }
    }

    package func shareRoot(_ name: RecordName, into key: inout [UInt8]) {
        begin(.shareRoots, &key)
        name.append(to: &key)
    }
    package func shareRoot(_ name: RecordName) -> [UInt8] { key(.shareRoots, name) }
    package func readShareRootKey(_ key: Span<UInt8>) throws(StoreError) -> RecordName {
        try read(key, .shareRoots) { $0 }
    }

    /// The key of a record's share count. The parent, nil for a record that has none, comes first.
    package func shareCount(parent: RecordName?, name: RecordName, into key: inout [UInt8]) {
        begin(.shareCounts, &key)
        parent.append(to: &key)
        name.append(to: &key)
    }
    package func shareCount(parent: RecordName?, name: RecordName) -> [UInt8] { key(.shareCounts, parent, name) }
    /// The share counts of a record's children, or of the records that have no parent.
    package func shareCounts(below parent: RecordName?) -> KeyRange { range(.shareCounts, parent) }
    package func readShareCountKey(_ key: Span<UInt8>) throws(StoreError) -> (parent: RecordName?, name: RecordName) {
        try read(key, .shareCounts) { ($0, $1) }
    }

    package func reference(
        target: RecordName, source: RecordName, field: FieldKey, action: ReferenceAction, into key: inout [UInt8]
    ) {
        begin(.references, &key)
        target.append(to: &key)
        source.append(to: &key)
        field.append(to: &key)
        action.append(to: &key)
    }
    /// Every reference to a record.
    package func references(to target: RecordName) -> KeyRange { range(.references, target) }
    package func readReferenceKey(
        _ key: Span<UInt8>
    ) throws(StoreError) -> (target: RecordName, source: RecordName, field: FieldKey, action: ReferenceAction) {
        try read(key, .references) { ($0, $1, $2, $3) }
    }

    package func type(_ type: RecordType, name: RecordName, into key: inout [UInt8]) {
        begin(.types, &key)
        type.append(to: &key)
        name.append(to: &key)
    }
    package func type(_ type: RecordType, name: RecordName) -> [UInt8] { key(.types, type, name) }
    /// The live records of a type, in the order of names.
    package func types(of type: RecordType) -> KeyRange { range(.types, type) }
    package func types(of type: RecordType, after name: RecordName) -> KeyRange {
        types(of: type).after(self.type(type, name: name))
    }
    package func readTypeKey(_ key: Span<UInt8>) throws(StoreError) -> (type: RecordType, name: RecordName) {
        try read(key, .types) { ($0, $1) }
    }
}

// MARK: History

extension ZoneKeys {
    /// The parents, children or shares of a record that ended after the change `sequence`, in the keyspace that holds
    /// them.
    package func ended(_ keyspace: ZoneKeyspace, of name: RecordName, after sequence: UInt64) -> KeyRange {
        range(keyspace, name).after(prefix: key(keyspace, name, sequence))
    }

    /// The key of a parent that `child` had until the change `ended`.
    package func endedParent(child: RecordName, ended: UInt64, into key: inout [UInt8]) {
        begin(.endedParents, &key)
        child.append(to: &key)
        ended.append(to: &key)
    }
    package func endedParent(child: RecordName, ended: UInt64) -> [UInt8] { key(.endedParents, child, ended) }
    package func readEndedParentKey(_ key: Span<UInt8>) throws(StoreError) -> (name: RecordName, ended: UInt64) {
        try read(key, .endedParents) { ($0, $1) }
    }

    /// The key of a child that `parent` had until the change `ended`. The change comes before the child, so that the
    /// children that ended after a token are one range.
    package func endedChild(parent: RecordName, child: RecordName, ended: UInt64, into key: inout [UInt8]) {
        begin(.endedChildren, &key)
        parent.append(to: &key)
        ended.append(to: &key)
        child.append(to: &key)
    }
    package func endedChild(parent: RecordName, child: RecordName, ended: UInt64) -> [UInt8] {
        key(.endedChildren, parent, ended, child)
    }
    package func readEndedChildKey(
        _ key: Span<UInt8>
    ) throws(StoreError) -> (parent: RecordName, ended: UInt64, child: RecordName) {
        try read(key, .endedChildren) { ($0, $1, $2) }
    }

    /// The key of a share that `root` was the root of until the change `ended`.
    package func endedShare(root: RecordName, ended: UInt64, into key: inout [UInt8]) {
        begin(.endedShares, &key)
        root.append(to: &key)
        ended.append(to: &key)
    }
    package func endedShare(root: RecordName, ended: UInt64) -> [UInt8] { key(.endedShares, root, ended) }
    package func readEndedShareKey(_ key: Span<UInt8>) throws(StoreError) -> (name: RecordName, ended: UInt64) {
        try read(key, .endedShares) { ($0, $1) }
    }
}

// MARK: What a zone stores about shares, besides their records

extension ZoneKeys {
    /// The key of the secret of a root's URL; nil for that of the whole zone.
    package func shareToken(_ root: RecordName?) -> [UInt8] { key(.shareTokens, root) }
    /// The root in a key of the share tokens keyspace; nil for the whole zone.
    package func readShareTokenKey(_ key: Span<UInt8>) throws(StoreError) -> RecordName? {
        try read(key, .shareTokens) { $0 }
    }

    package func shareEvent(_ parts: ShareEventKeyParts) -> [UInt8] { key(.shareEvents, parts.sequence, parts.index) }
    package func shareEvent(sequence: UInt64, index: UInt64) -> [UInt8] { key(.shareEvents, sequence, index) }
    package func shareEvents(after parts: ShareEventKeyParts) -> KeyRange {
        keyspace(.shareEvents).after(shareEvent(parts))
    }
    package func readShareEventKey(_ key: Span<UInt8>) throws(StoreError) -> ShareEventKeyParts {
        try read(key, .shareEvents, ShareEventKeyParts.init)
    }

    /// The key of an acceptance that `user` had until the change `ended`. The change comes before the share, so that
    /// the acceptances that ended after a token are one range.
    package func endedAcceptance(user: UserName, ended: UInt64, share: RecordName) -> [UInt8] {
        key(.endedAcceptances, user, ended, share)
    }
    package func endedAcceptances(of user: UserName) -> KeyRange { range(.endedAcceptances, user) }
    /// The acceptances of a user that ended after the change `sequence`.
    package func endedAcceptances(of user: UserName, after sequence: UInt64) -> KeyRange {
        endedAcceptances(of: user).after(prefix: key(.endedAcceptances, user, sequence))
    }
    package func readEndedAcceptanceKey(
        _ key: Span<UInt8>
    ) throws(StoreError) -> (user: UserName, ended: UInt64, share: RecordName) {
        try read(key, .endedAcceptances) { ($0, $1, $2) }
    }
}

// The keys of one database outside its zones: (database number, 0, tag, …).

/// Builds and reads the keys of one database.
package struct DatabaseKeys: Hashable, Sendable {
    package let number: DatabaseNumber
    /// The encoded (database, 0): how every key here begins.
    package let prefix: [UInt8]

    /// The number is at least 1: zero is outside every database.
    package init(_ number: DatabaseNumber) {
        precondition(number != .outside, "Database keys need the number of a database.")
        self.number = number
        self.prefix = KeyBuilder.prefix(number, .outside)
    }

    /// Every key of the database, its zones included.
    package var all: KeyRange {
        var prefix: [UInt8] = []
        number.append(to: &prefix)
        return KeyBuilder.range(of: prefix)
    }

    /// All keys of all zones of the database.
    package var zoneContents: KeyRange {
        KeyRange(from: KeyBuilder.range(of: prefix).upper, upTo: all.upper)
    }

    package func keyspace(_ keyspace: DatabaseKeyspace) -> KeyRange { KeyBuilder.range(of: key(keyspace)) }

    package func header() -> [UInt8] { key(.header) }

    package func zone(_ name: ZoneName) -> [UInt8] { key(.zones, name) }
    package func zones(after name: ZoneName) -> KeyRange { keyspace(.zones).after(zone(name)) }
    /// The name in a key of the zones keyspace. Throws `.corruption`.
    package func readZoneKey(_ key: Span<UInt8>) throws(StoreError) -> ZoneName { try read(key, .zones) { $0 } }

    package func change(_ counter: UInt64) -> [UInt8] { key(.changes, counter) }
    package func changes(after counter: UInt64) -> KeyRange { keyspace(.changes).after(change(counter)) }
    /// The counter in a key of the changes keyspace. Throws `.corruption`.
    package func readChangeKey(_ key: Span<UInt8>) throws(StoreError) -> UInt64 { try read(key, .changes) { $0 } }

    package func subscription(user: UserName, id: String) -> [UInt8] { key(.subscriptions, user, id) }
    package func subscriptions(of user: UserName) -> KeyRange { KeyBuilder.range(of: key(.subscriptions, user)) }

    package func zoneSettings(_ name: ZoneName) -> [UInt8] { key(.zoneSettings, name) }
    package func zoneMarker(_ name: ZoneName) -> [UInt8] { key(.zoneMarkers, name) }
    package func zoneAssets(_ name: ZoneName) -> [UInt8] { key(.zoneAssets, name) }

    private func key<each Part: KeyElement>(_ keyspace: DatabaseKeyspace, _ parts: repeat each Part) -> [UInt8] {
        KeyBuilder.key(prefix, tag: keyspace.rawValue, repeat each parts)
    }

    /// What `make` builds from the parts of a key.
    private func read<each Part: KeyElement, Parts>(
        _ key: Span<UInt8>, _ keyspace: DatabaseKeyspace, _ make: (repeat each Part) -> Parts
    ) throws(StoreError) -> Parts {
        var reader = try KeyReader(key, after: prefix.count + 2, in: keyspace)
        return try reader.finish(make)
    }
}
