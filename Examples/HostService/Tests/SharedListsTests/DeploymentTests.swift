// A user's journey across two hosts on three nodes, which `Deployment/run` starts: make deployment

import Foundation
import Testing

/// What `Deployment/run` has started.
private struct Deployment {
    private let directory: URL
    private let cluster: String

    /// Nil where nothing was deployed.
    static let current: Deployment? = {
        let environment = ProcessInfo.processInfo.environment
        guard let directory = environment["LISTS_DEPLOYMENT"],
            let cluster = environment["STRATUS_CLUSTER_DIRECTORY"]
        else {
            print("Nothing is deployed (make deployment): two hosts on three nodes were not tested.")
            return nil
        }
        return Deployment(directory: URL(fileURLWithPath: directory, isDirectory: true), cluster: cluster)
    }()

    func host(_ number: Int) throws -> ServerAddress {
        ServerAddress(
            port: try #require(try self.number("\(number).port")), data: directory.appendingPathComponent("\(number)"))
    }

    func killHost(_ number: Int) throws { kill(pid_t(try #require(try self.number("\(number).pid"))), SIGKILL) }

    private func number(_ file: String) throws -> Int? {
        let text = try String(contentsOf: directory.appendingPathComponent(file), encoding: .utf8)
        return Int(text.filter(\.isNumber))
    }

    /// Kills the node that takes writes.
    func killLeader() async throws {
        let leader = try await cluster("leader")
        try await cluster("kill", leader)
    }

    @discardableResult
    private func cluster(_ verb: String, _ more: String...) async throws -> String {
        let (script, cluster) = (Self.script, cluster)
        return try await offPool {
            let process = Process()
            process.executableURL = script
            process.arguments = [verb, cluster] + more
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
            return text.filter { !$0.isWhitespace }
        }
    }

    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../../scripts/cluster").standardizedFileURL
}

@Suite(.enabled(if: Deployment.current != nil), .serialized) struct DeploymentTests {
    @Test("people of two hosts share a list, and lose nothing when a host and then the node that takes writes is lost")
    func journey() async throws {
        let deployment = try #require(Deployment.current)
        let (first, second) = (try deployment.host(1), try deployment.host(2))
        let alice = try await Client.signedIn("alice@example.com", at: first)
        let bob = try await Client.signedIn("bob@example.com", at: second)
        // A token is good at any host.
        let aliceAtSecond = Client(server: second, token: alice.token)
        let owner = try await aliceAtSecond.user()

        let list = try await alice.makeList("Groceries")
        _ = try await alice.addItem("Milk", to: list.id)
        var events = try await OpenAnswer(bob, "/v1/events")
        #expect(await events.next("data:") == "data: {}")
        try await alice.share(list.id, with: bob, "bob@example.com", permission: "readWrite")
        #expect(try await bob.titles(of: list.id, owner: owner) == ["Milk"])
        _ = try await bob.addItem("Bread", to: list.id, of: owner)
        #expect(try await alice.titles(of: list.id).sorted() == ["Bread", "Milk"])
        // The wire to the other host wakes Bob.
        _ = try await alice.addItem("Tea", to: list.id)
        #expect(await events.next("data:")?.contains("shared") == true)

        let secret = try await alice.makeList("Secret")
        try await alice.share(secret.id, with: bob, "bob@example.com", permission: "readOnly")
        #expect(try await bob.titles(of: secret.id, owner: owner) == [])
        let participants = try await alice.expect(200, "GET", "/v1/lists/me/\(secret.id)/participants")
        let guest = try #require(
            participants.json["participants"].elements.first { $0["email"].text == "bob@example.com" }?["id"].text)
        try await alice.expect(204, "DELETE", "/v1/lists/me/\(secret.id)/participants/\(guest)")
        // At once, at the host that was not asked.
        try await bob.expect(404, "GET", "/v1/lists/\(owner)/\(secret.id)/items")

        try deployment.killHost(1)
        _ = try await aliceAtSecond.addItem("Eggs", to: list.id)
        #expect(try await bob.titles(of: list.id, owner: owner).sorted() == ["Bread", "Eggs", "Milk", "Tea"])

        try await deployment.killLeader()
        // A name that was chosen makes it safe to ask again.
        let jam = ("/v1/lists/me/\(list.id)/items", #"{"id":"jam","title":"Jam"}"#)
        var answer = try await aliceAtSecond.send("POST", jam.0, jam.1)
        for _ in 0..<4 where answer.status == 503 { answer = try await aliceAtSecond.send("POST", jam.0, jam.1) }
        #expect(answer.status == 201, "\(answer.text)")
        #expect(try await bob.titles(of: list.id, owner: owner).sorted() == ["Bread", "Eggs", "Jam", "Milk", "Tea"])
    }
}
