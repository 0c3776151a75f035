// A connection over a local socket, whichever side it is on.
//
// Invariants:
//   1. One thread sends and receives at a time; `stop` may be called from any.
//   2. Memory grows with the bytes that have come, never with those that a header announces.
//   3. A frame that has begun comes whole within a time, or the connection is over. What is there already has come in time,
//      however late it is looked for.

import CSystem
import Foundation

final class LocalChannel: Sendable {
    /// How much is received at once.
    private static let pieceByteCount = 64 << 10
    /// How often a sender that waits for room looks whether it is to stop.
    private static let sliceMilliseconds: Int32 = 200

    private let descriptor: Int32

    /// Takes over a connected socket.
    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Connects to a socket in a directory; nil where there is none, or nobody listens at it.
    static func connect(to name: String, in directory: String) throws -> LocalChannel? {
        let (directory, name) = (Array(directory.utf8), Array(name.utf8))
        let descriptor = clocalsocket_connect(directory.span, name.span)
        guard descriptor < 0 else { return LocalChannel(descriptor) }
        guard ![ENOENT, ECONNREFUSED, ENOTDIR].contains(-descriptor) else { return nil }
        throw LocalSocketError(number: -descriptor)
    }

    deinit { clocalsocket_close(descriptor) }

    /// The user and the process at the other end.
    var peer: (user: UInt32, process: Int32)? {
        let peer = clocalsocket_peer_of(descriptor)
        return peer.error == 0 ? (peer.user, peer.process) : nil
    }

    /// Whether nobody is at the other end any more.
    var isHungUp: Bool { clocalsocket_is_hung_up(descriptor) != 0 }

    /// Ends receiving, and sending too where it is said: whoever waits in either is woken.
    func stop(sendingToo: Bool) { clocalsocket_stop(descriptor, sendingToo ? 1 : 0) }

    // MARK: Sending

    /// Sends a frame. Whoever does not read gets so many seconds, all in all; nil for any number.
    func send(_ frame: LocalFrame, seconds: Double?, isStopping: () -> Bool = { false }) throws {
        guard frame.content.count <= LocalFrame.contentByteCount else {
            throw LocalSocketError.tooLarge(frame.content.count)
        }
        try send(bytes: frame.bytes, seconds: seconds, isStopping: isStopping)
    }

    /// Sends what is a frame, or should be.
    func send(bytes: [UInt8], seconds: Double?, isStopping: () -> Bool = { false }) throws {
        let deadline = seconds.map { Self.now + $0 }
        var sent = 0
        while sent < bytes.count {
            let rest = bytes[sent...]
            let count = clocalsocket_send(descriptor, rest.span, Self.sliceMilliseconds)
            if count >= 0 {
                sent += Int(count)
            } else if count == -Int64(ETIMEDOUT) {
                if isStopping() || deadline.map({ Self.now > $0 }) == true { throw LocalSocketError.tooSlow }
            } else {
                throw LocalSocketError(number: Int32(truncatingIfNeeded: -count))
            }
        }
    }

    // MARK: Receiving

    /// The next frame; nil where the other side ends between two frames. It has to begin within `idleSeconds`, and once it
    /// has begun to be whole within `frameSeconds`; nil is any number. `isStopping` is asked now and then.
    func receive(
        idleSeconds: Double?, frameSeconds: Double?, isStopping: () -> Bool = { false }
    ) throws -> LocalFrame? {
        var header: [UInt8]
        do {
            header = try piece(LocalFrame.headerByteCount, until: idleSeconds.map { Self.now + $0 }, isStopping)
        } catch let error as LocalSocketError {
            throw error == .tooSlow ? .idle : error
        }
        if header.isEmpty { return nil }
        let end = frameSeconds.map { Self.now + $0 }
        try complete(&header, LocalFrame.headerByteCount, until: end, isStopping)
        let count = LocalFrame.contentByteCount(of: header)
        guard count <= LocalFrame.contentByteCount else { throw LocalSocketError.tooLarge(count) }
        var frame = LocalFrame(header: header)
        try complete(&frame.content, count, until: end, isStopping)
        return frame
    }

    private func complete(
        _ bytes: inout [UInt8], _ count: Int, until end: Double?, _ isStopping: () -> Bool
    ) throws {
        while bytes.count < count {
            let piece = try piece(count - bytes.count, until: end, isStopping)
            guard !piece.isEmpty else { throw LocalSocketError.cutOff }
            bytes += piece
        }
    }

    /// Receives at most `limit` bytes; none at the end.
    private func piece(_ limit: Int, until end: Double?, _ isStopping: () -> Bool) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: min(limit, Self.pieceByteCount))
        while true {
            if isStopping() { return [] }
            let isLate = end.map { Self.now > $0 } ?? false
            guard clocalsocket_wait(descriptor, isLate ? 0 : Self.sliceMilliseconds) != 0 else {
                if isLate { throw LocalSocketError.tooSlow }
                continue
            }
            var room = buffer.mutableSpan
            let count = clocalsocket_receive(descriptor, &room)
            if count >= 0 { return Array(buffer[..<Int(count)]) }
            if count == -Int64(EAGAIN) { continue }
            if count == -Int64(ECONNRESET) { return [] }
            throw LocalSocketError(number: Int32(truncatingIfNeeded: -count))
        }
    }

    /// Seconds of a clock that never goes back.
    static var now: Double { ProcessInfo.processInfo.systemUptime }
}

// What goes over a host's local socket: frames, each one message.
//
//   bytes 0–3   how many bytes of content follow, big-endian
//   byte 4      version of the protocol
//   byte 5      kind
//   then        the content: JSON
//
// A connection begins with the host's greeting, or with its refusal. Then the other side asks, one request at a time, and the
// host answers each with one frame, before which it may tell how far long work has come; whoever has asked to watch gets
// frames of events until the connection ends.

/// One message.
struct LocalFrame: Hashable, Sendable {
    /// What kind of message it is. The numbers never change.
    enum Kind: UInt8, Sendable, CaseIterable {
        /// The host takes requests.
        case greeting = 1
        /// What is asked of the host.
        case request = 2
        /// What the request is answered.
        case answer = 3
        /// The error that the request is answered.
        case failure = 4
        /// Why the host ends the connection, in words.
        case refusal = 5
        /// What has happened meanwhile, to whoever watches.
        case events = 6
        /// How far the work has come that was asked for. Its answer follows.
        case progress = 7
    }

    /// Raised when a frame means something else than before.
    static let version: UInt8 = 4
    static let headerByteCount = 6
    /// What a frame may hold: several times the largest request that CloudKit takes.
    static let contentByteCount = 16 << 20

    var version = Self.version
    /// The number of a kind, known or not.
    var kind: UInt8
    var content: [UInt8]

    init(_ kind: Kind, _ content: [UInt8] = []) {
        self.kind = kind.rawValue
        self.content = content
    }

    /// Begins a frame that is being received.
    init(header: [UInt8]) {
        version = header[4]
        kind = header[5]
        content = []
    }

    /// How much content a header announces.
    static func contentByteCount(of header: [UInt8]) -> Int { header[..<4].reduce(0) { $0 << 8 | Int($1) } }

    /// The frame as it is sent.
    var bytes: [UInt8] {
        let count = content.count
        let length = (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }
        return length + [version, kind] + content
    }
}

/// Why a connection cannot go on, in words for people. It says nothing of the store.
struct LocalSocketError: Error, Hashable, Codable, Sendable {
    let message: String
    var fields: [String: String] = [:]

    static func tooLarge(_ count: Int) -> LocalSocketError {
        LocalSocketError(
            message: "The frame is larger than a frame may be: ask for less at a time.",
            fields: ["bytes": "\(count)", "limit": "\(LocalFrame.contentByteCount)"])
    }

    static let cutOff = LocalSocketError(message: "The other side has ended in the middle of a frame.")
    static let reopening = LocalSocketError(message: "The host opens its store again: run the same again.")
    static let idle = LocalSocketError(message: "Nothing has come for so long that the connection is over.")
    static let tooSlow = LocalSocketError(message: "The other side is too slow, or has stopped.")
}

extension LocalSocketError {
    /// An error of the operating system.
    init(number: Int32) {
        let reason =
            switch number {
            case EACCES, EPERM: "permission denied"
            case EPIPE: "the other side has ended"
            case EMFILE, ENFILE: "too many open files"
            case EEXIST: "a file that is no socket has its name"
            case ENOENT: "no such file or directory"
            default: "error \(number) of the operating system"
            }
        self.init(message: "The connection has failed.", fields: ["reason": reason])
    }
}

/// Values as the content of frames.
enum LocalCoding {
    static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return try Array(encoder.encode(value))
    }

    static func decode<Value: Decodable>(_ type: Value.Type = Value.self, from content: [UInt8]) throws -> Value {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        return try decoder.decode(type, from: Data(content))
    }
}
