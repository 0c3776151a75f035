// What a report tells of a store, as plain values of bounded size.

import FoundationEssentials

struct StoreReport {
    struct Zone: Hashable {
        var address: String
        var recordCount: Int
        var deletedCount = 0
        /// Of the records' values, before LevelDB packs them.
        var valueByteCount = 0
        /// Of LevelDB's files, about.
        var fileByteCount: Int
        var sequence: UInt64
        var horizon: UInt64
        var shareCount = 0
    }

    struct TypeCount: Hashable {
        var type: String
        var recordCount = 0
        var valueByteCount = 0
    }

    /// A share with its owner.
    struct Sharing: Hashable {
        var owner: String
        var zone: String
        var share: PictureShare
        var url: String?
    }

    /// Files of one kind, or of one level.
    struct Files: Hashable {
        var title: String
        var count = 0
        var byteCount = 0
    }

    /// Zones, types and shares that are told one by one, the largest or first of them.
    static let zoneCount = 50
    static let typeCount = 30
    static let shareCount = 100
    /// Owners of assets that are told one by one, those with the most bytes.
    static let ownerCount = 30

    var path: String
    /// Who it is for, as they were named; nil for the host.
    var person: String?
    /// When the store was looked at.
    var date: Date
    var isCopy: Bool
    var accountCount = 0
    var databaseCount = 0
    var zones: [Zone] = []
    /// All others together.
    var otherZones = Zone(address: "", recordCount: 0, fileByteCount: 0, sequence: 0, horizon: 0)
    var otherZoneCount = 0
    var types: [TypeCount] = []
    var otherTypes = TypeCount(type: "")
    var shape = HierarchyShape()
    var changes = TimeHistogram()
    var ages = AgeCounts()
    var shares: [Sharing] = []
    var shareCount = 0
    /// Contents of assets by whose they are, each counted once for its owner however many records hold it.
    private(set) var contents: [Files] = []
    /// Those of all other owners.
    private(set) var otherContents = Files(title: "")
    /// LevelDB's tables, level 0 first.
    var levels: [Files] = []
    var files: [Files] = []
    /// Nil where nobody has asked for it.
    var verification: Verification?

    var zoneCount: Int { zones.count + otherZoneCount }
    var recordCount: Int { zones.reduce(otherZones.recordCount) { $0 + $1.recordCount } }
    var deletedCount: Int { zones.reduce(otherZones.deletedCount) { $0 + $1.deletedCount } }
    var valueByteCount: Int { zones.reduce(otherZones.valueByteCount) { $0 + $1.valueByteCount } }
    var contentCount: Int { contents.reduce(otherContents.count) { $0 + $1.count } }
    var contentByteCount: Int { contents.reduce(otherContents.byteCount) { $0 + $1.byteCount } }
    var sequenceSum: UInt64 { zones.reduce(otherZones.sequence) { $0 &+ $1.sequence } }

    /// Takes a zone in; the largest are told one by one.
    mutating func add(_ zone: Zone) {
        zones.append(zone)
        guard zones.count > Self.zoneCount else { return }
        guard let least = zones.indices.min(by: { zones[$0].recordCount <= zones[$1].recordCount }) else { return }
        let gone = zones.remove(at: least)
        otherZoneCount += 1
        otherZones.recordCount += gone.recordCount
        otherZones.deletedCount += gone.deletedCount
        otherZones.valueByteCount += gone.valueByteCount
        otherZones.fileByteCount += gone.fileByteCount
        otherZones.sequence &+= gone.sequence
        otherZones.shareCount += gone.shareCount
    }

    /// Takes an owner's contents in; those with the most bytes are told one by one.
    mutating func add(_ owned: Files) {
        contents.append(owned)
        contents.sort { ($1.byteCount, $0.title) < ($0.byteCount, $1.title) }
        guard contents.count > Self.ownerCount, let least = contents.popLast() else { return }
        otherContents.count += least.count
        otherContents.byteCount += least.byteCount
    }
}

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

// How often something happened, over whatever time it happened in, in few bars and one pass.
//
// Nobody knows beforehand whether a store was filled within a second or over ten years. So the bars begin a second wide and
// are put together into wider ones when there would be too many; each width is a multiple of the one before, and bars begin
// at multiples of their width, so that nothing is counted into two.

struct TimeHistogram: Hashable {
    static let barCount = 60
    static let leastBarCount = 12
    /// Seconds; the last is about 92 years.
    static let widths: [Int64] = [
        1, 5, 10, 60, 600, 3_600, 21_600, 86_400, 604_800, 2_419_200, 29_030_400, 2_903_040_000,
    ]
    private static let names = [
        "a second", "5 seconds", "10 seconds", "a minute", "10 minutes", "an hour", "6 hours", "a day", "a week",
        "4 weeks", "48 weeks", "92 years",
    ]

    private var width = 0
    /// Counts by the number of the bar since the reference date: saved and deleted.
    private var bars: [Int64: Bar] = [:]

    struct Bar: Hashable {
        var saved = 0
        var deleted = 0
        var count: Int { saved + deleted }
    }

    mutating func note(_ date: Date, isDeletion: Bool = false) {
        // Dates of thousands of years from now are counted at the end of what can be told.
        let seconds = date.timeIntervalSinceReferenceDate
        let second = Int64(min(max(seconds.isFinite ? seconds.rounded(.down) : 0, -1e11), 1e11))
        let number = Self.bar(second, Self.widths[width])
        if isDeletion { bars[number, default: Bar()].deleted += 1 } else { bars[number, default: Bar()].saved += 1 }
        while isTooWide, width + 1 < Self.widths.count { widen() }
    }

    private static func bar(_ second: Int64, _ width: Int64) -> Int64 {
        second >= 0 ? second / width : (second - width + 1) / width
    }

    private var isTooWide: Bool {
        guard bars.count > 1, let first = bars.keys.min(), let last = bars.keys.max() else { return false }
        return last - first >= Int64(Self.barCount)
    }

    private mutating func widen() {
        let old = Self.widths[width]
        width += 1
        var wider: [Int64: Bar] = [:]
        for (number, bar) in bars {
            let target = Self.bar(number * old, Self.widths[width])
            wider[target, default: Bar()].saved += bar.saved
            wider[target, default: Bar()].deleted += bar.deleted
        }
        bars = wider
    }

    /// "10 minutes": what one bar stands for.
    var widthText: String { Self.names[width] }

    /// The bars up to the last with anything in it, those between that hold nothing among them.
    var rows: [(start: Date, bar: Bar)] {
        guard let earliest = bars.keys.min(), let last = bars.keys.max() else { return [] }
        // Few bars are shown with the nothing that was before them.
        let first = min(earliest, last - Int64(Self.leastBarCount) + 1)
        // Beyond the widest bars gaps are left out, or there would be too many.
        let numbers = last - first < Int64(Self.barCount) ? Array(first...last) : bars.keys.sorted()
        return numbers.map { number in
            let start = Date(timeIntervalSinceReferenceDate: Double(number * Self.widths[width]))
            return (start, bars[number] ?? Bar())
        }
    }
}

/// How many records changed last how long ago.
struct AgeCounts: Hashable {
    static let spans: [(title: String, seconds: Double)] = [
        ("the last hour", 3_600), ("the last day", 86_400), ("the last 7 days", 604_800),
        ("the last 30 days", 2_592_000), ("the last 365 days", 31_536_000), ("all time", .infinity),
    ]

    private(set) var counts = [Int](repeating: 0, count: spans.count)

    mutating func note(_ date: Date, now: Date) {
        let age = now.timeIntervalSince(date)
        for (index, span) in Self.spans.enumerated() where age <= span.seconds { counts[index] += 1 }
    }

    /// (when, how many, how many an hour).
    var rows: [(title: String, count: Int, rate: String)] {
        zip(Self.spans, counts).map { span, count in
            let rate = Double(count) / (span.seconds / 3_600)
            let text = rate < 10 ? Quantities.decimal(rate, places: 2) : Quantities.count(Int(rate.rounded()))
            return (span.title, count, span.seconds.isFinite ? text : "")
        }
    }
}
