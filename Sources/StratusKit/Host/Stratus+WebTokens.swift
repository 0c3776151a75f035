// Whose a web token is: for hosts with a web service beside their store.

import StratusCloud
import StratusModel

extension Stratus {
    /// The account of which a client has got this token with a `CKFetchWebAuthTokenOperation`, so that a web service of the
    /// host knows whose requests it gets.
    ///
    /// ```swift
    /// guard let account = try cloud.account(
    ///     webAuthToken: request.token, apiToken: "my-web-app", container: "iCloud.com.example.app")
    /// else { return .unauthorized }
    /// ```
    ///
    /// - Parameters:
    ///   - token: What the service was shown.
    ///   - apiToken: What the service is known by: the same text as the client said.
    ///   - container: The container in which the client acts.
    ///   - age: How old the token may be, in seconds; two weeks by default.
    /// - Returns: The account; nil for a token that was not made by this store for just this container and service, or is
    ///   too old, and where the account is gone, closed or restricted.
    /// - Throws: ``StratusError`` where the store fails or was closed.
    public func account(
        webAuthToken token: String, apiToken: String, container: String, notOlderThan age: Double = 14 * 24 * 3600
    ) throws -> Account? {
        try asking { service in
            try service.account(
                ofWebAuthToken: token, apiToken: apiToken, container: ContainerName(container), maximumAgeSeconds: age
            ).map(Account.init)
        }
    }
}
