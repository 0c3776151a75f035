// What a client can ask of subscriptions and what its devices can ask of notifications, and what they are answered.

/// Subscriptions to save and to delete.
package struct ModifySubscriptionsRequest: Sendable {
    package var saves: [ClientSubscription]
    /// Their identifiers.
    package var deletes: [String]

    package init(saves: [ClientSubscription] = [], deletes: [String] = []) {
        self.saves = saves
        self.deletes = deletes
    }
}

/// An answer for every item, in the order of the request.
package struct ModifySubscriptionsResponse: Sendable {
    package var saves: [Result<ClientSubscription, CloudError>]
    package var deletes: [Result<Void, CloudError>]

    package init(saves: [Result<ClientSubscription, CloudError>], deletes: [Result<Void, CloudError>]) {
        self.saves = saves
        self.deletes = deletes
    }
}

/// Subscriptions to fetch: those named, or all that the caller has in the database.
package enum FetchSubscriptionsRequest: Sendable {
    case named([String])
    case all
}

/// What waits for the caller's device.
package struct FetchNotificationChangesRequest: Sendable {
    /// Nil to begin anew.
    package var token: [UInt8]?
    /// Notifications in one page; 0 lets the server decide (T-14).
    package var limit: Int

    package init(token: [UInt8]? = nil, limit: Int = 0) {
        self.token = token
        self.limit = limit
    }
}

/// One page of what waits for a device, the oldest first.
package struct FetchNotificationChangesResponse: Sendable {
    package var notifications: [ClientNotification]
    package var token: [UInt8]
    package var isMoreComing: Bool

    package init(notifications: [ClientNotification], token: [UInt8], isMoreComing: Bool) {
        self.notifications = notifications
        self.token = token
        self.isMoreComing = isMoreComing
    }
}
