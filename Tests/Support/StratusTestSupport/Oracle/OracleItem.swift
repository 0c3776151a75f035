// The vocabulary of the oracle: requests, and reasons for refusals. They mirror the engine's, and are types of their
// own, because the oracle shares no code with what it checks: it knows only the model's plain values.

package import StratusModel

/// One item of a request.
package enum OracleItem: Hashable, Sendable {
    case save(Record)
    case delete(RecordName)

    package var name: RecordName {
        switch self {
        case .save(let record): record.name
        case .delete(let name): name
        }
    }
}

/// The place of the conflicting share, seen from the refused record.
package enum OraclePlace: String, Hashable, Sendable {
    case same
    case above
    case below
}

/// Why one record of a request cannot be written as requested.
package enum OracleRefusal: Hashable, Sendable {
    case parentMissing(parent: RecordName)
    case hasChildren(child: RecordName)
    case cycle(parent: RecordName)
    case tooDeep(depthLimit: Int)
    case alreadyShared(OraclePlace, root: RecordName, share: RecordName)
}

/// The result of a request.
package enum OracleVerdict: Hashable, Sendable {
    case accepted
    case refused([RecordName: OracleRefusal])
    /// The request names a record twice or has too many items.
    case invalid
}

/// The limits the oracle judges by.
package struct OracleLimits: Hashable, Sendable {
    /// The deepest level of a record; a record without a parent is at level 0.
    package var depth: Int
    package var itemCount: Int

    package init(depth: Int, itemCount: Int) {
        self.depth = depth
        self.itemCount = itemCount
    }
}

/// A wrong rule of the oracle, so that the checker that compares with it can be shown to fail.
package enum OracleFault: Sendable {
    case overlooksRootsBelow
    case overlooksRootsAbove
    case overlooksMissingParents
    case forgetsTombstones
    case countsOneLevelTooMany
}

extension OracleRefusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .parentMissing(let parent): "parent \(parent) missing"
        case .hasChildren(let child): "has child \(child)"
        case .cycle(let parent): "cycle through \(parent)"
        case .tooDeep(let depthLimit): "deeper than \(depthLimit)"
        case .alreadyShared(let place, let root, let share): "share \(share) at \(root), \(place.rawValue)"
        }
    }
}

extension OracleVerdict: CustomStringConvertible {
    package var description: String {
        switch self {
        case .accepted: "accepted"
        case .invalid: "invalid"
        case .refused(let refusals):
            refusals.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: "; ")
        }
    }
}
