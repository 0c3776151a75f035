// Special files, created by the system's own programs: tests put them in the place of a store's files.

import Foundation

/// What may take the place of a file.
package enum SpecialFile: String, CaseIterable, Sendable {
    case pipe
    /// Zeros without end. Only root can create devices.
    case device
    case directory

    /// Replaces the file at a path with it. False if the system does not allow creating it.
    package func replace(_ path: String) throws -> Bool {
        try FileManager.default.removeItem(atPath: path)
        let words =
            switch self {
            case .pipe: ["mkfifo", path]
            case .device: ["mknod", path, "c", "1", "5"]
            case .directory: ["mkdir", path]
            }
        return try ChildProcess("/usr/bin/env", words, errors: .nothing).wait().isSuccess
    }

    /// Briefly opens the other end for a reader that waits on a pipe.
    package static func release(_ path: String) {
        let end = try? FileHandle(forUpdating: URL(fileURLWithPath: path))
        Thread.sleep(forTimeInterval: 1)
        try? end?.close()
    }
}
