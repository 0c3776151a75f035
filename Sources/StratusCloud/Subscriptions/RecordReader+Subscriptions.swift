// Which subscriptions there are, in one snapshot or transaction.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension RecordReader {
    /// The containers in which anybody has a subscription, in the byte order of their names: one seek each.
    func subscribedContainers() throws -> [ContainerName] {
        var containers: [ContainerName] = []
        var range = GlobalKeys.subscriptions
        while true {
            var found: ContainerName?
            try store.scan(range.keyRange, .forward, limit: 1) { key, _ in
                found = try GlobalKeys.readSubscriptionKey(key).container
                return .stop
            }
            guard let found else { return containers }
            containers.append(found)
            range.lower = GlobalKeys.subscriptions(in: found).upper
        }
    }

    /// What somebody has subscribed to in one of their databases, in the byte order of the identifiers.
    func subscriptions(
        of user: UserName, in container: ContainerName, _ database: DatabaseSelector
    ) throws -> [(parts: SubscriptionKeyParts, entry: SubscriptionEntry)] {
        let range = GlobalKeys.subscriptions(of: user, in: container, database: database.rawValue)
        var found: [(parts: SubscriptionKeyParts, entry: SubscriptionEntry)] = []
        try store.scan(range.keyRange) { key, value in
            found.append((try GlobalKeys.readSubscriptionKey(key), try SubscriptionEntry(decoding: value)))
            return .next
        }
        return found
    }

    func subscription(_ parts: SubscriptionKeyParts) throws -> SubscriptionEntry? {
        try store.withValue(forKey: GlobalKeys.subscription(parts)) { try SubscriptionEntry(decoding: $0) }
    }
}

extension RecordReader {
    /// Whether anything is in the outbox behind a key. One seek.
    func hasOutbox(after position: [UInt8]?) throws -> Bool {
        let range = position.map { GlobalKeys.outbox(after: $0) } ?? GlobalKeys.outbox
        var isThere = false
        try store.scan(range.keyRange, .forward, limit: 1) { _, _ in
            isThere = true
            return .stop
        }
        return isThere
    }
}
