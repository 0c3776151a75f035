// Remembers accounts, so that checking a caller costs no look-up in the store.
//
// The rule is that of the zone directory: an entry carries the version since which it holds, a reader uses it only if
// its snapshot is not older, and fills only where nothing newer has been published. A change enters at publication,
// before any reader can see its version, so an entry that is there is always the newest published state.

package import StratusModel
package import StratusStore

/// Accounts by their identifiers, as published.
package final class AccountCache: Sendable {
    private struct State {
        var entries: [AccountID: (account: Account, validSince: StoreVersion)] = [:]
        var lastPublished: StoreVersion = 0
    }

    /// Beyond this many accounts the cache starts anew.
    private let maximumCount: Int
    private let state = Locked(State())

    package init(maximumCount: Int = 20_000) { self.maximumCount = maximumCount }

    /// The account as a snapshot of this version sees it, when it is known.
    package func account(_ id: AccountID, at version: StoreVersion) -> Account? {
        state.withLock { state in
            guard let found = state.entries[id], found.validSince <= version else { return nil }
            return found.account
        }
    }

    /// The account as it has been published last, when it is known.
    package func newest(_ id: AccountID) -> Account? { state.withLock { $0.entries[id]?.account } }

    /// Remembers what a snapshot of this version has read.
    package func fill(_ account: Account, at version: StoreVersion) {
        state.withLock { state in
            guard state.lastPublished <= version, state.entries[account.id] == nil else { return }
            insert(account, version, &state)
        }
    }

    /// Remembers an account that has been created or changed, or forgets one that was deleted.
    package func publish(_ id: AccountID, _ account: Account?, version: StoreVersion) {
        state.withLock { state in
            state.lastPublished = max(state.lastPublished, version)
            state.entries[id] = nil
            if let account { insert(account, version, &state) }
        }
    }

    private func insert(_ account: Account, _ version: StoreVersion, _ state: inout State) {
        if state.entries.count >= maximumCount { state.entries.removeAll() }
        state.entries[account.id] = (account, version)
    }
}
