// The copy-on-write tree under the in-memory store, compared with a dictionary and its own invariants.

@testable import StratusStore
import StratusTestSupport
import Testing

@Suite("The copy-on-write tree")
struct ByteTreeTests {
    @Test("random insertions and removals match a dictionary, and keep the tree's shape", arguments: 1...8)
    func randomHistories(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var tree = ByteTree()
        var expected: [[UInt8]: [UInt8]] = [:]
        for step in 0..<4_000 {
            let key = randomKey(below: 600, &random)
            // Growing and shrinking phases, so that nodes both split and merge.
            if Int.random(in: 0..<10, using: &random) < (step / 1_000 % 2 == 0 ? 8 : 2) {
                let isNew = tree.set(key, to: [UInt8(step & 0xFF)])
                let old = expected.updateValue([UInt8(step & 0xFF)], forKey: key)
                #expect(isNew == (old == nil), "seed \(seed) step \(step)")
            } else {
                let wasThere = tree.remove(key)
                #expect(wasThere == (expected.removeValue(forKey: key) != nil), "seed \(seed) step \(step)")
            }
            if step % 97 == 0 { try checkShape(tree) }
        }
        try checkShape(tree)
        #expect(entries(tree) == sorted(expected), "seed \(seed)")
    }

    @Test("a tree emptied key by key ends as an empty leaf", arguments: 1...4)
    func emptying(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var tree = ByteTree()
        var keys = (0..<3_000).map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        for key in keys { tree.set(key, to: key) }
        try checkShape(tree)
        keys.shuffle(using: &random)
        for (index, key) in keys.enumerated() {
            let wasThere = tree.remove(key)
            #expect(wasThere)
            if index % 101 == 0 { try checkShape(tree) }
        }
        #expect(tree.count == 0)
        #expect(tree.root.isLeaf)
        #expect(tree.root.keys.isEmpty)
    }

    @Test("a copy keeps its entries whatever happens to the original", arguments: 1...4)
    func copiesAreIndependent(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var tree = ByteTree()
        var expected: [[UInt8]: [UInt8]] = [:]
        var copies: [(tree: ByteTree, expected: [[UInt8]: [UInt8]])] = []
        for step in 0..<2_000 {
            let key = randomKey(below: 400, &random)
            if Bool.random(using: &random) {
                tree.set(key, to: [UInt8(step & 0xFF)])
                expected[key] = [UInt8(step & 0xFF)]
            } else {
                tree.remove(key)
                expected[key] = nil
            }
            if step % 50 == 0 { copies.append((tree, expected)) }
        }
        for copy in copies {
            #expect(entries(copy.tree) == sorted(copy.expected), "seed \(seed)")
            try checkShape(copy.tree)
        }
    }

    @Test("a scan visits exactly the range, in either direction, for any bounds")
    func everyRange() {
        var tree = ByteTree()
        let keys = (0..<200).map { [UInt8($0)] }
        for key in keys where key[0] % 2 == 0 { tree.set(key, to: key) }
        for lower in stride(from: 0, to: 200, by: 3) {
            for upper in stride(from: 0, to: 200, by: 7) {
                let expected = keys.filter { $0[0] % 2 == 0 && Int($0[0]) >= lower && Int($0[0]) < upper }
                for direction in [ScanDirection.forward, .backward] {
                    var seen: [[UInt8]] = []
                    tree.scan(from: keys[lower], upTo: keys[upper], direction) { key, _ in
                        seen.append(key)
                        return .next
                    }
                    #expect(seen == (direction == .forward ? expected : expected.reversed()))
                }
            }
        }
    }

    @Test("bytes are compared unsigned, and a prefix sorts first")
    func comparison() {
        let ascending: [[UInt8]] = [
            [], [0], [0, 0], [0, 255], [1], [127], [128], [254, 255], [255], [255, 0], [255, 255],
        ]
        for (leftIndex, left) in ascending.enumerated() {
            for (rightIndex, right) in ascending.enumerated() {
                let (order, shared) = compareBytes(left, right)
                #expect(order.signum() == (leftIndex - rightIndex).signum())
                #expect(Array(left.prefix(shared)) == Array(right.prefix(shared)))
                #expect(compareBytes(left, right, skipping: shared).order == order)
            }
        }
    }

    @Test("the shape checker detects a key that is out of order")
    func checkerCanFail() {
        let broken = ByteTree.Node(keys: [[2], [1]], values: [[], []], children: [])
        #expect(throws: ShapeError.self) { try checkNode(broken, isRoot: true, lower: nil, upper: nil) }
        let sparse = ByteTree.Node(keys: [[2]], values: [[]], children: [])
        #expect(throws: ShapeError.self) { try checkNode(sparse, isRoot: false, lower: nil, upper: nil) }
    }
}

private struct ShapeError: Error { let message: String }

private func randomKey(below count: Int, _ random: inout SplitMix64) -> [UInt8] {
    let number = Int.random(in: 0..<count, using: &random)
    return Array("key/\(number % 7)/\(number)".utf8)
}

private func entries(_ tree: ByteTree) -> [[[UInt8]]] {
    var result: [[[UInt8]]] = []
    tree.scan(from: [], upTo: [255, 255, 255], .forward) { key, value in
        result.append([key, value])
        return .next
    }
    return result
}

private func sorted(_ expected: [[UInt8]: [UInt8]]) -> [[[UInt8]]] {
    expected.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { [$0.key, $0.value] }
}

private func checkShape(_ tree: ByteTree) throws {
    let found = try checkNode(tree.root, isRoot: true, lower: nil, upper: nil)
    guard found.entryCount == tree.count else { throw ShapeError(message: "\(found.entryCount) is not \(tree.count)") }
}

@discardableResult
private func checkNode(
    _ node: ByteTree.Node, isRoot: Bool, lower: [UInt8]?, upper: [UInt8]?
) throws -> (depth: Int, entryCount: Int) {
    let capacity = ByteTree.Node.capacity
    guard node.slotCount <= capacity, isRoot || node.slotCount >= capacity / 2 else {
        throw ShapeError(message: "\(node.slotCount) slots")
    }
    let bounds = [lower].compactMap { $0 } + node.keys + [upper].compactMap { $0 }
    for (left, right) in zip(bounds, bounds.dropFirst()) {
        let isLowerBound = left == lower && left == right
        guard left.lexicographicallyPrecedes(right) || isLowerBound else {
            throw ShapeError(message: "\(left) is not before \(right)")
        }
    }
    if node.isLeaf {
        guard node.values.count == node.keys.count else { throw ShapeError(message: "a key without a value") }
        return (1, node.keys.count)
    }
    guard node.children.count == node.keys.count + 1, node.children.count > 1, node.values.isEmpty else {
        throw ShapeError(message: "\(node.children.count) children for \(node.keys.count) separators")
    }
    var depths: Set<Int> = []
    var entryCount = 0
    for (index, child) in node.children.enumerated() {
        let below = try checkNode(
            child, isRoot: false, lower: index == 0 ? lower : node.keys[index - 1],
            upper: index == node.keys.count ? upper : node.keys[index])
        depths.insert(below.depth)
        entryCount += below.entryCount
    }
    guard let depth = depths.first, depths.count == 1 else { throw ShapeError(message: "leaves at \(depths)") }
    return (depth + 1, entryCount)
}
