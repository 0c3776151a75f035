// The subscriptions of containers in memory, so that a commit about which nobody cares costs no read and leaves nothing.
//
// A container is loaded whole when it is first asked for, and told of every change in the instant in which it is published.
// What is asked in a transaction may therefore lack a subscription that is being saved at the same time: it counts for the
// commits that begin after its save was answered. One too many costs an entry that nobody is told of, for whoever delivers
// asks the store again.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// Finds who may care for a commit.
package final class SubscriptionDirectory: Sendable {
    private struct State {
        var containers: [ContainerName: ContainerSubscriptions] = [:]
        var lastPublished: StoreVersion = 0
    }

    private let state = Locked(State())

    package init() {}

    /// Who may care for what happens in a zone; nil where nobody does. To be asked before the transaction changes any
    /// subscription: what is loaded stays, and the transaction may yet fail.
    func interest(in zone: ZoneID, _ reader: RecordReader) throws -> ZoneInterest? {
        try subscriptions(in: zone.database.container, reader).interest(in: zone)
    }

    private func subscriptions(
        in container: ContainerName, _ reader: RecordReader
    ) throws -> ContainerSubscriptions {
        if let known = state.withLock({ $0.containers[container] }) { return known }
        let version = reader.store.version
        var found = ContainerSubscriptions()
        try reader.store.scan(GlobalKeys.subscriptions(in: container).keyRange) { key, value in
            let parts = try GlobalKeys.readSubscriptionKey(key)
            found.set(parts, to: try KnownSubscription(parts, SubscriptionEntry(decoding: value)))
            return .next
        }
        let loaded = found
        state.withLock { state in
            // What was published since is not in it.
            if state.lastPublished <= version, state.containers[container] == nil {
                state.containers[container] = loaded
            }
        }
        return found
    }

    /// Takes over changes in the instant in which the transaction becomes visible.
    func note(_ changes: [(parts: SubscriptionKeyParts, new: KnownSubscription?)], in transaction: RecordTransaction) {
        guard !changes.isEmpty else { return }
        transaction.onPublish { [self] version in
            state.withLock { state in
                state.lastPublished = max(state.lastPublished, version)
                for change in changes { state.containers[change.parts.container]?.set(change.parts, to: change.new) }
            }
        }
    }
}
