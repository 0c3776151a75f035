// The long-lived operations of a session (O-14): which are kept, which are under way, who waits for their answer.
//
// Invariants:
//   1. A request is sent by one operation object alone: others of the same identity wait for its answer.
//   2. The answer is kept before any block is told of it.
//   3. An operation is dropped when the last object that runs it has called its last block, or when it is cancelled; one
//      that was answered and that nobody asks for is dropped after a day, and one of nobody who is signed in, whom no
//      deletion of an account takes along, after a month also where it was not answered.
//   4. Of an account that was forgotten nothing is kept any more, not even by operations that are under way.
// Blocks threads, as the store does: used on the pool's threads only.

package import Foundation
package import StratusCloud
package import StratusModel
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

    private struct State {
        var running: [String: Running] = [:]
        /// The accounts that were deleted while this object lives.
        var forgotten: Set<String> = []
    }

    /// The most operations that are kept for one account; one more is refused.
    package static let accountLimit = 1_000
    private static let keptSeconds: TimeInterval = 86_400
    private static let nobodysSeconds: TimeInterval = 30 * 86_400

    private let store: any LongLivedStore
    private let clock: any CloudClock
    private let state = Locked(State())

    package init(store: any LongLivedStore, clock: any CloudClock) {
        self.store = store
        self.clock = clock
    }

    /// Joins the operation of this identity, or keeps a new one.
    ///
    /// Throws what the store throws, and as `checkRoom`.
    package func join(
        _ entry: LongLivedEntry, as member: ObjectIdentifier, whenAnswered: @escaping @Sendable () -> Void
    ) throws -> Step {
        try state.withLock { state in
            let kept = try store.entry(entry.id)
            var run = state.running[entry.id] ?? Running()
            if kept == nil, run.unkeptAnswer == nil {
                try collect(state)
                try checkRoom(for: entry.account, state)
                var entry = entry
                entry.kept = clock.now
                try store.save(entry)
            }
            defer { state.running[entry.id] = run }
            run.members.insert(member)
            if let answer = kept?.answer ?? run.unkeptAnswer { return .replay(answer) }
            if run.sender == nil { run.sender = member }
            guard run.sender != member else { return .send }
            run.waiters[member] = whenAnswered
            return .wait
        }
    }

    /// An operation that is kept already.
    package func kept(_ id: String) throws -> LongLivedEntry? { try store.entry(id) }

    /// Throws `requestRateLimited` where as many operations are kept for an account as may be, and `notAuthenticated`
    /// where the account was deleted.
    package func checkRoom(for account: String?) throws {
        try state.withLock { state in
            try collect(state)
            try checkRoom(for: account, state)
        }
    }

    /// Copies a file for an operation that is about to be joined the first time; nil where it cannot be read.
    package func keepFile(_ path: String, as number: Int, of id: String) throws -> KeptFile? {
        guard let copy = try store.keepFile(path, as: number, of: id), let digest = FileKeeper.digest(ofFile: copy)
        else { return nil }
        return KeptFile(number: number, path: copy, digest: digest)
    }

    /// Where a file lies that was kept; nil for one that does not hold any longer what it did. The digest is nil for one
    /// that an older version has kept.
    package func keptFile(_ number: Int, of id: String, digest: [UInt8]?) -> String? {
        guard let path = store.keptFile(number, of: id), let digest else { return store.keptFile(number, of: id) }
        return FileKeeper.digest(ofFile: path) == digest ? path : nil
    }

    /// Lets go for an object that is gone. What no object has run to its end stays kept.
    package func release(_ id: String, by member: ObjectIdentifier) throws {
        try state.withLock { state in
            state.running[id]?.members.remove(member)
            guard let run = state.running[id], run.members.isEmpty else { return }
            state.running[id] = nil
            if run.hasConcluded { try store.remove(id) }
        }
    }

    /// Keeps the answer, then wakes those who wait for it.
    ///
    /// Throws what the store throws. Those who wait are woken all the same, and get the answer.
    package func answer(_ entry: LongLivedEntry, with answer: Data) throws {
        var answered = entry
        answered.answer = answer
        answered.answered = clock.now
        let (waiters, saved) = state.withLock { state in
            let isForgotten = entry.account.map { state.forgotten.contains($0) } ?? false
            let saved: Result<Void, any Error> =
                isForgotten ? .success(()) : Result { try store.save(answered) }
            switch saved {
            case .success where !isForgotten: break
            default: state.running[entry.id]?.unkeptAnswer = answer
            }
            defer { state.running[entry.id]?.waiters = [:] }
            return (Array((state.running[entry.id]?.waiters ?? [:]).values), saved)
        }
        for waiter in waiters { waiter() }
        try saved.get()
    }

    /// An object has called its last block. The last one drops the operation; where the one that was to send leaves
    /// without an answer, another does.
    package func leave(_ id: String, as member: ObjectIdentifier) throws {
        let next = try state.withLock { state -> (@Sendable () -> Void)? in
            var run = state.running[id] ?? Running()
            run.members.remove(member)
            run.waiters[member] = nil
            run.hasConcluded = true
            guard !run.members.isEmpty else {
                state.running[id] = nil
                try store.remove(id)
                return nil
            }
            defer { state.running[id] = run }
            let hasAnswer = try run.unkeptAnswer != nil || store.entry(id)?.answer != nil
            guard run.sender == member, !hasAnswer else { return nil }
            run.sender = run.waiters.keys.first
            return run.sender.flatMap { run.waiters.removeValue(forKey: $0) }
        }
        next?()
    }

    /// An operation that is kept for an account in a container, made into an object by `make`, which is held.
    package func found<Made: AnyObject>(
        _ id: String, of caller: Caller, make: (LongLivedEntry) throws -> Made?
    ) throws -> Made? {
        // One that is damaged says so, and is not taken for one that is not there.
        guard let kept = try store.entry(id), let entry = try entries(of: caller).first(where: { $0.id == kept.id }),
            let made = try make(entry)
        else { return nil }
        let isKept = try state.withLock { state in
            guard try store.entry(id) != nil else { return false }
            state.running[id, default: Running()].members.insert(ObjectIdentifier(made))
            return true
        }
        return isKept ? made : nil
    }

    /// The operations that are kept for an account in a container.
    package func entries(of caller: Caller) throws -> [LongLivedEntry] {
        try state.withLock { state in
            try collect(state)
            return try store.entries().filter {
                $0.container == caller.container.text && $0.account == caller.account?.text
                    && $0.device == caller.keepingDevice
            }
        }
    }

    private func checkRoom(for account: String?, _ state: State) throws {
        if let account, state.forgotten.contains(account) {
            throw CloudError(.notAuthenticated, "The account was deleted: sign in with another.")
        }
        guard try store.entries().count(where: { $0.account == account }) < Self.accountLimit else {
            throw CloudError(
                .requestRateLimited, "Too many long-lived operations are kept: let some of them end.",
                ["limit": "\(Self.accountLimit)"], retryAfterSeconds: 60)
        }
    }

    /// Drops what was answered a day ago, and what nobody can be asked about any more.
    private func collect(_ state: State) throws {
        let now = clock.now
        for entry in try store.entries() {
            if let answered = entry.answered {
                if answered <= now.addingTimeInterval(-Self.keptSeconds) { try store.remove(entry.id) }
            } else if entry.account == nil, let kept = entry.kept, state.running[entry.id] == nil,
                kept <= now.addingTimeInterval(-Self.nobodysSeconds)
            {
                try store.remove(entry.id)
            }
        }
    }
}

// MARK: Forgetting

extension LongLivedRegistry {
    /// Drops everything that is kept of an account that was deleted, records and files, and keeps nothing of it from
    /// now on. Operations under way go on without being kept.
    ///
    /// Throws what the store throws; calling it again goes on.
    package func forget(_ account: AccountID) throws {
        try state.withLock { state in
            state.forgotten.insert(account.text)
            for entry in try store.entries() where entry.account == account.text { try store.remove(entry.id) }
        }
    }

    /// Forgets the accounts that are gone: where the process has ended before it could.
    /// - Parameter isGone: Whether there is no such account.
    /// - Throws: What the store and `isGone` throw.
    package func forgetAccounts(_ isGone: (AccountID) throws -> Bool) throws {
        let accounts = try state.withLock { _ in Set(try store.entries().compactMap(\.account)) }
        for account in accounts.map({ AccountID($0) }) {
            if try isGone(account) { try forget(account) }
        }
    }
}

extension Caller {
    /// The device that long-lived operations are kept for. Containers without a device, and those of who is signed in,
    /// share one, which has no name: so entries of older versions, which name none, are theirs.
    package var keepingDevice: String? { device == CloudSession.localDeviceName ? nil : device }
}

// Where long-lived operations are kept until their last block was called (O-14): the seam, and the store in memory.

/// A long-lived operation as it is kept. Request and answer are archives whose form is the operations' business.
package struct LongLivedEntry: Hashable, Sendable {
    package var id: String
    /// Who may find it again: the container, the account and the device it was made for. The device is nil for the one
    /// that all containers without a device share.
    package var container: String
    package var account: String?
    package var device: String?
    /// The class of the operation.
    package var kind: String
    package var request: Data
    /// Since when it is kept; nil for one that an older version has kept.
    package var kept: Date?
    /// Nil while the request has not been answered.
    package var answer: Data?
    package var answered: Date?

    package init(
        id: String, container: String, account: String?, device: String? = nil, kind: String, request: Data,
        kept: Date? = nil, answer: Data? = nil, answered: Date? = nil
    ) {
        self.id = id
        self.container = container
        self.account = account
        self.device = device
        self.kind = kind
        self.request = request
        self.kept = kept
        self.answer = answer
        self.answered = answered
    }
}

/// Keeps long-lived operations. What `save` was given is there until it is removed, as durable as the store is.
package protocol LongLivedStore: Sendable {
    func save(_ entry: LongLivedEntry) throws
    func entry(_ id: String) throws -> LongLivedEntry?
    func entries() throws -> [LongLivedEntry]
    /// Removes an operation and its files.
    func remove(_ id: String) throws

    /// Copies a file for an operation that is about to be saved. The copy lies there until the operation is removed.
    /// Returns its path; nil where the file is no regular one or cannot be read whole.
    func keepFile(_ path: String, as number: Int, of id: String) throws -> String?
    /// Where a file lies that was kept.
    func keptFile(_ number: Int, of id: String) -> String?
}

/// A file that is kept with an operation.
package struct KeptFile: Hashable, Sendable {
    package let number: Int
    package let path: String
    /// The SHA-256 of what it holds.
    package let digest: [UInt8]
}

/// Keeps long-lived operations as long as the object lives, and the files they upload in a temporary directory.
package final class MemoryLongLivedStore: LongLivedStore {
    private let kept = Locked<[String: LongLivedEntry]>([:])
    private let keeper = FileKeeper()
    private let takeDirectory: @Sendable () -> String
    private let giveBack: @Sendable (String) -> Void
    /// Of this object alone; taken with the first file.
    private let directory = Locked<String?>(nil)

    package convenience init() {
        self.init(
            takeDirectory: {
                FileManager.default.temporaryDirectory
                    .appendingPathComponent("stratus-operations-\(UUID.drawn().uuidString)").path
            }, giveBack: { try? FileManager.default.removeItem(atPath: $0) })
    }

    /// Takes the path of a directory for files, which is not there yet, and gives it back with all that is in it.
    package init(takeDirectory: @escaping @Sendable () -> String, giveBack: @escaping @Sendable (String) -> Void) {
        self.takeDirectory = takeDirectory
        self.giveBack = giveBack
    }

    deinit {
        if let directory = directory.value { giveBack(directory) }
    }

    package func save(_ entry: LongLivedEntry) { kept.withLock { $0[entry.id] = entry } }
    package func entry(_ id: String) -> LongLivedEntry? { kept.withLock { $0[id] } }
    package func entries() -> [LongLivedEntry] { kept.withLock { Array($0.values) } }

    package func remove(_ id: String) {
        kept.withLock { $0[id] = nil }
        if let directory = directory.value { keeper.removeDirectory(filesDirectory(of: id, in: directory)) }
    }

    package func keepFile(_ path: String, as number: Int, of id: String) throws -> String? {
        let directory = directory.withLock { directory in
            let path = directory ?? takeDirectory()
            directory = path
            return path
        }
        return try FileKeeper.explaining(directory) {
            try keeper.keep(path, as: "\(number)", in: filesDirectory(of: id, in: directory))
        }
    }

    package func keptFile(_ number: Int, of id: String) -> String? {
        directory.value.map { "\(filesDirectory(of: id, in: $0))/\(number)" }
    }

    private func filesDirectory(of id: String, in directory: String) -> String {
        "\(directory)/\(FileKeeper.name(of: id))"
    }
}
