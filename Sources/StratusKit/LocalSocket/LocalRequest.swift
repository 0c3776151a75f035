// The requests to a host over its local socket, and their answers. These values are sent as JSON by the
// names of their cases and properties: if you change one, raise `LocalFrame.version`.

import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// One request.
enum LocalRequest: Codable, Sendable {
    /// A client's request to the server.
    case cloud(AnyCloudCall)
    /// Reads from the store's own entries; only after `begin`.
    case read(ReadCall)
    /// A call of the host.
    case host(HostCall)
    /// Sends events from now on, until the connection ends.
    case watch
}

/// A read of the store's entries in one snapshot, which lasts from `begin` to `end` on one connection.
enum ReadCall: Codable, Sendable {
    case begin
    case value(key: Data)
    case entries(from: Data, upTo: Data, isBackward: Bool, limit: Int)
    case end
}

/// A call of the host to its store.
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
    /// Why the store refuses writes.
    case writeFailure
    /// Reopens the store after a failed write.
    case recover
}

/// The progress of long work of a host. Older hosts and tools know no parts and totals: these may be missing or
/// ignored.
package struct WorkProgress: Codable, Hashable, Sendable {
    /// The part of the work, if it has several: a raw value of `RebuildProgress.Step`,
    /// `FreeingPart` or `IndexingPart`.
    package var part: String?
    /// How much is done: records, zones, shares and files that were read, entries that were removed, or bytes of
    /// files that were compacted.
    package var doneCount: Int
    /// The total; nil if it is unknown.
    package var totalCount: Int?
}

extension WorkProgress {
    init(_ progress: PartProgress<some WorkPart>) {
        self.init(part: progress.part.rawValue, doneCount: progress.doneCount, totalCount: progress.totalCount)
    }
}

/// Whether the store accepts writes.
struct WriteState: Codable, Sendable {
    /// Why it refuses writes; nil if it accepts them.
    var failure: LocalFailure?
}

/// Whether a store had to be reopened.
struct Recovered: Codable, Sendable {
    var isReopened: Bool
}

/// The first frame that a host sends.
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
    /// Whether the range has no further entries.
    var isAtEnd: Bool
}

/// The sizes of the store's files before and after, as the engine estimates them.
package struct CompactedFiles: Codable, Hashable, Sendable {
    package var byteCountBefore: Int
    package var byteCountAfter: Int
}

/// The error of a request, from any floor.
enum LocalFailure: Codable, Sendable {
    case server(CloudError)
    case host(code: String, message: String, fields: [String: String], cause: String?)
}
