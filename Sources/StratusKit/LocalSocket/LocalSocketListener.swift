// A socket at which a host takes connections, and the threads that serve them.
//
// Invariants:
//   1. Only the host's own user and root are served; others are told so and let go.
//   2. A thread serves one connection, and there are only so many: whoever comes then is told so and let go.
//   3. Nothing that comes over a connection ends more than that connection.
//   4. When `stop` returns no thread is left, and the socket is gone.

import CSystem
import Foundation
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
