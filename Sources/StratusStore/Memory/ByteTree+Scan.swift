// Walking a range of a `ByteTree` in either direction. The walk keeps the tree it began on, so it is not disturbed when
// its visitor changes the variable the tree came from.

extension ByteTree {
    /// Visits the entries from `lower` up to but not including `upper` in order, until `visit` says stop.
    func scan(
        from lower: [UInt8], upTo upper: [UInt8], _ direction: ScanDirection,
        _ visit: (_ key: [UInt8], _ value: [UInt8]) throws -> ScanStep
    ) rethrows {
        switch direction {
        case .forward: try scanForward(from: lower, upTo: upper, visit)
        case .backward: try scanBackward(from: lower, upTo: upper, visit)
        }
    }

    private func scanForward(
        from lower: [UInt8], upTo upper: [UInt8], _ visit: ([UInt8], [UInt8]) throws -> ScanStep
    ) rethrows {
        var path = Path(root, to: lower)
        while true {
            while path.index < path.leaf.keys.count {
                let key = path.leaf.keys[path.index]
                guard compareBytes(key, upper).order < 0 else { return }
                guard case .next = try visit(key, path.leaf.values[path.index]) else { return }
                path.index += 1
            }
            guard path.moveToNextLeaf() else { return }
        }
    }

    private func scanBackward(
        from lower: [UInt8], upTo upper: [UInt8], _ visit: ([UInt8], [UInt8]) throws -> ScanStep
    ) rethrows {
        var path = Path(root, to: upper)
        while true {
            while path.index > 0 {
                path.index -= 1
                let key = path.leaf.keys[path.index]
                guard compareBytes(key, lower).order >= 0 else { return }
                guard case .next = try visit(key, path.leaf.values[path.index]) else { return }
            }
            guard path.moveToPreviousLeaf() else { return }
        }
    }

    /// The way from the root to a place between two entries of a leaf.
    private struct Path {
        /// The inner nodes above the leaf, the root first, and the child taken in each.
        private var ancestors: [(node: Node, childIndex: Int)] = []
        private(set) var leaf: Node
        /// The entry after the place.
        var index = 0

        init(_ root: Node, to key: [UInt8]) {
            var node = root
            while !node.isLeaf {
                let childIndex = node.childIndex(forKey: key)
                ancestors.append((node, childIndex))
                node = node.children[childIndex]
            }
            leaf = node
            index = node.firstIndex(notBefore: key).index
        }

        /// Moves before the first entry of the next leaf; false when there is none.
        mutating func moveToNextLeaf() -> Bool {
            while let (node, childIndex) = ancestors.popLast() {
                guard childIndex + 1 < node.children.count else { continue }
                ancestors.append((node, childIndex + 1))
                descend(from: node.children[childIndex + 1]) { _ in 0 }
                index = 0
                return true
            }
            return false
        }

        /// Moves behind the last entry of the previous leaf; false when there is none.
        mutating func moveToPreviousLeaf() -> Bool {
            while let (node, childIndex) = ancestors.popLast() {
                guard childIndex > 0 else { continue }
                ancestors.append((node, childIndex - 1))
                descend(from: node.children[childIndex - 1]) { $0.children.count - 1 }
                index = leaf.keys.count
                return true
            }
            return false
        }

        private mutating func descend(from top: Node, _ choose: (Node) -> Int) {
            var node = top
            while !node.isLeaf {
                let childIndex = choose(node)
                ancestors.append((node, childIndex))
                node = node.children[childIndex]
            }
            leaf = node
        }
    }
}
