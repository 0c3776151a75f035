// Optimistic concurrency: a record's change tag is its entity tag. A change carries the tag that the client has seen,
// and is refused if the record has changed since.

import Foundation
import StratusKit

/// The condition of a change.
enum IfMatch: Sendable {
    /// One of these tags; none matches a record that is not there.
    case tags([String])
    /// Whatever the record is now.
    case any

    /// Reads the value of a header. Weak tags match nothing, because a change needs the very record.
    init(header: String) {
        let tags = header.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        self = tags.contains("*") ? .any : .tags(tags)
    }

    /// Throws the store's error for a late save: `serverRecordChanged`, with the current record.
    func check(_ record: CKRecord) throws {
        guard case .tags(let tags) = self, !tags.contains(record.entityTag) else { return }
        throw CKError(.serverRecordChanged, userInfo: [CKRecordChangedErrorServerRecordKey: record])
    }
}

extension CKRecord {
    /// The change tag as an entity tag; never that of another version of the record.
    var entityTag: String { "\"\(recordChangeTag ?? "")\"" }
}
