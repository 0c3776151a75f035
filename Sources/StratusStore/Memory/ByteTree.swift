// The map under the in-memory store: a copy-on-write B+ tree from byte strings to byte strings, as a value.
//
// Why no library: no maintained Swift library on Linux offers a copy-on-write ordered map of byte strings with cheap
// snapshots. The sorted collections of swift-collections never left its experimental branch.
//
// Invariants:
//   1. Copying the tree is O(1) and gives an independent value: a node that two trees share is copied before it
//      changes. A node that only one tree reaches is changed in place.
//   2. All leaves are at the same depth, keys ascend in unsigned byte order, and only leaves hold entries.
//   3. An inner node has one separator fewer than children; everything below `children[i]` is less than
//      `keys[i]`, which is not greater than anything below `children[i + 1]`.
//   4. No node holds more than `Node.capacity` keys (a leaf) or children (an inner node), none but the root fewer than
//      half of that, and an inner root has two children at least.
// The depth is logarithmic, so recursion over it is bounded: with 10⁹ entries it is below ten.
//
// A scan keeps the tree it began on, so its visitor can change the variable that holds the tree.

/// An ordered map of bytes with O(1) copies.
struct ByteTree: Sendable {
    private(set) var root = Node.leaf()
    private(set) var count = 0

    /// The value of `key`; nil if it is absent.
    func value(forKey key: [UInt8]) -> [UInt8]? {
        var node = root
        while !node.isLeaf { node = node.children[node.childIndex(forKey: key)] }
        let position = node.firstIndex(notBefore: key)
        return position.isMatch ? node.values[position.index] : nil
    }

    /// Sets the value of `key`. Returns whether the key is new.
    @discardableResult
    mutating func set(_ key: [UInt8], to value: [UInt8]) -> Bool {
        update(key) { _ in value }
    }

    /// Sets the value of `key` to one made of the old value, which is nil for a new key. Returns whether the key is
    /// new.
    @discardableResult
    mutating func update(_ key: [UInt8], _ makeValue: (_ old: [UInt8]?) -> [UInt8]) -> Bool {
        makeRootUnique()
        let isNew = root.update(key, makeValue)
        if isNew { count += 1 }
        if root.isOverfull {
            let (separator, right) = root.split()
            root = Node(keys: [separator], values: [], children: [root, right])
        }
        return isNew
    }

    /// Removes `key`. Returns whether it was there. For an absent key nothing is copied.
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

    /// Visits the entries from `lower` up to but not including `upper` in order, until `visit` returns `.stop`.
    func scan(
        from lower: [UInt8], upTo upper: [UInt8], _ direction: ScanDirection,
        _ visit: (_ key: [UInt8], _ value: [UInt8]) throws -> ScanStep
    ) rethrows {
        _ = try root.scan(from: lower, upTo: upper, direction, visit)
    }
}

// MARK: Nodes, and how they split and merge

extension ByteTree {
    /// A leaf (keys and values) or an inner node (separators and children).
    ///
    /// `@unchecked Sendable` because a node changes only while a single tree reaches it, and a tree that other threads
    /// see keeps all its nodes shared while a thread works on a copy of it.
    final class Node: @unchecked Sendable {
        /// Keys of a leaf, children of an inner node.
        static let capacity = 32

        private(set) var keys: [[UInt8]]
        private(set) var values: [[UInt8]]
        private(set) var children: [Node]

        init(keys: [[UInt8]], values: [[UInt8]], children: [Node]) {
            self.keys = keys
            self.values = values
            self.children = children
        }

        static func leaf() -> Node { Node(keys: [], values: [], children: []) }

        func copy() -> Node { Node(keys: keys, values: values, children: children) }

        var isLeaf: Bool { children.isEmpty }
        /// Entries of a leaf, children of an inner node.
        var slotCount: Int { isLeaf ? keys.count : children.count }
        var isOverfull: Bool { slotCount > Node.capacity }
    }
}

extension ByteTree.Node {
    /// Visits the entries of a range in this node and below it. Returns `.stop` once the visitor has.
    func scan(
        from lower: [UInt8], upTo upper: [UInt8], _ direction: ScanDirection,
        _ visit: (_ key: [UInt8], _ value: [UInt8]) throws -> ScanStep
    ) rethrows -> ScanStep {
        let low = isLeaf ? firstIndex(notBefore: lower).index : childIndex(forKey: lower)
        let high = isLeaf ? firstIndex(notBefore: upper).index - 1 : childIndex(forKey: upper)
        let (first, last, step) = direction == .forward ? (low, high, 1) : (high, low, -1)
        for index in stride(from: first, through: last, by: step) {
            let next =
                try isLeaf
                ? visit(keys[index], values[index])
                : children[index].scan(from: lower, upTo: upper, direction, visit)
            if next == .stop { return .stop }
        }
        return .next
    }

    /// The index of the child that may hold `key`.
    func childIndex(forKey key: [UInt8]) -> Int {
        let position = firstIndex(notBefore: key)
        return position.isMatch ? position.index + 1 : position.index
    }

    /// The index of the first key that is not less than `key`, and whether it equals it.
    ///
    /// A key between two others with a common beginning has the same beginning, so the bytes that both bounds share
    /// with `key` are not compared again.
    func firstIndex(notBefore key: [UInt8]) -> (index: Int, isMatch: Bool) {
        var low = 0
        var high = keys.count
        var lowSharedByteCount = 0
        var highSharedByteCount = 0
        while low < high {
            let middle = (low + high) / 2
            let (order, sharedByteCount) = compareBytes(
                keys[middle], key, skipping: min(lowSharedByteCount, highSharedByteCount))
            if order == 0 { return (middle, true) }
            if order < 0 {
                low = middle + 1
                lowSharedByteCount = sharedByteCount
            } else {
                high = middle
                highSharedByteCount = sharedByteCount
            }
        }
        return (low, false)
    }

    /// Sets a value below this node, which the caller has made unique. The node may be overfull afterwards. Returns
    /// whether the key is new.
    func update(_ key: [UInt8], _ makeValue: (_ old: [UInt8]?) -> [UInt8]) -> Bool {
        if isLeaf {
            let position = firstIndex(notBefore: key)
            if position.isMatch {
                values[position.index] = makeValue(values[position.index])
            } else {
                keys.insert(key, at: position.index)
                values.insert(makeValue(nil), at: position.index)
            }
            return !position.isMatch
        }
        let index = childIndex(forKey: key)
        makeChildUnique(index)
        let isNew = children[index].update(key, makeValue)
        if children[index].isOverfull {
            let (separator, right) = children[index].split()
            keys.insert(separator, at: index)
            children.insert(right, at: index + 1)
        }
        return isNew
    }

    /// Removes an existing entry below this node, which the caller has made unique.
    func remove(_ key: [UInt8]) {
        if isLeaf {
            let position = firstIndex(notBefore: key)
            keys.remove(at: position.index)
            values.remove(at: position.index)
            return
        }
        let index = childIndex(forKey: key)
        makeChildUnique(index)
        children[index].remove(key)
        mergeIfSmall(index)
    }

    /// Moves the upper half into a new node. Returns it with the separator before it.
    func split() -> (separator: [UInt8], right: ByteTree.Node) {
        let middle = slotCount / 2
        if isLeaf {
            let right = ByteTree.Node(keys: Array(keys[middle...]), values: Array(values[middle...]), children: [])
            keys.removeSubrange(middle...)
            values.removeSubrange(middle...)
            return (right.keys[0], right)
        }
        let right = ByteTree.Node(keys: Array(keys[middle...]), values: [], children: Array(children[middle...]))
        let separator = keys[middle - 1]
        keys.removeSubrange((middle - 1)...)
        children.removeSubrange(middle...)
        return (separator, right)
    }

    private func makeChildUnique(_ index: Int) {
        if !isKnownUniquelyReferenced(&children[index]) { children[index] = children[index].copy() }
    }

    /// Merges a child that is less than half full with a neighbour, and splits the result if it is overfull.
    private func mergeIfSmall(_ index: Int) {
        guard children.count > 1, children[index].slotCount < ByteTree.Node.capacity / 2 else { return }
        let left = max(index - 1, 0)
        makeChildUnique(left)
        children[left].append(children[left + 1], after: keys[left])
        guard children[left].isOverfull else {
            keys.remove(at: left)
            children.remove(at: left + 1)
            return
        }
        (keys[left], children[left + 1]) = children[left].split()
    }

    private func append(_ right: ByteTree.Node, after separator: [UInt8]) {
        if !isLeaf { keys.append(separator) }
        keys += right.keys
        values += right.values
        children += right.children
    }
}

/// Compares two byte strings that agree in their first `skipping` bytes, and counts the bytes of their common
/// beginning. `order` is negative, zero or positive as `left` is less than, equal to or greater than `right`.
func compareBytes(
    _ left: [UInt8], _ right: [UInt8], skipping: Int = 0
) -> (order: Int, sharedByteCount: Int) {
    let leftBytes = left.span
    let rightBytes = right.span
    let end = min(leftBytes.count, rightBytes.count)
    var index = skipping
    while index < end {
        let leftByte = leftBytes[index]
        let rightByte = rightBytes[index]
        if leftByte != rightByte { return (leftByte < rightByte ? -1 : 1, index) }
        index += 1
    }
    return (leftBytes.count - rightBytes.count, index)
}
