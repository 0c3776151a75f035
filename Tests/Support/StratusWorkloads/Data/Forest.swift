// The shapes of the data: each record's parent, by index. A parent's index is always below its children's, so that the
// order of the indices is an order in which records can be saved.

/// A hierarchy of records that are only numbers yet.
package struct Forest: Sendable {
    package static let none = Int32(-1)

    package private(set) var parents: [Int32] = []
    package private(set) var depths: [UInt16] = []

    package init() {}

    package var count: Int { parents.count }

    @discardableResult
    package mutating func append(below parent: Int32 = none) -> Int32 {
        parents.append(parent)
        depths.append(parent == Self.none ? 0 : depths[Int(parent)] + 1)
        return Int32(parents.count - 1)
    }

    /// A chain: `count` records, each below the one before. Returns the first.
    @discardableResult
    package mutating func appendChain(_ count: Int) -> Int32 {
        var last = append()
        let first = last
        for _ in 1..<count { last = append(below: last) }
        return first
    }

    /// Like `appendChain`, and returns the last record.
    package mutating func appendChainDown(_ count: Int) -> Int32 {
        appendChain(count) + Int32(count - 1)
    }

    /// A tree in which every record but those of the last level has ten children, `count` records in all. Returns its
    /// top.
    @discardableResult
    package mutating func appendTenfold(_ count: Int, below parent: Int32 = none) -> Int32 {
        let top = append(below: parent)
        for index in 1..<count { append(below: top + Int32((index - 1) / 10)) }
        return top
    }

    /// A tree like that of a file system, `count` records in all: folders hold 1 to 200 entries, most of them few; one
    /// entry in six is a folder; no record is deeper than 20 below the top. Returns its top.
    @discardableResult
    package mutating func appendFileTree(_ count: Int, below parent: Int32 = none, seed: UInt64) -> Int32 {
        let maximumDepth = 20
        var numbers = SeededNumbers(seed: seed)
        let top = append(below: parent)
        let topDepth = Int(depths[Int(top)])
        let end = Int(top) + count
        var folders = [top]
        while self.count < end {
            // The newest folders first, as a rule, which makes the tree deep.
            let place = numbers.below(3) == 0 ? numbers.below(folders.count) : folders.count - 1
            let folder = folders.remove(at: place)
            let kind = numbers.below(100)
            let entryCount = 1 + numbers.below(kind < 50 ? 8 : kind < 85 ? 40 : 200)
            for _ in 0..<min(entryCount, end - self.count) {
                let entry = append(below: folder)
                let isFolder = numbers.below(6) == 0
                if isFolder, Int(depths[Int(entry)]) - topDepth < maximumDepth { folders.append(entry) }
            }
            // A file becomes a folder when none is left.
            while folders.isEmpty {
                let candidate = top + Int32(numbers.below(self.count - Int(top)))
                if Int(depths[Int(candidate)]) - topDepth < maximumDepth { folders.append(candidate) }
            }
        }
        return top
    }

    /// Up to `limit` records at exactly `depth`, drawn at random.
    package func sample(atDepth depth: Int, limit: Int, seed: UInt64) -> [Int] {
        var found = depths.indices.filter { Int(depths[$0]) == depth }
        var numbers = SeededNumbers(seed: seed)
        found.shuffle(using: &numbers)
        return Array(found.prefix(limit))
    }

    /// How many records are below each record.
    package func descendantCounts() -> [Int] {
        var counts = [Int](repeating: 0, count: count)
        for index in parents.indices.reversed() where parents[index] != Self.none {
            counts[Int(parents[index])] += counts[index] + 1
        }
        return counts
    }
}
