// Keeps tables that LevelDB has mapped from adding up to the memory of a verb.
//
// LevelDB maps the tables it reads, a thousand at once at most, and its C interface has no limit for that. Their pages are the
// system's cache; but while they are mapped they count as resident memory of the process, and a verb that reads all of a store
// would be shown as large as the store. So they are given back from time to time. Giving back loses nothing, whatever lies
// at the addresses by then: a page that is touched again is read again. Pages that another process has mapped too, as the
// host of a live store has, stay where they are.

import CSystem
import Foundation

enum MappedTables {
    /// With so much of files resident, the program's own among them, tables are given back.
    static let residentByteCount = 80 << 20

    /// How often is looked: at the speed of a disk some megabytes come between.
    private static let seconds = 0.02

    /// Looks after it on a thread of its own until the process ends.
    static func keepSmall() {
        let thread = Thread {
            while true {
                Blocking.sleep(seconds: seconds)
                if fileByteCount() > residentByteCount { giveBack() }
            }
        }
        thread.name = "mapped tables"
        thread.start()
    }

    /// How many bytes of mapped files are resident, as the kernel tells; 0 where it does not.
    static func fileByteCount() -> Int {
        guard let line = lines(of: "/proc/self/status").first(where: { $0.hasPrefix("RssFile:") }) else { return 0 }
        return Int(line.filter(\.isNumber)).map { $0 << 10 } ?? 0
    }

    /// Gives back every page of a mapped table.
    static func giveBack() {
        for table in lines(of: "/proc/self/maps").compactMap(addresses(ofTable:)) {
            cfiletree_page_out(table.lowerBound, table.upperBound - table.lowerBound)
        }
    }

    /// Where a table lies that a line of the process's map tells of; nil for a line about anything else.
    static func addresses(ofTable line: Substring) -> Range<UInt64>? {
        let file = line.hasSuffix(" (deleted)") ? line.dropLast(" (deleted)".count) : line
        guard file.hasSuffix(".ldb") || file.hasSuffix(".sst") else { return nil }
        let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt64($0, radix: 16) }
        guard bounds.count == 2, bounds[0] < bounds[1] else { return nil }
        return bounds[0]..<bounds[1]
    }

    private static func lines(of path: String) -> [Substring] {
        guard let bytes = try? Disk.contents(of: Array(path.utf8)) else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}
