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
