// What operators of the service see of it, and what they must not see.

import StratusKit
import Testing

@Suite struct WatchingTests {
    @Test("it answers every caller whether it is alive and ready")
    func health() async throws {
        try await withServer { server, _, _ in
            let anybody = Client(server: server)
            let live = try await anybody.expect(200, "GET", "/health/live")
            #expect(live.json["status"].text == "live")
            let ready = try await anybody.expect(200, "GET", "/health/ready")
            #expect(ready.json["status"].text == "ready")
        }
    }

    @Test("while the store is closed it lives and cannot serve")
    func notReady() async throws {
        try await withServer { server, cloud, _ in
            await cloud.close()
            let anybody = Client(server: server)
            try await anybody.expect(200, "GET", "/health/live")
            let answer = try await anybody.expect(503, "GET", "/health/ready")
            #expect(answer.headers["retry-after"] != nil)
        }
    }

    @Test("metrics count requests by route and status, and what the store has done")
    func metrics() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let list = try await alice.makeList("Groceries")
            _ = try await alice.addItem("Milk", to: list.id)
            _ = try await alice.addItem("Tea", to: list.id)
            _ = try await alice.send("PROPFIND", "/v1/lists")
            let answer = try await Client(server: server).expect(200, "GET", "/metrics")
            #expect(answer.headers["content-type"]?.hasPrefix("text/plain") == true)
            let lines = Set(answer.text.split(separator: "\n"))
            #expect(lines.contains("# TYPE http_server_request_duration_seconds histogram"))
            let made = #"method="POST",route="/v1/lists/{owner}/{list}/items",status="201""#
            #expect(lines.contains(#"http_server_request_duration_seconds_count{\#(made)} 2"#))
            #expect(lines.contains(#"http_server_request_duration_seconds_bucket{\#(made),le="+Inf"} 2"#))
            let saves = #"stratus_requests_total{operation="modifyRecords",outcome="answered"}"#
            #expect(lines.contains { $0.hasPrefix(saves) })
            #expect(lines.contains { $0.contains(#"method="other""#) })
            #expect(!answer.text.contains(list.id))
        }
    }

    @Test("no line of the log, however detailed, shows a token, a code, a link, or what somebody has written")
    func secrets() async throws {
        try await withServer { server, _, log in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let bob = try await Client.signedIn("bob@example.com", at: server)
            let list = try await alice.makeList("A confidential title")
            let link = try await alice.invite("bob@example.com", to: list.id, permission: "readOnly")
            try await bob.expect(200, "POST", link)
            try await alice.expect(404, "POST", link + "x")
            let mails = try server.mail(to: "alice@example.com") + server.mail(to: "bob@example.com")
            let secrets =
                mails.flatMap { [$0["code"].text, $0["link"].text] }.compactMap { $0 }
                + [alice.token, bob.token, link.split(separator: "/").last.map(String.init)].compactMap { $0 }
                + ["A confidential title"]
            #expect(secrets.count == 7)
            let lines = log.all
            #expect(lines.contains { $0.contains("/share/") })
            for secret in secrets { #expect(!lines.contains { $0.contains(secret) }) }
        }
    }
}
