// Events as they come over a connection that stays open.

import AsyncHTTPClient
import Foundation
import NIOCore
import Testing

/// The lines of an answer that does not end.
struct OpenAnswer {
    private var parts: HTTPClientResponse.Body.AsyncIterator
    private var lines: [Substring] = []

    init(_ client: Client, _ path: String) async throws {
        let response = try await Client.http.execute(client.request("GET", path), timeout: .seconds(120))
        parts = response.body.makeAsyncIterator()
    }

    /// The next line with this beginning; nil if the connection has ended.
    mutating func next(_ start: String) async -> String? {
        while true {
            while !lines.isEmpty {
                let line = lines.removeFirst()
                if line.hasPrefix(start) { return String(line) }
            }
            guard let part = try? await parts.next() else { return nil }
            lines = String(buffer: part).split(separator: "\n")
        }
    }
}

@Suite struct EventTests {
    @Test("a device gets what the person's other devices do, and what others do to shared lists")
    func events() async throws {
        try await withServer { server, _, _ in
            let phone = try await Client.signedIn("alice@example.com", on: "phone", at: server)
            let laptop = try await Client.signedIn("alice@example.com", on: "laptop", at: server)
            let bob = try await Client.signedIn("bob@example.com", at: server)
            var answer = try await OpenAnswer(laptop, "/v1/events")
            #expect(await answer.next("data:") == "data: {}")

            _ = try await phone.makeList("Groceries")
            #expect(await answer.next("data:") == #"data: {"database":"own"}"#)

            let theirs = try await bob.makeList("Theirs")
            let link = try await bob.invite("alice@example.com", to: theirs.id, permission: "readOnly")
            try await phone.expect(200, "POST", link)
            _ = try await bob.addItem("Tea", to: theirs.id)
            #expect(await answer.next("data:") == #"data: {"database":"shared"}"#)
        }
    }

    @Test("a connection for events ends with its session")
    func signOut() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            var answer = try await OpenAnswer(alice, "/v1/events")
            #expect(await answer.next("event:") == "event: changed")
            try await alice.expect(204, "DELETE", "/v1/sessions/current")
            while await answer.next("") != nil {}
        }
    }

    @Test("a connection for events does not keep the service from stopping")
    func stopping() async throws {
        try await withDirectory { directory in
            let server = try await ServerProcess.start(data: directory.appendingPathComponent("data"))
            let alice = try await Client.signedIn("alice@example.com", at: server.address)
            var answer = try await OpenAnswer(alice, "/v1/events")
            #expect(await answer.next("event:") == "event: changed")
            #expect(await server.end(by: SIGTERM) == 0)
            while await answer.next("") != nil {}
        }
    }
}
