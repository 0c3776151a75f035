// The keys by which shares are found from outside their zones: by a URL, and by who has accepted them.
//
// Invariant: no key holds a secret. A URL's entry lies under the SHA-256 of its secret, so whoever reads keys learns none.

package import FoundationEssentials
package import StratusModel

/// The parts of a key of the acceptances keyspace.
package struct AcceptanceKeyParts: Hashable, Sendable {
    package var user: UserName
    /// The zone's identity.
    package var zone: UUID
    package var share: RecordName

    package init(user: UserName, zone: UUID, share: RecordName) {
        self.user = user
        self.zone = zone
        self.share = share
    }
}

extension GlobalKeys {
    /// The key of a URL by the SHA-256 of its secret's bytes.
    package static func shareURL(_ digest: [UInt8]) -> [UInt8] {
        key(.shareURLs) { TupleWriter.appendBytes(digest, to: &$0) }
    }
    package static var shareURLs: LayoutRange { keyspace(.shareURLs) }
    /// The digest of a key of the share URLs keyspace. Throws `.corruptKey`.
    package static func readShareURLKey(_ key: Span<UInt8>) throws(LayoutError) -> [UInt8] {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.shareURLs))
        guard case .bytes(let digest) = try reader.readElement() else {
            throw reader.corrupt("The digest of a URL is missing: check or restore the store.")
        }
        try reader.expectEnd()
        return digest
    }

    package static func acceptance(user: UserName, zone: UUID, share: RecordName) -> [UInt8] {
        key(.acceptances) {
            TupleWriter.appendString(user.text, to: &$0)
            TupleWriter.appendUUID(zone, to: &$0)
            TupleWriter.appendString(share.text, to: &$0)
        }
    }
    package static func acceptance(_ parts: AcceptanceKeyParts) -> [UInt8] {
        acceptance(user: parts.user, zone: parts.zone, share: parts.share)
    }
    package static var acceptances: LayoutRange { keyspace(.acceptances) }
    package static func acceptances(of user: UserName) -> LayoutRange {
        KeyBuilder.range(of: key(.acceptances) { TupleWriter.appendString(user.text, to: &$0) })
    }
    /// What a user has accepted of one zone.
    package static func acceptances(of user: UserName, zone: UUID) -> LayoutRange {
        KeyBuilder.range(
            of: key(.acceptances) {
                TupleWriter.appendString(user.text, to: &$0)
                TupleWriter.appendUUID(zone, to: &$0)
            })
    }
    /// The parts of a key of the acceptances keyspace. Throws `.corruptKey`.
    package static func readAcceptanceKey(_ key: Span<UInt8>) throws(LayoutError) -> AcceptanceKeyParts {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.acceptances))
        let user = UserName(try reader.readText())
        guard case .uuid(let zone) = try reader.readElement() else {
            throw reader.corrupt("A UUID is missing: check or restore the store.")
        }
        let parts = AcceptanceKeyParts(user: user, zone: zone, share: try reader.readName())
        try reader.expectEnd()
        return parts
    }
}
