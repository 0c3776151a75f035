// Tokens by which a web service knows whose requests it gets: made for a client that says which service it is for, and
// told to the host by that service. A token is the account and the time of its making, sealed with the store's secret as
// change tokens are, for one container and one service: nothing is stored, and nobody else can make one.

import FoundationEssentials
package import StratusModel
import StratusRecords

extension CloudService {
    /// A token for the caller and the service that is known by `apiToken`: text that may stand in a URL.
    ///
    /// Throws `invalidArguments` without an `apiToken`, `notAuthenticated` and the like, a planned fault, and the store's
    /// failures.
    package func webAuthToken(apiToken: String, as caller: Caller) throws(CloudError) -> String {
        try reporting(.fetchWebAuthToken, caller, itemCount: 1) { _ in
            let account = try requireAccount(caller)
            guard !apiToken.isEmpty else {
                throw CloudError(.invalidArguments, "A web token is for a service: say which by its API token.")
            }
            let claim = WebClaim(apiToken: apiToken, account: account.id, made: environment.clock.now)
            let bytes = try tokenKeeper.seal(of: engine, environment.identifiers)
                .sealed(claim.content, .web, for: Self.binding(caller.container))
            return Data(bytes).base64EncodedString()
                .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }
    }

    /// Whose token this is: nil for what was not made here for just this container and service, for one that is older than
    /// so many seconds, and where the account is gone or not in good standing.
    package func account(
        ofWebAuthToken token: String, apiToken: String, container: ContainerName, maximumAgeSeconds: Double
    ) throws(CloudError) -> Account? {
        try answering {
            let text = token.replacing("-", with: "+").replacing("_", with: "/")
            let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
            guard let data = Data(base64Encoded: text + padding) else { return nil }
            let seal = try tokenKeeper.seal(of: engine, environment.identifiers)
            guard let content = seal.opened([UInt8](data), .web, for: Self.binding(container)),
                let claim = try? WebClaim(content), claim.apiToken.utf8.elementsEqual(apiToken.utf8),
                environment.clock.now.timeIntervalSince(claim.made) <= maximumAgeSeconds
            else { return nil }
            let known = try self.account(claim.account)
            return AccountVerdict.status(of: known) == .available ? known : nil
        }
    }

    /// A web token is of no database.
    private static func binding(_ container: ContainerName) -> TokenBinding {
        TokenBinding(user: nil, container: container, database: .private)
    }
}

/// What a web token says.
private struct WebClaim {
    private static let version: UInt8 = 1

    var apiToken: String
    var account: AccountID
    var made: Date

    init(apiToken: String, account: AccountID, made: Date) {
        self.apiToken = apiToken
        self.account = account
        self.made = made
    }

    var content: [UInt8] {
        var writer = CursorWriter()
        writer.append(byte: Self.version)
        writer.append(apiToken)
        writer.append(account.text)
        writer.append(made.timeIntervalSinceReferenceDate)
        return writer.bytes
    }

    /// Throws `CursorReader.Failure` for what is none.
    init(_ content: [UInt8]) throws(CursorReader.Failure) {
        var reader = CursorReader(content)
        guard try reader.readByte() == Self.version else { throw CursorReader.Failure() }
        apiToken = try reader.readText()
        account = AccountID(try reader.readText())
        made = Date(timeIntervalSinceReferenceDate: try reader.readDouble())
        try reader.expectEnd()
    }
}
