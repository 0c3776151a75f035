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

import Foundation

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
    static let version: UInt8 = 5
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

    /// An error of the operating system.
    init(number: Int32) {
        message = "The connection has failed."
        let reason =
            switch number {
            case EACCES, EPERM: "permission denied"
            case EPIPE: "the other side has ended"
            case EMFILE, ENFILE: "too many open files"
            case EEXIST: "a file that is no socket has its name"
            case ENOENT: "no such file or directory"
            default: "error \(number) of the operating system"
            }
        fields = ["reason": reason]
    }

    init(message: String, fields: [String: String] = [:]) {
        self.message = message
        self.fields = fields
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
