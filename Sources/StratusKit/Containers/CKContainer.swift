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

// A database of a container. What can be done with it is in the extensions of the folders above.

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

// How the account of a container stands.

/// Whether the container has an account that can be used.
public enum CKAccountStatus: Int, Sendable {
    /// The store could not be asked.
    case couldNotDetermine = 0
    /// There is one, and it may be used.
    case available = 1
    /// Managed or parental restrictions.
    case restricted = 2
    /// Nobody is signed in, or the host has closed the account.
    case noAccount = 3
    /// The account has to be verified again.
    case temporarilyUnavailable = 4
}

// What a container and its databases have in common: which store, which container in it, for whom. Databases outlive
// the container object they were taken from, so they refer to this and not to the container.

/// Configuration that everything done through a container or database inherits; made by `configuredWith`.
protocol OperationDefaults: Sendable {}

/// A container of a store, as one account sees it.
struct ContainerScope: Sendable {
    /// Whose account is meant.
    enum Person: Sendable {
        /// Whoever is signed in when a request is made.
        case signedIn
        /// An account, on one of its devices; nil for none that gets notifications.
        case account(AccountID, device: String?)
    }

    /// What was current when the container was made.
    let captured: any SessionSource
    /// Nil for the default container.
    let identifier: String?
    let account: Person
    var defaults: (any OperationDefaults)?
    let added = AddedOperations()

    init(captured: any SessionSource, identifier: String?, account: Person) {
        self.captured = captured
        self.identifier = identifier
        self.account = account
    }

    /// The session to use now. Opens the embedded store where nothing else was set when this was made (X-28).
    var session: CloudSession { captured.session }

    /// Whether a change of an account's status is to be posted for the container: of this account, or with nil of the one that
    /// is signed in. Opens no store.
    func isOf(_ account: AccountID?, in session: CloudSession) -> Bool {
        guard captured.openSession === session else { return false }
        switch self.account {
        case .signedIn: return account == nil || account == session.account
        case .account(let own, _): return account == own
        }
    }

    /// Who asks, as the server is told.
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
}

extension ContainerScope {
    /// The most characters of a container's identifier. With one more it is the name of a directory, where assets of its
    /// public database lie.
    private static let identifierLength = 254

    /// Throws `badContainer` for what cannot be the identifier of a container; found out when it is used (O-19).
    static func check(_ container: ContainerName) throws(CloudError) {
        let bytes = container.text.utf8
        let isName = bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            }
        }
        guard isName, (1...identifierLength).contains(bytes.count) else {
            throw CloudError(
                .badContainer,
                "A container's identifier has 1 to 254 ASCII letters, digits, dots, hyphens and underscores.",
                ["container": container.text])
        }
    }
}

/// The queue that runs operations which were added, made when the first one is.
final class AddedOperations: Sendable {
    private let made = Locked<OperationQueue?>(nil)

    /// Many at a time, since none of them blocks the queue's threads.
    var queue: OperationQueue {
        made.withLock { made in
            if let made { return made }
            let queue = OperationQueue()
            queue.name = "StratusKit.operations"
            made = queue
            return queue
        }
    }
}
