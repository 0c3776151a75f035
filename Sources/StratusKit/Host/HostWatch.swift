// Watching what another process does with its store.

import Foundation
import StratusCloud

/// The events of a host, over its socket. Used on one thread.
package final class HostWatch {
    /// The host's process.
    package let processID: Int32
    private let channel: LocalChannel

    /// Begins to watch the host of the store in a directory; nil where no host serves it. What happens from here on is told.
    ///
    /// Throws `StratusError` where the host refuses.
    package init?(directory: String) throws {
        do {
            guard let channel = try LocalClient.connect(directory) else { return nil }
            self.channel = channel
            processID = channel.peer?.process ?? 0
            let _: Done = try LocalClient.ask(.watch, over: channel)
        } catch let error as LocalSocketError {
            throw error.told(of: directory)
        }
    }

    /// What a look at the host gives.
    package enum Told: Sendable {
        case events(WatchedEvents)
        /// Nothing has happened in the time.
        case nothing
        /// The host has ended, or the caller wants to stop.
        case ended
    }

    /// What has happened; waits for it so many seconds. `isStopping` is asked now and then.
    ///
    /// Throws `StratusError` where the connection fails.
    package func next(waitingAtMost seconds: Double, isStopping: () -> Bool) throws -> Told {
        do {
            guard let frame = try LocalClient.receive(channel, seconds: seconds, isStopping: isStopping) else {
                return .ended
            }
            switch LocalFrame.Kind(rawValue: frame.kind) {
            case .events?: return .events(try LocalCoding.decode(from: frame.content))
            case .refusal?: throw try LocalCoding.decode(LocalSocketError.self, from: frame.content)
            default: throw LocalSocketError(message: "The host has sent what was not asked for.")
            }
        } catch let error as LocalSocketError {
            // Whoever was killed says no more.
            if error == .cutOff { return .ended }
            if error == .idle { return .nothing }
            throw error.told()
        }
    }
}
