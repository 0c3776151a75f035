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

extension FeedPage: CustomStringConvertible {
    var description: String {
        let changed = changed.sorted { $0.key < $1.key }.map { "\($0) \($1.text) \($1.tag ?? "")" }
        let deleted = deleted.sorted { $0.key < $1.key }.map { "\($0) was \($1)" }
        return "[\((changed + deleted).joined(separator: ", "))\(isMoreComing ? ", …" : "")]"
    }
}

/// The answer to a reader: pages, of which all but the last say that there are more, or a refusal.
enum FeedAnswer: Sendable, CustomStringConvertible {
    case pages([FeedPage])
    case refused(Outcome)

    var description: String {
        switch self {
        case .pages(let pages): pages.map(\.description).joined()
        case .refused(let outcome): "\(outcome)"
        }
    }
}

/// Where a history and the oracle parted.
struct FeedFailure: Error, CustomStringConvertible {
    /// Nil if the store does not verify.
    let step: FeedStep?
    let message: String

    var description: String { "\(step.map { "at '\($0)': " } ?? "")\(message)" }
}
