// Notifications of a NotificationCenter as a sequence, which Foundation on Linux lacks. Clients wait for the signed-in
// account to change with `for await _ in center.notifications(named: .CKAccountChanged)`.
//
// A protocol extension adds the method, so that Swift would prefer a method of Foundation's own.

public import Foundation

/// Gives `NotificationCenter` a method. Nothing else conforms to it.
public protocol StratusNotificationSequences {}

extension NotificationCenter: StratusNotificationSequences {}

extension StratusNotificationSequences where Self: NotificationCenter {
    /// The result of `notifications(named:object:)`, by its name on Apple's systems.
    public typealias Notifications = StratusNotificationSequence

    /// The notifications of a name, from the moment when a loop over them begins.
    /// - Parameters:
    ///   - name: The name.
    ///   - object: The sender; nil for any sender.
    /// - Returns: A sequence that ends when its task is cancelled.
    public func notifications(
        named name: Notification.Name, object: (any AnyObject & Sendable)? = nil
    ) -> StratusNotificationSequence {
        StratusNotificationSequence(center: self, name: name, object: object)
    }
}

/// The notifications of a `NotificationCenter`, one after the other.
public struct StratusNotificationSequence: AsyncSequence, Sendable {
    /// How many notifications wait for a busy loop. The oldest are dropped first.
    private static let waitingCount = 64

    let center: NotificationCenter
    let name: Notification.Name
    let object: (any AnyObject & Sendable)?

    /// Begins to observe. Releasing the iterator stops it.
    public func makeAsyncIterator() -> AsyncIterator {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Posted.self, bufferingPolicy: .bufferingNewest(Self.waitingCount))
        let observer = Observer(
            token: center.addObserver(forName: name, object: object, queue: nil) {
                continuation.yield(Posted(notification: $0))
            })
        continuation.onTermination = { [center] _ in center.removeObserver(observer.token) }
        return AsyncIterator(base: stream.makeAsyncIterator())
    }

    /// Waits for one notification after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncStream<Posted>.Iterator

        /// The next notification; nil when the task was cancelled.
        public mutating func next() async -> Notification? { await base.next()?.notification }

        /// The next notification, for an isolated caller; nil when the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? {
            await base.next(isolation: actor)?.notification
        }
    }
}

/// A posted notification. Unchecked because it is passed once, from the posting thread to the waiting one.
private struct Posted: @unchecked Sendable {
    let notification: Notification
}

/// The token of an observer. Unchecked because it is only used to remove the observer.
private struct Observer: @unchecked Sendable {
    let token: any NSObjectProtocol
}
