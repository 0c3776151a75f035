// The only code that reads LevelDB's error text.
//
// LevelDB's C API reports an error as a line of text: the name of a status ("Corruption: ", "IO error: ", …), a path or
// a place, and for a failed system call the text of `strerror`. All other code uses this type.
//
// Unsafe: the C strings read here were allocated by LevelDB for us, are NUL-terminated, and are freed exactly once,
// by the function that took them.

internal import CLevelDB
internal import Glibc

/// What LevelDB said when a call failed.
struct EngineError: Error, Hashable, Sendable {
    /// LevelDB's text, with the directory as the store was given it.
    let text: String

    /// Whether the disk, or what the user may use of it, is full.
    var isDiskFull: Bool {
        mentions(ENOSPC) || mentions(EDQUOT)
    }

    /// Whether the operating system refused because the process lacks a permission.
    var isNotPermitted: Bool {
        mentions(EACCES) || mentions(EPERM) || mentions(EROFS)
    }

    /// Whether another open store has the lock of the directory.
    var isLockHeld: Bool {
        text.hasPrefix("IO error: lock ")
    }

    /// Whether bytes on disk differ from what was written. That includes a file in LevelDB's own list that is missing
    /// (`ENOENT`) or shorter than it was written (`EINVAL`, which LevelDB reports for reads behind a mapped file's
    /// end).
    var isCorruption: Bool {
        text.hasPrefix("Corruption: ")
            || text.hasPrefix("IO error: ") && !isLockHeld && (mentions(ENOENT) || mentions(EINVAL))
    }

    private func mentions(_ number: Int32) -> Bool {
        text.hasSuffix(Self.systemText(number))
    }

    /// The operating system's text for an error number.
    static func systemText(_ number: Int32) -> String {
        unsafe String(cString: strerror(number))
    }
}

/// The directory of a database: its path as given, the path that reaches it, and the name that LevelDB gets.
struct EnginePlace: Hashable, Sendable {
    /// As the store was given it.
    let path: String
    /// A path that leads to the open directory, even if it was moved; `path` itself if there is none.
    let directory: String

    init(path: String, directory: String? = nil) {
        self.path = path
        self.directory = directory ?? path
    }

    /// LevelDB creates a missing directory, even to open one that must exist. No directory can be created under this
    /// name, so one that was removed in between stays removed.
    var name: String { "\(directory)/." }

    /// LevelDB's text, with the directory as it was given.
    func asGiven(_ text: String) -> String {
        let named = text.replacing("\(name)/", with: "\(path)/").replacing(name, with: path)
        return directory == path ? named : named.replacing(directory, with: path)
    }
}
