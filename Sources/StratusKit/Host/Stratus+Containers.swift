// Containers for hosts: of this store, for whoever is signed in or for an account of their own.

import StratusModel

extension Stratus {
    /// A container for whoever is signed in to the store at the time of each request.
    ///
    /// - Parameter identifier: The container's name, such as `iCloud.com.example.app`.
    /// - Returns: The container, made anew.
    public func container(_ identifier: String) -> CKContainer {
        CKContainer(session: session, identifier: identifier, account: nil)
    }

    /// A container for one account, whoever else is signed in: this is how a service acts for its users.
    ///
    /// - Parameters:
    ///   - identifier: The container's name, such as `iCloud.com.example.app`.
    ///   - account: Who uses it. Where the account is suspended or deleted later, requests fail with `notAuthenticated`.
    /// - Returns: The container, made anew.
    public func container(_ identifier: String, signedInAs account: Account) -> CKContainer {
        CKContainer(session: session, identifier: identifier, account: account.accountID)
    }
}
