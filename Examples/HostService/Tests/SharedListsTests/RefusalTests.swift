// The requests that the service refuses, and its messages.

import Foundation
import SharedLists
import StratusKit
import Testing

@Suite struct RefusalTests {
    @Test("without a token, with a wrong one, or after signing out, nothing is answered")
    func tokens() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            for token in [nil, "", "x", "token", String(repeating: "a", count: 10_000)] {
                let answer = try await Client(server: server, token: token).expect(401, "GET", "/v1/lists")
                #expect(answer.headers["www-authenticate"] == "Bearer")
                #expect(answer.code == "notSignedIn")
            }
            try await alice.expect(204, "DELETE", "/v1/sessions/current")
            try await alice.expect(401, "GET", "/v1/lists")
        }
    }

    @Test("a suspended account is signed out, and is back when it is restored")
    func suspended() async throws {
        try await withServer { server, cloud, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let account = try #require(try await cloud.account(email: "alice@example.com"))
            try await cloud.setStanding(.suspended, of: account)
            try await alice.expect(401, "GET", "/v1/lists")
            try await cloud.setStanding(.good, of: account)
            try await alice.expect(200, "GET", "/v1/lists")
        }
    }

    @Test("a code is for one address, for few guesses, and for one use")
    func codes() async throws {
        try await withServer { server, _, _ in
            let stranger = Client(server: server)
            func signIn(_ email: String, _ code: String) async throws -> Answer {
                try await stranger.send("POST", "/v1/sessions", #"{"email":"\#(email)","code":"\#(code)"}"#)
            }
            func code() throws -> String {
                try #require(server.mail(to: "alice@example.com").compactMap { $0["code"].text }.last)
            }
            try await stranger.expect(202, "POST", "/v1/codes", #"{"email":"alice@example.com"}"#)
            #expect(try await signIn("bob@example.com", code()).status == 401)
            for _ in 0..<5 { #expect(try await signIn("alice@example.com", "wrong").status == 401) }
            #expect(try await signIn("alice@example.com", code()).status == 401)

            try await stranger.expect(202, "POST", "/v1/codes", #"{"email":"alice@example.com"}"#)
            #expect(try await signIn("alice@example.com", code()).status == 201)
            #expect(try await signIn("alice@example.com", code()).status == 401)
        }
    }

    @Test("a caller who requests many codes gets a time to try again")
    func manyCodes() async throws {
        try await withServer { server, _, _ in
            let stranger = Client(server: server)
            for _ in 0..<5 {
                try await stranger.expect(202, "POST", "/v1/codes", #"{"email":"alice@example.com"}"#)
            }
            let answer = try await stranger.expect(429, "POST", "/v1/codes", #"{"email":"alice@example.com"}"#)
            #expect((1...600).contains(try #require(answer.headers["retry-after"].flatMap { Int($0) })))
            #expect(try server.mail(to: "alice@example.com").count == 5)
        }
    }

    @Test(
        "a body that is no JSON, or lacks what it must have, is refused",
        arguments: ["", "{", "[]", "null", #"{"title":7}"#, #"{"name":"x"}"#, "\u{0}", #"{"title":""}"#])
    func malformed(body: String) async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let answer = try await alice.expect(400, "POST", "/v1/lists", body)
            #expect(answer.code != nil)
            #expect(answer.headers["content-type"] == "application/problem+json")
        }
    }

    @Test("a body that is too large is refused, and the connection goes on")
    func oversized() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let body = #"{"title":"\#(String(repeating: "a", count: 1 << 20))"}"#
            #expect(try await alice.expect(413, "POST", "/v1/lists", body).code == "bodyTooLarge")
            let title = #"{"title":"\#(String(repeating: "a", count: 1_001))"}"#
            #expect(try await alice.expect(400, "POST", "/v1/lists", title).code == "invalidTitle")
            _ = try await alice.makeList(String(repeating: "a", count: 1_000))
        }
    }

    @Test("names that no record can have, and tokens that were none, are refused")
    func names() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            for id in ["", "a/b", "a b", "..", "ü", String(repeating: "n", count: 65)] {
                let answer = try await alice.expect(400, "POST", "/v1/lists", #"{"id":"\#(id)","title":"x"}"#)
                #expect(answer.code == "invalidID")
            }
            for token in ["x", "%20", "aaaa", String(repeating: "a", count: 30_000)] {
                let answer = try await alice.expect(400, "GET", "/v1/changes/me?since=\(token)")
                #expect(answer.code == "malformedToken")
                try await alice.expect(400, "GET", "/v1/changes?since=\(token)")
            }
            let list = try await alice.makeList("Groceries")
            try await alice.expect(400, "GET", "/v1/lists/me/\(list.id)/items?cursor=x")
            try await alice.expect(404, "GET", "/v1/nothing")
            try await alice.expect(404, "GET", "/")
        }
    }

    @Test("a token of somebody else's feed is refused")
    func othersTokens() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let bob = try await Client.signedIn("bob@example.com", at: server)
            let token = try #require(try await alice.expect(200, "GET", "/v1/changes/me").json["token"].text)
            try await bob.expect(400, "GET", "/v1/changes/me?since=\(token)")
        }
    }

    @Test("a person without space gets an error that says so, and can still delete")
    func quota() async throws {
        try await withServer({ $0.quotaByteCount = 3_000 }) { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let list = try await alice.makeList("Groceries")
            let title = String(repeating: "a", count: 500)
            var items: [String] = []
            var last = try await alice.send("POST", "/v1/lists/me/\(list.id)/items", #"{"title":"\#(title)"}"#)
            while last.status == 201, items.count < 20 {
                items.append(last.id)
                last = try await alice.send("POST", "/v1/lists/me/\(list.id)/items", #"{"title":"\#(title)"}"#)
            }
            #expect(last.status == 507)
            #expect(last.code == "quotaExceeded")
            let first = try #require(items.first)
            try await alice.expect(204, "DELETE", "/v1/lists/me/\(list.id)/items/\(first)")
            _ = try await alice.addItem(title, to: list.id)
        }
    }

    @Test(
        "each error of the store has its status, and says when to try again where waiting helps",
        arguments: [
            (CKError.Code.zoneBusy, 503, "7"), (.serviceUnavailable, 503, "7"), (.requestRateLimited, 429, "7"),
            (.serverResponseLost, 503, "7"), (.limitExceeded, 413, nil), (.quotaExceeded, 507, nil),
            (.permissionFailure, 403, nil), (.notAuthenticated, 401, nil), (.internalError, 500, nil),
            (.accountTemporarilyUnavailable, 403, nil), (.invalidArguments, 400, nil), (.zoneNotFound, 404, nil),
            (.userDeletedZone, 410, nil), (.referenceViolation, 409, nil), (.constraintViolation, 409, nil),
        ] as [(CKError.Code, Int, String?)])
    func statuses(code: CKError.Code, status: Int, retryAfter: String?) async throws {
        try await withServer { server, cloud, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let fault = cloud.faults.fail(
                .operation(.modifyRecords), with: code, retryAfter: 7, message: "A secret of the store's.")
            let answer = try await alice.expect(status, "POST", "/v1/lists", #"{"title":"Groceries"}"#)
            #expect(fault.hitCount == 1)
            #expect(answer.headers["retry-after"] == retryAfter)
            #expect(!answer.text.contains("secret"))
        }
    }
}
