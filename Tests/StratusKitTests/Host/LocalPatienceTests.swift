// The time-outs of a host's socket, and the progress that long work reports.

import Foundation
import StratusCloud
import StratusLayout
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Synchronization
import Testing

@testable import StratusKit

@Suite("Time-outs of the host's socket", .timeLimit(.minutes(15)))
struct LocalPatienceTests {
    private let directory: HostDirectory

    init() throws {
        directory = try HostDirectory()
        try FileManager.default.createDirectory(at: directory.store, withIntermediateDirectories: true)
    }

    private func listen(_ host: WorkingHost, _ patience: LocalPatience) throws -> LocalSocketListener {
        try LocalSocketListener(in: directory.store.path) { channel, isStopping in
            LocalConnection(channel: channel, host: host, patience: patience, isStopping: isStopping).serve()
        }
    }

    private func connect() throws -> LocalChannel { try #require(try LocalClient.connect(directory.store.path)) }

    /// The next frame; nil at the end.
    private func next(_ channel: LocalChannel) throws -> LocalFrame? {
        try LocalClient.receive(channel, seconds: TestThreads.deadlineSeconds)
    }

    /// The host's last message on a connection that it ends.
    private func farewell(_ channel: LocalChannel) throws -> LocalSocketError {
        let frame = try #require(try next(channel))
        #expect(frame.kind == LocalFrame.Kind.refusal.rawValue)
        #expect(try next(channel) == nil, "the connection goes on")
        return try ExactJSON.decode(from: frame.content)
    }

    @Test("a client that sends nothing for too long, or an unfinished frame, gets an error and is disconnected")
    func silence() async throws {
        try await TestThreads.offPool {
            var patience = LocalPatience.tested
            patience.idleSeconds = 0.2
            let listener = try self.listen(WorkingHost(), patience)
            defer { listener.stop() }
            #expect(try self.farewell(self.connect()) == .idle)
        }
        try await TestThreads.offPool {
            var patience = LocalPatience.tested
            patience.frameSeconds = 0
            let listener = try self.listen(WorkingHost(), patience)
            defer { listener.stop() }
            let request = try LocalFrame(.request, ExactJSON.encode(LocalRequest.cloud(.limits))).bytes
            // In the middle of the header, behind it, and before the last byte.
            for count in [1, LocalFrame.headerByteCount, request.count - 1] {
                let channel = try self.connect()
                try channel.send(bytes: Array(request[..<count]), seconds: 10)
                #expect(try self.farewell(channel) == .tooSlow, "after \(count) bytes")
            }
            // A client that sends complete requests is served: what has arrived is in time.
            let client = try #require(try LocalClient(directory: self.directory.store.path))
            #expect(throws: CloudError.self) { let _: RequestSize = try client.ask(.cloud(.limits)) }
        }
    }

    @Test("a watcher that does not read is disconnected when sending a frame takes too long")
    func unreadEvents() async throws {
        let host = WorkingHost()
        try await TestThreads.offPool {
            var patience = LocalPatience.tested
            patience.frameSeconds = 0.2
            let listener = try self.listen(host, patience)
            defer { listener.stop() }
            let channel = try self.connect()
            let _: Done = try LocalClient.ask(.watch, over: channel)
            let event = WatchedEvent(
                date: Date(), operation: String(repeating: "x", count: 1_000), container: "c", itemCount: 0,
                failedItemCount: 0, conflictCount: 0, commitCount: 0, durationSeconds: 0)
            // More than fits into any socket's buffer, repeatedly, until no watcher is left.
            while host.feed.isWatched {
                for _ in 0..<EventWatcher.eventCount { host.feed.tell(event) }
                Thread.sleep(forTimeInterval: 0.02)
            }
            withExtendedLifetime(channel) {}
        }
    }

    // MARK: Long work

    @Test("long work reports its progress before its answer, if the client asks for it")
    func progress() async throws {
        let host = WorkingHost(stepCount: 3)
        try await TestThreads.offPool {
            let listener = try self.listen(host, .tested)
            defer { listener.stop() }
            let client = try #require(try LocalClient(directory: self.directory.store.path))
            var told: [WorkProgress] = []
            let answer: PurgeProgress? = try client.ask(
                .host(.purgeZones), telling: { told.append($0) }, isStopping: { false })
            #expect(answer?.entriesDeleted == 3)
            // The first one is delivered at once; others may follow too quickly.
            #expect(told.first == WorkProgress(doneCount: 0, totalCount: 3))
            #expect(told.map(\.doneCount) == told.map(\.doneCount).sorted())
            let alone: PurgeProgress = try client.ask(.host(.purgeZones))
            #expect(alone.entriesDeleted == 3)
        }
    }

    @Test("work learns that no client waits any longer, and the host serves the next client")
    func interruption() async throws {
        // Without end, unless it is stopped.
        let host = WorkingHost(stepCount: nil)
        try await TestThreads.offPool {
            let listener = try self.listen(host, .tested)
            defer { listener.stop() }
            let client = try #require(try LocalClient(directory: self.directory.store.path))
            var hasBegun = false
            let answer: PurgeProgress? = try client.ask(
                .host(.purgeZones), telling: { _ in hasBegun = true }, isStopping: { hasBegun })
            #expect(answer == nil)
            while !host.wasStopped { Thread.sleep(forTimeInterval: 0.01) }
            // A killed client sends nothing.
            let channel = try self.connect()
            try channel.send(LocalFrame(.request, ExactJSON.encode(LocalRequest.host(.purgeZones))), seconds: 10)
            #expect(try self.next(channel)?.kind == LocalFrame.Kind.progress.rawValue)
            host.forget()
            channel.stop(sendingToo: true)
            while !host.wasStopped { Thread.sleep(forTimeInterval: 0.01) }
        }
    }

    @Test("progress without a total comes from older hosts, and a total does not break older tools")
    func progressOfOtherVersions() throws {
        let old: WorkProgress = try ExactJSON.decode(from: Array(#"{"doneCount":7}"#.utf8))
        #expect(old == WorkProgress(doneCount: 7))
        struct OldProgress: Codable { var doneCount: Int }
        let new = try ExactJSON.encode(WorkProgress(part: "entries", doneCount: 7, totalCount: 9))
        #expect(try ExactJSON.decode(OldProgress.self, from: new).doneCount == 7)
        #expect(try ExactJSON.decode(WorkProgress.self, from: new).totalCount == 9)
        #expect(try ExactJSON.decode(WorkProgress.self, from: new).part == "entries")
    }

    @Test("a host compacts in slices, reports progress, and stops if no client waits any longer")
    func compaction() async throws {
        let options = Stratus.Options.tested {
            $0.servesTool = true
            $0.writeBufferByteCount = 8 << 20
        }
        let store = try await Stratus.open(at: directory.store, options: options)
        defer { store.close() }
        try await TestThreads.offPool {
            let engine = try store.service.engine
            // So much that LevelDB writes several tables of it meanwhile.
            for number in 0..<250 {
                try engine.store.transact {
                    try $0.set([0xFE, UInt8(number)], to: [UInt8](repeating: UInt8(number), count: 90_000))
                }
            }
            // The second of them comes behind the writes.
            let tables = try #require(engine.store as? LevelDBStore)
            while try tables.compactionSlices(of: .everything, byteCount: 1).count < 2 {
                Thread.sleep(forTimeInterval: 0.01)
            }
            struct Stopped: Error {}
            var told: [(done: Int, total: Int)] = []
            #expect(throws: Stopped.self) {
                _ = try StoreBacking.compact(engine.store, sliceByteCount: 1) { done, total in
                    told.append((done, total))
                    if told.count == 2 { throw Stopped() }
                }
            }
            try #require(told.count == 2, "\(told)")
            #expect(told[1].done > 0, "\(told)")
            #expect(told[1].done < told[1].total, "\(told)")
            let served = try #require(try ServedStore(directory: self.directory.store.path))
            var (first, totals): ((Int, Int?)?, Set<Int?>) = (nil, [])
            let files = try served.compact(progress: {
                first = first ?? ($0.doneCount, $0.totalCount)
                totals.insert($0.totalCount)
            })
            #expect(try #require(files).byteCountAfter > 0)
            #expect(first?.0 == 0, "\(totals)")
            #expect(totals.count == 1, "\(totals)")
            #expect(totals.allSatisfy { ($0 ?? 0) > 1 << 20 }, "\(totals)")
            #expect(try served.compact(isStopping: { true }) == nil)
            // The host serves the next one, with everything there.
            #expect(try served.compact() != nil)
            #expect(try engine.store.read { try $0.value(forKey: [0xFE, 249])?.count } == 90_000)
        }
    }

    @Test(
        "a rebuild and a purge in a host's store report progress, and a rebuild without a waiting client stops")
    func ofStore() async throws {
        let store = try await Stratus.open(at: directory.store, options: .tested { $0.servesTool = true })
        defer { store.close() }
        let account = try await store.createAccount(.init(), externalID: "test")
        let database = store.container("iCloud.test", signedInAs: account).privateCloudDatabase
        for name in ["Notes", "Gone"] { _ = try await database.save(CKRecordZone(zoneName: name)) }
        for name in ["Notes", "Gone"] {
            _ = try await database.modifyRecords(
                saving: (0..<50).map { note("n\($0)", in: name, text: "text") }, deleting: [])
        }
        _ = try await database.deleteRecordZone(withID: CKRecordZone.ID(zoneName: "Gone"))
        let zone = ZoneID(
            database: DatabaseID(container: "iCloud.test", owner: UserName(account.userRecordName), scope: .private),
            name: "Notes")
        try await TestThreads.offPool {
            let served = try #require(try ServedStore(directory: self.directory.store.path))
            // Work that a closing host has stopped is not reported as done.
            #expect(throws: CloudError.self) { _ = try store.answer(.purgeZones) { _ in false } }
            var told: [WorkProgress] = []
            let purged = try served.purgeDeletedZones(progress: { told.append($0) })
            #expect(try #require(purged).entriesDeleted > 50)
            #expect(told.first?.doneCount == 0)
            #expect(told.contains { $0.part.flatMap(FreeingPart.init) != nil && $0.totalCount != nil })
            let incarnation = UUID()
            told = []
            #expect(try served.rebuild(zone, incarnation: incarnation, progress: { told.append($0) }))
            #expect(!told.isEmpty)
            let steps = told.map { $0.part.flatMap(RebuildProgress.Step.init) }
            #expect(zip(steps, told).allSatisfy { $0 != nil && ($0 == .counting) == ($1.totalCount == nil) })
            func found() throws -> UUID {
                try store.service.engine.read { try $0.existingZone(zone).header().incarnation }
            }
            #expect(try found() == incarnation)
            let next = UUID()
            let isDone = try served.rebuild(zone, incarnation: next, isStopping: { true })
            #expect(!isDone)
            // It takes effect as a whole.
            while try found() != next { Thread.sleep(forTimeInterval: 0.01) }
            #expect(try store.service.engine.verify().isClean)
        }
    }
}

/// A host whose every work takes some steps, or continues until it is stopped.
private final class WorkingHost: LocalHost {
    let feed = EventFeed()
    private let stepCount: Int?
    private let stopped = Mutex(false)

    init(stepCount: Int? = 1) { self.stepCount = stepCount }

    var wasStopped: Bool { stopped.withLock { $0 } }
    func forget() { stopped.withLock { $0 = false } }

    func answer(_ call: AnyCloudCall) throws -> any Encodable {
        throw CloudError(.serviceUnavailable, "It only works.")
    }

    func answer(_ call: HostCall, telling tell: @escaping (WorkProgress) -> Bool) throws -> any Encodable {
        var progress = PurgeProgress()
        while stepCount.map({ progress.entriesDeleted < $0 }) ?? true {
            guard tell(WorkProgress(doneCount: progress.entriesDeleted, totalCount: stepCount)) else {
                stopped.withLock { $0 = true }
                break
            }
            progress.entriesDeleted += 1
        }
        return progress
    }

    func read(_ body: (any StoreReader, _ isOver: () -> Bool) throws -> Void) throws {
        throw CloudError(.serviceUnavailable, "It only works.")
    }
}
