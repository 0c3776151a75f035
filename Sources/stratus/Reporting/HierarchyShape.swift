// How deep and how wide hierarchies are, counted as they stream by.

/// Records by their level, and folders by how many children they have. Memory grows with the depth alone.
struct HierarchyShape: Hashable {
    /// Levels that are told one by one; what lies deeper is counted together.
    static let toldLevelCount = 24

    /// Records by level: those without parent first.
    private(set) var levels: [Int] = []
    /// Records with children, by the number of those: 1, 2 to 3, 4 to 7, and so on.
    private(set) var fanOuts: [Int] = []
    private(set) var widest = 0
    private(set) var folderCount = 0
    /// The records above the one that comes next, the topmost first.
    private var open: [Open] = []

    private struct Open: Hashable {
        /// Nil for one that is not counted.
        var level: Int?
        /// Children that were counted so far.
        var childCount = 0
    }

    var recordCount: Int { levels.reduce(0, +) }
    var deepestLevel: Int { max(0, levels.count - 1) }

    /// Takes a record in, at its depth: parents before their children, 0 without parent. One that does not count has no
    /// place in what is told: what lies below it begins at level 0.
    mutating func note(depth: Int, counts: Bool = true) {
        close(downTo: depth)
        guard counts else { return open.append(Open()) }
        let level = (open.last?.level).map { $0 + 1 } ?? 0
        if level > 0 { open[open.count - 1].childCount += 1 }
        open.append(Open(level: level))
        while levels.count <= level { levels.append(0) }
        levels[level] += 1
    }

    /// To be called when all records are in.
    mutating func finish() { close(downTo: 0) }

    private mutating func close(downTo depth: Int) {
        while open.count > depth {
            let count = open.removeLast().childCount
            guard count > 0 else { continue }
            folderCount += 1
            widest = max(widest, count)
            let bucket = Int.bitWidth - 1 - count.leadingZeroBitCount
            while fanOuts.count <= bucket { fanOuts.append(0) }
            fanOuts[bucket] += 1
        }
    }

    /// The levels for a table: (what, how many), at most `toldLevelCount` and one for the rest.
    var levelRows: [(title: String, count: Int)] {
        var rows = levels.prefix(Self.toldLevelCount).enumerated().map { (title: "\($0)", count: $1) }
        let rest = levels.dropFirst(Self.toldLevelCount)
        if !rest.isEmpty { rows.append((title: "\(Self.toldLevelCount) and deeper", count: rest.reduce(0, +))) }
        return rows
    }

    /// The same for children: "4 to 7".
    var fanOutRows: [(title: String, count: Int)] {
        fanOuts.enumerated().map { bucket, count in
            let (low, high) = (1 << bucket, (1 << bucket) * 2 - 1)
            return (low == high ? "1" : "\(Quantities.count(low)) to \(Quantities.count(high))", count)
        }
    }
}
