// Requests for queries, for subscriptions, and for the notifications that subscriptions leave for devices.

package import StratusRecords

/// Fetches one page of a query's results.
package struct QueryRequest: Codable, Sendable {
    package enum Start: Codable, Sendable {
        /// The first page. Without a zone, the query covers all zones of the database.
        case query(ClientQuery, zone: ZoneAddress?)
        /// The page after the one that returned this cursor. It holds query, zone and position.
        case cursor([UInt8])
    }

    package var start: Start
    /// Results in one page; 0 lets the server decide (L-14).
    package var limit: Int
    /// The fields to return; nil for all of them.
    package var desiredKeys: Set<String>?

    package init(_ start: Start, limit: Int = 0, desiredKeys: Set<String>? = nil) {
        self.start = start
        self.limit = limit
        self.desiredKeys = desiredKeys
    }
}

/// One result of a query.
package enum QueryResult: Codable, Sendable {
    case record(ClientRecord)
    /// A record that was found and cannot be returned.
    indirect case failure(RecordAddress, CloudError)

    package var address: RecordAddress {
        switch self {
        case .record(let record): record.address
        case .failure(let address, _): address
        }
    }

    package func get() throws(CloudError) -> ClientRecord {
        switch self {
        case .record(let record): return record
        case .failure(_, let error): throw error
        }
    }
}

/// One page of results, in order.
package struct QueryResponse: Codable, Sendable {
    package var records: [QueryResult]
    /// Nil at the end.
    package var cursor: [UInt8]?
    /// What the server did for this page alone.
    package var work: QueryWork
}

/// Saves and deletes subscriptions.
package struct ModifySubscriptionsRequest: Codable, Sendable {
    package var saves: [ClientSubscription]
    /// Their identifiers.
    package var deletes: [String]

    package init(saves: [ClientSubscription] = [], deletes: [String] = []) {
        self.saves = saves
        self.deletes = deletes
    }
}

/// An answer for every item, in the order of the request.
package struct ModifySubscriptionsResponse: Codable, Sendable {
    @ItemResults package var saves: [Result<ClientSubscription, CloudError>]
    @ItemResults package var deletes: [Result<Done, CloudError>]

    package init(saves: [Result<ClientSubscription, CloudError>], deletes: [Result<Done, CloudError>]) {
        self.saves = saves
        self.deletes = deletes
    }
}

/// Fetches subscriptions: those named, or all that the caller has in the database.
package enum FetchSubscriptionsRequest: Codable, Sendable {
    case named([String])
    case all
}

/// Subscriptions that were found, or why not, each with its identifier.
package struct FetchSubscriptionsResponse: Codable, Sendable {
    package var ids: [String]
    @ItemResults package var subscriptions: [Result<ClientSubscription, CloudError>]

    package init(_ found: [(String, Result<ClientSubscription, CloudError>)]) {
        ids = found.map(\.0)
        subscriptions = found.map(\.1)
    }
}

/// Fetches one page of the notifications that wait for the caller's device.
package struct FetchNotificationChangesRequest: Codable, Sendable {
    /// Nil to begin at the beginning.
    package var token: [UInt8]?
    /// Notifications in one page; 0 lets the server decide (T-14).
    package var limit: Int

    package init(token: [UInt8]? = nil, limit: Int = 0) {
        self.token = token
        self.limit = limit
    }
}

/// One page of the notifications that wait for a device, the oldest first.
package struct FetchNotificationChangesResponse: Codable, Sendable {
    package var notifications: [ClientNotification]
    package var token: [UInt8]
    package var isMoreComing: Bool
}
