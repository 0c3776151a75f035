// A socket at which a host takes connections, and the threads that serve them.
//
// Invariants:
//   1. Only the host's own user and root are served; others are told so and let go.
//   2. A thread serves one connection, and there are only so many: whoever comes then is told so and let go.
//   3. Nothing that comes over a connection ends more than that connection.
//   4. When `stop` returns no thread is left, and the socket is gone.

import CSystem
import Foundation
import StratusCloud
import StratusStore

final class LocalSocketListener: @unchecked Sendable {
    // Because every variable is touched only between `condition.lock` and `unlock`.

    /// How many connections are served at a time.
    static let connectionCount = 16
    /// How long is waited where the process has no descriptors left.
    private static let exhaustedSeconds = 0.1
    /// Enough for values as deeply nested as a decoder lets pass.
    private static let stackByteCount = 8 << 20

    typealias Serve = @Sendable (LocalChannel, _ isStopping: @escaping () -> Bool) -> Void

    private let directory: String
    private let reached: @Sendable (String) -> String?
    private let name: String
    private let listener: Int32
    private let allowedUsers: Set<UInt32>
    private let farewellSeconds: Double
    private let serve: Serve
    private let wake: @Sendable () -> Void
    private let condition = TimedCondition()
    private var channels: [ObjectIdentifier: LocalChannel] = [:]
    private var threadCount = 0
    private var isStopped = false

    /// Begins to take connections at a socket of this name in a directory. A socket that lies there is replaced.
    ///
    /// `wake` is called when the listener stops: whoever serves and waits for something else than their connection is to
    /// look at `isStopping`. It may not wait. Who has nothing left to do may send for `farewellSeconds` then.
    ///
    /// `reached` says how the directory is reached when the socket is removed; nil where it must stay, because another directory
    /// may have taken the place of this one.
    ///
    /// Throws `LocalSocketError` where the directory takes none.
    init(
        _ name: String, in directory: String, reached: @escaping @Sendable (String) -> String? = { $0 },
        farewellSeconds: Double = LocalPatience().farewellSeconds,
        serve: @escaping Serve, wake: @escaping @Sendable () -> Void = {}
    ) throws {
        self.directory = directory
        self.reached = reached
        self.name = name
        self.farewellSeconds = farewellSeconds
        self.serve = serve
        self.wake = wake
        allowedUsers = [0, clocalsocket_own_user()]
        let (place, file) = (Array(directory.utf8), Array(name.utf8))
        listener = clocalsocket_listen(place.span, file.span, Int32(Self.connectionCount))
        guard listener >= 0 else { throw LocalSocketError(number: -listener) }
        condition.lock()
        startThread("Stratus socket") { $0.takeConnections() }
        condition.unlock()
    }

    /// Takes no more connections, lets requests under way end, and removes the socket, unless another has its name now.
    func stop(removingSocket: Bool = true) {
        condition.lock()
        guard !isStopped else { return condition.unlock() }
        isStopped = true
        clocalsocket_stop(listener, 1)
        for channel in channels.values { channel.stop(sendingToo: false) }
        wake()
        let end = TimedCondition.now + farewellSeconds
        while threadCount > 0, condition.wait(until: end) {}
        // Whoever does not read keeps nobody waiting.
        for channel in channels.values { channel.stop(sendingToo: true) }
        while threadCount > 0 { condition.wait() }
        condition.unlock()
        if removingSocket, let place = reached(directory) { Self.removeSocket(name, in: place) }
        clocalsocket_close(listener)
    }

    /// Removes a socket that nobody listens at any more. Anything else of the name stays.
    static func removeSocket(_ name: String, in directory: String) {
        let (directory, name) = (Array(directory.utf8), Array(name.utf8))
        _ = clocalsocket_remove(directory.span, name.span)
    }

    private var isStopping: Bool {
        condition.lock()
        defer { condition.unlock() }
        return isStopped
    }

    // MARK: Threads

    /// The caller holds the lock.
    private func startThread(_ name: String, _ body: @escaping @Sendable (LocalSocketListener) -> Void) {
        threadCount += 1
        let thread = Thread { [self] in
            body(self)
            condition.lock()
            threadCount -= 1
            condition.broadcast()
            condition.unlock()
        }
        thread.name = name
        thread.stackSize = Self.stackByteCount
        thread.start()
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
                listener.forget(channel)
            }
        }
        condition.unlock()
        if !isRoom {
            refuse(
                channel, "The host serves as many connections as it may: try again when others have ended.",
                ["connections": "\(Self.connectionCount)"])
        }
    }

    private func forget(_ channel: LocalChannel) {
        condition.lock()
        channels[ObjectIdentifier(channel)] = nil
        condition.unlock()
    }

    /// There is always room for the first frame of a connection, so that nobody is waited for.
    private func refuse(_ channel: LocalChannel, _ message: String, _ fields: [String: String] = [:]) {
        let error = LocalSocketError(message: message, fields: fields)
        if let content = try? LocalCoding.encode(error) {
            try? channel.send(LocalFrame(.refusal, content), seconds: 0)
        }
    }
}

// One connection as the host serves it: greeting, then requests one after the other, each carried out on this thread.

/// What a connection asks of the host.
protocol LocalHost: Sendable {
    /// Throws the errors of whichever floor it reaches.
    func answer(_ call: CloudCall) throws -> any Encodable
    /// `tell` takes how much of long work is done, as often as is convenient, and says whether anybody still wants it.
    func answer(_ call: HostCall, telling tell: @escaping (WorkProgress) -> Bool) throws -> any Encodable
    /// Lends a snapshot of the store. `isOver` says when it is to be given back, because the store is opened again.
    func read(_ body: (any StoreReader, _ isOver: () -> Bool) throws -> Void) throws
    var feed: EventFeed { get }
}

/// How long the host waits for the other side.
struct LocalPatience: Sendable {
    /// How long a connection may rest between two requests. Whoever comes later connects again.
    var idleSeconds = 60.0
    /// How long a frame may take from its first byte to its last, either way.
    var frameSeconds = 30.0
    /// How long a connection whose work is done may still send when the host stops.
    var farewellSeconds = 2.0
}

struct LocalConnection {
    /// How often a connection on which nothing happens is looked after.
    private static let watchSeconds = 0.25

    let channel: LocalChannel
    let host: any LocalHost
    var patience = LocalPatience()
    let isStopping: () -> Bool

    /// Serves the connection until it ends.
    func serve() {
        do {
            try send(.greeting, LocalGreeting(process: ProcessInfo.processInfo.processIdentifier))
            while let request = try nextRequest() {
                switch request {
                case .watch: return try watch()
                case .read(.begin): try read()
                case .read: throw LocalSocketError(message: "Nothing is read before reading has begun.")
                case .cloud(let call): try reply { try host.answer(call) }
                case .host(let call): try work(on: call)
                }
            }
        } catch let error as LocalSocketError {
            // The other side may be gone.
            try? send(.refusal, error)
        } catch {
            try? send(.refusal, LocalSocketError(message: "The host has met an error that it does not know."))
        }
    }

    // MARK: Frames

    /// The next request, nil at the end. Throws where `isOver` says that none is answered any more.
    private func nextRequest(unless isOver: () -> Bool = { false }) throws -> LocalRequest? {
        guard let frame = try nextFrame(unless: isOver) else { return nil }
        guard frame.version == LocalFrame.version else {
            throw LocalSocketError(
                message: "The host speaks another version of the protocol: use the tool of the host's version.",
                fields: ["asked": "\(frame.version)", "host": "\(LocalFrame.version)"])
        }
        guard frame.kind == LocalFrame.Kind.request.rawValue else {
            throw LocalSocketError(message: "This frame is no request.", fields: ["kind": "\(frame.kind)"])
        }
        do {
            return try LocalCoding.decode(from: frame.content)
        } catch {
            throw LocalSocketError(
                message: "The host does not know this request, or it is malformed: use the tool of the host's version.")
        }
    }

    private func nextFrame(unless isOver: () -> Bool) throws -> LocalFrame? {
        let end = LocalChannel.now + patience.idleSeconds
        while true {
            let rest = end - LocalChannel.now
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
            LocalFrame(kind, try LocalCoding.encode(value)), seconds: patience.frameSeconds, isStopping: isStopping)
    }

    private func reply(_ body: () throws -> any Encodable) throws {
        let content: [UInt8]
        do {
            content = try LocalCoding.encode(try body())
            if content.count > LocalFrame.contentByteCount {
                throw CloudError(
                    .limitExceeded, "The answer is larger than the host's socket takes: ask for less at a time.")
            }
        } catch let error as LocalSocketError {
            throw error
        } catch {
            return try send(.failure, LocalFailure(error))
        }
        try channel.send(LocalFrame(.answer, content), seconds: patience.frameSeconds, isStopping: isStopping)
    }

    // MARK: Long work

    /// Tells progress now and then while the host works, and tells the host when nobody is there any more.
    private func work(on call: HostCall) throws {
        let report = WorkReport(self)
        try reply {
            let answer = try host.answer(call) { report.tell($0) }
            if let failure = report.failure { throw failure }
            return answer
        }
    }

    /// What one request's work tells. Used on the connection's thread alone.
    private final class WorkReport {
        /// How often progress is told at most.
        private static let seconds = 0.1

        private let connection: LocalConnection
        private var lastTold: Double?
        private(set) var failure: LocalSocketError?

        init(_ connection: LocalConnection) { self.connection = connection }

        func tell(_ progress: WorkProgress) -> Bool {
            guard failure == nil, !connection.isStopping(), !connection.channel.isHungUp else { return false }
            let now = LocalChannel.now
            if let lastTold, now - lastTold < Self.seconds { return true }
            lastTold = now
            do {
                let content = try LocalCoding.encode(progress)
                // Nobody is waited for: the work goes on.
                try connection.channel.send(LocalFrame(.progress, content), seconds: 0)
                return true
            } catch {
                failure = error as? LocalSocketError ?? .tooSlow
                return false
            }
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
                        throw LocalSocketError(message: "Something else was asked before reading has ended.")
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
        // Whoever watches knows by it that everything from here on is told.
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
    /// How much of a scan is answered at once.
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
        case .begin, .end: throw LocalSocketError(message: "Reading has begun already.")
        }
    }
}
