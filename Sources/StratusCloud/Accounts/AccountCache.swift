// Accounts in memory, so that checking a caller costs no look-up in the store.

package import StratusModel
package import StratusStore

/// Remembers accounts by their identifiers.
package typealias AccountCache = PublishedCache<AccountID, Account>
