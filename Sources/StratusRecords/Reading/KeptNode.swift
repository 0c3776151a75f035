// A hierarchy node that a store may keep beside the entry it was decoded from, as it keeps decoded records: where the ancestor
// cache is off, or has no room for all that is asked for, a walk up then costs no read of the engine for what was read before.

import StratusLayout
import StratusStore
import Synchronization

/// A node handed on by reference.
final class KeptNode: Sendable {
    /// Of so many uses one says that the node is used often.
    private static let usesPerFill = 8

    let node: HierarchyNode
    private let useCount = Atomic(0)

    fileprivate init(_ node: HierarchyNode) { self.node = node }

    /// Notes a use. Whether it is the eighth, sixteenth and so on.
    var isOftenUsed: Bool { useCount.add(1, ordering: .relaxed).newValue.isMultiple(of: Self.usesPerFill) }

    /// What it takes in memory: two names lie apart, each with a head of its own.
    fileprivate static func byteCount(decodedFrom byteCount: Int) -> Int { 168 + byteCount }
}

extension StoreReader {
    /// The node of the parent entry under this key, if it is kept.
    func keptNode(forKey key: [UInt8]) -> KeptNode? { keptObject(forKey: key) as? KeptNode }

    /// Offers a node that was decoded from an entry of so many bytes.
    func keep(_ node: HierarchyNode, decodedFrom byteCount: Int, forKey key: [UInt8]) {
        keep(forKey: key, byteCount: KeptNode.byteCount(decodedFrom: byteCount)) { KeptNode(node) }
    }
}
