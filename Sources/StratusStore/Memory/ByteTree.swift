// The map under the in-memory store: a copy-on-write B+ tree from byte strings to byte strings, as a value.
//
// Invariants:
//   1. Copying the tree is O(1) and gives an independent value: a node that two trees share is copied before it changes.
//      A node that only one tree can reach is changed in place.
//   2. All leaves are at the same depth, keys ascend in unsigned byte order, and only leaves hold entries.
//   3. An inner node has one separator fewer than children; everything below `children[i]` is less than
//      `keys[i]`, which is not greater than anything below `children[i + 1]`.
//   4. No node holds more than `Node.capacity` keys (a leaf) or children (an inner node), none but the root fewer than
//      half of that, and an inner root has two children at least.
// The depth is logarithmic, so recursion over it is bounded: with 10⁹ entries it is below ten.

/// An ordered map of bytes whose copies cost nothing.
struct ByteTree: Sendable {
    private(set) var root = Node.leaf()
    private(set) var count = 0

    /// The value of `key`, or nil when it is absent.
    func value(forKey key: [UInt8]) -> [UInt8]? {
        var node = root
        while !node.isLeaf { node = node.children[node.childIndex(forKey: key)] }
        let position = node.firstIndex(notBefore: key)
        return position.isMatch ? node.values[position.index] : nil
    }

    /// Sets the value of `key` and says whether the key is new.
    @discardableResult
    mutating func set(_ key: [UInt8], to value: [UInt8]) -> Bool {
        makeRootUnique()
        let isNew = root.set(key, to: value)
        if isNew { count += 1 }
        if root.isOverfull {
            let (separator, right) = root.split()
            root = Node(keys: [separator], values: [], children: [root, right])
        }
        return isNew
    }

    /// Removes `key` and says whether it was there. An absent key copies nothing.
    @discardableResult
    mutating func remove(_ key: [UInt8]) -> Bool {
        guard value(forKey: key) != nil else { return false }
        makeRootUnique()
        root.remove(key)
        count -= 1
        while !root.isLeaf, root.children.count == 1 { root = root.children[0] }
        return true
    }

    private mutating func makeRootUnique() {
        if !isKnownUniquelyReferenced(&root) { root = root.copy() }
    }
}
