// Why a request is refused: a value, so that it can be compared with an oracle's answer and printed.

package import StratusModel

/// The reason for which one record of a request cannot be written as asked. The request as a whole is not carried out.
///
/// A record has at most one reason; where several hold, the first of this list is given. A saved record that hangs where
/// it hung before can only be refused for a parent that the same request deletes, or for its share. Shares are looked at
/// only when no record of the request has one of the other reasons.
package enum Refusal: Hashable, Sendable {
    /// The parent neither exists nor is saved in the same request.
    case parentMissing(parent: RecordName)
    /// The record is deleted while another record names it as its parent.
    case hasChildren(child: RecordName)
    /// The record would be its own ancestor.
    case cycle(parent: RecordName)
    /// The record would lie deeper than the limit. A record without a parent has depth 0.
    case tooDeep(depthLimit: Int)
    /// The record would be in two hierarchical shares (SH-06, SH-07, X-01).
    case alreadyShared(ShareConflict)
}

/// The share in the way of a refused request, so that an error can name all of it.
package struct ShareConflict: Hashable, Sendable {
    /// Where the root in the way stands, seen from the refused record.
    package enum Place: Hashable, Sendable {
        /// The record itself is the root of another share.
        case same
        /// An ancestor is a share root.
        case above
        /// A descendant is a share root.
        case below
    }

    package var place: Place
    /// The root in the way. Of several ancestors the nearest; of several descendants the first one found by always
    /// going down to the child with the smallest name that has a root at or below it.
    package var root: RecordName
    /// The share of that root.
    package var share: RecordName

    package init(place: Place, root: RecordName, share: RecordName) {
        self.place = place
        self.root = root
        self.share = share
    }
}

/// Thrown by a transaction whose request was refused: every record with a reason of its own.
package struct RequestRefused: Error, Hashable, Sendable {
    package let refusals: [RecordName: Refusal]

    package init(refusals: [RecordName: Refusal]) {
        self.refusals = refusals
    }
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
            return "the record would lie deeper than \(limit) levels"
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
