// A directory of its own for one test, removed afterwards.

import Foundation

/// Owns a fresh directory.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        let base = FileManager.default.temporaryDirectory.appendingPathComponent("stratus-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: base, withIntermediateDirectories: false)
        path = base.path
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// A path inside that need not exist.
    func path(of name: String) -> String { "\(path)/\(name)" }
}
