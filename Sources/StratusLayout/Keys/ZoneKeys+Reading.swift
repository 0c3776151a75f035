// Reads the parts of a zone's keys in place. The caller got the key from a range of the same zone, so its beginning
// is known; `keyspaceOf` looks at keys that may be anything.
//
// Everything here throws `.corruptKey` for a key that is not what this file's sisters write, and never traps.

package import StratusModel

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
