// The server's switches and limits, with the defaults of the real one.

package import FoundationEssentials
package import StratusModel

/// Whether record types and fields are learnt from what is saved, or must be known (S-13).
package enum SchemaMode: UInt8, Hashable, Sendable, CaseIterable {
    case development = 1
    case production = 2
}

/// How a host wants its server to behave.
package struct CloudOptions: Hashable, Sendable {
    package var schemaMode = SchemaMode.development
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
    /// How long a copy of an asset stays when no object of a client's stands for it any more; nil until the store is
    /// opened next.
    package var assetCopySeconds: Double? = 3_600
    /// Bytes an account's private databases may hold where its own quota is nil; nil for no limit (S-16).
    package var quotaByteCount: Int64?
    /// Bytes the public database of each container may hold, assets counted; nil for no limit (S-16).
    package var publicQuotaByteCount: Int64?
    /// Whether deleting a record that does not exist fails with `unknownItem`.
    package var unknownRecordDeletionFails = false
    /// Whether the single-item call that deletes a zone that does not exist succeeds.
    package var unknownZoneDeletionSucceeds = false
    /// Whether records can be shared (P-19).
    package var isSharingEnabled = true
    /// Containers whose records cannot, also where others can (P-19).
    package var containersWithoutSharing: Set<ContainerName> = []
    /// Participants of one share, its owner not counted (L-12, X-10).
    package var participantCount = 100
    /// How often one person may have left shares of a zone, as far as it remembers, and still join a public one.
    package var returnCount = 100
    /// What happened to shares that upkeep leaves of a zone's trail: the newest events.
    package var shareEventCount = 10_000
    /// What the URLs of shares begin with. Nothing answers there unless the host makes it.
    package var shareURLBase = "https://stratus.invalid/share/"
    /// Records and deletions in one page of a zone's feed, or zones in one of a database's, where the client leaves it to
    /// the server (L-14).
    package var feedPageCount = 200
    /// The most that a client gets in one page, however many it asks for (L-14).
    package var feedPageLimit = 1_000
    /// Bytes of the records in one page of a zone's feed, assets not counted; the record that goes over it is in the page.
    package var feedPageByteCount = 2 << 20
    /// Records that are looked at for one page of a zone's feed, whether there is something to tell of them or not.
    package var feedLookCount = 10_000
    /// Bytes that a client may send with a change to recognise it by (T-11).
    package var clientChangeTokenByteCount = 64 << 10
    /// Results in one page of a query, where the client leaves it to the server (L-14).
    package var queryPageCount = 200
    /// The most that a client gets in one page of a query, however many it asks for (L-14).
    package var queryPageLimit = 400
    /// Records that are looked at for one page of a query, where it can end anywhere.
    package var queryLookCount = 50_000
    /// Records that are looked at for one page of a query whose order no index gives: all that filters leave must be, before
    /// the first result is known. A query of more is refused.
    package var querySortCount = 200_000
    /// Metres in one unit of the radius of a query for places.
    package var queryDistanceUnitMetres = 1.0
    /// Subscriptions of one person in one database.
    package var subscriptionCount = 200
    /// Whether a subscription fails that equals one under another identifier (N-07).
    package var duplicateSubscriptionFails = false
    /// Bytes of one subscription as it is stored.
    package var subscriptionByteCount = 32 << 10
    /// Bytes of what is kept in memory of private and shared databases' subscriptions, so that commits need not read it.
    package var keptSubscriptionByteCount = 16 << 20
    /// Devices of one person that get notifications.
    package var deviceCount = 20
    /// Notifications that wait for one device; the oldest are dropped.
    package var waitingNotificationCount = 100
    /// Bytes of one notification as it is stored: what is over it is pruned (N-06).
    package var notificationByteCount = 4_096
    /// Whether saving a child gives its parent a new change tag (S-10).
    package var childSaveTouchesParent = false

    package init() {}

    /// Whether the records of a container can be shared.
    func isSharingEnabled(in container: ContainerName) -> Bool {
        isSharingEnabled && !containersWithoutSharing.contains(container)
    }
}

// Time and identifiers come from outside, so that a test can move them by hand and draw them from a seed.

/// The two clocks of a store.
package protocol CloudClock: Sendable {
    /// The wall clock: what records are stamped with.
    var now: Date { get }
    /// A clock that never goes back, in seconds from any beginning: time-outs, retries, purges.
    var uptimeSeconds: Double { get }
}

/// Where a store's identities and salts come from. Drawn before a transaction, never in its body.
package protocol IdentifierSource: Sendable {
    func makeUUID() -> UUID
    func makeSalt() -> UInt32
    /// Bytes that nobody can guess: keys and secret URLs.
    func makeSecret(byteCount: Int) -> [UInt8]
}

// What a host can watch: one event for every request, with what it cost, and one for every content of an asset that could
// not be handed out, with its file.

/// A request that has been answered.
package struct CloudEvent: Sendable {
    package var kind: RequestKind
    package var caller: Caller
    package var itemCount: Int
    package var failedItemCount: Int
    /// Items refused because the server's record was newer.
    package var conflictCount: Int
    package var commitCount: Int
    package var durationSeconds: Double
    /// The error of the request as a whole.
    package var error: CloudError?

    package init(
        kind: RequestKind, caller: Caller, itemCount: Int = 0, failedItemCount: Int = 0, conflictCount: Int = 0,
        commitCount: Int = 0, durationSeconds: Double = 0, error: CloudError? = nil
    ) {
        self.kind = kind
        self.caller = caller
        self.itemCount = itemCount
        self.failedItemCount = failedItemCount
        self.conflictCount = conflictCount
        self.commitCount = commitCount
        self.durationSeconds = durationSeconds
        self.error = error
    }
}

// Where errors can be planned: a host's tests make any record, zone, operation or account fail with any error.

/// The kinds of requests that a host is told of, and a fault can be planned for. The raw values are what the host API calls them.
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
    /// Handing notifications on: nobody's request, for which no fault is planned. The host is told where it fails.
    case deliverNotifications
    /// Opening the store; not a client's request. Sent if the store was opened with a notice.
    case openStore
    /// Recovery after a failed write; not a client's request. Sent when the store stops taking writes, when it takes them again,
    /// and with the reason when opening it again fails.
    case recoverStore
    /// A field that no record has had, in a query or a subscription; not a client's request. Sent once a type and field.
    case queryUnknownField
}

/// A moment of a request at which a planned error may come up.
package enum FaultPoint: Hashable, Sendable {
    /// The request as a whole, before any work.
    case request(RequestKind, Caller)
    /// One zone of a request, before its work.
    case zone(ZoneAddress, Caller, RequestKind)
    /// One record of a request, before its work. In an atomic zone its failure fails the zone.
    case record(RecordAddress, Caller, RequestKind)
    /// After the commit: the answer gets lost on its way (S-21).
    case response(RequestKind, Caller)
}

/// Plans errors. Asked once for every moment, in order, outside transactions.
package protocol FaultSource: Sendable {
    func error(at point: FaultPoint) -> CloudError?
}
