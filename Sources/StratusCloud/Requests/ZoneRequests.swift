// Requests for zones, and for the feeds of databases and zones. Tokens are bytes that only the server reads.

/// Saves and deletes zones.
package struct ModifyZonesRequest: Codable, Sendable {
    package var saves: [ClientZone]
    package var deletes: [ZoneAddress]
    /// Whether the answer names the shares that end with the zones. It costs a step for each.
    package var namesEndedShares: Bool

    package init(saves: [ClientZone] = [], deletes: [ZoneAddress] = [], namesEndedShares: Bool = false) {
        self.saves = saves
        self.deletes = deletes
        self.namesEndedShares = namesEndedShares
    }
}

/// An answer for every item, in the order of the request.
package struct ModifyZonesResponse: Codable, Sendable {
    @ItemResults package var saves: [Result<ClientZone, CloudError>]
    @ItemResults package var deletes: [Result<Done, CloudError>]
    /// The shares that ended with the zones, if the request wants them: at most `ZoneChanges.endedShareLimit` of each
    /// zone.
    package var endedShares: [RecordAddress] = []
}

/// Fetches zones: those named, or all of the database.
package enum FetchZonesRequest: Codable, Sendable {
    case named([ZoneAddress])
    case all
}

/// Zones that were found, or why not, each with its address.
package struct FetchZonesResponse: Codable, Sendable {
    package var addresses: [ZoneAddress]
    @ItemResults package var zones: [Result<ClientZone, CloudError>]

    package init(_ found: [(ZoneAddress, Result<ClientZone, CloudError>)]) {
        addresses = found.map(\.0)
        zones = found.map(\.1)
    }
}

/// Fetches the zones of a database that changed since a token.
package struct FetchDatabaseChangesRequest: Codable, Sendable {
    /// Nil to begin at the beginning.
    package var token: [UInt8]?
    /// Zones in one page; 0 lets the server decide (T-14).
    package var limit: Int

    package init(token: [UInt8]? = nil, limit: Int = 0) {
        self.token = token
        self.limit = limit
    }
}

/// Why a zone is gone from a database.
package enum ZoneDeletionReason: UInt8, Hashable, Codable, Sendable, CaseIterable {
    /// The zone was deleted, or none of it is shared with the caller any longer (D-08).
    case deleted = 1
    /// The host purged it (Z-07).
    case purged = 2
    /// Its encrypted data was reset (Z-08).
    case encryptedDataReset = 3
}

/// A zone that is gone.
package struct ZoneDeletion: Hashable, Codable, Sendable {
    package var zone: ZoneAddress
    package var reason: ZoneDeletionReason
}

/// One page of a database's feed.
package struct FetchDatabaseChangesResponse: Codable, Sendable {
    package var changed: [ZoneAddress]
    package var deleted: [ZoneDeletion]
    package var token: [UInt8]
    package var isMoreComing: Bool
}

/// Fetches the records of one zone that changed since a token.
package struct FetchZoneChangesRequest: Codable, Sendable {
    package var zone: ZoneAddress
    /// Nil to begin at the beginning.
    package var token: [UInt8]?
    /// Records and deletions in one page; 0 lets the server decide (T-14).
    package var limit: Int
    /// The fields to return; nil for all of them.
    package var desiredKeys: Set<String>?

    package init(zone: ZoneAddress, token: [UInt8]? = nil, limit: Int = 0, desiredKeys: Set<String>? = nil) {
        self.zone = zone
        self.token = token
        self.limit = limit
        self.desiredKeys = desiredKeys
    }
}

/// A record that is gone, or that the caller no longer sees.
package struct RecordDeletion: Hashable, Codable, Sendable {
    package var address: RecordAddress
    package var type: String
}

/// One page of a zone's feed.
package struct FetchZoneChangesResponse: Codable, Sendable {
    package var changed: [ClientRecord]
    package var deleted: [RecordDeletion]
    package var token: [UInt8]
    /// What the caller itself sent with its last change of the zone, if that change is in the page (T-11).
    package var clientChangeTokenData: [UInt8]?
    package var isMoreComing: Bool
    /// How many records the server read for the page, whether the page has them or not.
    package var lookCount = 0
}
