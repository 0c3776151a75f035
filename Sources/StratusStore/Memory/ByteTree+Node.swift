// The nodes of a `ByteTree`, and how they split and merge. The tree's invariants are in `ByteTree.swift`.

extension ByteTree {
    /// A leaf (keys and values) or an inner node (separators and children).
    ///
    /// `@unchecked Sendable` because a node is changed only while one tree alone can reach it, and a tree that other
    /// threads can see keeps all its nodes shared for as long as somebody works on a copy of it.
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
    /// Which child may hold `key`.
    func childIndex(forKey key: [UInt8]) -> Int {
        let position = firstIndex(notBefore: key)
        return position.isMatch ? position.index + 1 : position.index
    }

    /// The index of the first key that is not less than `key`, and whether it equals it.
    ///
    /// A key between two others that begin alike begins like them, so the bytes both bounds share with `key` are not
    /// compared again.
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

    /// Sets a value below this node, which the caller made unique. The node may be overfull afterwards.
    func set(_ key: [UInt8], to value: [UInt8]) -> Bool {
        if isLeaf {
            let position = firstIndex(notBefore: key)
            if position.isMatch {
                values[position.index] = value
            } else {
                keys.insert(key, at: position.index)
                values.insert(value, at: position.index)
            }
            return !position.isMatch
        }
        let index = childIndex(forKey: key)
        makeChildUnique(index)
        let isNew = children[index].set(key, to: value)
        if children[index].isOverfull {
            let (separator, right) = children[index].split()
            keys.insert(separator, at: index)
            children.insert(right, at: index + 1)
        }
        return isNew
    }

    /// Removes an entry that is there from below this node, which the caller made unique.
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

    /// Moves the upper half into a new node and returns it with the separator that goes before it.
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

    /// Gives a child that is less than half full the entries of a neighbour, and halves them again if they are too many.
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

/// Compares two byte strings that agree in their first `skipping` bytes, and counts the bytes they begin with alike.
/// `order` is negative, zero or positive as `left` is less than, equal to or greater than `right`.
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
