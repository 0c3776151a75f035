// The server's switches and limits, with the defaults of the real one.

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
