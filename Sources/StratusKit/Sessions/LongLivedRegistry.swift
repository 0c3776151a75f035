// The long-lived operations of a session (O-14): which are stored, which are under way, and which objects wait for an
// answer.
//
// Invariants:
//   1. Only one operation object sends a request; others with the same identity wait for its answer, also at other
//      hosts.
//   2. The answer is stored before any block gets it.
//   3. An operation is dropped when the last object that runs it has called its last block, or when it is cancelled. An
//      answered one that no program resumes is dropped after a day. One without an account, which no deletion of an
//      account removes, is dropped after a month, answered or not.
//   4. Nothing is stored for an account that was forgotten, not even for operations under way.
//
// The registry blocks its thread, as the store does: use it on the pool's threads only.

package import Foundation
package import StratusCloud
package import StratusModel
import StratusStore

/// Long-lived operations by their identity. The object that runs one is identified by its `ObjectIdentifier`.
package final class LongLivedRegistry: Sendable {
    /// What an operation object has to do.
    package enum Step: Sendable {
        /// Send the request: the operation is stored now.
        case send
        /// Replay the answer without sending anything.
        case replay(Data)
        /// Wait: another object has sent the request. When the closure that was passed to `join` is called, join again.
        case wait
    }

    private struct Running {
        var members: Set<ObjectIdentifier> = []
        var sender: ObjectIdentifier?
        var waiters: [ObjectIdentifier: @Sendable () -> Void] = [:]
        /// Whether some object has called its last block.
        var hasConcluded = false
        /// An answer that the store could not write: it is held while an object runs the operation.
        var unkeptAnswer: Data?
    }

    private struct State {
        var running: [String: Running] = [:]
        /// The accounts that were deleted during the lifetime of this object.
        var forgotten: Set<String> = []
        /// Answered operations that no object here runs any longer, and since when, by the monotonic clock: objects at
        /// other hosts may be about to get the answer.
        var concluded: [String: Double] = [:]
    }

    /// The maximum number of operations stored for one account; one more is refused.
    package static let accountLimit = 1_000
    private static let keptSeconds: TimeInterval = 86_400
    private static let concludedSeconds = 60.0
    private static let nobodysSeconds: TimeInterval = 30 * 86_400

    private let store: any LongLivedStore
    private let clock: any CloudClock
    private let state = Locked(State())

    package init(store: any LongLivedStore, clock: any CloudClock) {
        self.store = store
        self.clock = clock
    }

    /// Joins the operation with this identity, or stores a new one.
    ///
    /// Throws what the store throws, and what `checkRoom` throws.
    package func join(
        _ entry: LongLivedEntry, as member: ObjectIdentifier, whenAnswered: @escaping @Sendable () -> Void
    ) throws -> Step {
        try state.withLock { state in
            let kept = try store.entry(entry.id)
            var run = state.running[entry.id] ?? Running()
            if kept == nil, run.unkeptAnswer == nil {
                try checkRoom(for: entry.account, state)
                var entry = entry
                entry.kept = clock.now
                try store.save(entry)
            }
            defer { state.running[entry.id] = run }
            state.concluded[entry.id] = nil
            run.members.insert(member)
            if let answer = kept?.answer ?? run.unkeptAnswer { return .replay(answer) }
            // If another host has answered since the entry was read, the next look finds the answer.
            if run.sender == nil, try takeUnanswered(entry.id) { run.sender = member }
            guard run.sender != member else { return .send }
            run.waiters[member] = whenAnswered
            return .wait
        }
    }

    /// The stored operation; nil if there is none.
    package func kept(_ id: String) throws -> LongLivedEntry? { try store.entry(id) }

    /// Throws `requestRateLimited` if the account has reached the limit, and `notAuthenticated` if it was deleted.
    package func checkRoom(for account: String?) throws {
        try state.withLock { try checkRoom(for: account, $0) }
    }

    /// Copies a file for an operation that is about to be joined for the first time. Returns nil if it cannot be read.
    package func keepFile(_ path: String, as number: Int, of id: String) throws -> KeptFile? {
        guard let copy = try store.keepFile(path, as: number, of: id), let digest = FileKeeper.digest(ofFile: copy)
        else { return nil }
        return KeptFile(number: number, path: copy, digest: digest)
    }

    /// The path of a stored file; nil if its content has changed. The digest is nil for a file that an older version
    /// stored.
    package func keptFile(_ number: Int, of id: String, digest: [UInt8]?) -> String? {
        guard let path = store.keptFile(number, of: id), let digest else { return store.keptFile(number, of: id) }
        return FileKeeper.digest(ofFile: path) == digest ? path : nil
    }

    /// Whether this host runs an operation that has no answer. It runs none that has one.
    private func takeUnanswered(_ id: String) throws -> Bool {
        guard try store.takeRun(of: id) else { return false }
        guard store.isShared else { return true }
        if let kept = try store.entry(id), kept.answer == nil { return true }
        store.endRun(of: id)
        return false
    }

    /// Lets objects that wait for another host's answer look again. Call it when another host may have answered, or may
    /// be gone.
    func lookAgain() {
        state.withLock { state in
            let end = clock.uptimeSeconds - Self.concludedSeconds
            for (id, since) in state.concluded where since <= end {
                state.concluded[id] = nil
                // Otherwise it is dropped after a day.
                try? store.remove(id)
            }
        }
        let waiters = state.withLock { state in
            state.running.filter { $0.value.sender == nil && !$0.value.waiters.isEmpty }.flatMap { id, run in
                state.running[id]?.waiters = [:]
                return run.waiters.values
            }
        }
        for waiter in waiters { waiter() }
    }

    /// Leaves on behalf of an object that was released. An operation that no object has run to its end stays stored.
    package func release(_ id: String, by member: ObjectIdentifier) throws {
        try state.withLock { state in
            state.running[id]?.members.remove(member)
            guard let run = state.running[id], run.members.isEmpty else { return }
            state.running[id] = nil
            if run.hasConcluded {
                try drop(id, run, &state)
            } else if run.sender != nil {
                store.endRun(of: id)
            }
        }
    }

    /// Stores the answer, then wakes the objects that wait for it.
    ///
    /// Throws what the store throws. Waiting objects are woken anyway and get the answer.
    package func answer(_ entry: LongLivedEntry, with answer: Data) throws {
        var answered = entry
        answered.answer = answer
        answered.answered = clock.now
        let (waiters, saved) = state.withLock { state in
            let isForgotten = entry.account.map { state.forgotten.contains($0) } ?? false
            // A host that was taken for dead does not replace the answer of the one that has sent the request again.
            let saved = Result {
                guard try !isForgotten && takeUnanswered(entry.id) else { return false }
                try store.save(answered)
                store.endRun(of: entry.id)
                return true
            }
            if (try? saved.get()) != true { state.running[entry.id]?.unkeptAnswer = answer }
            defer { state.running[entry.id]?.waiters = [:] }
            return (Array((state.running[entry.id]?.waiters ?? [:]).values), saved)
        }
        for waiter in waiters { waiter() }
        _ = try saved.get()
    }

    /// Notes that an object has called its last block. The last object drops the operation. If the sender leaves
    /// without an answer, another object sends.
    package func leave(_ id: String, as member: ObjectIdentifier) throws {
        let next = try state.withLock { state -> (@Sendable () -> Void)? in
            var run = state.running[id] ?? Running()
            run.members.remove(member)
            run.waiters[member] = nil
            run.hasConcluded = true
            guard !run.members.isEmpty else {
                state.running[id] = nil
                try drop(id, run, &state)
                return nil
            }
            defer { state.running[id] = run }
            let hasAnswer = try run.unkeptAnswer != nil || store.entry(id)?.answer != nil
            guard run.sender == member, !hasAnswer else { return nil }
            run.sender = run.waiters.keys.first
            if run.sender == nil { store.endRun(of: id) }
            return run.sender.flatMap { run.waiters.removeValue(forKey: $0) }
        }
        next?()
    }

    /// Drops an operation that no object of this host runs any longer. One that another host runs stays, and one with
    /// an answer stays for a minute where other hosts may wait for it.
    private func drop(_ id: String, _ run: Running, _ state: inout State) throws {
        guard store.isShared else { return try store.remove(id) }
        guard try run.sender != nil || store.takeRun(of: id) else { return }
        if try store.entry(id)?.answer != nil {
            state.concluded[id] = clock.uptimeSeconds
        } else {
            try store.remove(id)
        }
        store.endRun(of: id)
    }

    /// The object that `make` creates from the stored operation of an account in a container. It counts as a member.
    package func found<Made: AnyObject>(
        _ id: String, of caller: Caller, make: (LongLivedEntry) throws -> Made?
    ) throws -> Made? {
        // A damaged entry throws and is not treated as missing.
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

    /// The stored operations of an account in a container.
    package func entries(of caller: Caller) throws -> [LongLivedEntry] {
        try state.withLock { state in
            try collect(state)
            return try store.entries().filter {
                state.concluded[$0.id] == nil && $0.container == caller.container.text
                    && $0.account == caller.account?.text
                    && $0.device == caller.keepingDevice
            }
        }
    }

    private func checkRoom(for account: String?, _ state: State) throws {
        try collect(state)
        if let account, state.forgotten.contains(account) {
            throw CloudError(.notAuthenticated, "The account was deleted: sign in with another.")
        }
        guard
            try store.entries().count(where: { $0.account == account && state.concluded[$0.id] == nil })
                < Self.accountLimit
        else {
            throw CloudError(
                .requestRateLimited, "Too many long-lived operations are stored: finish some of them first.",
                ["limit": "\(Self.accountLimit)"], retryAfterSeconds: 60)
        }
    }

    /// Drops operations that were answered more than a day ago, and old operations without an account.
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

    // MARK: Forgetting

    /// Forgets all stored operations, after the store was emptied or closed.
    func forgetAll() { store.forget() }

    /// Drops everything stored for a deleted account, requests and files, and stores nothing for it from now on.
    /// Operations under way continue without being stored.
    ///
    /// Throws what the store throws. Call it again to continue.
    package func forget(_ account: AccountID) throws {
        try state.withLock { state in
            state.forgotten.insert(account.text)
            for entry in try store.entries() where entry.account == account.text { try store.remove(entry.id) }
        }
    }

    /// Forgets deleted accounts, in case the process ended before it could.
    /// - Parameter isGone: Returns whether the account does not exist.
    /// - Throws: What the store and `isGone` throw.
    package func forgetAccounts(_ isGone: (AccountID) throws -> Bool) throws {
        let accounts = try state.withLock { _ in Set(try store.entries().compactMap(\.account)) }
        for account in accounts.map({ AccountID($0) }) {
            if try isGone(account) { try forget(account) }
        }
    }
}

extension Caller {
    /// The device that long-lived operations are stored for. Containers without a device and containers of the
    /// signed-in account share nil, so that they find the entries of older versions, which name no device.
    package var keepingDevice: String? { device == CloudSession.localDeviceName ? nil : device }
}

// Where long-lived operations are stored until their last block was called (O-14): the protocol, and the store in
// memory.

/// A stored long-lived operation. Request and answer are archives whose form the operations define.
package struct LongLivedEntry: Hashable, Codable, Sendable {
    package var id: String
    /// The container, account and device that may find it again. The device is nil for all containers without a
    /// device.
    package var container: String
    package var account: String?
    package var device: String?
    /// The class of the operation.
    package var kind: String
    package var request: Data
    /// When it was stored; nil if an older version stored it.
    package var kept: Date?
    /// Nil while the request has not been answered.
    package var answer: Data?
    package var answered: Date?
    /// The digest of its file; nil in memory, and in files that older versions wrote.
    var digest: Data?
}

/// Stores long-lived operations. A saved entry exists until it is removed, as durable as the store.
package protocol LongLivedStore: Sendable {
    func save(_ entry: LongLivedEntry) throws
    func entry(_ id: String) throws -> LongLivedEntry?
    func entries() throws -> [LongLivedEntry]
    /// Removes an operation and its files.
    func remove(_ id: String) throws
    /// Forgets all operations, after the store was emptied or closed.
    func forget()

    /// Whether other hosts may run the operations.
    var isShared: Bool { get }
    /// Whether no other host runs an operation. From then on this one does, until `endRun`.
    func takeRun(of id: String) throws -> Bool
    func endRun(of id: String)

    /// Copies a file for an operation that is about to be saved. The copy exists until the operation is removed.
    /// Returns its path; nil if the file is not a regular file or cannot be read completely.
    func keepFile(_ path: String, as number: Int, of id: String) throws -> String?
    /// The path of a stored file.
    func keptFile(_ number: Int, of id: String) -> String?
}

extension LongLivedStore {
    package var isShared: Bool { false }
    package func takeRun(of id: String) throws -> Bool { true }
    package func endRun(of id: String) {}
}

/// A file that is stored with an operation.
package struct KeptFile: Hashable, Sendable {
    package let number: Int
    package let path: String
    /// The SHA-256 of its content.
    package let digest: [UInt8]
}

/// Stores long-lived operations in memory, and the files they upload in a temporary directory.
package final class MemoryLongLivedStore: LongLivedStore {
    private let kept = Locked<[String: LongLivedEntry]>([:])
    private let keeper = FileKeeper()
    private let takeDirectory: @Sendable () -> String
    private let giveBack: @Sendable (String) -> Void
    /// The directory of this object alone; taken with the first file.
    private let directory = Locked<String?>(nil)

    /// `takeDirectory` returns the path of a directory that does not exist yet; `giveBack` removes it with its files.
    package init(
        takeDirectory: @escaping @Sendable () -> String = {
            FileManager.default.temporaryDirectory
                .appendingPathComponent("stratus-operations-\(UUID.drawn().uuidString)").path
        }, giveBack: @escaping @Sendable (String) -> Void = { try? FileManager.default.removeItem(atPath: $0) }
    ) {
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

    package func forget() { for id in kept.value.keys { remove(id) } }

    package func keepFile(_ path: String, as number: Int, of id: String) throws -> String? {
        let directory = directory.made(takeDirectory)
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
