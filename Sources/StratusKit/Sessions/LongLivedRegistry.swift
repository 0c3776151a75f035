// The long-lived operations of a session (O-14): which are kept, which are under way, who waits for their answer.
//
// Invariants:
//   1. A request is sent by one operation object alone: others of the same identity wait for its answer.
//   2. The answer is kept before any block is told of it.
//   3. An operation is dropped when the last object that runs it has called its last block, or when it is cancelled; one
//      that was answered and that nobody asks for is dropped after a day.
// Blocks threads, as the store does: used on the pool's threads only.

package import Foundation
package import StratusCloud
import StratusModel
import StratusStore

/// Long-lived operations by their identity. An object that runs one is known by its own identity.
package final class LongLivedRegistry: Sendable {
    /// What an operation object has to do.
    package enum Step: Sendable {
        /// Send the request: it is kept now.
        case send
        /// Replay the answer without sending anything.
        case replay(Data)
        /// Wait: another object has sent the request. What was handed to `join` will be called, then join again.
        case wait
    }

    private struct Running {
        var members: Set<ObjectIdentifier> = []
        var sender: ObjectIdentifier?
        var waiters: [ObjectIdentifier: @Sendable () -> Void] = [:]
        /// Whether some object has called its last block.
        var hasConcluded = false
        /// An answer that the store has refused: it lasts as long as an object runs the operation.
        var unkeptAnswer: Data?
    }

    /// The most operations that are kept; one more is refused.
    static let limit = 10_000
    private static let keptSeconds: TimeInterval = 86_400

    private let store: any LongLivedStore
    private let clock: any CloudClock
    private let running = Locked<[String: Running]>([:])

    package init(store: any LongLivedStore, clock: any CloudClock) {
        self.store = store
        self.clock = clock
    }

    /// Joins the operation of this identity, or keeps a new one.
    ///
    /// Throws what the store throws, and `requestRateLimited` where too many are kept.
    package func join(
        _ entry: LongLivedEntry, as member: ObjectIdentifier, whenAnswered: @escaping @Sendable () -> Void
    ) throws -> Step {
        try running.withLock { running in
            let kept = try store.entry(entry.id)
            if kept == nil { try keep(entry) }
            var state = running[entry.id] ?? Running()
            defer { running[entry.id] = state }
            state.members.insert(member)
            if let answer = kept?.answer ?? state.unkeptAnswer { return .replay(answer) }
            if state.sender == nil { state.sender = member }
            guard state.sender != member else { return .send }
            state.waiters[member] = whenAnswered
            return .wait
        }
    }

    /// An operation that is kept already.
    package func kept(_ id: String) throws -> LongLivedEntry? { try store.entry(id) }

    /// Copies a file for an operation that is about to be joined the first time; nil where it cannot be read.
    package func keepFile(_ path: String, as number: Int, of id: String) throws -> KeptFile? {
        try store.keepFile(path, as: number, of: id).map { KeptFile(number: number, path: $0) }
    }

    /// Where a file lies that was kept.
    package func keptFile(_ number: Int, of id: String) -> String? { store.keptFile(number, of: id) }

    /// Lets go for an object that is gone. What no object has run to its end stays kept.
    package func release(_ id: String, by member: ObjectIdentifier) throws {
        try running.withLock { running in
            running[id]?.members.remove(member)
            guard let state = running[id], state.members.isEmpty else { return }
            running[id] = nil
            if state.hasConcluded { try store.remove(id) }
        }
    }

    /// Keeps the answer, then wakes those who wait for it.
    ///
    /// Throws what the store throws. Those who wait are woken all the same, and get the answer.
    package func answer(_ entry: LongLivedEntry, with answer: Data) throws {
        var answered = entry
        answered.answer = answer
        answered.answered = clock.now
        let (waiters, saved) = running.withLock { running in
            let saved = Result { try store.save(answered) }
            if case .failure = saved { running[entry.id]?.unkeptAnswer = answer }
            defer { running[entry.id]?.waiters = [:] }
            return (Array((running[entry.id]?.waiters ?? [:]).values), saved)
        }
        for waiter in waiters { waiter() }
        try saved.get()
    }

    /// An object has called its last block. The last one drops the operation; where the one that was to send leaves
    /// without an answer, another does.
    package func leave(_ id: String, as member: ObjectIdentifier) throws {
        let next = try running.withLock { running -> (@Sendable () -> Void)? in
            var state = running[id] ?? Running()
            state.members.remove(member)
            state.waiters[member] = nil
            state.hasConcluded = true
            guard !state.members.isEmpty else {
                running[id] = nil
                try store.remove(id)
                return nil
            }
            defer { running[id] = state }
            let hasAnswer = try state.unkeptAnswer != nil || store.entry(id)?.answer != nil
            guard state.sender == member, !hasAnswer else { return nil }
            state.sender = state.waiters.keys.first
            return state.sender.flatMap { state.waiters.removeValue(forKey: $0) }
        }
        next?()
    }

    /// An operation that is kept for an account in a container, made into an object by `make`, which is held.
    package func found<Made: AnyObject>(
        _ id: String, of caller: Caller, make: (LongLivedEntry) throws -> Made?
    ) throws -> Made? {
        guard let entry = try entries(of: caller).first(where: { $0.id == id }), let made = try make(entry) else {
            return nil
        }
        let isKept = try running.withLock { running in
            guard try store.entry(id) != nil else { return false }
            running[id, default: Running()].members.insert(ObjectIdentifier(made))
            return true
        }
        return isKept ? made : nil
    }

    /// The operations that are kept for an account in a container.
    package func entries(of caller: Caller) throws -> [LongLivedEntry] {
        try running.withLock { _ in
            try collect()
            return try store.entries().filter {
                $0.container == caller.container.text && $0.account == caller.account?.text
            }
        }
    }

    private func keep(_ entry: LongLivedEntry) throws {
        try collect()
        guard try store.entries().count < Self.limit else {
            throw CloudError(
                .requestRateLimited, "Too many long-lived operations are kept: let some of them end.",
                retryAfterSeconds: 60)
        }
        try store.save(entry)
    }

    /// Drops what was answered a day ago.
    private func collect() throws {
        let horizon = clock.now.addingTimeInterval(-Self.keptSeconds)
        for entry in try store.entries() {
            if let answered = entry.answered, answered <= horizon { try store.remove(entry.id) }
        }
    }
}
