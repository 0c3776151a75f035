// What can be asked of a host over its local socket, and what it is answered. These values are sent as JSON by the
// names of their cases and properties: if you change one, raise `LocalFrame.version`.

import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// One request.
enum LocalRequest: Codable, Sendable {
    /// What a client asks of the server.
    case cloud(AnyCloudCall)
    /// Reads from the store's own entries; only after `begin`.
    case read(ReadCall)
    /// What a host does.
    case host(HostCall)
    /// Events from here on, until the connection ends.
    case watch
}

/// Reading the store's entries from one snapshot, which lasts from `begin` to `end` on one connection.
enum ReadCall: Codable, Sendable {
    case begin
    case value(key: Data)
    case entries(from: Data, upTo: Data, isBackward: Bool, limit: Int)
    case end
}

/// What a host does for its store.
enum HostCall: Codable, Sendable {
    case createAccount(AccountDraft, onlyIfMissing: Bool)
    case setHandles(Set<Handle>, AccountID)
    case setStanding(AccountStanding, AccountID)
    case deleteAccount(AccountID)
    case importSchema(String, ContainerName)
    case finishIndexes
    case openShare(url: String, AccountID)
    case rebuild(ZoneID, incarnation: UUID)
    case purgeZones
    case compact
    case statistics
    /// Why the store takes no writes.
    case writeFailure
    /// Opens the store again after a failed write.
    case recover
}

/// How far long work of a host has come. Hosts and tools of before know nothing of parts and totals: they may be
/// missing, and be passed over.
package struct WorkProgress: Codable, Hashable, Sendable {
    /// What is gone over, where the work has several parts: a raw value of `RebuildProgress.Step`,
    /// `FreeingProgress.Part` or `IndexingProgress.Part`.
    package var part: String?
    /// How much is done: records, zones, shares and files that were looked at, entries that were removed, or bytes of
    /// files that were compacted.
    package var doneCount: Int
    /// Of how many, where that is known.
    package var totalCount: Int?
}

extension WorkProgress {
    init(_ progress: IndexingProgress) {
        self.init(part: progress.part.rawValue, doneCount: progress.doneCount, totalCount: progress.totalCount)
    }

    init(_ progress: FreeingProgress) {
        self.init(part: progress.part.rawValue, doneCount: progress.doneCount, totalCount: progress.totalCount)
    }
}

/// Whether the store takes writes.
struct WriteState: Codable, Sendable {
    /// Nil where it does.
    var failure: LocalFailure?
}

/// Whether a store had to be opened again.
struct Recovered: Codable, Sendable {
    var isReopened: Bool
}

/// The host's first frame.
struct LocalGreeting: Codable, Sendable {
    var process: Int32
}

struct ReadBegun: Codable, Sendable {
    var version: StoreVersion
}

struct ReadValue: Codable, Sendable {
    var value: Data?
}

struct ReadEntries: Codable, Sendable {
    struct Entry: Codable, Sendable {
        var key: Data
        var value: Data
    }

    var entries: [Entry]
    /// Whether nothing of the range is left.
    var isAtEnd: Bool
}

/// The sizes of the store's files before and after, as the engine estimates them.
package struct CompactedFiles: Codable, Hashable, Sendable {
    package var byteCountBefore: Int
    package var byteCountAfter: Int
}

/// The error of a request, whichever floor it comes from.
enum LocalFailure: Codable, Sendable {
    case server(CloudError)
    case host(code: String, message: String, fields: [String: String], cause: String?)
}
