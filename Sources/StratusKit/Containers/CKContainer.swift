// A container: an app's databases. Which store and which account stand behind it is decided where it is made.

public import Foundation
import StratusCloud
package import StratusModel
import StratusStore

/// An app's container: its private, public and shared database, for one account.
///
/// A container made by a host acts for the account it was made for. One made by `default()` or `init(identifier:)` acts
/// for whoever is signed in to the current store; see `Stratus.current`.
public final class CKContainer: NSObject, Sendable {
    let scope: ContainerScope

    /// The database of the signed-in account. Only this account sees it.
    public let privateCloudDatabase: CKDatabase
    /// The database everybody reads.
    public let publicCloudDatabase: CKDatabase
    /// What other accounts share with this one.
    public let sharedCloudDatabase: CKDatabase

    init(_ scope: ContainerScope) {
        self.scope = scope
        privateCloudDatabase = CKDatabase(scope, .private)
        publicCloudDatabase = CKDatabase(scope, .public)
        sharedCloudDatabase = CKDatabase(scope, .shared)
        super.init()
        AccountHolders.add(self)
    }

    deinit { AccountHolders.remove(self) }

    /// A container of a session; `account` is nil to act for whoever is signed in. `device` is the account's that acts.
    package convenience init(
        session: CloudSession, identifier: String, account: AccountID?, device: String? = nil
    ) {
        let caller = account.map { ContainerScope.Person.account($0, device: device) } ?? .signedIn
        self.init(ContainerScope(captured: session, identifier: identifier, account: caller))
    }

    /// A container by its identifier, in the store that is current now (X-28).
    /// - Parameter containerIdentifier: Such as `iCloud.com.example.app`.
    public convenience init(identifier containerIdentifier: String) {
        self.init(
            ContainerScope(
                captured: CurrentSession.captured(), identifier: containerIdentifier, account: .signedIn))
    }

    /// The identifier; for the default container that of the store.
    public var containerIdentifier: String? { scope.identifier ?? scope.session.defaultContainerIdentifier }

    /// One of the three databases, the same object as the property of that name.
    /// - Parameter databaseScope: Which one.
    /// - Returns: The database.
    public func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
        switch databaseScope {
        case .public: publicCloudDatabase
        case .private: privateCloudDatabase
        case .shared: sharedCloudDatabase
        }
    }

    public override var description: String { "<CKContainer: \(scope.identifier ?? "default")>" }
}

extension CKContainer {
    /// The default container of the store that is current now (X-28).
    ///
    /// Never fails: where the store cannot be opened, its operations fail with `serviceUnavailable` and the reason.
    public class func `default`() -> CKContainer {
        let source = CurrentSession.captured()
        return source.sharedObjects.object(for: "CKContainer.default") {
            CKContainer(ContainerScope(captured: source, identifier: nil, account: .signedIn))
        }
    }
}

extension CKContainer: AccountHolder {
    func isOf(_ account: AccountID?, in session: CloudSession) -> Bool { scope.isOf(account, in: session) }
}
