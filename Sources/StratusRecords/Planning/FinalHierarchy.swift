// The hierarchy as it will be after a request: the stored one with the request's records placed anew.
//
// All records of the request are placed before anything is checked, so that the order of its items cannot matter.

import StratusLayout
import StratusModel
import StratusStore

/// Where a record will stand.
enum FinalPosition {
    /// `level` is 0 for a record without a parent. `membership` is the share the record is in, itself included.
    case placed(level: Int, membership: ShareMembership?)
    /// The record is its own ancestor, on a cycle of `wayCount` records.
    case onCycle(wayCount: Int)
    /// The way up from the record ends in a cycle it is not part of, `wayCount` records together.
    case belowCycle(wayCount: Int)
    /// The way up is longer than the depth limit.
    case tooDeep
}

struct FinalHierarchy {
    private let zone: ZoneReader
    private let drafts: [RecordName: Draft]
    private var positions: [RecordName: FinalPosition] = [:]
    /// Of every parent the request names, the child with the smallest name.
    private let smallestChildren: [RecordName: RecordName]
    /// The way up that is being walked; kept from walk to walk for its memory.
    private var path: [(name: RecordName, share: RecordName?)] = []

    init(zone: ZoneReader, drafts: [RecordName: Draft]) {
        self.zone = zone
        self.drafts = drafts
        positions.reserveCapacity(drafts.count)
        var smallest: [RecordName: RecordName] = [:]
        for draft in drafts.values {
            guard let parent = draft.newParent else { continue }
            smallest[parent] = smallest[parent].map { min($0, draft.name) } ?? draft.name
        }
        smallestChildren = smallest
    }

    /// Whether a live record of this name will exist.
    func exists(_ name: RecordName) throws -> Bool {
        if let draft = drafts[name] { return draft.isSaved }
        return try zone.node(name) != nil
    }

    /// The parent a record will have, and its share mark; nil when it will not exist.
    private func place(_ name: RecordName) throws -> PastNode? {
        if let draft = drafts[name] {
            return draft.isSaved ? PastNode(parent: draft.newParent, share: draft.newShare) : nil
        }
        return try zone.node(name).map { PastNode(parent: $0.parent, share: $0.share) }
    }

    /// Where a record will stand. What is found on the way is remembered, so that a batch walks every ancestor once. The
    /// answer is that of a walk which remembers nothing and gives up after the depth limit, so that the order of the
    /// questions cannot matter.
    ///
    /// A way up that ends at a record which will not exist counts as ending there: that record's own items are refused.
    mutating func position(of name: RecordName) throws -> FinalPosition {
        path.removeAll(keepingCapacity: true)
        var indexOnPath: [RecordName: Int] = [:]
        var current: RecordName? = name
        var end = FinalPosition.placed(level: -1, membership: nil)
        while let step = current {
            if let known = positions[step] {
                end = known
                break
            }
            if let start = path.isEmpty ? nil : step == name ? 0 : indexOnPath[step] {
                end = .onCycle(wayCount: path.count - start)
                for member in path[start...] { positions[member.name] = end }
                path.removeSubrange(start...)
                break
            }
            guard let place = try place(step) else { break }
            guard path.count <= zone.limits.hierarchyDepth else {
                // Too far for the first of the path; of the others nothing is known.
                positions[name] = .tooDeep
                return .tooDeep
            }
            // The first of the path is known by its name, and most paths have no second.
            if !path.isEmpty { indexOnPath[step] = path.count }
            path.append((step, place.share))
            current = place.parent
        }
        for step in path.reversed() {
            end = position(of: step.name, share: step.share, below: end)
            positions[step.name] = end
        }
        // What is left of the path begins with the record itself.
        return path.isEmpty ? positions[name] ?? end : end
    }

    /// Where a record stands whose parent stands at `above`.
    private func position(of name: RecordName, share: RecordName?, below above: FinalPosition) -> FinalPosition {
        switch above {
        case .placed(let level, let membership):
            let own = share.map { ShareMembership(root: name, share: $0) }
            return .placed(level: level + 1, membership: own ?? membership)
        case .onCycle(let wayCount), .belowCycle(let wayCount):
            return wayCount > zone.limits.hierarchyDepth ? .tooDeep : .belowCycle(wayCount: wayCount + 1)
        case .tooDeep: return .tooDeep
        }
    }

    /// The child with the smallest name that will exist below `parent`, or nil.
    func firstChild(of parent: RecordName) throws -> RecordName? {
        var first = smallestChildren[parent]
        try zone.visitChildren(of: parent) { child in
            if drafts[child.name] != nil { return .next }
            if first.map({ child.name < $0 }) ?? true { first = child.name }
            return .stop
        }
        return first
    }
}
