// A slow network: a proxy on loopback that gives the client each byte of the server's answers some time after it came.
//
// Only answers wait, and each for itself: what arrives together waits together, as on a long line. So a request that
// waits for one answer takes the delay once, however large question and answer are.
//
// Unsafe, because the system's calls for sockets take pointers: each is valid during its call, with its length.

import Foundation
import Synchronization

/// A proxy between a host and a PostgreSQL server on loopback.
final class DelayLine: Sendable {
    /// The server's address through the proxy.
    let url: String
    private let listener: Int32
    private let serverPort: UInt16
    private let delay = Mutex(0.0)

    init(_ address: String) throws {
        guard var parts = URLComponents(string: address), let port = parts.port else {
            throw PeerError("The server's address has no port.")
        }
        serverPort = UInt16(port)
        let (listener, ownPort) = try LineSocket.listen()
        self.listener = listener
        parts.port = Int(ownPort)
        url = parts.string ?? address
        Thread.detachNewThread { [self] in takeConnections() }
    }

    /// How long answers wait from now on.
    func setDelay(seconds: Double) { delay.withLock { $0 = seconds } }

    /// Takes no further connections. Those that there are end with their clients.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func takeConnections() {
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else {
                close(listener)
                return
            }
            guard let server = LineSocket.connect(to: serverPort) else {
                close(client)
                continue
            }
            LineSocket.sendAtOnce(client)
            relay(client, server)
        }
    }

    /// Three threads: for requests, for answers that arrive, and for those whose time has come.
    private func relay(_ client: Int32, _ server: Int32) {
        let answers = WaitingAnswers()
        let ended = DispatchGroup()
        for _ in 0..<2 { ended.enter() }
        Thread.detachNewThread {
            while let bytes = LineSocket.receive(from: client) { LineSocket.send(bytes, to: server) }
            shutdown(server, Int32(SHUT_RDWR))
            ended.leave()
        }
        Thread.detachNewThread { [self] in
            while let bytes = LineSocket.receive(from: server) {
                answers.add(bytes, at: .now + .seconds(delay.withLock { $0 }))
            }
            answers.add(nil, at: .now)
        }
        Thread.detachNewThread {
            while let bytes = answers.next() { LineSocket.send(bytes, to: client) }
            shutdown(client, Int32(SHUT_RDWR))
            ended.leave()
        }
        Thread.detachNewThread {
            ended.wait()
            close(client)
            close(server)
        }
    }
}

/// Answers on their way, in their order.
private final class WaitingAnswers: @unchecked Sendable {  // because the condition's lock guards all state
    private let changed = NSCondition()
    private var queue: [(bytes: [UInt8]?, time: ContinuousClock.Instant)] = []

    /// Adds bytes that arrive at a time; nil at the end.
    func add(_ bytes: [UInt8]?, at time: ContinuousClock.Instant) {
        changed.lock()
        queue.append((bytes, time))
        changed.signal()
        changed.unlock()
    }

    /// The next bytes when their time has come; nil at the end.
    func next() -> [UInt8]? {
        changed.lock()
        while queue.isEmpty { changed.wait() }
        let (bytes, time) = queue.removeFirst()
        changed.unlock()
        let seconds = ContinuousClock.now.duration(to: time)
        if seconds > .zero { Thread.sleep(forTimeInterval: Double(seconds.components.attoseconds) / 1e18) }
        return bytes
    }
}

/// Sockets on loopback.
private enum LineSocket {
    static func listen() throws -> (socket: Int32, port: UInt16) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        var own = address(port: 0)
        let isListening = unsafe withUnsafeMutablePointer(to: &own) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                unsafe bind(listener, general, size) == 0 && Foundation.listen(listener, 64) == 0
                    && getsockname(listener, general, &size) == 0
            }
        }
        guard isListening else { throw PeerError("The proxy cannot listen.") }
        return (listener, UInt16(bigEndian: own.sin_port))
    }

    static func connect(to port: UInt16) -> Int32? {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var other = address(port: port)
        let status = unsafe withUnsafePointer(to: &other) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                unsafe Foundation.connect(server, general, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else {
            close(server)
            return nil
        }
        sendAtOnce(server)
        return server
    }

    /// Lets small messages not wait for the answers to earlier ones.
    static func sendAtOnce(_ socket: Int32) {
        var isOn: Int32 = 1
        unsafe _ = setsockopt(
            socket, Int32(IPPROTO_TCP), Int32(TCP_NODELAY), &isOn, socklen_t(MemoryLayout<Int32>.size))
    }

    /// The next bytes; nil at the end.
    static func receive(from socket: Int32) -> [UInt8]? {
        var part = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(socket, &part, part.count, 0)
        return count > 0 ? Array(part[..<count]) : nil
    }

    static func send(_ bytes: [UInt8], to socket: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { buffer in
                unsafe Foundation.send(socket, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    private static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return address
    }
}
