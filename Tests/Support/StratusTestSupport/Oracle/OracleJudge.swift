// The rules of a request, checked by brute force on the whole state before and the whole state after.
//
// A record is refused for the effect of its own item: it is new, has another parent than before, or becomes a root.
// Records that the request leaves in place are not refused for what others do around them, except that a parent removed
// from a saved record is that record's reason too.

import StratusModel

struct OracleJudge {
    let before: OracleZone
    /// The state as if everything were allowed; it may contain dangling parents and cycles.
    let after: OracleZone
    let items: [OracleItem]
    let limits: OracleLimits
    let fault: OracleFault?

    // MARK: Structure

    func structureRefusals() -> [RecordName: OracleRefusal] {
        var refusals: [RecordName: OracleRefusal] = [:]
        for item in items {
            switch item {
            case .save(let record): refusals[record.name] = placementRefusal(record)
            case .delete(let name): refusals[name] = deletionRefusal(name)
            }
        }
        return refusals
    }

    private func deletionRefusal(_ name: RecordName) -> OracleRefusal? {
        guard before.live[name] != nil else { return nil }
        let children = after.live.values.filter { $0.record.parent == name }.map(\.record.name)
        return children.min().map { .hasChildren(child: $0) }
    }

    private func placementRefusal(_ record: Record) -> OracleRefusal? {
        guard let parent = record.parent else { return nil }
        guard after.live[parent] != nil else {
            return fault == .overlooksMissingParents ? nil : .parentMissing(parent: parent)
        }
        guard isPlacedAnew(record) else { return nil }
        switch wayUp(from: record.name) {
        case .returns: return .cycle(parent: parent)
        case .ends, .circles: return nil
        case .tooLong: return .tooDeep(depthLimit: limits.depth)
        }
    }

    private enum WayUp {
        case ends
        case returns
        /// It runs into a cycle that the record is not part of.
        case circles
        case tooLong
    }

    /// Walks up at most one step more than the limit allows. A parent that will not exist ends the path: its children
    /// are refused for that.
    private func wayUp(from name: RecordName) -> WayUp {
        let limit = fault == .countsOneLevelTooMany ? limits.depth + 1 : limits.depth
        var seen = [name]
        while let parent = after.live[seen[seen.count - 1]]?.record.parent, after.live[parent] != nil {
            if parent == name { return .returns }
            if seen.contains(parent) { return .circles }
            if seen.count > limit { return .tooLong }
            seen.append(parent)
        }
        return .ends
    }

    private func isPlacedAnew(_ record: Record) -> Bool {
        guard let old = before.live[record.name]?.record else { return true }
        return old.parent != record.parent
    }

    /// Whether a record of the request is deeper than the limit, or a share root does, so that a walk from one to the
    /// other may fail. Only for states without cycles.
    func hasDeepRecord() -> Bool {
        // No chain is longer than there are records.
        if max(before.live.count, after.live.count) <= limits.depth { return false }
        let roots = after.live.values.compactMap { $0.record.share == nil ? nil : $0.record.name }
        return (items.map(\.name) + roots).contains { name in
            before.ancestors(of: name).count > limits.depth || after.ancestors(of: name).count > limits.depth
        }
    }

    // MARK: Shares

    /// Only for states that are sound.
    func shareRefusals() -> [RecordName: OracleRefusal] {
        var refusals: [RecordName: OracleRefusal] = [:]
        for case .save(let record) in items { refusals[record.name] = shareRefusal(record) }
        return refusals
    }

    private func shareRefusal(_ record: Record) -> OracleRefusal? {
        let name = record.name
        let oldShare = before.live[name]?.record.share
        if let oldShare, let share = record.share, oldShare != share {
            return .alreadyShared(.same, root: name, share: oldShare)
        }
        let becomesRoot = record.share != nil && oldShare == nil
        let roots = after.live.values.compactMap { $0.record.share == nil ? nil : $0.record.name }
        var bringsRoots: Bool { roots.contains { $0 == name || after.ancestors(of: $0).contains(name) } }
        guard becomesRoot || (isPlacedAnew(record) && bringsRoots) else { return nil }
        if fault != .overlooksRootsAbove, let above = after.ancestors(of: name).first(where: { roots.contains($0) }) {
            return after.live[above]?.record.share.map { .alreadyShared(.above, root: above, share: $0) }
        }
        guard becomesRoot, fault != .overlooksRootsBelow, let below = firstRoot(below: name, of: roots) else {
            return nil
        }
        return after.live[below]?.record.share.map { .alreadyShared(.below, root: below, share: $0) }
    }

    /// The root found by always going down to the child with the smallest name that has one at or below it.
    private func firstRoot(below name: RecordName, of roots: [RecordName]) -> RecordName? {
        let lower = roots.filter { after.ancestors(of: $0).contains(name) }
        guard !lower.isEmpty else { return nil }
        // Of each root the names on the way down to it, compared name by name.
        let ways = lower.map { root in
            Array(([root] + after.ancestors(of: root).prefix { $0 != name }).reversed())
        }
        return ways.min { $0.lexicographicallyPrecedes($1) }?.last
    }

    /// Two roots on one path, if there are any: this must never be after an accepted request.
    static func nestedRoots(in zone: OracleZone) -> (lower: RecordName, upper: RecordName)? {
        for stored in zone.live.values where stored.record.share != nil {
            for ancestor in zone.ancestors(of: stored.record.name) where zone.live[ancestor]?.record.share != nil {
                return (stored.record.name, ancestor)
            }
        }
        return nil
    }
}
