// A disk that can be full: a small file system in memory, mounted for one test.

import Foundation

/// A mounted file system of its own, unmounted with the object. Mounting needs privileges: `isMounted` says whether it
/// succeeded.
package final class SmallVolume: Sendable {
    /// The mount point.
    package let path: String
    package let isMounted: Bool

    package init(byteCount: Int) throws {
        let url = FileManager.default.temporaryDirectory.appending(
            path: "stratus-volume-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        path = url.path
        isMounted = Self.run("mount", "-t", "tmpfs", "-o", "size=\(byteCount)", "stratus-tests", url.path)
    }

    deinit {
        if isMounted { _ = Self.run("umount", "-l", path) }
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Gives it another size. Returns whether that went.
    package func resize(byteCount: Int) -> Bool { Self.run("mount", "-o", "remount,size=\(byteCount)", path) }

    private static func run(_ arguments: String...) -> Bool {
        (try? ChildProcess("/usr/bin/env", arguments, errors: .nothing))?.wait().isSuccess ?? false
    }
}
