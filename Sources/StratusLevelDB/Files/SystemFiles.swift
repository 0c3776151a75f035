// File operations by system calls, for markers, locks, backups and diagnosis. LevelDB's C API does not offer them.
//
// Unsafe: C functions get paths and buffers that live for the length of the call; descriptors and directory streams
// are closed by the function that opened them.

internal import Glibc
internal import StratusStore

/// A failed system call.
struct SystemError: Error {
    let number: Int32
    let call: StaticString
    let path: String

    /// The error number for an opened file that is not regular.
    static let irregularNumber = ESPIPE

    /// Throws the error of a call that has just returned this status, unless it is 0.
    static func check(_ status: Int32, _ call: StaticString, _ path: String) throws(SystemError) {
        if status != 0 { throw SystemError(number: errno, call: call, path: path) }
    }

    /// The error as the store's callers get it. A missing file is not corruption here: only LevelDB's own errors refer
    /// to files in its list.
    var storeError: StoreError {
        switch number {
        case Self.irregularNumber, ENXIO, EISDIR: Self.irregular(path)
        case ENOENT, ENOTDIR:
            storeError(
                .inputOutput, "There is nothing at the path, or no folder on the way to it: check it, or create it.")
        case EACCES, EPERM, EROFS:
            storeError(
                .notPermitted, "The path may not be read or written: change its owner or mode, or name another.")
        case ENOSPC, EDQUOT: storeError(.diskFull, "The disk is full: free some space, then try again.")
        case EEXIST, ENOTEMPTY:
            storeError(.inputOutput, "There is something at the path already: choose another, or move it away.")
        default: storeError(.inputOutput, "A system call failed: see the cause.")
        }
    }

    private func storeError(_ code: StoreError.Code, _ message: StaticString) -> StoreError {
        StoreError(code, message, ["path": path, "call": "\(call)"], cause: EngineError.systemText(number))
    }

    /// The error for something else in place of a store's file.
    static func irregular(_ path: String) -> StoreError {
        StoreError(
            .corruption,
            "A pipe, a device or a directory is in place of a file of the store: move it away, and restore a backup.",
            ["path": SystemFiles.parent(of: path), "file": path], damage: .files)
    }
}

/// The attributes of the entry at a path.
struct FileStatus: Equatable {
    enum Kind {
        case directory
        case file
        case other
    }

    let kind: Kind
    let identity: FileIdentity
    let byteCount: Int
}

/// Identifies a file, independent of its path.
struct FileIdentity: Hashable, Sendable {
    let device: UInt
    let inode: UInt
}

enum SystemFiles {
    /// The attributes of the entry at `path`, links followed; nil if there is none.
    static func status(_ path: String) throws(SystemError) -> FileStatus? {
        var buffer = stat()
        guard unsafe stat(path, &buffer) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw SystemError(number: errno, call: "stat", path: path)
        }
        return status(buffer)
    }

    /// The same for a name in an open directory, links not followed. `path` is for errors.
    static func status(_ name: String, in directory: Int32, path: String) throws(SystemError) -> FileStatus? {
        var buffer = stat()
        guard unsafe fstatat(directory, name, &buffer, AT_SYMLINK_NOFOLLOW) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw SystemError(number: errno, call: "fstatat", path: path)
        }
        return status(buffer)
    }

    static func status(ofDescriptor descriptor: Int32, path: String) throws(SystemError) -> FileStatus {
        var buffer = stat()
        try SystemError.check(unsafe fstat(descriptor, &buffer), "fstat", path)
        return status(buffer)
    }

    private static func status(_ buffer: stat) -> FileStatus {
        let format = buffer.st_mode & S_IFMT
        return FileStatus(
            kind: format == S_IFDIR ? .directory : format == S_IFREG ? .file : .other,
            identity: FileIdentity(device: UInt(buffer.st_dev), inode: UInt(buffer.st_ino)),
            byteCount: Int(buffer.st_size))
    }

    /// The names in a directory, sorted, without "." and "..".
    static func names(in path: String) throws(SystemError) -> [String] {
        try unsafe names(in: path) { unsafe readdir($0) }
    }

    /// The same with `next` to read an entry, so that a test can make it fail.
    static func names(
        in path: String, reading next: (OpaquePointer) -> UnsafeMutablePointer<dirent>?
    ) throws(SystemError) -> [String] {
        guard let stream = unsafe opendir(path) else { throw SystemError(number: errno, call: "opendir", path: path) }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while true {
            // At an error `readdir` returns nil as at the end, but sets this.
            errno = 0
            guard let entry = unsafe next(stream) else { break }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
                unsafe field.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        if errno != 0 { throw SystemError(number: errno, call: "readdir", path: path) }
        return names.sorted()
    }

    /// Throws if the process has not the access to `path` that `mode` (`R_OK`, `W_OK`, `X_OK`) names.
    static func checkAccess(_ path: String, _ mode: Int32) throws(SystemError) {
        try SystemError.check(unsafe access(path, mode), "access", path)
    }

    static func makeDirectory(_ path: String) throws(SystemError) {
        try SystemError.check(unsafe mkdir(path, 0o700), "mkdir", path)
    }

    /// The contents of a file from `offset` on, at most `limit` bytes, without bytes appended after it was opened.
    static func read(_ path: String, from offset: Int = 0, atMost limit: Int = .max) throws(SystemError) -> [UInt8] {
        let file = try OpenFile(path, O_RDONLY)
        let count = min(limit, max(0, try file.byteCount() - offset))
        var contents = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let got = unsafe contents.withUnsafeMutableBytes { buffer in
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
                return unsafe pread(file.descriptor, rest.baseAddress, rest.count, offset + done)
            }
            if got < 0 && errno == EINTR { continue }
            if got < 0 { throw SystemError(number: errno, call: "pread", path: path) }
            if got == 0 { break }
            done += got
        }
        contents.removeLast(count - done)
        return contents
    }

    /// The first 4 KiB of a file without a size, like those in /proc.
    static func readUnsized(_ path: String) throws(SystemError) -> [UInt8] {
        let file = try OpenFile(path, O_RDONLY)
        var contents = [UInt8](repeating: 0, count: 4_096)
        let got = unsafe contents.withUnsafeMutableBytes { buffer in
            unsafe Glibc.read(file.descriptor, buffer.baseAddress, buffer.count)
        }
        if got < 0 { throw SystemError(number: errno, call: "read", path: path) }
        return Array(contents.prefix(got))
    }

    /// Creates a file with these contents. Throws if it exists. Call `sync` to make it durable.
    static func create(_ path: String, _ contents: [UInt8]) throws(SystemError) {
        try OpenFile(path, O_WRONLY | O_CREAT | O_EXCL).write(contents)
    }

    /// Appends to a file.
    static func append(_ contents: [UInt8], to path: String) throws(SystemError) {
        try OpenFile(path, O_WRONLY | O_APPEND).write(contents)
    }

    /// Makes the contents of a file durable.
    static func sync(_ path: String) throws(SystemError) {
        try OpenFile(path, O_RDONLY).sync()
    }

    /// Truncates a file to its first `byteCount` bytes, durably.
    static func cut(_ path: String, to byteCount: Int) throws(SystemError) {
        let file = try OpenFile(path, O_RDWR)
        try SystemError.check(ftruncate(file.descriptor, byteCount), "ftruncate", path)
        try file.sync()
    }

    /// Copies a file as it is now. Call `sync` to make the copy durable.
    static func copy(_ source: String, to destination: String) throws(SystemError) {
        try create(destination, read(source))
    }

    /// Gives a file a second name. Throws with `EXDEV`, `EPERM` or `EMLINK` if only a copy is possible.
    static func link(_ source: String, to destination: String) throws(SystemError) {
        try SystemError.check(unsafe Glibc.link(source, destination), "link", source)
    }

    static func rename(_ source: String, to destination: String) throws(SystemError) {
        try SystemError.check(unsafe Glibc.rename(source, destination), "rename", source)
    }

    static func remove(_ path: String) throws(SystemError) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else {
            throw SystemError(number: errno, call: "unlink", path: path)
        }
    }

    static func removeDirectory(_ path: String) throws(SystemError) {
        try SystemError.check(unsafe rmdir(path), "rmdir", path)
    }

    /// The deepest level of directories that are removed.
    private static let maximumDepth = 64

    /// The number of files and directories at a path, itself included. Links are not followed.
    static func countTree(_ path: String, depth: Int = 0) throws(SystemError) -> Int {
        guard depth < maximumDepth, try isDirectory(path) else { return 1 }
        var count = 1
        for name in try names(in: path) { count += try countTree("\(path)/\(name)", depth: depth + 1) }
        return count
    }

    /// Removes a file, or a directory with its contents. Links are not followed. `removed` is called for each.
    static func removeTree(_ path: String, depth: Int = 0, removed: () -> Void = {}) throws(SystemError) {
        if depth < maximumDepth, try isDirectory(path) {
            try removeDirectoryTree(path, depth: depth, removed: removed)
        } else {
            try remove(path)
        }
        removed()
    }

    /// Attempts to empty a directory while other processes create files in it.
    private static let maximumRoundCount = 10

    private static func removeDirectoryTree(_ path: String, depth: Int, removed: () -> Void) throws(SystemError) {
        for round in 1...maximumRoundCount {
            for name in try names(in: path) {
                try removeTree("\(path)/\(name)", depth: depth + 1, removed: removed)
            }
            do {
                return try removeDirectory(path)
            } catch {
                guard error.number == ENOTEMPTY, round < maximumRoundCount else { throw error }
            }
        }
    }

    /// Whether a directory is at the path, not a link to one.
    private static func isDirectory(_ path: String) throws(SystemError) -> Bool {
        try status(path, in: AT_FDCWD, path: path)?.kind == .directory
    }

    /// Makes the names in a directory durable.
    static func syncDirectory(_ path: String) throws(SystemError) {
        try OpenFile(path, O_RDONLY | O_DIRECTORY).sync()
    }

    /// The absolute path of `path`.
    static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let folder = unsafe getcwd(nil, 0) else { return path }
        defer { unsafe free(folder) }
        return "\(unsafe String(cString: folder))/\(path)"
    }

    /// `path` without the slashes at its end, unless it is the root.
    static func withoutTrailingSlashes(_ path: String) -> String {
        var bytes = Array(path.utf8)
        while bytes.count > 1 && bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The directory that holds `path`.
    static func parent(of path: String) -> String {
        let bytes = Array(withoutTrailingSlashes(path).utf8)
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == 0 ? "/" : String(decoding: bytes[..<slash], as: UTF8.self)
    }
}

/// A file descriptor that is closed with its owner: of a regular file, or of a directory, to sync it. Anything else is
/// refused. Opening does not wait for the other end of a pipe.
private struct OpenFile: ~Copyable {
    let descriptor: Int32
    let path: String

    init(_ path: String, _ flags: Int32) throws(SystemError) {
        descriptor = unsafe open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0o600)
        self.path = path
        if descriptor < 0 { throw SystemError(number: errno, call: "open", path: path) }
        guard try SystemFiles.status(ofDescriptor: descriptor, path: path).kind != .other else {
            throw SystemError(number: SystemError.irregularNumber, call: "open", path: path)
        }
    }

    deinit {
        close(descriptor)
    }

    func byteCount() throws(SystemError) -> Int {
        try SystemFiles.status(ofDescriptor: descriptor, path: path).byteCount
    }

    func write(_ contents: [UInt8]) throws(SystemError) {
        var done = 0
        while done < contents.count {
            let put = unsafe contents.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[done...])
                return unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
            if put < 0 && errno == EINTR { continue }
            if put < 0 { throw SystemError(number: errno, call: "write", path: path) }
            done += put
        }
    }

    func sync() throws(SystemError) {
        try SystemError.check(fsync(descriptor), "fsync", path)
    }
}
