// The keys outside every database: (0, 0, tag, …).

package import FoundationEssentials
package import StratusModel

/// Builds and reads the keys outside every database.
package enum GlobalKeys {
    static let prefix = KeyBuilder.prefix(.outside, .outside)

    /// Every key outside every database.
    package static var all: LayoutRange { KeyBuilder.range(of: prefix) }

    package static func keyspace(_ keyspace: GlobalKeyspace) -> LayoutRange { KeyBuilder.range(of: key(keyspace)) }

    /// The first key of a store. These bytes never change, in any format.
    package static func format() -> [UInt8] { key(.format) }
    package static func header() -> [UInt8] { key(.header) }
    package static func tokenSecret() -> [UInt8] { key(.tokenSecret) }

    package static func database(_ id: DatabaseID) -> [UInt8] {
        key(.databases) {
            TupleWriter.appendString(id.container.text, to: &$0)
            KeyBuilder.append(id.owner.map { RecordName($0.text) }, to: &$0)
            TupleWriter.appendInteger(UInt64(id.scope.rawValue), to: &$0)
        }
    }
    package static var databases: LayoutRange { keyspace(.databases) }
    package static func databases(of container: ContainerName) -> LayoutRange {
        KeyBuilder.range(of: key(.databases) { TupleWriter.appendString(container.text, to: &$0) })
    }
    /// The database of a key of the databases keyspace. Throws `.corruptKey`.
    package static func readDatabaseKey(_ key: Span<UInt8>) throws(LayoutError) -> DatabaseID {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.databases))
        let container = ContainerName(try reader.readText())
        let owner = try reader.readOptionalName()
        guard let number = UInt8(exactly: try reader.readNumber()), let scope = DatabaseScope(rawValue: number)
        else { throw reader.corrupt("No database scope has this number: check or restore the store.") }
        try reader.expectEnd()
        return DatabaseID(container: container, owner: owner.map { UserName($0.text) }, scope: scope)
    }

    package static func purge(_ database: DatabaseNumber, _ zone: ZoneNumber) -> [UInt8] {
        key(.purges, database, zone)
    }
    package static var purges: LayoutRange { keyspace(.purges) }
    package static func purges(in database: DatabaseNumber) -> LayoutRange {
        KeyBuilder.range(of: key(.purges) { TupleWriter.appendInteger(database.rawValue, to: &$0) })
    }
    /// The zone of a key of the purges keyspace. Throws `.corruptKey`.
    package static func readPurgeKey(_ key: Span<UInt8>) throws(LayoutError) -> (DatabaseNumber, ZoneNumber) {
        try readZone(key, .purges)
    }

    package static func release(_ database: DatabaseNumber, _ zone: ZoneNumber) -> [UInt8] {
        key(.releases, database, zone)
    }
    package static var releases: LayoutRange { keyspace(.releases) }
    package static func releases(in database: DatabaseNumber) -> LayoutRange {
        KeyBuilder.range(of: key(.releases) { TupleWriter.appendInteger(database.rawValue, to: &$0) })
    }
    package static func releases(after database: DatabaseNumber, _ zone: ZoneNumber) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.successor(of: release(database, zone)), upper: releases.upper)
    }
    /// The zone of a key of the releases keyspace. Throws `.corruptKey`.
    package static func readReleaseKey(_ key: Span<UInt8>) throws(LayoutError) -> (DatabaseNumber, ZoneNumber) {
        try readZone(key, .releases)
    }

    package static func rebuild(_ database: DatabaseNumber, _ zone: ZoneNumber) -> [UInt8] {
        key(.rebuilds, database, zone)
    }
    package static var rebuilds: LayoutRange { keyspace(.rebuilds) }
    /// The zone of a key of the rebuilds keyspace. Throws `.corruptKey`.
    package static func readRebuildKey(_ key: Span<UInt8>) throws(LayoutError) -> (DatabaseNumber, ZoneNumber) {
        try readZone(key, .rebuilds)
    }

    package static func indexBuild(_ database: DatabaseNumber, _ zone: ZoneNumber) -> [UInt8] {
        key(.indexBuilds, database, zone)
    }
    package static var indexBuilds: LayoutRange { keyspace(.indexBuilds) }
    /// The zone of a key of the index builds keyspace. Throws `.corruptKey`.
    package static func readIndexBuildKey(_ key: Span<UInt8>) throws(LayoutError) -> (DatabaseNumber, ZoneNumber) {
        try readZone(key, .indexBuilds)
    }

    package static func indexReview(_ container: ContainerName, _ type: RecordType) -> [UInt8] {
        key(.indexReviews) {
            TupleWriter.appendString(container.text, to: &$0)
            TupleWriter.appendString(type.text, to: &$0)
        }
    }
    package static func indexing() -> [UInt8] { key(.indexing) }
    package static var indexReviews: LayoutRange { keyspace(.indexReviews) }
    /// The container and the record type of a key of the index reviews keyspace. Throws `.corruptKey`.
    package static func readIndexReviewKey(
        _ key: Span<UInt8>
    ) throws(LayoutError) -> (container: ContainerName, type: RecordType) {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.indexReviews))
        let parts = (ContainerName(try reader.readText()), RecordType(try reader.readText()))
        try reader.expectEnd()
        return parts
    }

    private static func key(
        _ keyspace: GlobalKeyspace, _ database: DatabaseNumber, _ zone: ZoneNumber
    ) -> [UInt8] {
        key(keyspace) {
            TupleWriter.appendInteger(database.rawValue, to: &$0)
            TupleWriter.appendInteger(zone.rawValue, to: &$0)
        }
    }

    private static func readZone(
        _ key: Span<UInt8>, _ keyspace: GlobalKeyspace
    ) throws(LayoutError) -> (DatabaseNumber, ZoneNumber) {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(keyspace))
        let database = DatabaseNumber(try reader.readNumber())
        let zone = ZoneNumber(try reader.readNumber())
        guard database != .outside, zone != .outside else {
            throw reader.corrupt("Neither a database nor a zone has the number 0: check or restore the store.")
        }
        try reader.expectEnd()
        return (database, zone)
    }

    package static func receipt(_ id: [UInt8]) -> [UInt8] {
        key(.receipts) { TupleWriter.appendBytes(id, to: &$0) }
    }
    package static var receipts: LayoutRange { keyspace(.receipts) }

    package static func asset(owner: UserName, digest: [UInt8]) -> [UInt8] {
        key(.assets) {
            TupleWriter.appendString(owner.text, to: &$0)
            TupleWriter.appendBytes(digest, to: &$0)
        }
    }
    package static func assets(of owner: UserName) -> LayoutRange {
        KeyBuilder.range(of: key(.assets) { TupleWriter.appendString(owner.text, to: &$0) })
    }

    package static var assets: LayoutRange { keyspace(.assets) }
    /// The owner and the digest of a key of the assets keyspace. Throws `.corruptKey`.
    package static func readAssetKey(_ key: Span<UInt8>) throws(LayoutError) -> (owner: UserName, digest: [UInt8]) {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.assets))
        let owner = UserName(try reader.readText())
        guard case .bytes(let digest) = try reader.readElement() else {
            throw reader.corrupt("The digest of an asset is missing: check or restore the store.")
        }
        try reader.expectEnd()
        return (owner, digest)
    }

    package static func schema(_ container: ContainerName, _ type: RecordType) -> [UInt8] {
        key(.schema) {
            TupleWriter.appendString(container.text, to: &$0)
            TupleWriter.appendString(type.text, to: &$0)
        }
    }
    package static func schema(of container: ContainerName) -> LayoutRange {
        KeyBuilder.range(of: key(.schema) { TupleWriter.appendString(container.text, to: &$0) })
    }

    package static var schema: LayoutRange { keyspace(.schema) }
    /// The container's roles lie under the record type without a name, which no record has.
    package static func schemaRoles(_ container: ContainerName) -> [UInt8] { schema(container, "") }
    /// The container and the record type of a key of the schema keyspace; the type is nil for the container's roles.
    ///
    /// Throws `.corruptKey`.
    package static func readSchemaKey(
        _ key: Span<UInt8>
    ) throws(LayoutError) -> (container: ContainerName, type: RecordType?) {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.schema))
        let container = ContainerName(try reader.readText())
        let type = try reader.readText()
        try reader.expectEnd()
        return (container, type.isEmpty ? nil : RecordType(type))
    }

    static func key(_ keyspace: GlobalKeyspace, _ write: (inout [UInt8]) -> Void = { _ in }) -> [UInt8] {
        KeyBuilder.key(prefix, tag: keyspace.rawValue, write)
    }
}

// The keys of people: accounts, what leads to them, what they use, and what is left of those who were deleted.

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

// The keys by which shares are found from outside their zones: by a URL, and by who has accepted them.
//
// Invariant: no key holds a secret. A URL's entry lies under the SHA-256 of its secret, so whoever reads keys learns none.

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

// The keys of subscriptions, of the devices that get notifications, of what waits for them, and of what commits have left
// behind to be told.

/// The parts of a key of the subscriptions keyspace.
package struct SubscriptionKeyParts: Hashable, Sendable {
    package var container: ContainerName
    package var user: UserName
    /// Which of the user's databases: 1 public, 2 private, 3 shared.
    package var database: UInt8
    package var id: String

    package init(container: ContainerName, user: UserName, database: UInt8, id: String) {
        self.container = container
        self.user = user
        self.database = database
        self.id = id
    }

    // By bytes, as all names are compared.
    package static func == (left: Self, right: Self) -> Bool {
        left.container == right.container && left.user == right.user && left.database == right.database
            && RecordName(left.id) == RecordName(right.id)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(container)
        hasher.combine(user)
        hasher.combine(database)
        hasher.combine(RecordName(id))
    }
}

/// The parts of a key of the notifications keyspace.
package struct NotificationKeyParts: Hashable, Sendable {
    package var account: AccountID
    package var device: String
    package var order: UInt64
}

/// The parts of a key of the outbox.
package struct OutboxKeyParts: Hashable, Sendable {
    package var database: DatabaseNumber
    /// The database's change counter after the commit.
    package var counter: UInt64
    /// What one commit leaves behind is numbered from 0.
    package var index: UInt64
}

extension GlobalKeys {
    package static func subscription(_ parts: SubscriptionKeyParts) -> [UInt8] {
        key(.subscriptions) {
            TupleWriter.appendString(parts.container.text, to: &$0)
            TupleWriter.appendString(parts.user.text, to: &$0)
            TupleWriter.appendInteger(UInt64(parts.database), to: &$0)
            TupleWriter.appendString(parts.id, to: &$0)
        }
    }
    package static var subscriptions: LayoutRange { keyspace(.subscriptions) }
    package static func subscriptions(in container: ContainerName) -> LayoutRange {
        KeyBuilder.range(of: key(.subscriptions) { TupleWriter.appendString(container.text, to: &$0) })
    }
    package static func subscriptions(of user: UserName, in container: ContainerName) -> LayoutRange {
        KeyBuilder.range(
            of: key(.subscriptions) {
                TupleWriter.appendString(container.text, to: &$0)
                TupleWriter.appendString(user.text, to: &$0)
            })
    }
    package static func subscriptions(
        of user: UserName, in container: ContainerName, database: UInt8
    ) -> LayoutRange {
        KeyBuilder.range(
            of: key(.subscriptions) {
                TupleWriter.appendString(container.text, to: &$0)
                TupleWriter.appendString(user.text, to: &$0)
                TupleWriter.appendInteger(UInt64(database), to: &$0)
            })
    }
    /// What somebody has subscribed to in several of their databases, which lie side by side.
    package static func subscriptions(
        of user: UserName, in container: ContainerName, from first: UInt8, through last: UInt8
    ) -> LayoutRange {
        LayoutRange(
            lower: subscriptions(of: user, in: container, database: first).lower,
            upper: subscriptions(of: user, in: container, database: last).upper)
    }
    /// The parts of a key of the subscriptions keyspace. Throws `.corruptKey`.
    package static func readSubscriptionKey(_ key: Span<UInt8>) throws(LayoutError) -> SubscriptionKeyParts {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.subscriptions))
        let container = ContainerName(try reader.readText())
        let user = UserName(try reader.readText())
        guard let database = UInt8(exactly: try reader.readNumber()), (1...3).contains(database) else {
            throw reader.corrupt("No database of a user has this number: check or restore the store.")
        }
        let id = try reader.readText()
        try reader.expectEnd()
        return SubscriptionKeyParts(container: container, user: user, database: database, id: id)
    }

    package static func device(of account: AccountID, _ name: String) -> [UInt8] {
        key(.devices) {
            TupleWriter.appendString(account.text, to: &$0)
            TupleWriter.appendString(name, to: &$0)
        }
    }
    package static var devices: LayoutRange { keyspace(.devices) }
    package static func devices(of account: AccountID) -> LayoutRange {
        KeyBuilder.range(of: key(.devices) { TupleWriter.appendString(account.text, to: &$0) })
    }
    /// The account and the name of a key of the devices keyspace. Throws `.corruptKey`.
    package static func readDeviceKey(
        _ key: Span<UInt8>
    ) throws(LayoutError) -> (account: AccountID, name: String) {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.devices))
        let parts = (AccountID(try reader.readText()), try reader.readText())
        try reader.expectEnd()
        return parts
    }

    package static func notification(for account: AccountID, _ device: String, order: UInt64) -> [UInt8] {
        key(.notifications) {
            TupleWriter.appendString(account.text, to: &$0)
            TupleWriter.appendString(device, to: &$0)
            TupleWriter.appendInteger(order, to: &$0)
        }
    }
    package static var notifications: LayoutRange { keyspace(.notifications) }
    package static func notifications(for account: AccountID) -> LayoutRange {
        KeyBuilder.range(of: key(.notifications) { TupleWriter.appendString(account.text, to: &$0) })
    }
    package static func notifications(for account: AccountID, _ device: String) -> LayoutRange {
        KeyBuilder.range(
            of: key(.notifications) {
                TupleWriter.appendString(account.text, to: &$0)
                TupleWriter.appendString(device, to: &$0)
            })
    }
    /// The parts of a key of the notifications keyspace. Throws `.corruptKey`.
    package static func readNotificationKey(_ key: Span<UInt8>) throws(LayoutError) -> NotificationKeyParts {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.notifications))
        let parts = NotificationKeyParts(
            account: AccountID(try reader.readText()), device: try reader.readText(), order: try reader.readNumber())
        try reader.expectEnd()
        return parts
    }

    package static func outbox(_ database: DatabaseNumber, counter: UInt64, index: UInt64) -> [UInt8] {
        key(.outbox) {
            TupleWriter.appendInteger(database.rawValue, to: &$0)
            TupleWriter.appendInteger(counter, to: &$0)
            TupleWriter.appendInteger(index, to: &$0)
        }
    }
    package static var outbox: LayoutRange { keyspace(.outbox) }
    package static func outbox(after key: [UInt8]) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.successor(of: key), upper: outbox.upper)
    }
    /// The parts of a key of the outbox. Throws `.corruptKey`.
    package static func readOutboxKey(_ key: Span<UInt8>) throws(LayoutError) -> OutboxKeyParts {
        var reader = try KeyReader(key, after: prefix.count + 2, in: .global(.outbox))
        let parts = OutboxKeyParts(
            database: DatabaseNumber(try reader.readNumber()), counter: try reader.readNumber(),
            index: try reader.readNumber())
        guard parts.database != .outside else {
            throw reader.corrupt("No database has the number 0: check or restore the store.")
        }
        try reader.expectEnd()
        return parts
    }
}
