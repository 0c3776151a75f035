// A container, its databases, and what they share: the store, the container's identifier and the account. The store and
// the account are fixed when a container is created. Databases outlive the container object they were taken from, so
// they refer to the `ContainerScope` and not to the container.

public import Foundation
import StratusCloud
package import StratusModel
import StratusStore

/// An app's container: its private, public and shared database, for one account.
///
/// A container created by a host acts for the account it was created for. One created by `default()` or
/// `init(identifier:)` acts for the account that is signed in to the current store; see `Stratus.current`.
public final class CKContainer: NSObject, AccountHolder, Sendable {
    let scope: ContainerScope

    /// The database of the signed-in account. Only this account sees it.
    public let privateCloudDatabase: CKDatabase
    /// The database that everyone reads.
    public let publicCloudDatabase: CKDatabase
    /// The records that other accounts share with this one.
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

    /// Creates a container of a session. `account` is nil to act for the signed-in account; `device` is one of the
    /// account's devices.
    package convenience init(
        session: CloudSession, identifier: String, account: AccountID?, device: String? = nil
    ) {
        let caller = account.map { ContainerScope.Person.account($0, device: device) } ?? .signedIn
        self.init(ContainerScope(captured: session, identifier: identifier, account: caller))
    }

    /// Creates a container by its identifier, in the store that is current now (X-28).
    /// - Parameter containerIdentifier: The identifier, such as `iCloud.com.example.app`.
    public convenience init(identifier containerIdentifier: String) {
        self.init(
            ContainerScope(
                captured: CurrentSession.captured(), identifier: containerIdentifier, account: .signedIn))
    }

    /// The identifier. The default container has the identifier that the store defines.
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

    /// The default container of the store that is current now (X-28).
    ///
    /// Never fails: if the store cannot be opened, operations fail with `serviceUnavailable` and the reason.
    public class func `default`() -> CKContainer {
        let source = CurrentSession.captured()
        return source.defaultContainer.withLock { known in
            if let container = known.object as? CKContainer { return container }
            let container = CKContainer(ContainerScope(captured: source, identifier: nil, account: .signedIn))
            known = WeakObject(object: container)
            return container
        }
    }

    func isOf(_ account: AccountID?, in session: CloudSession) -> Bool { scope.isOf(account, in: session) }
}

// A database of a container. Extensions in the higher folders add its operations.

/// One of a container's databases.
public final class CKDatabase: NSObject, Sendable {
    /// Which of a container's databases.
    public enum Scope: Int, Sendable {
        /// The app's: everyone reads and writes it as far as the schema's grants allow (S-18).
        case `public` = 1
        /// A person's own.
        case `private` = 2
        /// A view of what other people share with the person (D-01).
        case shared = 3

        // Client and server use the same raw values.

        init(_ selector: DatabaseSelector) { self = Self(rawValue: Int(selector.rawValue)) ?? .private }

        /// The scope for the server.
        var selector: DatabaseSelector { DatabaseSelector(rawValue: UInt8(rawValue)) ?? .private }
    }

    /// Which of its container's databases this is.
    public let databaseScope: CKDatabase.Scope
    let scope: ContainerScope

    init(_ scope: ContainerScope, _ databaseScope: Scope) {
        self.scope = scope
        self.databaseScope = databaseScope
        super.init()
    }

    /// The database for the server.
    var selector: DatabaseSelector { databaseScope.selector }

    public override var description: String {
        "<CKDatabase: \(databaseScope) of \(scope.identifier ?? "the default container")>"
    }
}

// The status of a container's account.

/// Whether the container has an account that can be used.
public enum CKAccountStatus: Int, Sendable {
    /// The store did not answer.
    case couldNotDetermine = 0
    /// There is an account, and it may be used.
    case available = 1
    /// Managed or parental restrictions forbid its use.
    case restricted = 2
    /// No account is signed in, or the host has closed the account.
    case noAccount = 3
    /// The account must be verified again.
    case temporarilyUnavailable = 4
}

// What a container and its databases share.

/// Configuration that everything done through a container or database inherits; created by `configuredWith`.
protocol OperationDefaults: Sendable {}

/// A container of a store, as one account sees it.
struct ContainerScope: Sendable {
    /// The account that is used.
    enum Person: Sendable {
        /// The account that is signed in when a request is sent.
        case signedIn
        /// An account, on one of its devices; nil for no device and no notifications.
        case account(AccountID, device: String?)
    }

    /// The store that was current when the container was created.
    let captured: any SessionSource
    /// Nil for the default container.
    let identifier: String?
    let account: Person
    var defaults: (any OperationDefaults)?
    /// The queue that runs added operations, made for the first one. It runs many at a time, since none of them blocks
    /// its threads.
    let added = Locked<OperationQueue?>(nil)

    /// The session to use now. Opens the embedded store if no other store was set when the scope was created (X-28).
    var session: CloudSession { captured.session }

    /// Whether a change of this account's status, or with nil of the signed-in account's, is posted for the container.
    /// Opens no store.
    func isOf(_ account: AccountID?, in session: CloudSession) -> Bool {
        guard captured.openSession === session else { return false }
        switch self.account {
        case .signedIn: return account == nil || account == session.account
        case .account(let own, _): return account == own
        }
    }

    /// The caller for the server.
    func caller(in session: CloudSession) -> Caller {
        let container = ContainerName(identifier ?? session.defaultContainerIdentifier)
        switch account {
        case .signedIn:
            let account = session.account
            return Caller(
                container: container, account: account,
                device: account == nil ? nil : CloudSession.localDeviceName)
        case .account(let id, let device):
            return Caller(container: container, account: id, device: device)
        }
    }

    /// The maximum length of a container's identifier. With one more character it is the name of the directory for the
    /// assets of its public database.
    private static let identifierLength = 254
    private static let identifierBytes = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_".utf8)

    /// Throws `badContainer` for an invalid container identifier, which is checked when it is used (O-19).
    static func check(_ container: ContainerName) throws(CloudError) {
        let bytes = container.text.utf8
        guard bytes.allSatisfy(identifierBytes.contains), (1...identifierLength).contains(bytes.count) else {
            throw CloudError(
                .badContainer,
                "A container's identifier has 1 to 254 ASCII letters, digits, dots, hyphens and underscores.",
                ["container": container.text])
        }
    }
}
