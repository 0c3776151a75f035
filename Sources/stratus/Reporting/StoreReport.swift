// The content of a report about a store, as plain values of bounded size.

import FoundationEssentials

struct StoreReport {
    struct Zone: Hashable {
        var address: String
        var recordCount = 0
        var deletedCount = 0
        /// The size of the records' values, uncompressed.
        var valueByteCount = 0
        /// The approximate size in LevelDB's files.
        var fileByteCount = 0
        var sequence: UInt64 = 0
        var horizon: UInt64 = 0
        var shareCount = 0
    }

    /// A share with its owner.
    struct Sharing: Hashable {
        var owner: String
        var zone: String
        var share: PictureShare
        var url: String?
    }

    /// The number and the size of records of one type, or of files or assets of one kind.
    struct Amount: Hashable {
        var title: String
        var count = 0
        var byteCount = 0

        mutating func add(_ other: Amount) {
            count += other.count
            byteCount += other.byteCount
        }
    }

    /// The limits of listed zones, types and shares: the largest or first ones.
    static let zoneCount = 50
    static let typeCount = 30
    static let shareCount = 100
    /// The limit of listed owners of assets: those with the most bytes.
    static let ownerCount = 30

    var path: String
    /// The person whose view it is; nil for the host.
    var person: String?
    /// When the store was read.
    var date: Date
    var isCopy: Bool
    var accountCount = 0
    var databaseCount = 0
    var zones: [Zone] = []
    /// The sum of all other zones.
    var otherZones = Zone(address: "")
    var otherZoneCount = 0
    var types: [Amount] = []
    var otherTypes = Amount(title: "… all others")
    var shape = HierarchyShape()
    var changes = TimeHistogram()
    var ages = AgeCounts()
    var shares: [Sharing] = []
    var shareCount = 0
    /// Assets by owner. Each counts once for its owner, for any number of records that use it.
    private(set) var contents: [Amount] = []
    /// The sum of all other owners.
    private(set) var otherContents = Amount(title: "all others")
    /// LevelDB's tables, level 0 first.
    var levels: [Amount] = []
    var files: [Amount] = []
    /// Nil without --verify.
    var verification: Verification?

    var zoneCount: Int { zones.count + otherZoneCount }
    var recordCount: Int { zones.reduce(otherZones.recordCount) { $0 + $1.recordCount } }
    var deletedCount: Int { zones.reduce(otherZones.deletedCount) { $0 + $1.deletedCount } }
    var valueByteCount: Int { zones.reduce(otherZones.valueByteCount) { $0 + $1.valueByteCount } }
    var contentCount: Int { contents.reduce(otherContents.count) { $0 + $1.count } }
    var contentByteCount: Int { contents.reduce(otherContents.byteCount) { $0 + $1.byteCount } }
    var sequenceSum: UInt64 { zones.reduce(otherZones.sequence) { $0 &+ $1.sequence } }

    /// Adds a zone; lists only the largest.
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

    /// Adds the assets of an owner; lists only the owners with the most bytes.
    mutating func add(_ owned: Amount) {
        contents.append(owned)
        contents.sort { ($1.byteCount, $0.title) < ($0.byteCount, $1.title) }
        guard contents.count > Self.ownerCount, let least = contents.popLast() else { return }
        otherContents.add(least)
    }
}

/// The depth and width of hierarchies: records by level, and records with children by how many they have. Memory grows
/// only with the depth.
struct HierarchyShape: Hashable {
    /// The limit of listed levels; deeper ones are added up.
    static let toldLevelCount = 24

    /// Records by level: those without a parent first.
    private(set) var levels: [Int] = []
    /// Records with children, by the number of children: 1, 2 to 3, 4 to 7, and so on.
    private(set) var fanOuts: [Int] = []
    private(set) var widest = 0
    private(set) var folderCount = 0
    /// The records above the next one, the topmost first.
    private var open: [Open] = []

    private struct Open: Hashable {
        /// Nil if the record is not counted.
        var level: Int?
        /// The children counted so far.
        var childCount = 0
    }

    var recordCount: Int { levels.reduce(0, +) }
    var deepestLevel: Int { max(0, levels.count - 1) }

    /// Adds a record with its depth: parents before their children, 0 without a parent. Records below one that does not
    /// count begin at level 0.
    mutating func note(depth: Int, counts: Bool = true) {
        close(downTo: depth)
        guard counts else { return open.append(Open()) }
        let level = (open.last?.level).map { $0 + 1 } ?? 0
        if level > 0 { open[open.count - 1].childCount += 1 }
        open.append(Open(level: level))
        while levels.count <= level { levels.append(0) }
        levels[level] += 1
    }

    /// Call it after the last record.
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

    /// The levels for a table: at most `toldLevelCount`, and one row for the rest.
    var levelRows: [(title: String, count: Int)] {
        var rows = levels.prefix(Self.toldLevelCount).enumerated().map { (title: "\($0)", count: $1) }
        let rest = levels.dropFirst(Self.toldLevelCount)
        if !rest.isEmpty { rows.append((title: "\(Self.toldLevelCount) and deeper", count: rest.reduce(0, +))) }
        return rows
    }

    /// The numbers of children for a table: "4 to 7".
    var fanOutRows: [(title: String, count: Int)] {
        fanOuts.enumerated().map { bucket, count in
            let (low, high) = (1 << bucket, (1 << bucket) * 2 - 1)
            return (low == high ? "1" : "\(Quantities.count(low)) to \(Quantities.count(high))", count)
        }
    }
}

/// A histogram of dates with few bars, in one pass.
///
/// A store may have been filled within a second or over ten years. So bars start one second wide, and are merged into
/// wider ones when there are too many. Each width is a multiple of the one before, and bars start at multiples of their
/// width, so that no bar must be split.
struct TimeHistogram: Hashable {
    static let barCount = 60
    static let leastBarCount = 12
    /// The widths in seconds; the last is about 92 years.
    static let widths: [Int64] = [
        1, 5, 10, 60, 600, 3_600, 21_600, 86_400, 604_800, 2_419_200, 29_030_400, 2_903_040_000,
    ]
    private static let names = [
        "a second", "5 seconds", "10 seconds", "a minute", "10 minutes", "an hour", "6 hours", "a day", "a week",
        "4 weeks", "48 weeks", "92 years",
    ]

    private var width = 0
    /// The bars by their number since the reference date.
    private var bars: [Int64: Bar] = [:]

    struct Bar: Hashable {
        var saved = 0
        var deleted = 0
        var count: Int { saved + deleted }
    }

    mutating func note(_ date: Date, isDeletion: Bool = false) {
        // Dates that are thousands of years away count in the first or last possible bar.
        let seconds = date.timeIntervalSinceReferenceDate
        let second = Int64(min(max(seconds.isFinite ? seconds.rounded(.down) : 0, -1e11), 1e11))
        let number = Self.bar(second, Self.widths[width])
        if isDeletion { bars[number, default: Bar()].deleted += 1 } else { bars[number, default: Bar()].saved += 1 }
        while width + 1 < Self.widths.count, let first = bars.keys.min(), let last = bars.keys.max(),
            last - first >= Int64(Self.barCount)
        {
            let old = Self.widths[width]
            width += 1
            bars = Dictionary(bars.map { (Self.bar($0 * old, Self.widths[width]), $1) }) { first, second in
                Bar(saved: first.saved + second.saved, deleted: first.deleted + second.deleted)
            }
        }
    }

    private static func bar(_ second: Int64, _ width: Int64) -> Int64 {
        second >= 0 ? second / width : (second - width + 1) / width
    }

    /// The width of a bar: "10 minutes".
    var widthText: String { Self.names[width] }

    /// The bars up to the last non-empty one, including empty bars between them.
    var rows: [(start: Date, bar: Bar)] {
        guard let earliest = bars.keys.min(), let last = bars.keys.max() else { return [] }
        // Add empty bars before the first if there are few.
        let first = min(earliest, last - Int64(Self.leastBarCount) + 1)
        // With the widest bars, leave out empty ones, or there would be too many.
        let numbers = last - first < Int64(Self.barCount) ? Array(first...last) : bars.keys.sorted()
        return numbers.map { number in
            let start = Date(timeIntervalSinceReferenceDate: Double(number * Self.widths[width]))
            return (start, bars[number] ?? Bar())
        }
    }
}

/// Records by the age of their last change.
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

    /// The rows of a table: the span, the count, the count per hour.
    var rows: [(title: String, count: Int, rate: String)] {
        zip(Self.spans, counts).map { span, count in
            let rate = Double(count) / (span.seconds / 3_600)
            let text = rate < 10 ? Quantities.decimal(rate, places: 2) : Quantities.count(Int(rate.rounded()))
            return (span.title, count, span.seconds.isFinite ? text : "")
        }
    }
}
