// The base of the operations that work on one database.

import Foundation
import StratusCloud

/// An operation that works on one database: that of `database`, else the private one of its container (O-01).
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {
    // Unchecked because it inherits from CKOperation, whose rules it follows.
    private var ownDatabase: CKDatabase?

    /// The database to work on. `CKDatabase.add` sets it.
    public final var database: CKDatabase? {
        get { locked { ownDatabase } }
        set { configure(newValue) { swap(&ownDatabase, &$0) } }
    }

    override var selector: DatabaseSelector { database?.selector ?? .private }

    override func effectiveScope(_ configuration: EffectiveConfiguration) -> ContainerScope {
        database?.scope ?? super.effectiveScope(configuration)
    }
}
