// The server of a store that another process has open, asked over the socket of that process.

import StratusCloud

struct RemoteServer: CloudServer {
    let client: LocalClient

    func answer<Request: CloudRequest>(
        _ request: Request, as caller: Caller, in place: Request.Place
    ) throws -> Request.Answer {
        do {
            return try client.ask(.cloud(AnyCloudCall(CloudCall(request: request, caller: caller, place: place))))
        } catch let error as LocalSocketError {
            throw CloudError(error)
        }
    }

    /// Holds nothing: contents are copied that records still have.
    func holdAssets() throws -> AssetHold? { nil }

    func copyAssets(
        _ wanted: [HeldAsset], as caller: Caller, in database: DatabaseSelector, under hold: AssetHold?,
        shouldContinue: () -> Bool
    ) throws -> [Result<String, CloudError>] {
        try answer(CopyAssetsRequest(wanted), as: caller, in: database).items
    }

    func copyAsset(_ wanted: HeldAsset, as caller: Caller, in database: DatabaseSelector) throws -> String {
        try answer(CopyAssetRequest(wanted), as: caller, in: database)
    }

    /// Does nothing: the host removes the copies itself when they have aged.
    func releaseCopies(_ paths: [String], unseen: [String]) {}
}

/// A request with all that its answer depends on.
struct CloudCall<Request: CloudRequest>: Codable, Sendable {
    var request: Request
    var caller: Caller
    var place: Request.Place
}

/// A request of any type: its name, then its call.
struct AnyCloudCall: Codable, Sendable {
    private enum CodingKeys: String, CodingKey {
        case name
        case call
    }

    private let name: RequestName
    private let call: any Codable & Sendable
    private let answer: @Sendable (any CloudServer) throws -> any Encodable

    init<Request: CloudRequest>(_ call: CloudCall<Request>) {
        name = Request.name
        self.call = call
        answer = { try $0.answer(call.request, as: call.caller, in: call.place) }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let type = try container.decode(RequestName.self, forKey: .name).type
        self = try Self.decode(type, from: container)
    }

    private static func decode<Request: CloudRequest>(
        _ type: Request.Type, from container: KeyedDecodingContainer<CodingKeys>
    ) throws -> AnyCloudCall {
        AnyCloudCall(try container.decode(CloudCall<Request>.self, forKey: .call))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(call, forKey: .call)
    }

    /// Throws `CloudError` if the request fails as a whole.
    func answer(by server: any CloudServer) throws -> any Encodable { try answer(server) }
}

extension CloudError {
    /// A connection that has failed. A request that is too large was not sent; any other may have been carried out.
    fileprivate init(_ error: LocalSocketError) {
        let isTooLarge = error.fields["limit"] != nil
        self.init(isTooLarge ? .limitExceeded : .serverResponseLost, text: error.message, error.fields)
    }
}
