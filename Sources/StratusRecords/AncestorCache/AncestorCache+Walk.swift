// Asking the ancestor cache. A walk runs in stretches, each under one lock; between two of them it knows only the next
// record's name, so whatever is evicted or published meanwhile cannot mislead it.

package import StratusModel
package import StratusStore

extension AncestorCache {
    /// Levels a walk collects before it shows them to its visitor, who is called without a lock.
    private static let levelsPerVisit = 16

    /// What the cache knows of one record at `version`, or nil.
    package func node(zone: CacheZone, name: RecordName, at version: StoreVersion) -> HierarchyNode? {
        guard !isOff, version != AncestorTable.noValue else { return nil }
        let hash = AncestorTable.hash(of: name, in: zone, mask: hashMask)
        return withLane(forHash: hash) { table, lane in
            guard let slot = table.find(name.text.utf8.span, in: zone, hash: hash),
                let node = table.node(of: slot, at: version)
            else {
                lane.misses += 1
                return nil
            }
            lane.note(slot)
            lane.hits += 1
            return node
        }
    }

    /// Finds the share root nearest to a record, the record itself included, reading at most `limit` records.
    package func nearestShareRoot(
        zone: CacheZone, of name: RecordName, at version: StoreVersion, limit: Int
    ) -> AncestorShareAnswer {
        guard !isOff, version != AncestorTable.noValue else { return .unknown(at: name, levels: 0) }
        var next = name
        var passed = 0
        while passed < limit {
            let stretch = min(limit - passed, AncestorCache.levelsPerLock)
            let (answer, isFinal) = shareRootStretch(zone, next, version, passed: passed, limit: stretch)
            guard !isFinal, case .unknown(let reached, let levels) = answer else { return answer }
            next = reached
            passed = levels
        }
        return .unknown(at: next, levels: passed)
    }

    /// Walks up from a record, the record itself first, and shows each one the cache knows, at most `limit` of them.
    /// The visitor may do anything, also call the cache and the store.
    package func walk(
        zone: CacheZone, from name: RecordName, at version: StoreVersion, limit: Int,
        _ visit: (RecordName, HierarchyNode) throws -> AncestorWalkStep
    ) rethrows -> AncestorWalkEnd {
        guard !isOff, version != AncestorTable.noValue else { return .unknown(at: name) }
        var next = name
        var remaining = limit
        while remaining > 0 {
            let levels = min(remaining, AncestorCache.levelsPerVisit)
            let nodes = nodes(zone, from: next, at: version, limit: levels)
            for node in nodes {
                guard try visit(next, node) == .next else { return .stopped }
                guard let parent = node.parent else { return .top }
                next = parent
            }
            guard nodes.count == levels else { return .unknown(at: next) }
            remaining -= levels
        }
        return .unknown(at: next)
    }

    /// One stretch of `nearestShareRoot`; not final when only the stretch came to its end.
    private func shareRootStretch(
        _ zone: CacheZone, _ name: RecordName, _ version: StoreVersion, passed: Int, limit: Int
    ) -> (answer: AncestorShareAnswer, isFinal: Bool) {
        let hash = AncestorTable.hash(of: name, in: zone, mask: hashMask)
        return withLane(forHash: hash) { table, lane in
            guard let start = table.find(name.text.utf8.span, in: zone, hash: hash) else {
                lane.misses += 1
                return (.unknown(at: name, levels: passed), true)
            }
            lane.note(start)
            let ascent = table.ascend(from: start, at: version, limit: limit)
            switch ascent {
            case .root(let mark, let levels):
                lane.hits += 1
                let mark = table.marks[mark]
                return (.found(root: mark.root, share: mark.share, levels: passed + levels), true)
            case .top(let levels):
                lane.hits += 1
                return (.none(levels: passed + levels), true)
            case .unknown(let slot, let levels):
                lane.misses += 1
                return (.unknown(at: slot == start ? name : table.name(of: slot), levels: passed + levels), true)
            case .more(let slot, let levels):
                return (.unknown(at: table.name(of: slot), levels: passed + levels), false)
            }
        }
    }

    /// What the cache knows of a record and those above it, without a gap.
    private func nodes(
        _ zone: CacheZone, from name: RecordName, at version: StoreVersion, limit: Int
    ) -> [HierarchyNode] {
        let hash = AncestorTable.hash(of: name, in: zone, mask: hashMask)
        return withLane(forHash: hash) { table, lane in
            var nodes: [HierarchyNode] = []
            guard var slot = table.find(name.text.utf8.span, in: zone, hash: hash) else {
                lane.misses += 1
                return nodes
            }
            lane.note(slot)
            while nodes.count < limit {
                guard let node = table.node(of: slot, at: version) else {
                    lane.misses += 1
                    return nodes
                }
                nodes.append(node)
                slot = table.links[Int(slot)].parent
                guard slot != AncestorTable.none else { break }
            }
            lane.hits += 1
            return nodes
        }
    }
}
