// Lists of a store's contents, for small stores.

package import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

extension RecordReader {
    /// Every database of the store.
    package func databases() throws -> [(id: DatabaseID, entry: DatabaseEntry)] {
        var databases: [(id: DatabaseID, entry: DatabaseEntry)] = []
        try visitDatabases { id, entry in
            databases.append((id, entry))
            return .next
        }
        return databases
    }
}
