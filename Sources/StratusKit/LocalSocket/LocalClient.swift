// The client side of a host's socket, and the host's entries read over it.

import Foundation
import StratusCloud
import StratusStore
import Synchronization

/// Sends requests to a host, and keeps connections for the next ones. Calls block their thread until the answer.
final class LocalClient: Sendable {
    /// A connection that was idle for half the time the host allows is not used again.
    private static let restSeconds = LocalPatience().idleSeconds / 2
    /// How many idle connections are kept. More exist while more threads ask.
    private static let keptCount = 4

    private let directory: String
    private let resting = Locked<[(channel: LocalChannel, since: Double)]>([])

    /// Connects to the host of the store in a directory. Returns nil if it serves no socket.
    ///
    /// Throws `LocalSocketError` if the host refuses, or connecting is not permitted.
    init?(directory: String, greetingSeconds: Double = LocalPatience().frameSeconds) throws {
        self.directory = directory
        guard let channel = try Self.connect(directory, greetingSeconds) else { return nil }
        giveBack(channel)
    }

    /// A connection that the host has greeted; nil if there is no socket.
    static func connect(
        _ directory: String, _ greetingSeconds: Double = LocalPatience().frameSeconds
    ) throws -> LocalChannel? {
        guard let channel = try LocalChannel.connect(in: directory) else { return nil }
        guard let frame = try receive(channel, seconds: greetingSeconds) else {
            throw LocalSocketError(message: "The host closed the connection without a message.")
        }
        guard frame.kind == LocalFrame.Kind.greeting.rawValue else { throw unexpected(frame) }
        return channel
    }

    /// Whether a process listens at the socket in a directory, even if it refuses. Does not wait for a greeting.
    static func isAnswered(in directory: String) -> Bool {
        do { return try LocalChannel.connect(in: directory) != nil } catch { return true }
    }

    /// Sends a request and returns the answer.
    ///
    /// Throws the host's error, or `LocalSocketError` if the connection fails.
    func ask<Answer: Decodable>(_ request: LocalRequest) throws -> Answer {
        let answer: Answer? = try ask(request, telling: { _ in }, isStopping: { false })
        guard let answer else { throw LocalSocketError.hostIsGone }
        return answer
    }

    /// Sends a request for long work. `tell` gets the progress. Returns nil if `isStopping`, which is checked from time
    /// to time, says that the caller no longer waits; the request defines what the host does then.
    ///
    /// Throws as `ask`.
    func ask<Answer: Decodable>(
        _ request: LocalRequest, telling tell: (WorkProgress) -> Void, isStopping: () -> Bool
    ) throws -> Answer? {
        let channel = try take()
        guard let frame = try Self.exchange(request, over: channel, telling: tell, isStopping: isStopping) else {
            channel.stop(sendingToo: true)
            return nil
        }
        giveBack(channel)
        return try Self.answer(frame)
    }

    /// Runs `body` with a connection on which reading has begun, then ends reading.
    func reading<Result>(_ body: (LocalChannel) throws -> Result) throws -> Result {
        let channel = try take()
        let _: ReadBegun = try Self.ask(.read(.begin), over: channel)
        let result: Swift.Result<Result, any Error> = .init { try body(channel) }
        // A connection that has failed reports it once.
        if case .failure(let error) = result, error is LocalSocketError { throw error }
        let _: Done = try Self.ask(.read(.end), over: channel)
        giveBack(channel)
        return try result.get()
    }

    /// Sends a request over the caller's connection and returns the answer.
    static func ask<Answer: Decodable>(_ request: LocalRequest, over channel: LocalChannel) throws -> Answer {
        guard let frame = try exchange(request, over: channel) else { throw LocalSocketError.hostIsGone }
        return try answer(frame)
    }

    /// The next frame, or nil at the end. The host may take any time before an answer, but not within one.
    static func receive(
        _ channel: LocalChannel, seconds: Double? = nil, isStopping: () -> Bool = { false }
    ) throws -> LocalFrame? {
        try channel.receive(
            idleSeconds: seconds, frameSeconds: LocalPatience().frameSeconds, isStopping: isStopping)
    }

    // MARK: Helpers

    /// Sends a request and returns the frame that answers it; nil if `isStopping` has ended the waiting.
    private static func exchange(
        _ request: LocalRequest, over channel: LocalChannel, telling tell: (WorkProgress) -> Void = { _ in },
        isStopping: () -> Bool = { false }
    ) throws -> LocalFrame? {
        try send(request, over: channel)
        while let frame = try receive(channel, isStopping: isStopping) {
            // Progress comes even if the caller does not ask for it.
            guard frame.kind == LocalFrame.Kind.progress.rawValue else { return frame }
            tell(try ExactJSON.decode(from: frame.content))
        }
        guard isStopping() else { throw LocalSocketError.hostIsGone }
        return nil
    }

    private static func send(_ request: LocalRequest, over channel: LocalChannel) throws {
        let content = try ExactJSON.encode(request)
        do {
            try channel.send(LocalFrame(.request, content), seconds: LocalPatience().frameSeconds)
        } catch let error as LocalSocketError {
            // A host that ended the connection may have said why.
            if let frame = try? receive(channel, seconds: 0) { throw unexpected(frame) }
            throw error
        }
    }

    private static func answer<Answer: Decodable>(_ frame: LocalFrame) throws -> Answer {
        switch LocalFrame.Kind(rawValue: frame.kind) {
        case .answer?: return try ExactJSON.decode(from: frame.content)
        case .failure?: throw try ExactJSON.decode(LocalFailure.self, from: frame.content).error
        default: throw unexpected(frame)
        }
    }

    /// The error for a frame that is not an answer.
    static func unexpected(_ frame: LocalFrame) -> LocalSocketError {
        guard frame.version == LocalFrame.version else {
            return LocalSocketError(
                message: "The host uses another version of the protocol. Use the tool of the host's version.",
                fields: ["host": "\(frame.version)", "tool": "\(LocalFrame.version)"])
        }
        guard frame.kind == LocalFrame.Kind.refusal.rawValue,
            let error = try? ExactJSON.decode(LocalSocketError.self, from: frame.content)
        else { return LocalSocketError(message: "The host sent an unexpected message.") }
        return error
    }

    private func take() throws -> LocalChannel {
        let found = resting.withLock { resting -> LocalChannel? in
            let now = TimedCondition.now
            while let last = resting.popLast() {
                if now - last.since < Self.restSeconds { return last.channel }
            }
            return nil
        }
        if let found, !found.isHungUp { return found }
        guard let channel = try Self.connect(directory) else { throw LocalSocketError.hostIsGone }
        return channel
    }

    private func giveBack(_ channel: LocalChannel) {
        let now = TimedCondition.now
        resting.withLock { resting in
            if resting.count < Self.keptCount { resting.append((channel, now)) }
        }
    }
}

// The entries of a store that another process has open, read over its socket. It cannot write.

/// A read-only store. Each snapshot is one of the host's.
final class RemoteStore: OrderedStore {
    private let client: LocalClient
    /// Counts down. The host's commits are not known here, so nothing cached from one snapshot may be used for a later
    /// one. A cache by versions returns nothing to a reader with an older version.
    private let nextVersion = Atomic<StoreVersion>(.max - 1)

    init(_ client: LocalClient) { self.client = client }

    /// Every snapshot is one moment, whatever the scope.
    func read<Result>(_ scope: ReadScope, _ body: (any StoreReader) throws -> Result) throws -> Result {
        let version = nextVersion.subtract(1, ordering: .relaxed).newValue
        return try LocalSocketError.telling {
            try client.reading { try body(RemoteReader($0, version: version)) }
        }
    }

    func transact<Result>(lane: StoreLane?, _ body: (any StoreTransaction) throws -> Result) throws -> Result {
        throw StoreError(
            .notPermitted, "Another process has the store open, and only it can do this. Stop it first.")
    }

    /// Calls nothing: commits are the host's, and verbs that wait for them watch the host's events.
    func watch(_ range: KeyRange, _ onChange: @escaping @Sendable () -> Void) -> StoreWatch { StoreWatch {} }

    /// The statistics of the host's store, for all its readers.
    var statistics: StoreStatistics { (try? client.ask(.host(.statistics))) ?? StoreStatistics() }
    var isUnderWritePressure: Bool { false }

    func close() {}
}

private final class RemoteReader: StoreReader {
    /// The first page of a scan, which is often enough. Each following page is larger.
    private static let firstPageCount = 32
    private static let lastPageCount = 4_096

    let version: StoreVersion
    private let channel: LocalChannel

    init(_ channel: LocalChannel, version: StoreVersion) {
        self.channel = channel
        self.version = version
    }

    /// The host counts its own cost.
    var cost: StoreCost { StoreCost() }

    func visitValue(forKey key: [UInt8], _ body: (Span<UInt8>) throws -> Void) throws -> Bool {
        let answer: ReadValue = try LocalClient.ask(.read(.value(key: Data(key))), over: channel)
        guard let value = answer.value.map({ [UInt8]($0) }) else { return false }
        try body(value.span)
        return true
    }

    func scan(
        _ range: KeyRange, _ direction: ScanDirection, limit: Int,
        _ visit: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> ScanStep
    ) throws {
        var (range, remaining, pageCount) = (range, limit, Self.firstPageCount)
        while remaining > 0 {
            let page: ReadEntries = try LocalClient.ask(
                .read(
                    .entries(
                        from: Data(range.lower), upTo: Data(range.upper), isBackward: direction == .backward,
                        limit: min(remaining, pageCount))),
                over: channel)
            for entry in page.entries {
                let (key, value) = ([UInt8](entry.key), [UInt8](entry.value))
                guard case .next = try visit(key.span, value.span) else { return }
            }
            guard !page.isAtEnd, let last = page.entries.last?.key else { return }
            remaining -= page.entries.count
            pageCount = min(pageCount * 4, Self.lastPageCount)
            switch direction {
            case .forward: range.lower = [UInt8](last) + [0]
            case .backward: range.upper = [UInt8](last)
            }
        }
    }
}

// The server of a store that another process has open, asked over the socket of that process.

struct RemoteServer: CloudServer {
    let client: LocalClient

    func answer<Request: CloudRequest>(
        _ request: Request, as caller: Caller, in place: Request.Place
    ) throws -> Request.Answer {
        do {
            return try client.ask(.cloud(AnyCloudCall(CloudCall(request: request, caller: caller, place: place))))
        } catch let error as LocalSocketError {
            // A request that is too large was not sent; any other may have been carried out.
            let isTooLarge = error.fields["limit"] != nil
            throw CloudError(isTooLarge ? .limitExceeded : .serverResponseLost, text: error.message, error.fields)
        }
    }

    /// Holds nothing: contents are copied that records still have.
    func holdAssets() throws -> AssetHold? { nil }

    func copyAssets(
        _ wanted: [HeldAsset], as caller: Caller, in database: DatabaseSelector, under hold: AssetHold?,
        shouldContinue: () -> Bool
    ) throws -> [Result<String, CloudError>] {
        try answer(CopyAssetsRequest(wanted), as: caller, in: database).items
    }

    func copyAsset(_ wanted: HeldAsset, as caller: Caller, in database: DatabaseSelector) throws -> String {
        try answer(CopyAssetRequest(wanted), as: caller, in: database)
    }

    /// Does nothing: the host removes the copies itself when they have aged.
    func releaseCopies(_ paths: [String], unseen: [String]) {}
}

/// A request with all that its answer depends on.
struct CloudCall<Request: CloudRequest>: Codable, Sendable {
    var request: Request
    var caller: Caller
    var place: Request.Place
}

/// A request of any type: its name, then its call.
struct AnyCloudCall: Codable, Sendable {
    private enum CodingKeys: String, CodingKey {
        case name
        case call
    }

    private let name: RequestName
    private let call: any Codable & Sendable
    private let answer: @Sendable (any CloudServer) throws -> any Encodable

    init<Request: CloudRequest>(_ call: CloudCall<Request>) {
        name = Request.name
        self.call = call
        answer = { try $0.answer(call.request, as: call.caller, in: call.place) }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let type = try container.decode(RequestName.self, forKey: .name).type
        self = try Self.decode(type, from: container)
    }

    private static func decode<Request: CloudRequest>(
        _ type: Request.Type, from container: KeyedDecodingContainer<CodingKeys>
    ) throws -> AnyCloudCall {
        AnyCloudCall(try container.decode(CloudCall<Request>.self, forKey: .call))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(call, forKey: .call)
    }

    /// Throws `CloudError` if the request fails as a whole.
    func answer(by server: any CloudServer) throws -> any Encodable { try answer(server) }
}
