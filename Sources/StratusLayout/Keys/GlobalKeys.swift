// The keys outside every database: (0, 0, tag, …). They find databases, people, shares, devices and pending work.
//
// Every `read…Key` throws `.corruption` for a key that its sister does not build. No key holds a secret: the entry of a
// share's URL is stored under the SHA-256 of the URL's secret.

package import FoundationEssentials
package import StratusModel
package import StratusStore

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

/// The parts of a key of the subscriptions keyspace.
package struct SubscriptionKeyParts: Hashable, Sendable {
    package var container: ContainerName
    package var user: UserName
    /// Which of the user's databases: 1 public, 2 private, 3 shared.
    package var database: UInt8
    /// The identifier, which is compared by its bytes, as all names are.
    private let name: RecordName
    package var id: String { name.text }

    package init(container: ContainerName, user: UserName, database: UInt8, id: String) {
        self.container = container
        self.user = user
        self.database = database
        name = RecordName(id)
    }
}

/// One upload of a content, and the parts of a key of the collecting keyspace.
package struct ContentKeyParts: Hashable, Sendable {
    package var owner: UserName
    package var digest: [UInt8]
    /// Tells uploads of the same content apart.
    package var upload: UUID

    package init(owner: UserName, digest: [UInt8], upload: UUID) {
        self.owner = owner
        self.digest = digest
        self.upload = upload
    }
}

/// Builds and reads the keys outside every database.
package enum GlobalKeys {
    private static let prefix = KeyBuilder.prefix(.outside, .outside)

    /// Every key outside every database.
    package static var all: KeyRange { KeyBuilder.range(of: prefix) }

    package static func keyspace(_ keyspace: GlobalKeyspace) -> KeyRange { range(keyspace) }

    private static func key<each Part: KeyElement>(_ keyspace: GlobalKeyspace, _ parts: repeat each Part) -> [UInt8] {
        KeyBuilder.key(prefix, tag: keyspace.rawValue, repeat each parts)
    }

    /// All keys of a keyspace that begin with these parts.
    private static func range<each Part: KeyElement>(_ keyspace: GlobalKeyspace, _ parts: repeat each Part) -> KeyRange
    {
        KeyBuilder.range(of: key(keyspace, repeat each parts))
    }

    /// What `make` builds from the parts of a key.
    private static func read<each Part: KeyElement, Parts>(
        _ key: Span<UInt8>, _ keyspace: GlobalKeyspace, _ make: (repeat each Part) -> Parts
    ) throws(StoreError) -> Parts {
        var reader = try KeyReader(key, after: prefix.count + 2, in: keyspace)
        return try reader.finish(make)
    }
}

// MARK: The store and its databases

extension GlobalKeys {
    /// The first key of a store. These bytes never change, in any format.
    package static func format() -> [UInt8] { key(.format) }
    package static func header() -> [UInt8] { key(.header) }
    package static func tokenSecret() -> [UInt8] { key(.tokenSecret) }
    package static func indexing() -> [UInt8] { key(.indexing) }
    package static func timeline() -> [UInt8] { key(.timeline) }
    package static func receipt(_ id: [UInt8]) -> [UInt8] { key(.receipts, id) }

    package static func database(_ id: DatabaseID) -> [UInt8] { key(.databases, id.container, id.owner, id.scope) }
    package static func databases(of container: ContainerName) -> KeyRange { range(.databases, container) }
    package static func readDatabaseKey(_ key: Span<UInt8>) throws(StoreError) -> DatabaseID {
        try read(key, .databases, DatabaseID.init)
    }

    /// The key of a zone in the purges, releases, rebuilds or index builds keyspace.
    package static func zone(_ database: DatabaseNumber, _ zone: ZoneNumber, in list: GlobalKeyspace) -> [UInt8] {
        key(list, database, zone)
    }
    package static func zones(of database: DatabaseNumber, in list: GlobalKeyspace) -> KeyRange {
        range(list, database)
    }
    package static func readZoneKey(
        _ key: Span<UInt8>, in list: GlobalKeyspace
    ) throws(StoreError) -> (database: DatabaseNumber, zone: ZoneNumber) {
        try read(key, list) { ($0, $1) }
    }
    package static func releases(after database: DatabaseNumber, _ zone: ZoneNumber) -> KeyRange {
        keyspace(.releases).after(self.zone(database, zone, in: .releases))
    }

    package static func indexReview(_ container: ContainerName, _ type: RecordType) -> [UInt8] {
        key(.indexReviews, container, type)
    }
    package static func readIndexReviewKey(
        _ key: Span<UInt8>
    ) throws(StoreError) -> (container: ContainerName, type: RecordType) {
        try read(key, .indexReviews) { ($0, $1) }
    }

    package static func schema(_ container: ContainerName, _ type: RecordType) -> [UInt8] {
        key(.schema, container, type)
    }
    package static func schema(of container: ContainerName) -> KeyRange { range(.schema, container) }
    /// The container's roles are stored under the empty record type, which no record has.
    package static func schemaRoles(_ container: ContainerName) -> [UInt8] { schema(container, "") }
    /// The type is nil for the container's roles.
    package static func readSchemaKey(
        _ key: Span<UInt8>
    ) throws(StoreError) -> (container: ContainerName, type: RecordType?) {
        try read(key, .schema) { (container, type: RecordType) in (container, type.text.isEmpty ? nil : type) }
    }
}

// MARK: People and what they use

extension GlobalKeys {
    package static func account(_ id: AccountID) -> [UInt8] { key(.accounts, id) }
    package static func accounts(after id: AccountID) -> KeyRange { keyspace(.accounts).after(account(id)) }
    package static func readAccountKey(_ key: Span<UInt8>) throws(StoreError) -> AccountID {
        try read(key, .accounts) { $0 }
    }

    package static func identity(_ kind: IdentityKind, _ value: String) -> [UInt8] { key(.identities, kind, value) }
    /// The key of a handle in its normalised form.
    package static func identity(_ handle: Handle) -> [UInt8] { identity(handle.kind, handle.text) }

    package static func usage(of owner: UserName) -> [UInt8] { key(.usage, owner) }
    package static func readUsageKey(_ key: Span<UInt8>) throws(StoreError) -> UserName {
        try read(key, .usage) { $0 }
    }

    package static func zoneUsage(of owner: UserName, zone: UUID) -> [UInt8] { key(.zoneUsage, owner, zone) }
    package static func zoneUsages(of owner: UserName) -> KeyRange { range(.zoneUsage, owner) }
    /// The zone is named by its identity.
    package static func readZoneUsageKey(_ key: Span<UInt8>) throws(StoreError) -> (owner: UserName, zone: UUID) {
        try read(key, .zoneUsage) { ($0, $1) }
    }

    package static func asset(owner: UserName, digest: [UInt8]) -> [UInt8] { key(.assets, owner, digest) }
    package static func assets(of owner: UserName) -> KeyRange { range(.assets, owner) }
    package static func assets(after owner: UserName, _ digest: [UInt8]) -> KeyRange {
        keyspace(.assets).after(asset(owner: owner, digest: digest))
    }
    package static func readAssetKey(_ key: Span<UInt8>) throws(StoreError) -> (owner: UserName, digest: [UInt8]) {
        try read(key, .assets) { ($0, $1) }
    }

    package static func departure(of owner: UserName) -> [UInt8] { key(.departures, owner) }
    package static func readDepartureKey(_ key: Span<UInt8>) throws(StoreError) -> UserName {
        try read(key, .departures) { $0 }
    }
}

// MARK: Shares

extension GlobalKeys {
    /// The key of a URL by the SHA-256 of its secret's bytes.
    package static func shareURL(_ digest: [UInt8]) -> [UInt8] { key(.shareURLs, digest) }

    package static func acceptance(user: UserName, zone: UUID, share: RecordName) -> [UInt8] {
        key(.acceptances, user, zone, share)
    }
    package static func acceptances(of user: UserName) -> KeyRange { range(.acceptances, user) }
    /// What a user has accepted in one zone.
    package static func acceptances(of user: UserName, zone: UUID) -> KeyRange { range(.acceptances, user, zone) }
    package static func readAcceptanceKey(_ key: Span<UInt8>) throws(StoreError) -> AcceptanceKeyParts {
        try read(key, .acceptances, AcceptanceKeyParts.init)
    }
}

// MARK: Subscriptions and notifications

extension GlobalKeys {
    package static func subscription(_ parts: SubscriptionKeyParts) -> [UInt8] {
        key(.subscriptions, parts.container, parts.user, UInt64(parts.database), parts.id)
    }
    package static func subscriptions(in container: ContainerName) -> KeyRange { range(.subscriptions, container) }
    package static func subscriptions(of user: UserName, in container: ContainerName) -> KeyRange {
        range(.subscriptions, container, user)
    }
    package static func subscriptions(
        of user: UserName, in container: ContainerName, database: UInt8
    ) -> KeyRange {
        range(.subscriptions, container, user, UInt64(database))
    }
    /// A user's subscriptions in several databases with consecutive numbers.
    package static func subscriptions(
        of user: UserName, in container: ContainerName, from first: UInt8, through last: UInt8
    ) -> KeyRange {
        KeyRange(
            from: subscriptions(of: user, in: container, database: first).lower,
            upTo: subscriptions(of: user, in: container, database: last).upper)
    }
    package static func readSubscriptionKey(_ key: Span<UInt8>) throws(StoreError) -> SubscriptionKeyParts {
        var reader = try KeyReader(key, after: prefix.count + 2, in: GlobalKeyspace.subscriptions)
        let container = try ContainerName.read(&reader)
        let user = try UserName.read(&reader)
        guard let database = UInt8(exactly: try reader.readNumber()), (1...3).contains(database) else {
            throw reader.corrupt("No database of a user has this number: check or restore the store.")
        }
        return try reader.finish { SubscriptionKeyParts(container: container, user: user, database: database, id: $0) }
    }

    package static func device(of account: AccountID, _ name: String) -> [UInt8] { key(.devices, account, name) }
    package static func devices(of account: AccountID) -> KeyRange { range(.devices, account) }
    package static func readDeviceKey(
        _ key: Span<UInt8>
    ) throws(StoreError) -> (account: AccountID, name: String) {
        try read(key, .devices) { ($0, $1) }
    }

    package static func notification(for account: AccountID, _ device: String, order: UInt64) -> [UInt8] {
        key(.notifications, account, device, order)
    }
    package static func notifications(for account: AccountID) -> KeyRange { range(.notifications, account) }
    package static func notifications(for account: AccountID, _ device: String) -> KeyRange {
        range(.notifications, account, device)
    }
    package static func readNotificationKey(
        _ key: Span<UInt8>
    ) throws(StoreError) -> (account: AccountID, device: String, order: UInt64) {
        try read(key, .notifications) { ($0, $1, $2) }
    }

    package static func outbox(_ database: DatabaseNumber, counter: UInt64, index: UInt64) -> [UInt8] {
        key(.outbox, database, counter, index)
    }
    package static func outbox(after key: [UInt8]) -> KeyRange { keyspace(.outbox).after(key) }
    /// The counter is the database's change counter after the commit. Entries of one commit are numbered from 0.
    package static func readOutboxKey(
        _ key: Span<UInt8>
    ) throws(StoreError) -> (database: DatabaseNumber, counter: UInt64, index: UInt64) {
        try read(key, .outbox) { ($0, $1, $2) }
    }
}

// MARK: Contents and long-lived operations, where they are in the store

extension GlobalKeys {
    package static func upload(owner: UserName, digest: [UInt8], lease: UUID) -> [UInt8] {
        key(.uploads, owner, digest, lease)
    }
    package static func uploads(of owner: UserName) -> KeyRange { range(.uploads, owner) }
    package static func uploads(of owner: UserName, digest: [UInt8]) -> KeyRange { range(.uploads, owner, digest) }
    package static func uploads(after key: [UInt8]) -> KeyRange { keyspace(.uploads).after(key) }
    package static func readUploadKey(
        _ key: Span<UInt8>
    ) throws(StoreError) -> (owner: UserName, digest: [UInt8], lease: UUID) {
        try read(key, .uploads) { ($0, $1, $2) }
    }

    /// The key of a content that waits to be removed, and the name of its parts.
    package static func content(_ parts: ContentKeyParts) -> [UInt8] {
        key(.collecting, parts.owner, parts.digest, parts.upload)
    }
    package static func contents(of owner: UserName) -> KeyRange { range(.collecting, owner) }
    package static func contents(of owner: UserName, digest: [UInt8]) -> KeyRange {
        range(.collecting, owner, digest)
    }
    package static func contents(after key: [UInt8]) -> KeyRange { keyspace(.collecting).after(key) }
    package static func readContentKey(_ key: Span<UInt8>) throws(StoreError) -> ContentKeyParts {
        try read(key, .collecting, ContentKeyParts.init)
    }

    /// The key of one part of an operation, and the name of one of the files that it uploads.
    package static func operation(_ id: String, _ index: UInt64) -> [UInt8] { key(.operations, id, index) }
    package static func operation(_ id: String) -> KeyRange { range(.operations, id) }
    package static func readOperationKey(_ key: Span<UInt8>) throws(StoreError) -> (id: String, index: UInt64) {
        try read(key, .operations) { ($0, $1) }
    }
}

// MARK: Background work, where several processes write

/// A kind of background work that one process does at a time. The raw values are stored: they never change.
package enum BackgroundWork: UInt64, Hashable, Sendable, CaseIterable {
    /// Passing the events of commits to the queues of devices.
    case deliveries = 1
    /// Filling and clearing indexes for queries.
    case indexes = 2
    /// Releasing and removing deleted zones.
    case purges = 3
    /// Deleting what deleted accounts left.
    case departures = 4
    /// Removing contents of assets that no record holds.
    case assets = 5
    /// Removing expired history.
    case history = 6
}

extension GlobalKeys {
    package static func work(_ work: BackgroundWork) -> [UInt8] { key(.work, work.rawValue) }
    /// The key of the process that runs a long-lived operation.
    package static func run(of id: String) -> [UInt8] { key(.runs, id) }
    package static func host(_ host: UUID) -> [UInt8] { key(.hosts, host) }
    package static func readHostKey(_ key: Span<UInt8>) throws(StoreError) -> UUID { try read(key, .hosts) { $0 } }
}
