// The other side of a host's socket: connections that are kept for the next request.

import Foundation
import StratusCloud
import StratusStore

/// Asks a host. Calls block their thread until they are answered.
final class LocalClient: Sendable {
    /// A connection that has rested for half of what the host allows is not used again.
    private static let restSeconds = LocalPatience().idleSeconds / 2
    /// Connections that are kept; more are made where more threads ask.
    private static let keptCount = 4

    private struct Resting {
        let channel: LocalChannel
        let since: Double
    }

    private let directory: String
    private let resting = Locked<[Resting]>([])

    /// A client of the host whose store lies in a directory; nil where it serves no socket.
    ///
    /// Throws `LocalSocketError` where the host refuses, and where nobody may connect.
    init?(directory: String, greetingSeconds: Double = LocalPatience().frameSeconds) throws {
        self.directory = directory
        guard let channel = try Self.connect(directory, greetingSeconds) else { return nil }
        giveBack(channel)
    }

    /// A connection that the host has greeted; nil where there is no socket.
    static func connect(
        _ directory: String, _ greetingSeconds: Double = LocalPatience().frameSeconds
    ) throws -> LocalChannel? {
        guard let channel = try LocalChannel.connect(to: LocalSocketName.name, in: directory) else { return nil }
        guard let frame = try receive(channel, seconds: greetingSeconds) else {
            throw LocalSocketError(message: "The host has ended the connection without a word.")
        }
        guard frame.kind == LocalFrame.Kind.greeting.rawValue else { throw unexpected(frame) }
        return channel
    }

    /// Whether somebody listens at the socket in a directory, also where they refuse. No greeting is waited for.
    static func isAnswered(in directory: String) -> Bool {
        do { return try LocalChannel.connect(to: LocalSocketName.name, in: directory) != nil } catch { return true }
    }

    /// The answer to a request.
    ///
    /// Throws the host's error of the request, and `LocalSocketError` where the connection fails.
    func ask<Answer: Decodable>(_ request: LocalRequest, _ type: Answer.Type = Answer.self) throws -> Answer {
        let channel = try take()
        let frame = try Self.exchange(request, over: channel)
        giveBack(channel)
        return try Self.answer(frame)
    }

    /// The answer to a request that takes its time: `tell` is told meanwhile how far it has come. Nil where `isStopping`, which
    /// is asked now and then, says that nobody waits any longer: what the host makes of that is the request's.
    ///
    /// Throws as `ask`.
    func ask<Answer: Decodable>(
        _ request: LocalRequest, telling tell: (WorkProgress) -> Void, isStopping: () -> Bool
    ) throws -> Answer? {
        let channel = try take()
        try Self.send(request, over: channel)
        while true {
            guard let frame = try Self.receive(channel, isStopping: isStopping) else {
                guard isStopping() else { throw LocalSocketError.hostIsGone }
                channel.stop(sendingToo: true)
                return nil
            }
            if frame.kind == LocalFrame.Kind.progress.rawValue {
                tell(try LocalCoding.decode(WorkProgress.self, from: frame.content))
                continue
            }
            giveBack(channel)
            return try Self.answer(frame)
        }
    }

    /// Runs `body` with a connection on which reading has begun, and ends reading.
    func reading<Result>(_ body: (LocalChannel) throws -> Result) throws -> Result {
        let channel = try take()
        let _: ReadBegun = try Self.ask(.read(.begin), over: channel)
        let result: Swift.Result<Result, any Error> = .init { try body(channel) }
        // A connection that has failed tells of it once.
        if case .failure(let error) = result, error is LocalSocketError { throw error }
        let _: Done = try Self.ask(.read(.end), over: channel)
        giveBack(channel)
        return try result.get()
    }

    /// The answer to a request over a connection of the caller's.
    static func ask<Answer: Decodable>(
        _ request: LocalRequest, over channel: LocalChannel, _ type: Answer.Type = Answer.self
    ) throws -> Answer {
        try answer(exchange(request, over: channel))
    }

    /// The next frame, or nil at the end. The host may take any time over an answer, but not over one that has begun.
    static func receive(
        _ channel: LocalChannel, seconds: Double? = nil, isStopping: () -> Bool = { false }
    ) throws -> LocalFrame? {
        try channel.receive(
            idleSeconds: seconds, frameSeconds: LocalPatience().frameSeconds, isStopping: isStopping)
    }

    // MARK: Helpers

    private static func exchange(_ request: LocalRequest, over channel: LocalChannel) throws -> LocalFrame {
        try send(request, over: channel)
        while true {
            guard let frame = try receive(channel) else { throw LocalSocketError.hostIsGone }
            // Whoever does not ask how far it has come is told all the same.
            if frame.kind != LocalFrame.Kind.progress.rawValue { return frame }
        }
    }

    private static func send(_ request: LocalRequest, over channel: LocalChannel) throws {
        let content = try LocalCoding.encode(request)
        do {
            try channel.send(LocalFrame(.request, content), seconds: LocalPatience().frameSeconds)
        } catch let error as LocalSocketError {
            // A host that has ended the connection may have said why.
            if let frame = try? receive(channel, seconds: 0) { throw unexpected(frame) }
            throw error
        }
    }

    private static func answer<Answer: Decodable>(_ frame: LocalFrame) throws -> Answer {
        switch LocalFrame.Kind(rawValue: frame.kind) {
        case .answer?: return try LocalCoding.decode(from: frame.content)
        case .failure?: throw try LocalCoding.decode(LocalFailure.self, from: frame.content).error
        default: throw unexpected(frame)
        }
    }

    /// What a frame says that is no answer.
    private static func unexpected(_ frame: LocalFrame) -> LocalSocketError {
        guard frame.version == LocalFrame.version else {
            return LocalSocketError(
                message: "The host speaks another version of the protocol: use the tool of the host's version.",
                fields: ["host": "\(frame.version)", "tool": "\(LocalFrame.version)"])
        }
        guard frame.kind == LocalFrame.Kind.refusal.rawValue,
            let error = try? LocalCoding.decode(LocalSocketError.self, from: frame.content)
        else { return LocalSocketError(message: "The host has sent what was not asked for.") }
        return error
    }

    private func take() throws -> LocalChannel {
        let found = resting.withLock { resting -> LocalChannel? in
            let now = LocalChannel.now
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
        let now = LocalChannel.now
        resting.withLock { resting in
            if resting.count < Self.keptCount { resting.append(Resting(channel: channel, since: now)) }
        }
    }
}

extension LocalSocketError {
    static let hostIsGone = LocalSocketError(
        message: "The host has ended: what was asked of it last may have been done or not.")
}

/// What the socket is called in a store's directory.
enum LocalSocketName {
    static let name = "SOCKET"
}
