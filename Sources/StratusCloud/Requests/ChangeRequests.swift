// What a client can ask of the change feeds, and what it is answered. Tokens are bytes that only the server reads.

/// The zones of a database that changed since a token.
package struct FetchDatabaseChangesRequest: Sendable {
    /// Nil to begin anew.
    package var token: [UInt8]?
    /// Zones in one page; 0 lets the server decide (T-14).
    package var limit: Int

    package init(token: [UInt8]? = nil, limit: Int = 0) {
        self.token = token
        self.limit = limit
    }
}

/// Why a zone is gone from a database.
package enum ZoneDeletionReason: UInt8, Hashable, Sendable, CaseIterable {
    /// Somebody deleted the zone, or nothing of it is shared with the caller any more (D-08).
    case deleted = 1
    /// The host purged it (Z-07).
    case purged = 2
    /// Its encrypted data was reset (Z-08).
    case encryptedDataReset = 3
}

/// A zone that is gone.
package struct ZoneDeletion: Hashable, Sendable {
    package var zone: ZoneAddress
    package var reason: ZoneDeletionReason

    package init(zone: ZoneAddress, reason: ZoneDeletionReason) {
        self.zone = zone
        self.reason = reason
    }
}

/// One page of a database's feed.
package struct FetchDatabaseChangesResponse: Sendable {
    package var changed: [ZoneAddress]
    package var deleted: [ZoneDeletion]
    package var token: [UInt8]
    package var isMoreComing: Bool

    package init(changed: [ZoneAddress], deleted: [ZoneDeletion], token: [UInt8], isMoreComing: Bool) {
        self.changed = changed
        self.deleted = deleted
        self.token = token
        self.isMoreComing = isMoreComing
    }
}

/// The records of one zone that changed since a token.
package struct FetchZoneChangesRequest: Sendable {
    package var zone: ZoneAddress
    /// Nil to begin anew.
    package var token: [UInt8]?
    /// Records and deletions in one page; 0 lets the server decide (T-14).
    package var limit: Int
    /// The fields to hand out; nil for all of them.
    package var desiredKeys: Set<String>?

    package init(zone: ZoneAddress, token: [UInt8]? = nil, limit: Int = 0, desiredKeys: Set<String>? = nil) {
        self.zone = zone
        self.token = token
        self.limit = limit
        self.desiredKeys = desiredKeys
    }
}

/// A record that is gone, or that the caller sees no more.
package struct RecordDeletion: Hashable, Sendable {
    package var address: RecordAddress
    package var type: String

    package init(address: RecordAddress, type: String) {
        self.address = address
        self.type = type
    }
}

/// One page of a zone's feed.
package struct FetchZoneChangesResponse: Sendable {
    package var changed: [ClientRecord]
    package var deleted: [RecordDeletion]
    package var token: [UInt8]
    /// What the caller itself sent with its last change of the zone, if that is in what was told (T-11).
    package var clientChangeTokenData: [UInt8]?
    package var isMoreComing: Bool
    /// Records that were looked at for the page, told or not.
    package var lookCount: Int

    package init(
        changed: [ClientRecord], deleted: [RecordDeletion], token: [UInt8], clientChangeTokenData: [UInt8]? = nil,
        isMoreComing: Bool, lookCount: Int = 0
    ) {
        self.changed = changed
        self.deleted = deleted
        self.token = token
        self.clientChangeTokenData = clientChangeTokenData
        self.isMoreComing = isMoreComing
        self.lookCount = lookCount
    }
}
