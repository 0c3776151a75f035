// A connection over a local socket, from either side, and its frames.
//
// Invariants:
//   1. One thread at a time sends and receives. Any thread may call `stop`.
//   2. Memory grows with the bytes received, never with the bytes that a header announces.
//   3. A frame that has begun arrives completely within a time limit, or the connection ends. Bytes that have arrived
//      are in time, however late they are read.

import CStratusSystem
import Foundation
import StratusCloud
import StratusModel
import StratusStore

final class LocalChannel: Sendable {
    /// How much is received at once.
    private static let pieceByteCount = 64 << 10
    /// How often a waiting sender checks whether to stop.
    private static let sliceMilliseconds: Int32 = 200

    private let descriptor: Int32

    /// Takes ownership of a connected socket.
    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// The name of the socket in a store's directory.
    static let socketName = Array("SOCKET".utf8)

    /// Connects to the socket in a directory. Returns nil if there is none, or no process listens.
    static func connect(in directory: String) throws -> LocalChannel? {
        let (directory, name) = (Array(directory.utf8), socketName)
        let descriptor = clocalsocket_connect(directory.span, name.span)
        guard descriptor < 0 else { return LocalChannel(descriptor) }
        guard ![ENOENT, ECONNREFUSED, ENOTDIR].contains(-descriptor) else { return nil }
        throw LocalSocketError(number: -descriptor)
    }

    deinit { clocalsocket_close(descriptor) }

    /// The user and process at the other end.
    var peer: (user: UInt32, process: Int32)? {
        let peer = clocalsocket_peer_of(descriptor)
        return peer.error == 0 ? (peer.user, peer.process) : nil
    }

    /// Whether the other end is gone.
    var isHungUp: Bool { clocalsocket_is_hung_up(descriptor) != 0 }

    /// Ends receiving, and also sending if requested. Waiting calls return.
    func stop(sendingToo: Bool) { clocalsocket_stop(descriptor, sendingToo ? 1 : 0) }

    // MARK: Sending

    /// Sends a frame. A reader that is too slow gets this many seconds in total; nil for no limit.
    func send(_ frame: LocalFrame, seconds: Double?, isStopping: () -> Bool = { false }) throws {
        guard frame.content.count <= LocalFrame.contentByteCount else {
            throw LocalSocketError.tooLarge(frame.content.count)
        }
        try send(bytes: frame.bytes, seconds: seconds, isStopping: isStopping)
    }

    /// Sends the bytes of a frame. Tests send malformed ones.
    func send(bytes: [UInt8], seconds: Double?, isStopping: () -> Bool = { false }) throws {
        let deadline = seconds.map { TimedCondition.now + $0 }
        var sent = 0
        while sent < bytes.count {
            let rest = bytes[sent...]
            let count = clocalsocket_send(descriptor, rest.span, Self.sliceMilliseconds)
            if count >= 0 {
                sent += Int(count)
            } else if count == -Int64(ETIMEDOUT) {
                if isStopping() || deadline.map({ TimedCondition.now > $0 }) == true { throw LocalSocketError.tooSlow }
            } else {
                throw LocalSocketError(number: Int32(truncatingIfNeeded: -count))
            }
        }
    }

    // MARK: Receiving

    /// The next frame; nil if the other side ends between two frames. The frame must begin within `idleSeconds` and be
    /// complete within `frameSeconds`; nil for no limit. `isStopping` is checked from time to time.
    func receive(
        idleSeconds: Double?, frameSeconds: Double?, isStopping: () -> Bool = { false }
    ) throws -> LocalFrame? {
        let idleEnd = idleSeconds.map { TimedCondition.now + $0 }
        var header = try piece(LocalFrame.headerByteCount, until: idleEnd, orThrow: .idle, isStopping)
        if header.isEmpty { return nil }
        let end = frameSeconds.map { TimedCondition.now + $0 }
        try complete(&header, LocalFrame.headerByteCount, until: end, isStopping)
        let count = LocalFrame.contentByteCount(of: header)
        guard count <= LocalFrame.contentByteCount else { throw LocalSocketError.tooLarge(count) }
        var frame = LocalFrame(version: header[4], kind: header[5], content: [])
        try complete(&frame.content, count, until: end, isStopping)
        return frame
    }

    private func complete(
        _ bytes: inout [UInt8], _ count: Int, until end: Double?, _ isStopping: () -> Bool
    ) throws {
        while bytes.count < count {
            let piece = try piece(count - bytes.count, until: end, orThrow: .tooSlow, isStopping)
            guard !piece.isEmpty else { throw LocalSocketError.cutOff }
            bytes += piece
        }
    }

    /// Receives at most `limit` bytes. Empty at the end.
    private func piece(
        _ limit: Int, until end: Double?, orThrow problem: LocalSocketError, _ isStopping: () -> Bool
    ) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: min(limit, Self.pieceByteCount))
        while true {
            if isStopping() { return [] }
            let isLate = end.map { TimedCondition.now > $0 } ?? false
            guard clocalsocket_wait(descriptor, isLate ? 0 : Self.sliceMilliseconds) != 0 else {
                if isLate { throw problem }
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
}

// The protocol of a host's local socket: frames, each one message.
//
//   bytes 0–3   number of bytes of content, big-endian
//   byte 4      version of the protocol
//   byte 5      kind
//   then        the content: JSON
//
// A connection begins with the host's greeting or refusal. Then the client sends one request at a time, and the host
// answers each with one frame. Frames with the progress of long work may come before the answer. A client that watches
// gets frames of events until the connection ends.

/// One message.
struct LocalFrame: Hashable, Sendable {
    /// The kind of message. Never change the numbers.
    enum Kind: UInt8, Sendable, CaseIterable {
        /// The host accepts requests.
        case greeting = 1
        /// A request to the host.
        case request = 2
        /// The answer to a request.
        case answer = 3
        /// The error that answers a request.
        case failure = 4
        /// Why the host ends the connection, as text.
        case refusal = 5
        /// New events, for a client that watches.
        case events = 6
        /// The progress of a request. The answer follows.
        case progress = 7
    }

    /// Raise it when the meaning of a frame changes.
    static let version: UInt8 = 6
    static let headerByteCount = 6
    /// The most content in a frame: several times the largest request that CloudKit takes.
    static let contentByteCount = 16 << 20

    var version = Self.version
    /// The number of the kind, which may be unknown.
    var kind: UInt8
    var content: [UInt8]

    /// The number of bytes of content that a header announces.
    static func contentByteCount(of header: [UInt8]) -> Int { header[..<4].reduce(0) { $0 << 8 | Int($1) } }

    /// The frame as it is sent.
    var bytes: [UInt8] {
        let count = content.count
        let length = (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }
        return length + [version, kind] + content
    }
}

extension LocalFrame {
    init(_ kind: Kind, _ content: [UInt8] = []) { self.init(kind: kind.rawValue, content: content) }
}

/// Why a connection cannot continue, as text for people. It says nothing about the store.
struct LocalSocketError: Error, Hashable, Codable, Sendable {
    let message: String
    var fields: [String: String] = [:]

    static func tooLarge(_ count: Int) -> LocalSocketError {
        LocalSocketError(
            message: "The frame is too large. Request less at a time.",
            fields: ["bytes": "\(count)", "limit": "\(LocalFrame.contentByteCount)"])
    }

    static let cutOff = LocalSocketError(message: "The other side closed the connection within a frame.")
    static let reopening = LocalSocketError(message: "The host is reopening its store. Run the same again.")
    static let hostIsGone = LocalSocketError(
        message: "The host has ended. The last request may or may not have been applied.")
    static let idle = LocalSocketError(message: "The connection was idle for too long.")
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
            case EEXIST: "another file has its name"
            case ENOENT: "no such file or directory"
            default: "error \(number) of the operating system"
            }
        self.init(message: "The connection has failed.", fields: ["reason": reason])
    }
}

// The requests to a host over its local socket, and their answers. These values are sent as JSON by the
// names of their cases and properties: if you change one, raise `LocalFrame.version`.

/// One request.
enum LocalRequest: Codable, Sendable {
    /// A client's request to the server.
    case cloud(AnyCloudCall)
    /// Reads from the store's own entries; only after `begin`.
    case read(ReadCall)
    /// A call of the host.
    case host(HostCall)
    /// Sends events from now on, until the connection ends.
    case watch
}

/// A read of the store's entries in one snapshot, which lasts from `begin` to `end` on one connection.
enum ReadCall: Codable, Sendable {
    case begin
    case value(key: Data)
    case entries(from: Data, upTo: Data, isBackward: Bool, limit: Int)
    case end
}

/// A call of the host to its store.
enum HostCall: Codable, Sendable {
    case createAccount(AccountDraft, onlyIfMissing: Bool)
    case setHandles(Set<Handle>, AccountID)
    case setStanding(AccountStanding, AccountID)
    case deleteAccount(AccountID)
    case importSchema(String, ContainerName)
    case finishIndexes
    case openShare(url: String, AccountID)
    case rebuild(ZoneID, incarnation: UUID)
    case purgeZones
    case compact
    case statistics
    /// Why the store refuses writes.
    case writeFailure
    /// Reopens the store after a failed write.
    case recover
}

/// The progress of long work of a host. Older hosts and tools know no parts and totals: these may be missing or
/// ignored.
package struct WorkProgress: Codable, Hashable, Sendable {
    /// The part of the work, if it has several: a raw value of `RebuildProgress.Step`,
    /// `FreeingPart` or `IndexingPart`.
    package var part: String?
    /// How much is done: records, zones, shares and files that were read, entries that were removed, or bytes of
    /// files that were compacted.
    package var doneCount: Int
    /// The total; nil if it is unknown.
    package var totalCount: Int?
}

extension WorkProgress {
    init(_ progress: PartProgress<some WorkPart>) {
        self.init(part: progress.part.rawValue, doneCount: progress.doneCount, totalCount: progress.totalCount)
    }
}

/// Whether the store accepts writes.
struct WriteState: Codable, Sendable {
    /// Why it refuses writes; nil if it accepts them.
    var failure: LocalFailure?
}

/// Whether a store had to be reopened.
struct Recovered: Codable, Sendable {
    var isReopened: Bool
}

struct ReadBegun: Codable, Sendable {
    var version: StoreVersion
}

struct ReadValue: Codable, Sendable {
    var value: Data?
}

struct ReadEntries: Codable, Sendable {
    struct Entry: Codable, Sendable {
        var key: Data
        var value: Data
    }

    var entries: [Entry]
    /// Whether the range has no further entries.
    var isAtEnd: Bool
}

/// The sizes of the store's files before and after, as the engine estimates them.
package struct CompactedFiles: Codable, Hashable, Sendable {
    package var byteCountBefore: Int
    package var byteCountAfter: Int
}

/// The error of a request, from any floor.
enum LocalFailure: Codable, Sendable {
    case server(CloudError)
    case host(code: String, message: String, fields: [String: String], cause: String?)
}
