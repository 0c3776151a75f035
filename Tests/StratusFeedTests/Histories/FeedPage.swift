// One page of a feed, as plain values: records by name and in the words of `RecordView`, or zones by name.

import StratusKit
import StratusSharingSupport

/// A record in a page; of a zone it has only the name.
struct ToldRecord: Hashable, Sendable {
    var text: String
    var tag: String?
}

/// A page.
struct FeedPage: Sendable {
    var changed: [String: ToldRecord] = [:]
    /// With the type of a record, and the reason of a zone's deletion.
    var deleted: [String: String] = [:]
    /// The counted entries; a name that occurs twice counts twice.
    var entryCount = 0
    var token: CKServerChangeToken?
    var isMoreComing = false
}

/// The answer to a reader: pages, of which all but the last say that there are more, or a refusal.
enum FeedAnswer: Sendable {
    case pages([FeedPage])
    case refused(Outcome)
}

/// Where a history and the oracle parted.
struct FeedFailure: Error, CustomStringConvertible {
    /// Nil if the store does not verify.
    let step: FeedStep?
    let message: String

    var description: String { "\(step.map { "at '\($0)': " } ?? "")\(message)" }
}
