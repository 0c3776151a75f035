// The keys of subscriptions, of the devices that get notifications, of what waits for them, and of what commits have left
// behind to be told.

package import StratusModel

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
