// Limits the resident memory of mapped tables.
//
// LevelDB maps the tables that it reads, up to a thousand at once, and its C interface has no option for that. The
// pages belong to the system's cache, but while they are mapped they count as resident memory of the process. A verb
// that reads a whole store would appear to be as large as the store. So a thread releases the pages from time to time.
// Releasing loses nothing: a page that is used again is read again. Pages that another process has mapped too, such as
// the host of a live store, stay.

import CStratusSystem
import Foundation

enum MappedTables {
    /// Tables are released if more than this of all mapped files, including the program, is resident.
    static let residentByteCount = 80 << 20

    /// The time between two checks: a disk reads some megabytes in it.
    private static let seconds = 0.02

    /// Checks on a thread until the process ends.
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

    /// The resident size of mapped files as the kernel reports it; 0 if it does not.
    static func fileByteCount() -> Int {
        guard let line = lines(of: "/proc/self/status").first(where: { $0.hasPrefix("RssFile:") }) else { return 0 }
        return Int(line.filter(\.isNumber)).map { $0 << 10 } ?? 0
    }

    /// Releases every page of a mapped table.
    static func giveBack() {
        for table in lines(of: "/proc/self/maps").compactMap(addresses(ofTable:)) {
            cfiletree_page_out(table.lowerBound, table.upperBound - table.lowerBound)
        }
    }

    /// The addresses of a table in a line of the process's memory map; nil for a line about anything else.
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
