// What a call of the record layer throws: `RecordsError`, or `RequestRefused` with a `Refusal` for each record that
// cannot be written as asked. A refusal is a value, so that tests can compare it with an oracle's answer.

import StratusLayout
package import StratusModel
package import StratusStore

/// An error of the record layer: an open code, a message that says what to do, the variables as fields, the cause.
package struct RecordsError: Error, Sendable, CustomStringConvertible {
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        package let description: String

        /// The zone does not exist.
        package static let unknownZone = Code(description: "unknownZone")
        /// The record does not exist.
        package static let unknownRecord = Code(description: "unknownRecord")
        /// The request contradicts itself or breaks a limit. Nothing was written.
        package static let invalidRequest = Code(description: "invalidRequest")
        /// A record is deeper in its hierarchy than the limit.
        package static let hierarchyTooDeep = Code(description: "hierarchyTooDeep")
        /// A transaction is larger than the store accepts.
        package static let tooLarge = Code(description: "tooLarge")
        /// The stored data contradicts itself.
        package static let corruption = Code(description: "corruption")
        /// The store was written in a format this version does not know.
        package static let newerFormat = Code(description: "newerFormat")
        /// The store was written in an older format: migrate it first.
        package static let olderFormat = Code(description: "olderFormat")
        /// The store accepts no requests now.
        package static let unavailable = Code(description: "unavailable")
        /// The store holds something else than records.
        package static let notAStore = Code(description: "notAStore")
        /// A token or a position is older than the store's history.
        package static let expired = Code(description: "expired")
        /// Indexes are being rebuilt. Try the request again afterwards.
        package static let rebuilding = Code(description: "rebuilding")
    }

    package let code: Code
    package let message: String
    package let fields: [String: String]
    package let cause: String?

    package init(_ code: Code, _ message: StaticString, _ fields: [String: String] = [:], cause: String? = nil) {
        self.init(code, message: "\(message)", fields, cause: cause)
    }

    init(_ code: Code, message: String, _ fields: [String: String], cause: String?) {
        self.code = code
        self.message = message
        self.fields = fields
        self.cause = cause
    }

    package var description: String {
        let variables = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let details = (variables + (cause.map { ["cause: \($0)"] } ?? [])).joined(separator: ", ")
        return details.isEmpty ? "\(code): \(message)" : "\(code): \(message) (\(details))"
    }
}

// Errors of the floors below, in the words of this one: keys are named, codes keep their names.

extension RecordsError {
    /// Wraps an error of the store. For each key among its fields it adds a readable description.
    package init(wrapping error: StoreError) {
        var fields = error.fields
        for (name, value) in error.fields where name.hasSuffix("Key") || name == "key" {
            guard let bytes = Hex.bytes(value) else { continue }
            fields[name + "Description"] =
                name == "key" ? "\(KeyDescription(bytes))" : KeyDescription.text(ofBound: bytes)
        }
        self.init(
            Code(description: error.code.description), message: error.message, fields, cause: error.cause)
    }

    /// Wraps an error of the layout. Damaged bytes are `corruption`, a newer format keeps its code, the rest is
    /// `invalidRequest`.
    init(wrapping error: LayoutError) {
        switch error.code {
        case .newerFormat:
            self.init(
                .newerFormat, "A newer version of this software wrote the store: open it with that version.",
                error.fields)
        case .corruptKey, .corruptValue:
            self.init(
                .corruption, "A key or value is damaged: verify the store, then restore it from a backup.",
                error.fields, cause: "\(error)")
        default:
            self.init(.invalidRequest, message: error.message, error.fields, cause: nil)
        }
    }
}

extension UInt64 {
    /// The next number of a stored counter. Throws `corruption` at its end, which only damage can reach.
    package func advanced(in counter: StaticString) throws -> UInt64 {
        let (next, isOverflow) = addingReportingOverflow(1)
        guard !isOverflow else {
            throw RecordsError(
                .corruption, "A counter is at its end, which no store reaches: restore it from a backup.",
                ["counter": "\(counter)"])
        }
        return next
    }
}

// Why a request is refused: a value, so that it can be compared with an oracle's answer and printed.

/// The reason why one record of a request cannot be written as asked. Nothing of the request is written.
///
/// A record has at most one reason: the first of this list that applies. A saved record that keeps its parent can only
/// be refused for a parent that the same request deletes, or for its share. Shares are checked only if no record of the
/// request has one of the other reasons.
package enum Refusal: Hashable, Sendable {
    /// The parent neither exists nor is saved in the same request.
    case parentMissing(parent: RecordName)
    /// The record is deleted while another record names it as its parent.
    case hasChildren(child: RecordName)
    /// The record would be its own ancestor.
    case cycle(parent: RecordName)
    /// The record would be deeper than the limit. A record without a parent has depth 0.
    case tooDeep(depthLimit: Int)
    /// The record would be in two hierarchical shares (SH-06, SH-07, X-01).
    case alreadyShared(ShareConflict)
}

/// The share that conflicts with a refused request, so that an error can name all of it.
package struct ShareConflict: Hashable, Sendable {
    /// The place of the conflicting root, relative to the refused record.
    package enum Place: Hashable, Sendable {
        /// The record itself is the root of another share.
        case same
        /// An ancestor is a share root.
        case above
        /// A descendant is a share root.
        case below
    }

    package var place: Place
    /// The conflicting root. Of several ancestors the nearest. Of several descendants the one found by always
    /// descending to the child with the smallest name that has a root at or below it.
    package var root: RecordName
    /// The share of that root.
    package var share: RecordName

    package init(place: Place, root: RecordName, share: RecordName) {
        self.place = place
        self.root = root
        self.share = share
    }
}

/// Thrown by a transaction whose request was refused, with the reason of every such record.
package struct RequestRefused: Error, Hashable, Sendable {
    package let refusals: [RecordName: Refusal]
}

extension Refusal: CustomStringConvertible {
    /// One readable line, the same on every run.
    package var description: String {
        switch self {
        case .parentMissing(let parent):
            return "the parent \(parent) does not exist"
        case .hasChildren(let child):
            return "the record is still the parent of \(child)"
        case .cycle(let parent):
            return "with the parent \(parent) the record would be its own ancestor"
        case .tooDeep(let limit):
            return "the record would be deeper than \(limit) levels"
        case .alreadyShared(let conflict):
            let place =
                switch conflict.place {
                case .same: "the record itself"
                case .above: "its ancestor \(conflict.root)"
                case .below: "its descendant \(conflict.root)"
                }
            return "\(place) is already the root of the share \(conflict.share)"
        }
    }
}
