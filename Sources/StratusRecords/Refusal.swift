// Why a request is refused, and what the record layer adds to errors of the floors below. A refusal is a value, so that
// tests can compare it with an oracle's answer; a call throws `RequestRefused` with a `Refusal` for each record that
// cannot be written as asked.

import StratusLayout
package import StratusModel
package import StratusStore

extension StoreError {
    /// Returns what `body` returns, or nil if an entry is damaged, which another check reports. Throws all other
    /// errors.
    package static func unlessDamaged<Value>(_ body: () throws -> Value?) throws -> Value? {
        do {
            return try body()
        } catch let error as StoreError where error.isDamagedEntry {
            return nil
        }
    }

    /// The same error with a readable description of each key among its fields.
    package var describingKeys: StoreError {
        var more: [String: String] = [:]
        for (name, value) in fields where name.hasSuffix("Key") || name == "key" {
            guard let bytes = Hex.bytes(value) else { continue }
            more[name + "Description"] =
                name == "key" ? KeyDescription.text(of: bytes) : KeyDescription.text(ofBound: bytes)
        }
        return adding(more)
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
