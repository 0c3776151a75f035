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
    /// The record is its own ancestor.
    case onCycle
    /// The way up from the record ends in a cycle it is not part of.
    case belowCycle
    /// The way up is longer than the depth limit.
    case tooDeep
}

struct FinalHierarchy {
    private let zone: ZoneReader
    private let drafts: [RecordName: Draft]
    private var positions: [RecordName: FinalPosition] = [:]

    init(zone: ZoneReader, drafts: [RecordName: Draft]) {
        self.zone = zone
        self.drafts = drafts
    }

    /// Whether a live record of this name will exist.
    func exists(_ name: RecordName) throws -> Bool {
        if let draft = drafts[name] { return draft.new != nil }
        return try zone.node(name) != nil
    }

    /// The parent a record will have, and its share mark; nil when it will not exist.
    private func place(_ name: RecordName) throws -> PastNode? {
        if let draft = drafts[name] { return draft.new.map { PastNode(parent: $0.parent, share: $0.share) } }
        return try zone.node(name).map { PastNode(parent: $0.parent, share: $0.share) }
    }

    /// Where a record will stand. What is found on the way is remembered, so that a batch walks every ancestor once.
    ///
    /// A way up that ends at a record which will not exist counts as ending there: that record's own items are refused.
    mutating func position(of name: RecordName) throws -> FinalPosition {
        var path: [(name: RecordName, share: RecordName?)] = []
        var indexOnPath: [RecordName: Int] = [:]
        var current: RecordName? = name
        var end = FinalPosition.placed(level: -1, membership: nil)
        while let step = current {
            if let known = positions[step] {
                end = known
                if case .onCycle = known { end = .belowCycle }
                break
            }
            if let start = indexOnPath[step] {
                for member in path[start...] { positions[member.name] = .onCycle }
                path.removeSubrange(start...)
                end = .belowCycle
                break
            }
            guard path.count <= zone.limits.hierarchyDepth else {
                end = .tooDeep
                break
            }
            guard let place = try place(step) else { break }
            indexOnPath[step] = path.count
            path.append((step, place.share))
            current = place.parent
        }
        for step in path.reversed() {
            if case .placed(let level, let membership) = end {
                let own = step.share.map { ShareMembership(root: step.name, share: $0) }
                end = .placed(level: level + 1, membership: own ?? membership)
            }
            positions[step.name] = end
        }
        return positions[name] ?? end
    }

    /// The child with the smallest name that will exist below `parent`, or nil.
    func firstChild(of parent: RecordName) throws -> RecordName? {
        var first = drafts.values.filter { $0.new?.parent == parent }.map(\.name).min()
        try zone.visitChildren(of: parent) { child in
            if drafts[child.name] != nil { return .next }
            if first.map({ child.name < $0 }) ?? true { first = child.name }
            return .stop
        }
        return first
    }
}
