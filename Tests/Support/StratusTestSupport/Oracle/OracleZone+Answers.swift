// What a reader of the zone must get, computed from the whole state every time.

package import StratusModel

/// An answer, or why there is none.
package enum OracleAnswer<Value: Hashable & Sendable>: Hashable, Sendable {
    case answer(Value)
    case unknownRecord
    case tooDeep
    case expired
}

/// The share root at or above a record, with its share.
package struct OracleMembership: Hashable, Sendable {
    package var root: RecordName
    package var share: RecordName

    package init(root: RecordName, share: RecordName) {
        self.root = root
        self.share = share
    }
}

/// A record in its parent's list.
package struct OracleChild: Hashable, Sendable {
    package var name: RecordName
    package var hasChildren: Bool

    package init(name: RecordName, hasChildren: Bool) {
        self.name = name
        self.hasChildren = hasChildren
    }
}

/// A record below another, and how far.
package struct OracleDescendant: Hashable, Sendable {
    package var child: OracleChild
    package var level: Int

    package init(child: OracleChild, level: Int) {
        self.child = child
        self.level = level
    }
}

extension OracleZone {
    /// The ancestors of a record, nearest first, however many. Only for states without cycles.
    package func ancestors(of name: RecordName) -> [RecordName] {
        var ancestors: [RecordName] = []
        var current = live[name]?.record.parent
        while let parent = current {
            ancestors.append(parent)
            current = live[parent]?.record.parent
        }
        return ancestors
    }

    package func ancestors(of name: RecordName, depthLimit: Int) -> OracleAnswer<[RecordName]> {
        guard live[name] != nil else { return .unknownRecord }
        let all = ancestors(of: name)
        return all.count > depthLimit ? .tooDeep : .answer(all)
    }

    /// The nearest share root at or above a record.
    package func membership(of name: RecordName, depthLimit: Int) -> OracleAnswer<OracleMembership?> {
        guard live[name] != nil else { return .unknownRecord }
        for (level, step) in ([name] + ancestors(of: name)).enumerated() {
            if level > depthLimit { return .tooDeep }
            if let share = live[step]?.record.share { return .answer(OracleMembership(root: step, share: share)) }
        }
        return .answer(nil)
    }

    /// The names of the children of every record, in byte order.
    package func childNames() -> [RecordName: [RecordName]] {
        var names: [RecordName: [RecordName]] = [:]
        for stored in live.values {
            if let parent = stored.record.parent { names[parent, default: []].append(stored.record.name) }
        }
        return names.mapValues { $0.sorted() }
    }

    /// All descendants of a record, parents first. `isWhole` is false if the depth limit cut it short.
    package static func subtree(
        below root: RecordName, childNames: [RecordName: [RecordName]], depthLimit: Int
    ) -> (visited: [OracleDescendant], isWhole: Bool) {
        var visited: [OracleDescendant] = []
        func visit(_ parent: RecordName, _ level: Int) -> Bool {
            for name in childNames[parent] ?? [] {
                let hasChildren = childNames[name] != nil
                visited.append(
                    OracleDescendant(child: OracleChild(name: name, hasChildren: hasChildren), level: level))
                if hasChildren && (level >= depthLimit || !visit(name, level + 1)) { return false }
            }
            return true
        }
        let isWhole = visit(root, 1)
        return (visited, isWhole)
    }

    /// The latest write of every record written after `sequence`, oldest first.
    package func changes(after sequence: UInt64) -> OracleAnswer<[OracleChange]> {
        guard sequence == 0 || sequence >= horizon else { return .expired }
        return .answer(latest.values.filter { $0.sequence > sequence }.sorted { $0.sequence < $1.sequence })
    }

    /// The first of those changes, if there is one.
    package func nextChange(after sequence: UInt64) -> OracleAnswer<[OracleChange]> {
        guard sequence == 0 || sequence >= horizon else { return .expired }
        let next = latest.values.filter { $0.sequence > sequence }.min { $0.sequence < $1.sequence }
        return .answer(next.map { [$0] } ?? [])
    }

    /// The place of a record right after the write with this number.
    package func position(of name: RecordName, asOf sequence: UInt64) -> OracleAnswer<OraclePosition?> {
        guard sequence == 0 || sequence >= horizon else { return .expired }
        let moment = positions[name]?.last { $0.sequence <= sequence }
        return .answer(moment?.position)
    }

    /// How many share roots are at or below each record.
    package func shareCounts() -> [RecordName: Int] {
        var counts: [RecordName: Int] = [:]
        for stored in live.values where stored.record.share != nil {
            for step in [stored.record.name] + ancestors(of: stored.record.name) { counts[step, default: 0] += 1 }
        }
        return counts
    }
}
