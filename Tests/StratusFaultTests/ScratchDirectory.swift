// A directory of its own for one run, removed afterwards.

import Foundation

/// Owns a directory, fresh or copied from another.
final class ScratchDirectory: Sendable {
    let path: String

    init(copying original: String? = nil) throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("stratus-\(UUID().uuidString)")
        path = url.path
        if let original {
            try FileManager.default.copyItem(atPath: original, toPath: path)
        } else {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
