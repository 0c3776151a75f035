// What the process holds in memory that is not backed by files, as Linux counts it.

import Foundation

enum ProcessMemory {
    /// Anonymous memory in bytes; nil where the system does not tell.
    static func anonymousByteCount() -> Int? {
        guard let text = try? String(contentsOfFile: "/proc/self/smaps_rollup", encoding: .utf8) else { return nil }
        for line in text.split(separator: "\n") where line.hasPrefix("Anonymous:") {
            return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
        }
        return nil
    }
}
