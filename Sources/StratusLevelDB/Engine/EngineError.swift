// The one place that reads LevelDB's error text.
//
// LevelDB's C API says what went wrong in a line of text: the name of a status ("Corruption: ", "IO error: ", …), a
// path or a place, and for a failed system call the text of `strerror`. Everything above asks this type instead.
//
// Unsafe: the C strings read here were allocated by LevelDB for us, are NUL-terminated, and are freed exactly once,
// by the function that took them.

internal import CLevelDB
internal import Glibc

/// What LevelDB said when a call failed.
struct EngineError: Error, Hashable, Sendable {
    enum Kind: Sendable {
        case notFound
        case corruption
        case notSupported
        case invalidArgument
        case inputOutput
        case unknown
    }

    let kind: Kind
    /// LevelDB's own words, in which a directory is called as the store was given it.
    let text: String

    init(text: String) {
        self.text = text
        kind = Self.prefixes.first { text.hasPrefix($0.prefix) }?.kind ?? .unknown
    }

    private static let prefixes: [(prefix: String, kind: Kind)] = [
        ("NotFound: ", .notFound), ("Corruption: ", .corruption), ("Not implemented: ", .notSupported),
        ("Invalid argument: ", .invalidArgument), ("IO error: ", .inputOutput),
    ]

    /// Whether the disk, or what the user may use of it, is full.
    var isDiskFull: Bool {
        mentions(ENOSPC) || mentions(EDQUOT)
    }

    /// Whether the operating system refused for want of permission.
    var isNotPermitted: Bool {
        mentions(EACCES) || mentions(EPERM) || mentions(EROFS)
    }

    /// Whether another open store has the lock of the directory.
    var isLockHeld: Bool {
        text.hasPrefix("IO error: lock ")
    }

    /// Whether bytes on disk are not what was written. A file that LevelDB's own list names counts when it is gone
    /// (`ENOENT`) or shorter than it was written (`EINVAL`, LevelDB's word for reading behind a mapped file's end).
    var isCorruption: Bool {
        kind == .corruption || (kind == .inputOutput && !isLockHeld && (mentions(ENOENT) || mentions(EINVAL)))
    }

    private func mentions(_ number: Int32) -> Bool {
        text.hasSuffix(Self.systemText(number))
    }

    /// The operating system's words for an error number.
    static func systemText(_ number: Int32) -> String {
        unsafe String(cString: strerror(number))
    }
}

/// The directory of a database, how it is reached, and the name that LevelDB gets.
struct EnginePlace: Hashable, Sendable {
    /// As the store was given it.
    let path: String
    /// A path that leads to the directory that is held, wherever that lies now; `path` itself where there is none.
    let directory: String

    init(path: String, directory: String? = nil) {
        self.path = path
        self.directory = directory ?? path
    }

    /// LevelDB makes a directory that it does not find, also to open one that must be there: of this name none can be made,
    /// so that what was taken away in between stays away.
    var name: String { "\(directory)/." }

    /// LevelDB's words, with the directory called as it was given. What the path itself has of such parts stays.
    func asGiven(_ text: String) -> String {
        let named = text.replacing("\(name)/", with: "\(path)/").replacing(name, with: path)
        return directory == path ? named : named.replacing(directory, with: path)
    }
}

/// Where a C call leaves its error text.
@safe struct EngineErrorSlot: ~Copyable {
    private var text: UnsafeMutablePointer<CChar>?

    init() {
        unsafe text = nil
    }

    deinit {
        unsafe leveldb_free(text)
    }

    /// Runs a C call on the database at `place` and throws what it left in the slot.
    static func check<Result>(
        _ place: EnginePlace,
        _ call: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) throws(EngineError) -> Result {
        var slot = EngineErrorSlot()
        let result = unsafe call(&slot.text)
        if let text = unsafe slot.text {
            throw EngineError(text: place.asGiven(unsafe String(cString: text)))
        }
        return result
    }
}
