// A database of a container. What can be done with it is in the extensions of the folders above.

public import Foundation
import StratusCloud

/// One of a container's databases.
public final class CKDatabase: NSObject, Sendable {
    /// Which of a container's databases.
    public enum Scope: Int, Sendable {
        /// The app's: everybody reads and writes it as far as the schema's grants go (S-18).
        case `public` = 1
        /// A person's own.
        case `private` = 2
        /// A window on what other people share with the person (D-01).
        case shared = 3
    }

    /// Which of its container's databases this is.
    public let databaseScope: CKDatabase.Scope
    let scope: ContainerScope

    init(_ scope: ContainerScope, _ databaseScope: Scope) {
        self.scope = scope
        self.databaseScope = databaseScope
        super.init()
    }

    /// The same database in the server's words.
    var selector: DatabaseSelector { databaseScope.selector }

    public override var description: String {
        "<CKDatabase: \(databaseScope) of \(scope.identifier ?? "the default container")>"
    }
}

extension CKDatabase.Scope {
    /// The same in the server's words.
    var selector: DatabaseSelector {
        switch self {
        case .public: .public
        case .private: .private
        case .shared: .shared
        }
    }
}
