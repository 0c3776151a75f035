// The oracle for an ancestor cache: one whole dictionary for each version, and a checker that accepts an answer only if
// it says "unknown" or exactly what the dictionary of the reader's version says.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct OracleKey: Hashable {
    var zone: CacheZone
    var name: RecordName
}

/// The subject of the checker: the cache itself, or one with a planted fault.
protocol AncestorAnswering: Sendable {
    func node(zone: CacheZone, name: RecordName, at version: StoreVersion) -> ParentEntry?
    func nearestShareRoot(
        zone: CacheZone, of name: RecordName, at version: StoreVersion, limit: Int
    ) -> AncestorShareAnswer
    func fill(zone: CacheZone, name: RecordName, node: ParentEntry, at version: StoreVersion)
    func publish(_ changes: [HierarchyChange], version: StoreVersion)
    func forget(zone: CacheZone, version: StoreVersion)
    var statistics: AncestorCacheStatistics { get }
}

extension AncestorCache: AncestorAnswering {}

/// All versions of a hierarchy, `versions[0]` empty.
struct HierarchyOracle {
    private(set) var versions: [[OracleKey: ParentEntry]] = [[:]]

    var newest: StoreVersion { StoreVersion(versions.count - 1) }

    mutating func commit(_ changes: [HierarchyChange]) {
        var next = versions[versions.count - 1]
        for change in changes { next[OracleKey(zone: change.zone, name: change.name)] = change.node }
        versions.append(next)
    }

    mutating func commitDeletion(of zone: CacheZone) {
        versions.append(versions[versions.count - 1].filter { $0.key.zone != zone })
    }

    func node(_ zone: CacheZone, _ name: RecordName, at version: StoreVersion) -> ParentEntry? {
        versions[Int(version)][OracleKey(zone: zone, name: name)]
    }

    /// The records from `name` up, at most `limit`, as far as they exist.
    func chain(
        _ zone: CacheZone, _ name: RecordName, at version: StoreVersion, limit: Int
    ) -> [(name: RecordName, node: ParentEntry)] {
        var chain: [(name: RecordName, node: ParentEntry)] = []
        var next: RecordName? = name
        while chain.count < limit, let name = next, let node = node(zone, name, at: version) {
            chain.append((name, node))
            next = node.parent
        }
        return chain
    }

    // MARK: Checking. Each returns the fault, or nil.

    func lie(
        of cache: some AncestorAnswering, zone: CacheZone, name: RecordName, at version: StoreVersion, limit: Int
    ) -> String? {
        let context = "\(name) in \(zone.zone) at \(version), limit \(limit): "
        let lie =
            nodeLie(cache.node(zone: zone, name: name, at: version), node(zone, name, at: version))
            ?? shareLie(
                cache.nearestShareRoot(zone: zone, of: name, at: version, limit: limit),
                chain(zone, name, at: version, limit: limit), start: name, limit: limit)
        return lie.map { context + $0 }
    }

    private func nodeLie(_ answer: ParentEntry?, _ truth: ParentEntry?) -> String? {
        answer == nil || answer == truth ? nil : "says \(String(describing: answer)) for \(String(describing: truth))"
    }

    private func shareLie(
        _ answer: AncestorShareAnswer, _ chain: [(name: RecordName, node: ParentEntry)], start: RecordName, limit: Int
    ) -> String? {
        let root = chain.firstIndex { $0.node.share != nil }
        let isTrue: Bool
        switch answer {
        case .found(let found, let levels):
            isTrue = root == levels && chain[levels].name == found.root && chain[levels].node.share == found.share
        case .none(let levels):
            isTrue = root == nil && levels == chain.count - 1 && chain[levels].node.parent == nil
        case .unknown(let name, let levels):
            let reached = levels == 0 ? start : levels <= chain.count ? chain[levels - 1].node.parent : nil
            isTrue = levels <= limit && reached == name && (root.map { $0 >= levels } ?? true)
        }
        return isTrue ? nil : "says \(answer) for \(chain)"
    }
}
