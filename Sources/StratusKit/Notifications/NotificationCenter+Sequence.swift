// Notifications of a NotificationCenter as a sequence, which Foundation on Linux does not have: clients wait for the
// signed-in account to change with `for await _ in center.notifications(named: .CKAccountChanged)`.
//
// A protocol lends the method, so that one of Foundation's own would be preferred to it.

public import Foundation

/// What `NotificationCenter` is lent. Nothing else conforms to it.
public protocol StratusNotificationSequences {}

extension NotificationCenter: StratusNotificationSequences {}

extension StratusNotificationSequences where Self: NotificationCenter {
    /// What `notifications(named:object:)` returns, by the name that it has on Apple's systems.
    public typealias Notifications = StratusNotificationSequence

    /// The notifications of a name, from the moment on at which a loop over them begins.
    /// - Parameters:
    ///   - name: The name.
    ///   - object: Who posts them; nil for whoever does.
    /// - Returns: A sequence that ends when its task is cancelled.
    public func notifications(
        named name: Notification.Name, object: (any AnyObject & Sendable)? = nil
    ) -> StratusNotificationSequence {
        StratusNotificationSequence(center: self, name: name, object: object)
    }
}

/// The notifications of a `NotificationCenter`, one after the other.
public struct StratusNotificationSequence: AsyncSequence, Sendable {
    /// How many notifications wait for a loop that is busy. The oldest go first.
    private static let waitingCount = 64

    let center: NotificationCenter
    let name: Notification.Name
    let object: (any AnyObject & Sendable)?

    /// Begins to observe; stops when the iterator is let go of.
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

        /// The next notification, for whoever is isolated; nil when the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? {
            await base.next(isolation: actor)?.notification
        }
    }
}

/// A notification on its way. Unchecked because it is handed over once, by the thread that posts it to the one that waits.
private struct Posted: @unchecked Sendable {
    let notification: Notification
}

/// What a center gives an observer. Unchecked because nothing but taking the observer away is done with it.
private struct Observer: @unchecked Sendable {
    let token: any NSObjectProtocol
}
