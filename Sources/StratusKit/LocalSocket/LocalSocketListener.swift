// The host's side of a local socket: accepting connections, and serving each one on a thread.
//
// Invariants:
//   1. Only the host's own user and root are served. Others get a refusal.
//   2. A thread serves one connection, and the number of connections is limited. Further ones get a refusal.
//   3. Nothing that arrives over a connection ends more than that connection.
//   4. When `stop` returns, no thread is left and the socket is gone.

import CStratusSystem
import Foundation
import StratusCloud
import StratusStore

final class LocalSocketListener: @unchecked Sendable {
    // Because every variable is touched only between `condition.lock` and `unlock`.

    /// How many connections are served at a time.
    static let connectionCount = 16
    /// How long to wait if the process has no descriptors left.
    private static let exhaustedSeconds = 0.1
    /// Enough for values as deeply nested as a decoder accepts.
    private static let stackByteCount = 8 << 20

    typealias Serve = @Sendable (LocalChannel, _ isStopping: @escaping () -> Bool) -> Void

    private let directory: String
    private let reached: @Sendable (String) -> String?
    private let listener: Int32
    private let allowedUsers: Set<UInt32>
    private let farewellSeconds: Double
    private let serve: Serve
    private let wake: @Sendable () -> Void
    private let condition = TimedCondition()
    private var channels: [ObjectIdentifier: LocalChannel] = [:]
    private var threadCount = 0
    private var isStopped = false

    /// Begins to accept connections at the socket in a directory. Replaces an existing socket.
    ///
    /// `wake` is called when the listener stops. It must not wait. Code that serves a connection and waits for anything
    /// else must then check `isStopping`. An idle connection may still send for `farewellSeconds`.
    ///
    /// `reached` returns the path of the directory when the socket is removed; nil if the socket must stay, because
    /// another directory may have replaced this one.
    ///
    /// Throws `LocalSocketError` if the directory takes no socket.
    init(
        in directory: String, reached: @escaping @Sendable (String) -> String? = { $0 },
        farewellSeconds: Double = LocalPatience().farewellSeconds,
        serve: @escaping Serve, wake: @escaping @Sendable () -> Void = {}
    ) throws {
        self.directory = directory
        self.reached = reached
        self.farewellSeconds = farewellSeconds
        self.serve = serve
        self.wake = wake
        allowedUsers = [0, clocalsocket_own_user()]
        let (place, name) = (Array(directory.utf8), LocalChannel.socketName)
        listener = clocalsocket_listen(place.span, name.span, Int32(Self.connectionCount))
        guard listener >= 0 else { throw LocalSocketError(number: -listener) }
        condition.withLock { startThread("Stratus socket") { $0.takeConnections() } }
    }

    /// Stops accepting connections, lets current requests end, and removes the socket, unless another one has its name
    /// now.
    func stop(removingSocket: Bool = true) {
        condition.lock()
        guard !isStopped else { return condition.unlock() }
        isStopped = true
        clocalsocket_stop(listener, 1)
        for channel in channels.values { channel.stop(sendingToo: false) }
        wake()
        let end = TimedCondition.now + farewellSeconds
        while threadCount > 0, condition.wait(until: end) {}
        // A client that does not read delays nothing.
        for channel in channels.values { channel.stop(sendingToo: true) }
        while threadCount > 0 { condition.wait() }
        condition.unlock()
        if removingSocket, let place = reached(directory) { Self.removeSocket(in: place) }
        clocalsocket_close(listener)
    }

    /// Removes a socket that no process listens at. Any other file with the name stays.
    static func removeSocket(in directory: String) {
        let (directory, name) = (Array(directory.utf8), LocalChannel.socketName)
        _ = clocalsocket_remove(directory.span, name.span)
    }

    private var isStopping: Bool { condition.withLock { isStopped } }

    // MARK: Threads

    /// The caller holds the lock.
    private func startThread(_ name: String, _ body: @escaping @Sendable (LocalSocketListener) -> Void) {
        threadCount += 1
        Thread.start(name, stackByteCount: Self.stackByteCount) { [self] in
            body(self)
            condition.change { threadCount -= 1 }
        }
    }

    private func takeConnections() {
        while true {
            let descriptor = clocalsocket_accept(listener)
            if descriptor >= 0 {
                take(LocalChannel(descriptor))
            } else if isStopping {
                return
            } else {
                Thread.sleep(forTimeInterval: Self.exhaustedSeconds)
            }
        }
    }

    private func take(_ channel: LocalChannel) {
        guard let peer = channel.peer, allowedUsers.contains(peer.user) else {
            return refuse(channel, "Only the host's own user and root may use its socket.")
        }
        condition.lock()
        let isRoom = channels.count < Self.connectionCount && !isStopped
        if isRoom {
            channels[ObjectIdentifier(channel)] = channel
            startThread("Stratus connection") { listener in
                listener.serve(channel) { listener.isStopping }
                listener.condition.withLock { listener.channels[ObjectIdentifier(channel)] = nil }
            }
        }
        condition.unlock()
        if !isRoom {
            refuse(
                channel, "The host serves the maximum number of connections. Try again when others have ended.",
                ["connections": "\(Self.connectionCount)"])
        }
    }

    /// The first frame of a connection always fits the socket's buffer, so sending it does not wait.
    private func refuse(_ channel: LocalChannel, _ message: String, _ fields: [String: String] = [:]) {
        let error = LocalSocketError(message: message, fields: fields)
        if let content = try? ExactJSON.encode(error) {
            try? channel.send(LocalFrame(.refusal, content), seconds: 0)
        }
    }
}

// One connection, as the host serves it: a greeting, then requests one after the other, each answered on this thread.

/// What a connection needs from the host.
protocol LocalHost: Sendable {
    /// Throws the errors of the layer it calls.
    func answer(_ call: AnyCloudCall) throws -> any Encodable
    /// `tell` gets the progress of long work, as often as convenient, and returns whether the client still waits.
    func answer(_ call: HostCall, telling tell: @escaping (WorkProgress) -> Bool) throws -> any Encodable
    /// Lends a snapshot of the store. `isOver` says when to return it, because the store is being reopened.
    func read(_ body: (any StoreReader, _ isOver: () -> Bool) throws -> Void) throws
    var feed: EventFeed { get }
}

/// How long the host waits for the client.
struct LocalPatience: Sendable {
    /// How long a connection may be idle between two requests. A later client connects again.
    var idleSeconds = 60.0
    /// How long a frame may take from its first byte to its last, in either direction.
    var frameSeconds = 30.0
    /// How long a connection whose work is done may still send when the host stops.
    var farewellSeconds = 2.0
}

struct LocalConnection {
    /// How often an idle connection is checked.
    private static let watchSeconds = 0.25
    /// The shortest time between two reports of progress.
    private static let reportSeconds = 0.1

    let channel: LocalChannel
    let host: any LocalHost
    var patience = LocalPatience()
    let isStopping: () -> Bool

    /// Serves the connection until it ends.
    func serve() {
        do {
            try send(.greeting, Done())
            while let request = try nextRequest() {
                switch request {
                case .watch: return try watch()
                case .read(.begin): try read()
                case .read: throw LocalSocketError(message: "Reading has not begun.")
                case .cloud(let call): try reply { try host.answer(call) }
                case .host(let call): try work(on: call)
                }
            }
        } catch let error as LocalSocketError {
            // The other side may be gone.
            try? send(.refusal, error)
        } catch {
            try? send(.refusal, LocalSocketError(message: "The host failed with an unknown error."))
        }
    }

    // MARK: Frames

    /// The next request, or nil at the end. Throws if `isOver` says that no more are answered.
    private func nextRequest(unless isOver: () -> Bool = { false }) throws -> LocalRequest? {
        guard let frame = try nextFrame(unless: isOver) else { return nil }
        guard frame.version == LocalFrame.version else {
            throw LocalSocketError(
                message: "The host uses another version of the protocol. Use the tool of the host's version.",
                fields: ["asked": "\(frame.version)", "host": "\(LocalFrame.version)"])
        }
        guard frame.kind == LocalFrame.Kind.request.rawValue else {
            throw LocalSocketError(message: "This frame is not a request.", fields: ["kind": "\(frame.kind)"])
        }
        do {
            return try ExactJSON.decode(from: frame.content)
        } catch {
            throw LocalSocketError(
                message: "The request is malformed, or unknown to the host. Use the tool of the host's version.")
        }
    }

    private func nextFrame(unless isOver: () -> Bool) throws -> LocalFrame? {
        let end = TimedCondition.now + patience.idleSeconds
        while true {
            let rest = end - TimedCondition.now
            do {
                let frame = try channel.receive(
                    idleSeconds: min(rest, Self.watchSeconds), frameSeconds: patience.frameSeconds,
                    isStopping: isStopping)
                guard !isOver() else { throw LocalSocketError.reopening }
                return frame
            } catch let error as LocalSocketError where error == .idle {
                guard !isOver() else { throw LocalSocketError.reopening }
                if rest <= Self.watchSeconds { throw error }
            }
        }
    }

    private func send(_ kind: LocalFrame.Kind, _ value: some Encodable) throws {
        try channel.send(
            LocalFrame(kind, try ExactJSON.encode(value)), seconds: patience.frameSeconds, isStopping: isStopping)
    }

    private func reply(_ body: () throws -> any Encodable) throws {
        let content: [UInt8]
        do {
            content = try ExactJSON.encode(try body())
            if content.count > LocalFrame.contentByteCount {
                throw CloudError(
                    .limitExceeded, "The answer is too large for the host's socket. Request less at a time.")
            }
        } catch let error as LocalSocketError {
            throw error
        } catch {
            return try send(.failure, LocalFailure(error))
        }
        try channel.send(LocalFrame(.answer, content), seconds: patience.frameSeconds, isStopping: isStopping)
    }

    // MARK: Long work

    /// Sends progress while the host works, and notifies the host when the client is gone.
    private func work(on call: HostCall) throws {
        var lastTold: Double?
        var failure: LocalSocketError?
        try reply {
            let answer = try host.answer(call) { progress in
                guard failure == nil, !isStopping(), !channel.isHungUp else { return false }
                let now = TimedCondition.now
                if let last = lastTold, now - last < Self.reportSeconds { return true }
                lastTold = now
                do {
                    // Do not wait for the client: the work continues.
                    try channel.send(LocalFrame(.progress, try ExactJSON.encode(progress)), seconds: 0)
                } catch {
                    failure = error as? LocalSocketError ?? .tooSlow
                }
                return failure == nil
            }
            if let failure { throw failure }
            return answer
        }
    }

    // MARK: Reading

    /// Answers from one snapshot until the other side ends reading.
    private func read() throws {
        do {
            try host.read { reader, isOver in
                try reply { ReadBegun(version: reader.version) }
                while let request = try nextRequest(unless: isOver) {
                    guard case .read(let call) = request else {
                        throw LocalSocketError(message: "Another request came before reading ended.")
                    }
                    if case .end = call { return }
                    try reply { try call.answer(from: reader) }
                }
                throw LocalSocketError.cutOff
            }
        } catch let error as LocalSocketError {
            throw error
        } catch {
            return try send(.failure, LocalFailure(error))
        }
        try send(.answer, Done())
    }

    // MARK: Watching

    private func watch() throws {
        let watcher = host.feed.add()
        defer { host.feed.remove(watcher) }
        // After this answer, the watcher gets every event.
        try send(.answer, Done())
        while !channel.isHungUp {
            let isLast = isStopping()
            var told = watcher.take(waitingAtMost: isLast ? 0 : Self.watchSeconds)
            told.isLast = isLast && told.events.isEmpty
            if !told.events.isEmpty || told.isLast { try send(.events, told) }
            if told.isLast { return }
        }
    }
}

extension ReadCall {
    /// How much of a scan one answer contains.
    private static let pageByteCount = 256 << 10
    private static let pageEntryCount = 4_096

    fileprivate func answer(from reader: any StoreReader) throws -> any Encodable {
        switch self {
        case .value(let key): return ReadValue(value: try reader.value(forKey: Array(key)).map { Data($0) })
        case .entries(let lower, let upper, let isBackward, let limit):
            let limit = max(1, min(limit, Self.pageEntryCount))
            var page = ReadEntries(entries: [], isAtEnd: true)
            var byteCount = 0
            let range = KeyRange(from: Array(lower), upTo: Array(upper))
            try reader.scan(range, isBackward ? .backward : .forward, limit: .max) { key, value in
                guard page.entries.count < limit, byteCount < Self.pageByteCount else {
                    page.isAtEnd = false
                    return .stop
                }
                page.entries.append(
                    ReadEntries.Entry(key: Data([UInt8](copying: key)), value: Data([UInt8](copying: value))))
                byteCount += key.count + value.count
                return .next
            }
            return page
        case .begin, .end: throw LocalSocketError(message: "Reading has already begun.")
        }
    }
}
