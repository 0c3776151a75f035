// A hierarchy node that a store may keep beside the entry it was decoded from, as it keeps decoded records: where the ancestor
// cache is off, or has no room for all that is asked for, a walk up then costs no read of the engine for what was read before.

import StratusLayout
import StratusStore

/// A node handed on by reference.
private final class KeptNode: Sendable {
    let node: HierarchyNode

    init(_ node: HierarchyNode) { self.node = node }

    /// What it takes in memory: two names lie apart, each with a head of its own.
    static func byteCount(decodedFrom byteCount: Int) -> Int { 160 + byteCount }
}

extension StoreReader {
    /// The node of the parent entry under this key, if it is kept.
    func keptNode(forKey key: [UInt8]) -> HierarchyNode? {
        (keptObject(forKey: key) as? KeptNode)?.node
    }

    /// Offers a node that was decoded from an entry of so many bytes.
    func keep(_ node: HierarchyNode, decodedFrom byteCount: Int, forKey key: [UInt8]) {
        keep(forKey: key, byteCount: KeptNode.byteCount(decodedFrom: byteCount)) { KeptNode(node) }
    }
}
