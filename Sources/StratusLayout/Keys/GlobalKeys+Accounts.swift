// The keys of people: accounts, what leads to them, what they use, and what is left of those who were deleted.

package import FoundationEssentials
package import StratusModel

/// The parts of a key of the identities keyspace.
package struct IdentityKeyParts: Hashable, Sendable {
    package var kind: IdentityKind
    package var value: String
}

/// The parts of a key of the zone usage keyspace.
package struct ZoneUsageKeyParts: Hashable, Sendable {
    package var owner: UserName
    /// The zone's identity.
    package var zone: UUID
}

extension GlobalKeys {
    package static func account(_ id: AccountID) -> [UInt8] { key(.accounts, id.text) }
    package static var accounts: LayoutRange { keyspace(.accounts) }
    package static func accounts(after id: AccountID) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.successor(of: account(id)), upper: accounts.upper)
    }
    /// The account of a key of the accounts keyspace. Throws `.corruptKey`.
    package static func readAccountKey(_ key: Span<UInt8>) throws(LayoutError) -> AccountID {
        AccountID(try readText(key, .accounts))
    }

    package static func identity(_ kind: IdentityKind, _ value: String) -> [UInt8] {
        key(.identities) {
            TupleWriter.appendInteger(UInt64(kind.rawValue), to: &$0)
            TupleWriter.appendString(value, to: &$0)
        }
    }
    /// The key of a handle in its normalised form.
    package static func identity(_ handle: Handle) -> [UInt8] {
        switch handle {
        case .email(let address): identity(.email, address)
        case .phone(let number): identity(.phone, number)
        }
    }
    package static var identities: LayoutRange { keyspace(.identities) }
    /// The parts of a key of the identities keyspace. Throws `.corruptKey`.
    package static func readIdentityKey(_ key: Span<UInt8>) throws(LayoutError) -> IdentityKeyParts {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.identities))
        guard let number = UInt8(exactly: try reader.readNumber()), let kind = IdentityKind(rawValue: number) else {
            throw reader.corrupt("No kind of identity has this number: check or restore the store.")
        }
        let value = try reader.readText()
        try reader.expectEnd()
        return IdentityKeyParts(kind: kind, value: value)
    }

    package static func usage(of owner: UserName) -> [UInt8] { key(.usage, owner.text) }
    package static var usages: LayoutRange { keyspace(.usage) }
    /// The owner of a key of the usage keyspace. Throws `.corruptKey`.
    package static func readUsageKey(_ key: Span<UInt8>) throws(LayoutError) -> UserName {
        UserName(try readText(key, .usage))
    }

    package static func zoneUsage(of owner: UserName, zone: UUID) -> [UInt8] {
        key(.zoneUsage) {
            TupleWriter.appendString(owner.text, to: &$0)
            TupleWriter.appendUUID(zone, to: &$0)
        }
    }
    package static var zoneUsages: LayoutRange { keyspace(.zoneUsage) }
    package static func zoneUsages(of owner: UserName) -> LayoutRange {
        KeyBuilder.range(of: key(.zoneUsage, owner.text))
    }
    /// The parts of a key of the zone usage keyspace. Throws `.corruptKey`.
    package static func readZoneUsageKey(_ key: Span<UInt8>) throws(LayoutError) -> ZoneUsageKeyParts {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.zoneUsage))
        let owner = UserName(try reader.readText())
        guard case .uuid(let zone) = try reader.readElement() else {
            throw reader.corrupt("A UUID is missing: check or restore the store.")
        }
        try reader.expectEnd()
        return ZoneUsageKeyParts(owner: owner, zone: zone)
    }

    package static func departure(of owner: UserName) -> [UInt8] { key(.departures, owner.text) }
    package static var departures: LayoutRange { keyspace(.departures) }
    /// The owner of a key of the departures keyspace. Throws `.corruptKey`.
    package static func readDepartureKey(_ key: Span<UInt8>) throws(LayoutError) -> UserName {
        UserName(try readText(key, .departures))
    }

    private static func key(_ keyspace: GlobalKeyspace, _ text: String) -> [UInt8] {
        key(keyspace) { TupleWriter.appendString(text, to: &$0) }
    }

    private static func readText(_ key: Span<UInt8>, _ keyspace: GlobalKeyspace) throws(LayoutError) -> String {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(keyspace))
        let text = try reader.readText()
        try reader.expectEnd()
        return text
    }
}
