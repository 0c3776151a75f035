// Walks up and down the hierarchy of a zone. A walk down visits parents before their children. Its memory is bounded by
// the depth, not by the size: each level keeps one page of names, and a page is small where the hierarchy is deep.

import StratusLayout
package import StratusModel
package import StratusStore

/// The hierarchical share that covers a record, if any.
package enum ShareCoverage: Hashable, Sendable {
    /// No live record has this name.
    case absent
    /// The record is in no hierarchical share.
    case uncovered
    case covered(ShareMembership)
}

/// A record in its parent's list.
package struct Child: Hashable, Sendable {
    package var name: RecordName
    package var hasChildren: Bool

    package init(name: RecordName, hasChildren: Bool) {
        self.name = name
        self.hasChildren = hasChildren
    }
}

extension ZoneReader {
    /// The ancestors of a record, nearest first; nil if no live record has this name.
    ///
    /// Throws `hierarchyTooDeep` past the depth limit, `corruption` when a parent on the way is missing.
    package func ancestors(of name: RecordName) throws -> [RecordName]? {
        var walk = WalkReads(in: self)
        walk.willRead(placeOf: name)
        guard var node = try node(name) else { return nil }
        var ancestors: [RecordName] = []
        while let parent = node.parent {
            ancestors.append(parent)
            walk.willRead(placeOf: parent)
            node = try ancestorNode(parent, below: name, level: ancestors.count)
        }
        return ancestors
    }

    /// The hierarchical share of a record, or nil if it is in none. O(depth), regardless of the records below it.
    ///
    /// Throws `unknownRecord` when no live record has this name, `hierarchyTooDeep` past the depth limit, `corruption`
    /// when a parent on the way is missing.
    package func shareMembership(of name: RecordName) throws -> ShareMembership? {
        switch try coverage(of: name) {
        case .absent: throw StoreError.unknownRecord(name, in: id)
        case .uncovered: nil
        case .covered(let membership): membership
        }
    }

    /// The share that covers a record, if the record exists. One walk, as `shareMembership`.
    ///
    /// Throws `hierarchyTooDeep` past the depth limit, `corruption` when a parent on the way is missing.
    package func coverage(of name: RecordName) throws -> ShareCoverage {
        var current = name
        var level = 0
        if isHierarchyPublished {
            switch cache.nearestShareRoot(zone: cacheZone, of: name, at: store.version, limit: limits.hierarchyDepth) {
            case .found(let membership, _): return .covered(membership)
            case .none: return .uncovered
            case .unknown(let at, let levels):
                current = at
                level = levels
            }
        }
        var walk = WalkReads(in: self)
        while true {
            walk.willRead(placeOf: current)
            let node: ParentEntry
            if level == 0 {
                guard let found = try self.node(current) else { return .absent }
                node = found
            } else {
                node = try ancestorNode(current, below: name, level: level)
            }
            if let share = node.share { return .covered(ShareMembership(root: current, share: share)) }
            guard let parent = node.parent else { return .uncovered }
            current = parent
            level += 1
        }
    }

    /// The level and the share of a record, if the cache knows its whole way up and that is within the depth limit. Nil
    /// means unknown. Call it only while the hierarchy is published.
    func knownPlace(of name: RecordName) -> (level: Int, membership: ShareMembership?)? {
        let limit = limits.hierarchyDepth
        let version = store.version
        switch cache.nearestShareRoot(zone: cacheZone, of: name, at: version, limit: limit + 1) {
        case .unknown: return nil
        case .none(let level): return (level, nil)
        case .found(let membership, let levels):
            guard let node = cache.node(zone: cacheZone, name: membership.root, at: version) else { return nil }
            guard let parent = node.parent else { return (levels, membership) }
            // A second root above it would be damage. A walk level by level then finds the nearest one.
            guard
                case .none(let above) = cache.nearestShareRoot(
                    zone: cacheZone, of: parent, at: version, limit: limit - levels)
            else { return nil }
            return (levels + 1 + above, membership)
        }
    }

    /// The children of a record in the byte order of their names, at most `limit` of them after `last`.
    package func children(of parent: RecordName, after last: RecordName? = nil, limit: Int = .max) throws -> [Child] {
        var children: [Child] = []
        try visitChildren(of: parent, after: last, limit: limit) { child in
            children.append(child)
            return .next
        }
        return children
    }

    /// Visits the children of a record in the byte order of their names.
    package func visitChildren(
        of parent: RecordName, after last: RecordName? = nil, limit: Int = .max, _ visit: (Child) throws -> ScanStep
    ) throws {
        let whole = keys.children(of: parent)
        let range = last.map { keys.children(of: parent, after: $0) } ?? whole
        let prefixByteCount = whole.lower.count
        try store.scan(range, .forward, limit: limit) { key, value in
            let name = try ZoneKeys.readChild(key, prefixByteCount: prefixByteCount)
            return try visit(Child(name: name, hasChildren: ChildEntry(decoding: value).hasChildren))
        }
    }

    /// The node of a record that another record names as its ancestor. Its absence is corruption.
    func ancestorNode(_ name: RecordName, below descendant: RecordName, level: Int) throws -> ParentEntry {
        guard level <= limits.hierarchyDepth else { throw StoreError.tooDeep(descendant, in: self) }
        guard let node = try node(name) else {
            throw StoreError(
                .corruption, "A record names a parent that does not exist: verify the store, then rebuild its indexes.",
                ["record": descendant.text, "missing": name.text, "zone": id.name.text])
        }
        return node
    }
}

extension StoreError {
    static func tooDeep(_ name: RecordName, in zone: ZoneReader) -> StoreError {
        StoreError(
            .hierarchyTooDeep, "The record is deeper than the limit: move it or one of its ancestors up.",
            ["record": name.text, "zone": zone.id.name.text, "limit": "\(zone.limits.hierarchyDepth)"])
    }

    static func unknownRecord(_ name: RecordName, in zone: ZoneID) -> StoreError {
        StoreError(
            .unknownRecord, "No such record: check its name and its zone.",
            ["record": name.text, "zone": zone.name.text])
    }
}

/// What a visitor of a subtree returns.
package enum SubtreeStep: Sendable {
    case next
    case skipChildren
    case stop
}

extension ZoneReader {
    /// Visits every record below `root`, parents before children, siblings in the byte order of their names. The root
    /// itself is not visited. Its children are at level 1. A record without children costs no look-up.
    ///
    /// Throws `hierarchyTooDeep` past `depthLimit`. Default: the engine's limit.
    package func visitSubtree(
        below root: RecordName, depthLimit: Int? = nil, _ visit: (_ child: Child, _ level: Int) throws -> SubtreeStep
    ) throws {
        var levels = [try SubtreeLevel(of: root, after: nil, in: self, depth: 1)]
        while var level = levels.popLast() {
            let depth = levels.count + 1
            guard level.position < level.page.count else {
                guard level.hasMore, let last = level.page.last else { continue }
                levels.append(try SubtreeLevel(of: level.parent, after: last.name, in: self, depth: depth))
                continue
            }
            let child = level.page[level.position]
            level.position += 1
            levels.append(level)
            switch try visit(child, depth) {
            case .stop: return
            case .skipChildren: continue
            case .next: break
            }
            guard child.hasChildren else { continue }
            guard depth < depthLimit ?? limits.hierarchyDepth else { throw StoreError.tooDeep(child.name, in: self) }
            levels.append(try SubtreeLevel(of: child.name, after: nil, in: self, depth: depth + 1))
        }
    }
}

/// Children of one record, of which those from `position` on are still to be visited.
private struct SubtreeLevel {
    let parent: RecordName
    let page: [Child]
    let hasMore: Bool
    var position = 0

    init(of parent: RecordName, after last: RecordName?, in zone: ZoneReader, depth: Int) throws {
        let pageCount = depth < 32 ? 512 : 16
        self.parent = parent
        page = try zone.children(of: parent, after: last, limit: pageCount)
        hasMore = page.count == pageCount
    }
}
