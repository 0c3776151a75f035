// What a container and its databases have in common: which store, which container in it, for whom. Databases outlive
// the container object they were taken from, so they refer to this and not to the container.

import Foundation
import StratusCloud
import StratusModel
import StratusStore

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

    /// The session to use now. Opens the embedded store where nothing else was set when this was made.
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
