// Where a record that a client holds comes from.

package import StratusModel

/// The database that a record was fetched from or saved to last, and by whom. It may be saved only there.
package struct RecordOrigin: Hashable, Codable, Sendable {
    package var container: ContainerName
    package var database: DatabaseSelector
    /// Nil where nobody was signed in.
    package var account: AccountID?

    package init(container: ContainerName, database: DatabaseSelector, account: AccountID?) {
        self.container = container
        self.database = database
        self.account = account
    }
}
