// The socket of a host, from the client's side: who may connect, what they may request, and that nothing harms the
// host.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("The host's socket")
struct LocalSocketTests {
    private let directory: HostDirectory
    private var path: String { directory.store.path }
    private var socket: String { path + "/SOCKET" }

    init() throws { directory = try HostDirectory() }

    private func open(_ change: (inout Stratus.Options) -> Void = { _ in }) throws -> Stratus {
        try Stratus.open(
            at: directory.store,
            options: .tested {
                $0.servesTool = true
                change(&$0)
            })
    }

    private var mode: Int? {
        (try? FileManager.default.attributesOfItem(atPath: socket))?[.posixPermissions] as? Int
    }

    @Test("only its owner can use it, it exists while the store is open, and only if the host wants it")
    func life() throws {
        let store = try open()
        #expect(mode == 0o600)
        #expect(try ServedStore(directory: path) != nil)
        try store.reset()
        #expect(mode == 0o600)
        #expect(try ServedStore(directory: path) != nil)
        store.close()
        #expect(mode == nil)
        #expect(try ServedStore(directory: path) == nil)
        let silent = try open { $0.servesTool = false }
        defer { silent.close() }
        #expect(mode == nil)
        #expect(try ServedStore(directory: path) == nil)
    }

    @Test("a store with a path longer than a socket address is served")
    func longPath() throws {
        let folder = directory.url.appendingPathComponent(String(repeating: "long", count: 50))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let url = folder.appendingPathComponent("store")
        let store = try Stratus.open(at: url, options: .tested { $0.servesTool = true })
        defer { store.close() }
        #expect(try ServedStore(directory: url.path) != nil)
    }

    @Test("a file that is not a socket stays, and the store is not opened")
    func occupied() throws {
        try open { $0.servesTool = false }.close()
        try Data("mine".utf8).write(to: URL(fileURLWithPath: socket))
        #expect(throws: StratusError.self) { try open() }
        #expect(try String(contentsOfFile: socket, encoding: .utf8) == "mine")
        try open { $0.servesTool = false }.close()
    }

    // MARK: Reading and writing

    @Test("a reading sees one snapshot of the store, and the next reading what changed since")
    func snapshots() async throws {
        let store = try open()
        defer { store.close() }
        let account = try await store.createAccount(.init(), externalID: "test")
        let served = try #require(try ServedStore(directory: path))
        try await TestThreads.offPool {
            let (before, during) = try served.engine.read { reader in
                let before = try reader.databases().count
                try self.saveZone("Notes", store, account)
                return (before, try reader.databases().count)
            }
            #expect(before == during)
            #expect(try served.engine.read { try $0.databases().count } > before)
        }
    }

    private func saveZone(_ name: String, _ store: Stratus, _ account: Stratus.Account) throws {
        let caller = Caller(container: "iCloud.test", account: AccountID(account.id))
        let request = ModifyZonesRequest(saves: [ClientZone(address: ZoneAddress(zoneName: name))])
        for result in try store.service.modifyZones(request, as: caller, in: .private).saves { _ = try result.get() }
    }

    @Test("records, errors and people pass through the socket unchanged")
    func values() async throws {
        let store = try open()
        defer { store.close() }
        let account = try await store.createAccount(.init(emails: ["a@example.com"]), externalID: "test")
        let served = try #require(try ServedStore(directory: path))
        let direct = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        let remote = served.container("iCloud.test", signedInAs: account).privateCloudDatabase
        _ = try await remote.save(CKRecordZone(zoneName: "Notes"))
        let sent = note("e\u{301}", in: "Notes", text: "nul \0 and \u{1F468}\u{200D}\u{1F469}")
        sent["numbers"] = [Int64.min, 0, Int64.max]
        sent["doubles"] = [-0.0, Double.leastNonzeroMagnitude, Double.infinity, -Double.infinity, 0.1]
        sent["bytes"] = Data(0...255)
        sent["date"] = Date(timeIntervalSinceReferenceDate: -0.1)
        sent["place"] = CLLocation(latitude: 1.5, longitude: -179.25)
        let target = CKRecord.ID(recordName: "é", zoneID: sent.recordID.zoneID)
        sent["to"] = CKRecord.Reference(recordID: target, action: .none)
        let saved = try await remote.save(sent)
        let (here, there) = (try await direct.record(for: sent.recordID), try await remote.record(for: sent.recordID))
        #expect(here.recordID == sent.recordID)
        #expect(there.recordID.recordName.utf8.elementsEqual("e\u{301}".utf8))
        #expect(saved.recordChangeTag == here.recordChangeTag)
        #expect(there.recordChangeTag == here.recordChangeTag)
        for record in [here, there] {
            #expect(Set(record.allKeys()) == Set(sent.allKeys()))
            #expect(record["numbers"] as? [Int64] == [Int64.min, 0, Int64.max])
            let (doubles, sentDoubles) = (record["doubles"] as? [Double], sent["doubles"] as? [Double])
            #expect(doubles?.map(\.bitPattern) == sentDoubles?.map(\.bitPattern))
            #expect(record["bytes"] as? Data == Data(0...255))
            #expect(record["date"] as? Date == sent["date"] as? Date)
            #expect(record["text"] as? String == sent["text"] as? String)
            #expect((record["to"] as? CKRecord.Reference)?.recordID.recordName.utf8.elementsEqual("é".utf8) == true)
        }
        // A conflict includes the server's record.
        let stale = try await direct.record(for: sent.recordID)
        here["text"] = "newer"
        _ = try await direct.save(here)
        stale["text"] = "older"
        let error = await #expect(throws: CKError.self) { _ = try await remote.save(stale) }
        #expect(error?.code == .serverRecordChanged)
        #expect(error?.serverRecord?["text"] as? String == "newer")
        served.close()
    }

    // MARK: Harmless input

    private func connect() throws -> LocalChannel {
        try #require(try LocalClient.connect(path))
    }

    /// Creates a connection. The host needs some time to notice that earlier ones have ended.
    private func whenThereIsRoom<Connection>(_ connect: () throws -> Connection) throws -> Connection {
        while true {
            do {
                return try connect()
            } catch let error as LocalSocketError {
                guard error.fields["connections"] != nil else { throw error }
                TestThreads.yield()
            }
        }
    }

    /// The host's last message to the sender.
    private func refusal(of frame: LocalFrame) throws -> LocalSocketError {
        let channel = try connect()
        try channel.send(frame, seconds: 10)
        let answer = try #require(try LocalClient.receive(channel, seconds: TestThreads.deadlineSeconds))
        #expect(answer.kind == LocalFrame.Kind.refusal.rawValue)
        let next = try LocalClient.receive(channel, seconds: TestThreads.deadlineSeconds)
        #expect(next == nil, "the connection goes on")
        return try ExactJSON.decode(from: answer.content)
    }

    @Test("another version, an unknown frame or request and an endless request are refused with a message")
    func refusals() async throws {
        let store = try open()
        defer { store.close() }
        try await TestThreads.offPool {
            var frame = LocalFrame(.request, Array(#"{"watch":{}}"#.utf8))
            frame.version = 9
            #expect(try self.refusal(of: frame).message.contains("another version"))
            #expect(try self.refusal(of: LocalFrame(.answer)).message.contains("not a request"))
            let unknown = LocalFrame(.request, Array(#"{"host":{"explode":{}}}"#.utf8))
            #expect(try self.refusal(of: unknown).message.contains("unknown to the host"))
            let early = try LocalFrame(.request, ExactJSON.encode(LocalRequest.read(.value(key: Data()))))
            #expect(try self.refusal(of: early).message.contains("Reading has not begun"))
            // 16 MiB and one byte are announced, and none of them is sent.
            let channel = try self.connect()
            try channel.send(bytes: [1, 0, 0, 1, LocalFrame.version, 2], seconds: 10)
            let answer = try #require(try LocalClient.receive(channel, seconds: TestThreads.deadlineSeconds))
            #expect(try ExactJSON.decode(LocalSocketError.self, from: answer.content).message.contains("too large"))
        }
    }

    @Test("after any bytes from one client, the host serves the next", arguments: [UInt64(1), 2, 3])
    func garbage(seed: UInt64) async throws {
        let store = try open()
        defer { store.close() }
        _ = try await store.createAccount(.init(), externalID: "test")
        let valid = try LocalFrame(.request, ExactJSON.encode(LocalRequest.cloud(.limits))).bytes
        let deep = String(repeating: #"{"list":{"_0":["#, count: 400)
        try await TestThreads.offPool {
            var dice = SplitMix64(seed: seed)
            for round in 0..<60 {
                let channel = try self.whenThereIsRoom { try self.connect() }
                var bytes: [UInt8]
                switch round % 4 {
                case 0:
                    let count = Int.random(in: 1...400, using: &dice)
                    bytes = (0..<count).map { _ in .random(in: 0 ... .max, using: &dice) }
                case 1:
                    bytes = valid
                    for _ in 0..<Int.random(in: 1...4, using: &dice) {
                        bytes[Int.random(in: 4..<bytes.count, using: &dice)] = .random(in: 0 ... .max, using: &dice)
                    }
                case 2: bytes = Array(valid.prefix(Int.random(in: 1..<valid.count, using: &dice)))
                default:
                    let text = deep + String(repeating: "[", count: round * 9)
                    bytes = LocalFrame(.request, Array(text.utf8)).bytes
                }
                // The host may have gone away already.
                try? channel.send(bytes: bytes, seconds: 10)
                channel.stop(sendingToo: round % 8 < 4)
            }
            let client = try self.whenThereIsRoom { try #require(try LocalClient(directory: self.path)) }
            let _: RequestSize = try client.ask(.cloud(.limits))
        }
        #expect(try await store.account(externalID: "test") != nil)
    }

    @Test("connections over the limit are refused with a message, and there is room again when one ends")
    func connections() async throws {
        let store = try open()
        defer { store.close() }
        // Otherwise the first may have timed out by the time the last one connects.
        try store.serveToolPatiently()
        try await TestThreads.offPool {
            var channels = try (0..<LocalSocketListener.connectionCount).map { _ in try self.connect() }
            let error = #expect(throws: LocalSocketError.self) { try self.connect() }
            #expect(error?.message.contains("the maximum number of connections") == true)
            channels.removeLast()
            _ = try self.whenThereIsRoom { try self.connect() }
            withExtendedLifetime(channels) {}
        }
    }

    @Test("an error of a request ends only that request")
    func errors() async throws {
        let store = try open()
        defer { store.close() }
        try await TestThreads.offPool {
            let client = try #require(try LocalClient(directory: self.path))
            let caller = Caller(container: "iCloud.test", account: nil)
            #expect(throws: CloudError.self) { let _: UserName = try client.ask(.cloud(.userName(caller))) }
            #expect(throws: StratusError.self) { let _: Done = try client.ask(.host(.deleteAccount("nobody"))) }
            let _: RequestSize = try client.ask(.cloud(.limits))
        }
    }

    @Test("closing and emptying the store does not wait for readers or watchers")
    func closing() async throws {
        let store = try open()
        // A client that is disconnected during the last message does not get it.
        try store.serveToolPatiently()
        try await TestThreads.offPool {
            let served = try #require(try ServedStore(directory: self.path))
            let watch = try #require(try HostWatch(directory: self.path))
            #expect(throws: (any Error).self) {
                try served.engine.read { reader in
                    try store.reset()
                    _ = try reader.databases().count
                }
            }
            let told = try watch.next(waitingAtMost: TestThreads.deadlineSeconds, isStopping: { false })
            guard case .events(let last) = told else {
                Issue.record("the watcher got no message")
                return
            }
            #expect(last.isLast)
            store.close()
        }
    }
}

extension AnyCloudCall {
    /// A request that every host answers.
    static let limits = AnyCloudCall(
        CloudCall(
            request: RequestLimitsRequest(), caller: Caller(container: "iCloud.test", account: nil), place: NoDatabase()
        ))

    fileprivate static func userName(_ caller: Caller) -> AnyCloudCall {
        AnyCloudCall(CloudCall(request: UserNameRequest(), caller: caller, place: NoDatabase()))
    }
}
