// The records of one zone: a forest with names, turned into records when they are saved. About 200 bytes each.

import Foundation
package import StratusModel

/// A data set for one zone.
package struct ZoneData: Sendable {
    package let seed: UInt64
    package var forest: Forest
    package let names: [RecordName]
    /// Records that are share roots from the beginning.
    package var roots: Set<Int> = []

    /// The names are UUIDs if none are given.
    package init(seed: UInt64, roots: Set<Int> = [], _ forest: Forest, names: [RecordName]? = nil) {
        self.seed = seed
        self.roots = roots
        self.forest = forest
        self.names = names ?? (0..<forest.count).map { RecordName(seed: seed, index: $0) }
    }

    package var count: Int { names.count }

    package func parent(of index: Int) -> RecordName? {
        let parent = forest.parents[index]
        return parent == Forest.none ? nil : names[Int(parent)]
    }

    package func share(of index: Int) -> RecordName? {
        roots.contains(index) ? RecordName("share-\(index)") : nil
    }

    package func content(of index: Int) -> RecordContent { RecordContent(seed: seed, index: index) }

    package func record(_ index: Int) -> Record {
        let content = content(of: index)
        return Record(
            name: names[index], type: content.type, parent: parent(of: index), share: share(of: index),
            fields: content.fields)
    }
}

/// The contents of a record other than its place.
package struct RecordContent: Sendable {
    package let type: RecordType
    package let title: String
    package let size: Int64
    package let mode: Int64
    package let digest: [UInt8]

    package init(seed: UInt64, index: Int) {
        var numbers = SeededNumbers(seed: seed &+ UInt64(index) &* 31)
        type = index.isMultiple(of: 6) ? "Folder" : "File"
        title = "A file with quite an ordinary name \(index).txt"
        size = Int64(numbers.below(1 << 30))
        mode = 0o644
        digest = (0..<4).flatMap { _ in
            let number = numbers.next()
            return (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64($0 * 8)) }
        }
    }
}

extension RecordContent {
    package var fields: RecordFields {
        [
            "title": Field(.string(title)), "size": Field(.int64(size)), "mode": Field(.int64(mode)),
            "digest": Field(.bytes(digest)),
        ]
    }
}

/// The clock of the data sets, which stands still.
package struct DataClock: Sendable {
    package static let stamp = Stamp(date: Date(timeIntervalSinceReferenceDate: 700_000_000), user: "_5f1a9c3b7d2e4a60")
}

/// The zone that most workloads share: a file tree below a chain of ten records, in it a subtree of a tenth of the
/// zone's size, and chains of 31 and of 1,001 records below share roots of their own.
package struct MainZoneData: Sendable {
    package static let seed: UInt64 = 20_250_101
    package let zone: ZoneData
    /// The top of the file tree.
    package let top: Int
    /// The top of a subtree of `count / 10` records, itself included.
    package let subtreeTop: Int

    /// The records of that subtree.
    package var subtree: Range<Int> { subtreeTop..<subtreeTop + zone.count / 10 }
    /// The records that are neither in that subtree nor roots of shares.
    package var outsideSubtree: [Int] {
        (0..<zone.count).filter { !subtree.contains($0) && zone.share(of: $0) == nil }
    }

    package init(count: Int) {
        var forest = Forest()
        var roots: Set<Int> = []
        let longChainCount = count >= 100_000 ? 16 : 2
        let shortChainCount = count / 1_000
        let subtreeCount = count / 10
        let treeCount = count - longChainCount * 1_001 - shortChainCount * 31 - subtreeCount - TreeZoneData.topDepth
        let above = forest.appendChainDown(TreeZoneData.topDepth)
        let treeTop = forest.appendFileTree(treeCount, below: above, seed: Self.seed)
        top = Int(treeTop)
        subtreeTop = Int(forest.appendFileTree(subtreeCount, below: treeTop, seed: Self.seed + 1))
        for _ in 0..<shortChainCount { roots.insert(Int(forest.appendChain(31))) }
        for _ in 0..<longChainCount { roots.insert(Int(forest.appendChain(1_001))) }
        zone = ZoneData(seed: Self.seed, roots: roots, forest)
    }
}

/// A zone with one file tree, whose top is as deep as the main zone's.
package struct TreeZoneData: Sendable {
    /// The depth of the trees' tops.
    package static let topDepth = 10
    package let zone: ZoneData
    package let top: Int

    package init(count: Int) {
        var forest = Forest()
        let above = forest.appendChainDown(Self.topDepth)
        top = Int(forest.appendFileTree(count - Self.topDepth, below: above, seed: UInt64(count)))
        zone = ZoneData(seed: UInt64(count), forest)
    }
}

/// A chain, and many leaves at the same depth below its end.
package struct FanZoneData: Sendable {
    package static let name = "fan"
    package let zone: ZoneData
    /// The first of the chain.
    package let top: Int
    package let leaves: [Int]

    package init(depth: Int, leafCount: Int, seed: UInt64 = 12) {
        var forest = Forest()
        let end = forest.appendChainDown(depth)
        top = Int(end) - depth + 1
        leaves = (0..<leafCount).map { _ in Int(forest.append(below: end)) }
        zone = ZoneData(seed: seed, forest)
    }
}

/// Two folders at depth ten, and below one of them ten-ary trees of several sizes.
package struct MovesZoneData: Sendable {
    package let zone: ZoneData
    package let folders: [Int]
    /// The trees by size: the top of each, and the record below it that is to be shared.
    package let tops: [(size: Int, index: Int, root: Int)]

    package init(sizes: [Int]) {
        var forest = Forest()
        let folders = [0, 1].map { _ in
            let above = forest.appendChainDown(TreeZoneData.topDepth)
            let folder = forest.append(below: above)
            // Both folders always have a child, so that no move is their first or last.
            forest.append(below: folder)
            return folder
        }
        tops = sizes.map { size in
            let top = Int(forest.appendTenfold(size, below: folders[0]))
            return (size, top, top + 1)
        }
        self.folders = folders.map { Int($0) }
        zone = ZoneData(seed: 5, forest)
    }
}
