// The settings of the service's operator, and the service's own limits.

public import Foundation

/// How a service is to run.
public struct ServiceConfiguration: Sendable {
    /// The address it listens at.
    public var host = "127.0.0.1"
    /// The port it listens at; 0 lets the system choose one.
    public var port = 8080
    /// The directory of the outbox, and of the store if `store` names no other place. It is created if it does not
    /// exist.
    public var dataDirectory: URL
    /// Where the store is: the path of a directory, or the address of a PostgreSQL database, which begins with
    /// `postgresql://`. Nil for the directory `store` in the data directory.
    public var store: String?
    /// The beginning of the links that people receive: the address of the service from outside.
    public var publicURL: URL
    /// How many bytes the lists of one person may hold; nil for no limit.
    public var quotaByteCount: Int64?
    /// How many connections are served at a time. Others wait to be accepted.
    public var connectionCount = 1_000
    /// The time for requests to finish after the service was asked to stop. Longer ones are cancelled.
    public var shutdownSeconds = 25

    /// The defaults, for a service that is reached where it listens.
    /// - Parameters:
    ///   - dataDirectory: The directory of the store and the outbox.
    ///   - publicURL: The beginning of the links that people receive.
    public init(dataDirectory: URL, publicURL: URL) {
        self.dataDirectory = dataDirectory
        self.publicURL = publicURL
    }

    /// The path or the address of the store.
    public var storeAddress: String { store ?? dataDirectory.appendingPathComponent("store", isDirectory: true).path }
    var outboxFile: URL { dataDirectory.appendingPathComponent("outbox.jsonl") }
    var shareURLBase: String { publicURL.absoluteString.trimmedOfSlashes + "/share/" }
}

/// The maximum that a request may ask for.
enum Limits {
    static let bodyByteCount = 64 << 10
    static let titleByteCount = 1_000
    static let idByteCount = 64
    static let pageItemCount = 200
    /// How often a change of a share is retried after someone else changed it.
    static let attemptCount = 4
}

extension String {
    fileprivate var trimmedOfSlashes: String {
        var text = Substring(self)
        while text.hasSuffix("/") { text.removeLast() }
        return String(text)
    }
}
