// What a host gives its server: switches and limits, with the defaults of the real service; clocks and identifiers,
// which a test can set by hand or draw from a seed; planned faults; and the events that it gets back.

package import FoundationEssentials
package import StratusModel

/// Whether the schema grows with what clients save, or is fixed (S-13).
package enum SchemaEnvironment: UInt8, Hashable, Sendable, CaseIterable {
    case development = 1
    case production = 2
}

/// The server's switches and limits.
package struct CloudOptions: Hashable, Sendable {
    package var schemaMode = SchemaEnvironment.development
    /// Records saved and deleted, or fetched, in one request (L-01).
    package var requestItemCount = 400
    /// Bytes of one request, assets not counted (L-01).
    package var requestByteCount = 2 << 20
    /// Bytes of one record, assets not counted (L-03).
    package var recordByteCount = 1 << 20
    /// Records that may point at one record with `deleteSelf` (L-05).
    package var owningReferenceCount = 750
    /// Zones of one database (L-06).
    package var zoneCount = 1_000
    /// Bytes of one asset; nil for no limit (L-04).
    package var assetByteCount: Int64?
    /// How long a copy of an asset stays when no object of a client refers to it any longer; nil until the store is
    /// next opened.
    package var assetCopySeconds: Double? = 3_600
    /// Bytes that an account's private databases may hold if its own quota is nil; nil for no limit (S-16).
    package var quotaByteCount: Int64?
    /// Bytes that the public database of each container may hold, assets included; nil for no limit (S-16).
    package var publicQuotaByteCount: Int64?
    /// Whether deleting a record that does not exist fails with `unknownItem`.
    package var unknownRecordDeletionFails = false
    /// Whether the single-item call that deletes a zone that does not exist succeeds.
    package var unknownZoneDeletionSucceeds = false
    /// Whether records can be shared (P-19).
    package var isSharingEnabled = true
    /// Containers whose records cannot be shared, even if others can (P-19).
    package var containersWithoutSharing: Set<ContainerName> = []
    /// Participants of one share, its owner not counted (L-12, X-10).
    package var participantCount = 100
    /// How many times a person may have left shares of a zone, as far as the zone remembers, and still join a public
    /// share.
    package var returnCount = 100
    /// How many of the newest events upkeep keeps of a zone's share trail.
    package var shareEventCount = 10_000
    /// The beginning of the URLs of shares. No server answers there unless the host provides one.
    package var shareURLBase = "https://stratus.invalid/share/"
    /// Records and deletions in one page of a zone's feed, or zones in one page of a database's feed, if the client
    /// sets no limit (L-14).
    package var feedPageCount = 200
    /// The maximum of one page, even if the client requests more (L-14).
    package var feedPageLimit = 1_000
    /// Bytes of the records in one page of a zone's feed, assets not counted. The record that exceeds it is in the
    /// page.
    package var feedPageByteCount = 2 << 20
    /// Records that are read for one page of a zone's feed, whether or not they are in the page.
    package var feedLookCount = 10_000
    /// Bytes of the token that a client may send with a change to recognise it (T-11).
    package var clientChangeTokenByteCount = 64 << 10
    /// Results in one page of a query, if the client sets no limit (L-14).
    package var queryPageCount = 200
    /// The maximum of one page of a query, even if the client requests more (L-14).
    package var queryPageLimit = 400
    /// Records that are read for one page of a query that can end at any record.
    package var queryLookCount = 50_000
    /// Records that are read for one page of a query whose order no index provides: it must read all that match the
    /// filters before the first result is known. A query that needs more is refused.
    package var querySortCount = 200_000
    /// Metres in one unit of the radius of a query for places.
    package var queryDistanceUnitMetres = 1.0
    /// Subscriptions of one person in one database.
    package var subscriptionCount = 200
    /// Whether saving a subscription fails if it equals one with another identifier (N-07).
    package var duplicateSubscriptionFails = false
    /// Bytes of one subscription as it is stored.
    package var subscriptionByteCount = 32 << 10
    /// Bytes of private and shared databases' subscriptions kept in memory, so that commits need not read them.
    package var keptSubscriptionByteCount = 16 << 20
    /// Devices of one person that get notifications.
    package var deviceCount = 20
    /// Notifications that wait for one device; the oldest are dropped.
    package var waitingNotificationCount = 100
    /// Bytes of one stored notification; a larger one is pruned (N-06).
    package var notificationByteCount = 4_096
    /// Whether saving a child gives its parent a new change tag (S-10).
    package var childSaveTouchesParent = false

    package init() {}

    /// Whether the records of a container can be shared.
    func isSharingEnabled(in container: ContainerName) -> Bool {
        isSharingEnabled && !containersWithoutSharing.contains(container)
    }

    /// The size of a page of a feed for a client's count; with 0 the server decides (L-14).
    func pageCount(asked: Int) -> Int { max(1, min(asked > 0 ? asked : feedPageCount, feedPageLimit)) }
}

/// The two clocks of a store.
package protocol CloudClock: Sendable {
    /// The wall clock, for the dates of records.
    var now: Date { get }
    /// A clock that never goes back, in seconds from any start: for time-outs, retries and purges.
    var uptimeSeconds: Double { get }
}

/// The source of a store's identities and salts. Draw them before a transaction, never in its body.
package protocol IdentifierSource: Sendable {
    func makeUUID() -> UUID
    func makeSalt() -> UInt32
    /// Bytes that cannot be guessed, for keys and secret URLs.
    func makeSecret(byteCount: Int) -> [UInt8]
}

/// A request that was answered, with its cost; or the content of an asset that could not be returned, with its file.
package struct CloudEvent: Sendable {
    package var kind: RequestKind
    package var caller: Caller
    package var itemCount: Int
    package var failedItemCount = 0
    /// Items refused because the server has a newer record.
    package var conflictCount = 0
    package var commitCount = 0
    package var durationSeconds = 0.0
    /// The error of the request as a whole.
    package var error: CloudError?

    package init(kind: RequestKind, caller: Caller, itemCount: Int = 0, error: CloudError? = nil) {
        self.kind = kind
        self.caller = caller
        self.itemCount = itemCount
        self.error = error
    }
}

/// The kinds of requests for which a host gets events and can plan faults. The raw values are their names in the host
/// API.
package enum RequestKind: String, Hashable, Sendable, CaseIterable {
    case modifyRecords
    case fetchRecords
    case fetchAssets
    case modifyZones
    case fetchZones
    case fetchDatabaseChanges
    case fetchZoneChanges
    case query
    case modifySubscriptions
    case fetchSubscriptions
    case fetchNotificationChanges
    case markNotificationsRead
    case modifyBadge
    case fetchWebAuthToken
    case accountStatus
    case userRecord
    case discoverUsers
    case shareParticipants
    case shareMetadata
    case acceptShares
    case requestShareAccess
    /// Delivery of notifications; not a client's request, and no fault can be planned for it. Sent if it fails.
    case deliverNotifications
    /// Opening the store; not a client's request. Sent if the store was opened with a notice.
    case openStore
    /// Recovery after a failed write; not a client's request. Sent when the store stops accepting writes, when it
    /// accepts them again, and with the reason if reopening fails.
    case recoverStore
    /// A query or subscription with a field that no record has had; not a client's request. Sent once per type and
    /// field.
    case queryUnknownField
}

/// A point of a request at which a planned error may occur.
package enum FaultPoint: Hashable, Sendable {
    /// The whole request, before any work.
    case request(RequestKind, Caller)
    /// One zone of a request, before its work.
    case zone(ZoneAddress, Caller, RequestKind)
    /// One record of a request, before its work. In an atomic zone its failure fails the zone.
    case record(RecordAddress, Caller, RequestKind)
    /// After the commit: the answer is lost (S-21).
    case response(RequestKind, Caller)
}

/// Plans errors: a host's tests make any record, zone, operation or account fail with any error. Called at most
/// once for every point, in order, outside transactions.
package protocol FaultSource: Sendable {
    /// False if no point has an error: then a request need not call `error` for each of its records.
    var isPlanned: Bool { get }
    func error(at point: FaultPoint) -> CloudError?
}

extension FaultSource {
    package var isPlanned: Bool { true }
}
