// What the process writes, and what its files take.

import Foundation

enum ProcessFiles {
    /// Bytes that the process has handed to the system to be written, by all its threads; nil where nobody counts them.
    static func writtenByteCount() -> Int? {
        guard let text = try? String(contentsOfFile: "/proc/self/io", encoding: .utf8) else { return nil }
        for line in text.split(separator: "\n") where line.hasPrefix("wchar:") {
            return line.split(separator: " ").last.flatMap { Int($0) }
        }
        return nil
    }

    /// Bytes of a file, or of all files of a directory; 0 where there is none.
    static func byteCount(at path: String) -> Int {
        let files = FileManager.default
        guard let attributes = try? files.attributesOfItem(atPath: path) else { return 0 }
        guard attributes[.type] as? FileAttributeType == .typeDirectory else {
            return (attributes[.size] as? NSNumber)?.intValue ?? 0
        }
        let names = (try? files.contentsOfDirectory(atPath: path)) ?? []
        return names.reduce(0) { $0 + byteCount(at: path + "/" + $1) }
    }

    /// Removes a file, or all files of a directory, from the system's memory. Pages that a process has mapped stay.
    static func dropFromMemory(at path: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        for name in names { dropFromMemory(at: path + "/" + name) }
        let file = unsafe open(path, O_RDONLY)
        guard file >= 0 else { return }
        defer { close(file) }
        guard names.isEmpty else { return }
        fsync(file)
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)
    }
}
