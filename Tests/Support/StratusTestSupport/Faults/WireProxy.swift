// A proxy between a host and a PostgreSQL server on loopback, which cuts connections around a COMMIT.
//
// It reads the messages of both sides: a byte for the type and four for the length, which counts itself. Only the first
// message of a client has no type. A commit is a `Bind` of the statement that is named `commit`, and its answer is the
// `CommandComplete` with that word. So it needs an address with `sslmode=disable` and `gssencmode=disable`.
//
// Invariant: each connection has two threads, which end when either side closes, or when the proxy stops.
//
// Unsafe, because the system's calls for sockets take pointers: each is valid during its call, with its length.

internal import Foundation
internal import StratusStore

/// What a proxy does to a commit.
package enum WireFault: Hashable, Sendable, CaseIterable {
    /// The commit does not reach the server. The connection is cut.
    case cutBefore
    /// The commit reaches the server, and the client's connection is cut at once.
    case cutAfterForwarding
    /// The server has committed, and the connection is cut instead of its answer.
    case cutAfterAnswer
    /// The commit does not reach the server. The client's connection is cut, and the server's stays open: the session
    /// of the lost transaction is there beside the new one.
    case doubled
    /// The commit does not reach the server. Both connections stay open, and nothing goes through them any longer.
    case silentBefore
    /// The commit reaches the server. Nothing comes back, while both connections stay open.
    case silentAfterForwarding
}

/// A proxy.
package final class WireProxy: Sendable {
    private struct State {
        var faults: [(fault: WireFault, occurrence: Int)] = []
        var rotation: [WireFault] = []
        var interval = 0
        var commitCount = 0
        var delaySeconds = 0.0
        var refusals = 0
        var isFrozen = false
        var isStopped = false
        var sockets: Set<Int32> = []
        var links: [ObjectIdentifier: ProxiedLink] = [:]
    }

    private let listener: Int32
    private let serverPort: UInt16
    private let state = Locked(State())
    private let thawed = NSCondition()

    /// The address of the server through the proxy.
    package let url: String

    /// A proxy in front of the server of an address on loopback, which has a port.
    package init(_ address: String) throws {
        guard let parts = URLComponents(string: address), let port = parts.port else {
            throw TestTimeout(description: "the address of the server has no port")
        }
        serverPort = UInt16(port)
        let (listener, ownPort) = try LoopbackSocket.listen()
        self.listener = listener
        var own = parts
        own.port = Int(ownPort)
        let query = own.percentEncodedQuery.map { "\($0)&" } ?? ""
        own.percentEncodedQuery = query + "sslmode=disable&gssencmode=disable"
        url = own.string ?? address
        let proxy = Weak(self)
        Self.start {
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                guard let proxy = proxy.value else {
                    close(client)
                    return
                }
                proxy.connect(client)
            }
        }
    }

    deinit { stop() }

    /// Plans a fault for the n-th commit from now, of any connection.
    package func plan(_ fault: WireFault, at occurrence: Int = 1) {
        state.withLock { $0.faults.append((fault, $0.commitCount + occurrence)) }
    }

    /// Lets every n-th commit meet the next of these faults, in turn.
    package func plan(each faults: [WireFault], every interval: Int) {
        state.withLock { state in
            state.rotation = faults
            state.interval = interval
        }
    }

    /// How many commits were seen.
    package var commitCount: Int { state.withLock { $0.commitCount } }

    /// How long each part of a request waits.
    package func delay(seconds: Double) { state.withLock { $0.delaySeconds = seconds } }

    /// Closes the next connections at once.
    package func refuse(_ count: Int) { state.withLock { $0.refusals = count } }

    /// Lets nothing through in both directions, until `thaw`, and loses nothing.
    package func freeze() { state.withLock { $0.isFrozen = true } }

    package func thaw() {
        thawed.lock()
        state.withLock { $0.isFrozen = false }
        thawed.broadcast()
        thawed.unlock()
    }

    /// Cuts all connections, and refuses new ones.
    package func stop() {
        let sockets = state.withLock { state in
            let isFirst = !state.isStopped
            state.isStopped = true
            return isFirst ? Array(state.sockets) + [listener] : []
        }
        thaw()
        for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) }
        if !sockets.isEmpty { close(listener) }
    }

    /// Cuts all connections that there are.
    package func cutAll() {
        for socket in state.withLock({ $0.sockets }) { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    /// Cuts the clients' side of all connections that there are, and leaves the server's side open.
    package func leaveAll() {
        for link in state.withLock({ $0.links.values }) {
            link.note(.doubled)
            shutdown(link.client, Int32(SHUT_RDWR))
        }
    }

    // MARK: Connections

    private func connect(_ client: Int32) {
        let isRefused = state.withLock { state in
            if state.refusals > 0 {
                state.refusals -= 1
                return true
            }
            return state.isStopped
        }
        guard !isRefused, let server = try? LoopbackSocket.connect(to: serverPort) else {
            close(client)
            return
        }
        LoopbackSocket.sendAtOnce(client)
        state.withLock { state in
            state.sockets.insert(client)
            state.sockets.insert(server)
        }
        let link = ProxiedLink(client: client, server: server)
        state.withLock { $0.links[ObjectIdentifier(link)] = link }
        let ended = Locked(0)
        let end: @Sendable () -> Void = { [self] in
            guard
                ended.withLock({ count in
                    count += 1
                    return count == 2
                })
            else { return }
            state.withLock { state in
                state.sockets.remove(client)
                state.sockets.remove(server)
                state.links[ObjectIdentifier(link)] = nil
            }
            close(client)
            close(server)
        }
        Self.start { [self] in
            relayRequests(link)
            end()
        }
        Self.start { [self] in
            relayAnswers(link)
            end()
        }
    }

    private func relayRequests(_ link: ProxiedLink) {
        var stream = MessageStream(hasUntypedStart: true)
        while let messages = stream.read(from: link.client) {
            pass()
            for message in messages {
                if message.isCommit { link.note(nextFault()) }
                switch link.fault {
                case .cutBefore: return link.cut()
                case .doubled:
                    shutdown(link.client, Int32(SHUT_RDWR))
                    return
                case .silentBefore: continue
                case nil, .cutAfterForwarding, .cutAfterAnswer, .silentAfterForwarding:
                    LoopbackSocket.send(message.bytes, to: link.server)
                    // The server reads what was sent before the end of the connection.
                    if message.isSync, link.fault == .cutAfterForwarding {
                        shutdown(link.client, Int32(SHUT_RDWR))
                        shutdown(link.server, Int32(SHUT_WR))
                        return
                    }
                }
            }
        }
        // Such a network does not tell the server either.
        if link.leavesServer { shutdown(link.client, Int32(SHUT_RDWR)) } else { link.cut() }
    }

    private func relayAnswers(_ link: ProxiedLink) {
        var stream = MessageStream(hasUntypedStart: false)
        while let messages = stream.read(from: link.server) {
            pass()
            for message in messages {
                if link.fault == .cutAfterAnswer, message.isCommitted { return link.cut() }
                if link.fault == nil || link.fault == .cutAfterAnswer {
                    LoopbackSocket.send(message.bytes, to: link.client)
                }
            }
        }
        shutdown(link.client, Int32(SHUT_RDWR))
        shutdown(link.server, Int32(SHUT_RDWR))
    }

    /// Waits as long as the proxy is frozen or slow.
    private func pass() {
        let delay = state.withLock { $0.delaySeconds }
        if delay > 0 { Thread.sleep(forTimeInterval: delay) }
        thawed.lock()
        while state.withLock({ $0.isFrozen }) { thawed.wait() }
        thawed.unlock()
    }

    private func nextFault() -> WireFault? {
        state.withLock { state in
            state.commitCount += 1
            if let index = state.faults.firstIndex(where: { $0.occurrence <= state.commitCount }) {
                return state.faults.remove(at: index).fault
            }
            guard state.interval > 0, state.commitCount % state.interval == 0 else { return nil }
            return state.rotation[state.commitCount / state.interval % state.rotation.count]
        }
    }

    private static func start(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.stackSize = 1 << 20
        thread.start()
    }
}

/// Lets the thread that accepts connections end with the proxy.
private final class Weak: Sendable {
    private let box: Locked<WeakBox>
    init(_ proxy: WireProxy) { box = Locked(WeakBox(proxy: proxy)) }
    var value: WireProxy? { box.withLock { $0.proxy } }
}

private struct WeakBox {
    weak var proxy: WireProxy?
}

/// The two sockets of a connection, and the fault that has struck it.
private final class ProxiedLink: Sendable {
    let client: Int32
    let server: Int32
    private let struck = Locked<WireFault?>(nil)

    init(client: Int32, server: Int32) {
        self.client = client
        self.server = server
    }

    var fault: WireFault? { struck.withLock { $0 } }
    var leavesServer: Bool { fault == .doubled || fault == .silentBefore || fault == .silentAfterForwarding }

    func note(_ fault: WireFault?) {
        if let fault { struck.withLock { $0 = fault } }
    }

    func cut() {
        shutdown(client, Int32(SHUT_RDWR))
        shutdown(server, Int32(SHUT_RDWR))
    }
}

/// A message of either side, with its head.
private struct WireMessage {
    let bytes: ArraySlice<UInt8>

    private static let commit = [UInt8]("commit".utf8) + [0]
    private static let committed = [UInt8]("COMMIT".utf8) + [0]

    private var type: UInt8? { bytes.first }
    /// Without the type and the length.
    private var body: ArraySlice<UInt8> { bytes.dropFirst(5) }

    /// A `Bind` names a portal and a statement.
    var isCommit: Bool {
        guard type == UInt8(ascii: "B") else { return false }
        return body.drop { $0 != 0 }.dropFirst().starts(with: Self.commit)
    }

    var isSync: Bool { type == UInt8(ascii: "S") }

    /// A `CommandComplete`.
    var isCommitted: Bool { type == UInt8(ascii: "C") && body.elementsEqual(Self.committed) }
}

/// Cuts what arrives into messages.
private struct MessageStream {
    private var buffer: [UInt8] = []
    private var isStart: Bool

    init(hasUntypedStart: Bool) { isStart = hasUntypedStart }

    /// The messages that have arrived completely, one at least; nil at the end of the connection.
    mutating func read(from socket: Int32) -> [WireMessage]? {
        var messages: [WireMessage] = []
        while messages.isEmpty {
            var part = [UInt8](repeating: 0, count: 65_536)
            let count = unsafe recv(socket, &part, part.count, 0)
            guard count > 0 else { return nil }
            buffer += part[..<count]
            var start = 0
            while let length = messageLength(at: start), start + length <= buffer.count {
                messages.append(WireMessage(bytes: buffer[start..<(start + length)]))
                start += length
                isStart = false
            }
            buffer.removeFirst(start)
        }
        return messages
    }

    private func messageLength(at start: Int) -> Int? {
        let head = isStart ? 0 : 1
        guard buffer.count >= start + head + 4 else { return nil }
        let length = buffer[(start + head)..<(start + head + 4)].reduce(0) { $0 << 8 | Int($1) }
        return max(4, length) + head
    }
}

/// Sockets on loopback.
private enum LoopbackSocket {
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
        guard isListening else { throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO) }
        return (listener, UInt16(bigEndian: own.sin_port))
    }

    static func connect(to port: UInt16) throws -> Int32 {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var other = address(port: port)
        let status = unsafe withUnsafePointer(to: &other) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                unsafe Foundation.connect(server, general, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else {
            close(server)
            throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO)
        }
        sendAtOnce(server)
        return server
    }

    /// Lets small messages not wait for the answer to earlier ones, which costs 40 ms each.
    static func sendAtOnce(_ socket: Int32) {
        var isOn: Int32 = 1
        unsafe _ = setsockopt(
            socket, Int32(IPPROTO_TCP), Int32(TCP_NODELAY), &isOn, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Sends all bytes, or as many as the other side takes.
    static func send(_ bytes: ArraySlice<UInt8>, to socket: Int32) {
        var rest = bytes
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
