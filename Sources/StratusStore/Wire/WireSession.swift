// What an engine at the other end of a connection implements, so that `WireStore` can make a store of it. An engine
// knows its protocol and nothing of buffers, overlays and lanes.
//
// The life of a session: any number of `fetch`, then one `commit` that returns, or one `abandon`. After any call that
// threw, the only call is `abandon`. A session is used by one thread at a time, but not always by the same one.
//
// A trip is one exchange that waits for an answer. `fetch` and `commit` are one each; nothing else is.

/// One transaction or snapshot of an engine at the other end of a connection.
package protocol WireSession: AnyObject {
    /// Reads everything that the plan names, from the session's snapshot. One trip. The first call begins the snapshot;
    /// it also reads what every transaction must read. A plan is never empty.
    ///
    /// Throws `WireFailure`, or a `StoreError`, which is taken as `WireFailure.fatal`.
    func fetch(_ plan: ReadPlan) throws -> FetchedReads

    /// Writes and commits. One trip. It may be the first call. Without writes it only commits, which shows that what
    /// was read is valid. Returns when the writes are durable. If the outcome is unknown, it finds the outcome out
    /// before it returns or throws.
    ///
    /// Throws `WireFailure`, or a `StoreError`, which is taken as `WireFailure.fatal`. Nothing was written then, except
    /// where the code is `.commitUnknown`.
    func commit(_ writes: WrittenEntries) throws

    /// Ends without a commit. No trip: the connection finishes in the background.
    func abandon()

    /// Whether the session has met a conflict or a loss since it began, even if no call has thrown it.
    var failure: WireFailure? { get }
}

/// Where sessions come from: a pool of connections to one engine.
package protocol WireSource: AnyObject, Sendable {
    /// A snapshot. No trip yet. `WireFailure` lets the reader try again before its deadline.
    func beginReading(_ scope: ReadScope, for caller: WireCaller) throws -> any WireSession
    /// A serialisable transaction. No trip yet. `WireFailure` lets the callers try again before their deadlines.
    func beginWriting(lane: StoreLane?, for caller: WireCaller) throws -> any WireSession
    /// Seconds of a monotonic clock, for deadlines.
    func now() -> Double
    /// Waits before the attempt with this number, from 1, for a time that differs between callers and grows. Throws
    /// when the store is closing.
    func pause(attempt: Int) throws
}

/// What a source knows of the caller that a session is for.
package struct WireCaller: Sendable {
    /// When its time is over, by the source's clock.
    package let deadline: Double
    /// Whether the caller is inside of another read or transaction of the store. Its session must not wait until that
    /// one has ended.
    package let isNested: Bool

    package init(deadline: Double, isNested: Bool) {
        self.deadline = deadline
        self.isNested = isNested
    }
}

/// The answer to a plan.
package struct FetchedReads: Sendable {
    /// The values in the order of the plan's keys; nil where absent.
    package var values: [[UInt8]?]
    /// The pages in the order of the plan's scans.
    package var pages: [FetchedPage]

    package init(values: [[UInt8]?], pages: [FetchedPage]) {
        self.values = values
        self.pages = pages
    }
}

/// The answer to one scan.
package struct FetchedPage: Sendable {
    /// In the direction of the scan, from the beginning of its range, without a gap.
    package var entries: [(key: [UInt8], value: [UInt8])]
    /// Whether the range has no other entries. Where it is false there is at least one entry, so that a reader gets on.
    package var isComplete: Bool

    package init(entries: [(key: [UInt8], value: [UInt8])], isComplete: Bool) {
        self.entries = entries
        self.isComplete = isComplete
    }
}

/// A key of a dictionary, hashed eight bytes at a time. An array hashes byte by byte, which takes many times as long.
package struct HashedKey: Hashable, Sendable {
    private let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package func hash(into hasher: inout Hasher) {
        var word: UInt64 = 0
        for (index, byte) in bytes.enumerated() {
            word = word << 8 | UInt64(byte)
            if index % 8 == 7 { hasher.combine(word) }
        }
        hasher.combine(word)
        hasher.combine(bytes.count)
    }
}

/// What a commit writes. No key is named twice.
package struct WrittenEntries: Sendable {
    /// Entries whose keys are absent, in the order of keys. If one is there, the commit fails with a conflict, and the
    /// next one has no inserts.
    package internal(set) var inserts: [(key: [UInt8], value: [UInt8])] = []
    /// Entries whose keys may be absent or not, in the order of keys.
    package internal(set) var sets: [(key: [UInt8], value: [UInt8])] = []
    /// Keys to delete, in order. Some may be absent.
    package internal(set) var deletes: [[UInt8]] = []
    /// Bounds, as `StoreTransaction.divide` gets them: whether entries from there on have other writers than those
    /// below.
    package internal(set) var divisions: [[UInt8]: Bool] = [:]

    package init() {}

    package var isEmpty: Bool { inserts.isEmpty && sets.isEmpty && deletes.isEmpty }
}

/// Why a session cannot go on. Nothing was committed.
package enum WireFailure: Error, Sendable {
    /// Another transaction was first: run the bodies again.
    case conflict(StoreError)
    /// The connection was lost before a commit: run the bodies again.
    case lost(StoreError)
    /// Running again would not help now.
    case fatal(StoreError)

    package var error: StoreError {
        switch self {
        case .conflict(let error), .lost(let error), .fatal(let error): error
        }
    }

    /// Whether the bodies may succeed if they run again.
    var allowsAnotherRun: Bool {
        if case .fatal = self { false } else { true }
    }

    /// Any error of a session.
    package init(_ error: any Error) {
        self =
            switch error {
            case let failure as WireFailure: failure
            case let error as StoreError: .fatal(error)
            default: .fatal(StoreError(.inputOutput, "The engine failed: see the cause.", cause: "\(error)"))
            }
    }
}

/// The sizes of the machinery between callers and sessions.
package struct WireOptions: Sendable {
    /// The most reads of one plan. More announced reads are dropped: they are fetched when they are read.
    package var planKeyCount = 8_192
    package var planScanCount = 512
    /// How many bytes of its fetched entries a reader remembers.
    package var bufferByteCount = 16 << 20
    /// The largest page of a scan, as far as the size of its entries can be foreseen.
    package var pageByteCount = 4 << 20
    package var pageEntryCount = 4_096
    /// The most callers of one group, and the written bytes after which a group runs no further bodies.
    package var groupMemberCount = 256
    package var groupByteCount = 4_000_000
    /// How long a caller waits for its turn, and how long its transaction is tried.
    package var deadlineSeconds = 30.0
    /// Runs the body of every transaction, undoes it, and runs it again; the second run counts. For tests.
    package var runsBodiesTwice = false

    package init() {}
}
