// The keys of what a zone keeps of its shares beside the share records: URL secrets, events, acceptances that ended.

package import StratusModel

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
