// The service as a process: stopped and killed under load, restarted, and started with errors.

import Foundation
import Synchronization
import Testing

/// The acknowledged writes of the service.
private final class Acknowledged: Sendable {
    private let names = Mutex<Set<String>>([])

    /// Adds a name, and returns how many there are.
    func add(_ name: String) -> Int {
        names.withLock { names in
            names.insert(name)
            return names.count
        }
    }

    var all: Set<String> { names.withLock { $0 } }
}

@Suite struct ProcessTests {
    /// Adds items from several connections until the service accepts no more.
    private func load(
        _ alice: Client, list: String, acknowledged: Acknowledged, _ enough: @escaping @Sendable () -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for number in 0... {
                        let id = "item-\(worker)-\(number)"
                        let answer = try? await alice.send(
                            "POST", "/v1/lists/me/\(list)/items", #"{"id":"\#(id)","title":"\#(id)"}"#)
                        guard answer?.status == 201 else { return }
                        if acknowledged.add(id) == 200 { enough() }
                    }
                }
            }
        }
        // Waiting callers continue, even if nothing was acknowledged.
        enough()
    }

    @Test(
        "whether it is stopped or killed under load, everything it has acknowledged is there",
        arguments: [SIGTERM, SIGKILL])
    func endUnderLoad(signal: Int32) async throws {
        try await withDirectory { directory in
            let data = directory.appendingPathComponent("data")
            let server = try await ServerProcess.start(data: data)
            let alice = try await Client.signedIn("alice@example.com", at: server.address)
            let list = try await alice.makeList("Long").id
            let acknowledged = Acknowledged()
            let (loaded, enough) = AsyncStream.makeStream(of: Void.self)
            async let loading: Void = load(alice, list: list, acknowledged: acknowledged) { enough.yield() }
            _ = await loaded.first { _ in true }
            let code = await server.end(by: signal)
            await loading
            #expect(code == (signal == SIGTERM ? 0 : -1))

            let again = try await ServerProcess.start(data: data)
            let later = Client(server: again.address, token: alice.token)
            var found: Set<String> = []
            var path = "/v1/lists/me/\(list)/items"
            while true {
                let page = try await later.expect(200, "GET", path)
                found.formUnion(page.json["items"].elements.compactMap { $0["id"].text })
                guard let cursor = page.json["cursor"].text else { break }
                path = "/v1/lists/me/\(list)/items?cursor=\(cursor)"
            }
            #expect(acknowledged.all.subtracting(found) == [])
            // The comparison would find it.
            _ = acknowledged.add("never sent")
            #expect(acknowledged.all.subtracting(found) == ["never sent"])
            #expect(found.count >= 200)
            #expect(await again.end(by: SIGTERM) == 0)
        }
    }

    @Test("what was there before a restart is there after it: accounts, tokens, lists, shares, places in feeds")
    func restart() async throws {
        try await withDirectory { directory in
            let data = directory.appendingPathComponent("data")
            let server = try await ServerProcess.start(data: data)
            let alice = try await Client.signedIn("alice@example.com", at: server.address)
            let bob = try await Client.signedIn("bob@example.com", at: server.address)
            let list = try await alice.makeList("Groceries")
            let item = try await alice.addItem("Milk", to: list.id)
            try await alice.share(list.id, with: bob, "bob@example.com", permission: "readWrite")
            let feed = try #require(try await alice.expect(200, "GET", "/v1/changes/me").json["token"].text)
            #expect(await server.end(by: SIGTERM) == 0)

            let again = try await ServerProcess.start(data: data)
            let alice2 = Client(server: again.address, token: alice.token)
            let bob2 = Client(server: again.address, token: bob.token)
            let owner = try await alice2.user()
            try await bob2.expect(
                200, "PATCH", "/v1/lists/\(owner)/\(list.id)/items/\(item.id)", #"{"done":true}"#, ifMatch: item.etag)
            let changes = try await alice2.expect(200, "GET", "/v1/changes/me?since=\(feed)")
            #expect(changes.json["changed"].elements.map { $0["id"].text } == [item.id])
            #expect(await again.end(by: SIGTERM) == 0)
        }
    }

    @Test(
        "wrong options are refused before anything is made",
        arguments: [
            ["--port", "80"], ["--data", "", "--port", "0"], ["--data", "x", "--port", "70000"],
            ["--data", "x", "--public-url", "ftp://example.com"], ["--data", "x", "--quota-bytes", "0"],
            ["--data", "x", "--log-level", "loud"],
        ])
    func wrongOptions(arguments: [String]) async throws {
        try await withDirectory { directory in
            let (code, text) = try await run(arguments, in: directory)
            #expect(code == 64)
            #expect(text.contains("Error:"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
        }
    }

    @Test("a second process on one store gets the name of the first")
    func heldStore() async throws {
        try await withDirectory { directory in
            let server = try await ServerProcess.start(data: directory.appendingPathComponent("data"))
            let (code, text) = try await run(["--data", "data", "--port", "0"], in: directory)
            #expect(code == 1)
            #expect(text.contains("held"))
            #expect(text.contains("\(server.processID)"))
            #expect(await server.end(by: SIGTERM) == 0)
        }
    }

    /// Runs it until it ends.
    private func run(_ arguments: [String], in directory: URL) async throws -> (code: Int32, text: String) {
        let process = ServerProcess.command(arguments)
        process.currentDirectoryURL = directory
        let output = Pipe()
        process.standardError = output
        try process.run()
        return try await offPool {
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            return (process.terminationStatus, text)
        }
    }
}
