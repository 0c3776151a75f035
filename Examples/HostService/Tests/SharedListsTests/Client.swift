// A user of the service, like any client: over HTTP, and by reading their mail.

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Testing

/// An answer of the service's.
struct Answer: Sendable {
    var status: Int
    var headers: [String: String]
    var body: Data

    var json: JSON { (try? JSONDecoder().decode(JSON.self, from: body)) ?? .null }
    var text: String { String(decoding: body, as: UTF8.self) }
    var etag: String { headers["etag"] ?? "" }
    var id: String { json["id"].text ?? "" }
    var code: String? { json["code"].text }
}

struct Client: Sendable {
    /// One for all clients: it keeps connections, as real clients do. It does not wait for a server that is gone.
    static let http: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 32
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    let server: ServerAddress
    var token: String?

    func request(
        _ method: String, _ path: String, _ body: String? = nil, ifMatch: String? = nil
    ) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: server.url(path))
        request.method = HTTPMethod(rawValue: method)
        if let body {
            request.body = .bytes(ByteBuffer(string: body))
            request.headers.add(name: "Content-Type", value: "application/json")
        }
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        if let ifMatch { request.headers.add(name: "If-Match", value: ifMatch) }
        return request
    }

    func send(_ method: String, _ path: String, _ body: String? = nil, ifMatch: String? = nil) async throws -> Answer {
        let response = try await Self.http.execute(
            request(method, path, body, ifMatch: ifMatch), timeout: .seconds(120))
        var headers: [String: String] = [:]
        for (name, value) in response.headers { headers[name.lowercased()] = value }
        let content = try await response.body.collect(upTo: 16 << 20)
        return Answer(status: Int(response.status.code), headers: headers, body: Data(content.readableBytesView))
    }

    /// Sends, and expects a status.
    @discardableResult
    func expect(
        _ status: Int, _ method: String, _ path: String, _ body: String? = nil, ifMatch: String? = nil,
        at location: SourceLocation = #_sourceLocation
    ) async throws -> Answer {
        let answer = try await send(method, path, body, ifMatch: ifMatch)
        #expect(answer.status == status, "\(method) \(path): \(answer.text)", sourceLocation: location)
        return answer
    }

    // MARK: Common steps of clients

    static func signedIn(_ email: String, on device: String = "phone", at server: ServerAddress) async throws -> Client
    {
        let stranger = Client(server: server)
        try await stranger.expect(202, "POST", "/v1/codes", #"{"email":"\#(email)"}"#)
        let code = try #require(server.mail(to: email).compactMap { $0["code"].text }.last)
        let answer = try await stranger.expect(
            201, "POST", "/v1/sessions", #"{"email":"\#(email)","code":"\#(code)","device":"\#(device)"}"#)
        let token: String = try #require(answer.json["token"].text)
        return Client(server: server, token: token)
    }

    /// The person's name for others.
    func user() async throws -> String {
        try #require(try await expect(200, "GET", "/v1/me").json["user"].text)
    }

    func makeList(_ title: String) async throws -> Answer {
        try await expect(201, "POST", "/v1/lists", #"{"title":"\#(title)"}"#)
    }

    func addItem(_ title: String, to list: String, of owner: String = "me") async throws -> Answer {
        try await expect(201, "POST", "/v1/lists/\(owner)/\(list)/items", #"{"title":"\#(title)"}"#)
    }

    /// Invites a person, and returns the path of their link.
    func invite(_ email: String, to list: String, permission: String) async throws -> String {
        try await expect(
            200, "POST", "/v1/lists/me/\(list)/participants", #"{"email":"\#(email)","permission":"\#(permission)"}"#)
        let link = try #require(server.mail(to: email).compactMap { $0["link"].text }.last)
        return try #require(URL(string: link)).path
    }

    /// Accepts an invitation to a list for a person.
    func share(_ list: String, with other: Client, _ email: String, permission: String) async throws {
        let link = try await invite(email, to: list, permission: permission)
        try await other.expect(200, "POST", link)
    }

    func titles(of list: String, owner: String = "me") async throws -> [String] {
        try await expect(200, "GET", "/v1/lists/\(owner)/\(list)/items").json["items"].elements.compactMap {
            $0["title"].text
        }
    }
}
