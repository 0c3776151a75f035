// What a host does with the URL of a share that somebody has opened.

public import Foundation
import StratusCloud
import StratusModel

extension Stratus {
    /// What a tap on a share's URL does: finds the share in whatever container it is, accepts it for the account, and tells
    /// of it. Who takes part already is told, too.
    ///
    /// The person must be the owner, invited by a handle that is theirs or by their user record, the first to use a
    /// one-time URL, or anybody where the share is public.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - account: Who has opened it.
    /// - Returns: The share's metadata, with its root.
    /// - Throws: ``StratusError`` with `unknownShare` where there is no share, or none that the person may know of (M-04,
    ///   M-05); with `accessNotGranted` where they may ask for access; with `alreadyInvited` for another's one-time URL
    ///   (P-17), `shareIsFull`, and `unknownAccount` for an account that cannot be used.
    @discardableResult
    public func open(_ url: URL, as account: Account) throws -> CKShare.Metadata {
        session.metadata(try openShare(url.absoluteString, as: account.accountID), as: account.accountID)
    }

    /// The same in the server's words.
    func openShare(_ url: String, as account: AccountID) throws -> ClientShareMetadata {
        do {
            return try server.withService { try $0.openShare(url, as: account) }
        } catch let error as CloudError {
            throw StratusError(ofShare: error)
        }
    }
}

extension CloudSession {
    /// What somebody is told of a share that they have opened.
    func metadata(_ told: ClientShareMetadata, as account: AccountID) -> CKShare.Metadata {
        let context = RequestContext(
            session: self, caller: Caller(container: told.container, account: account),
            database: .shared, callbacks: CallbackQueue(pool: nil))
        return context.metadata(told)
    }
}

extension StratusError {
    /// A server's refusal of something that a host has asked of a share.
    fileprivate init(ofShare error: CloudError) {
        let code: Code
        switch error.code {
        case .unknownItem: code = .unknownShare
        case .permissionFailure, .participantMayNeedVerification: code = .accessNotGranted
        case .participantAlreadyInvited: code = .alreadyInvited
        case .tooManyParticipants: code = .shareIsFull
        default:
            self.init(error)
            return
        }
        self.init(code, text: error.message, error.fields, cause: error.cause)
    }
}
