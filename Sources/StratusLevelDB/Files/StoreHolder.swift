// Who has a store open: a registry for this process, and the lock of LevelDB's LOCK file for others.
//
// Invariant: this process never opens and closes a LOCK file that it holds itself. POSIX would drop the lock with the
// first descriptor closed, and two processes could write at once. So the registry, and this process's open files, are
// looked at first.
//
// Unsafe: C functions get paths and structures that live for the length of the call.

internal import Glibc
internal import StratusStore

/// The stores that are open in this process.
enum OpenStores {
    private static let monitor = Monitor()
    /// `nonisolated(unsafe)` because the monitor guards it.
    nonisolated(unsafe) private static var directories: Set<FileIdentity> = []

    /// Notes that a directory is open. Throws `.held` when it is already.
    static func insert(_ directory: FileIdentity, path: String) throws {
        let isNew = monitor.withLock { unsafe directories.insert(directory).inserted }
        if !isNew { throw StoreHolder.thisProcess.error(path: path) }
    }

    static func remove(_ directory: FileIdentity) {
        monitor.withLock { _ = unsafe directories.remove(directory) }
    }
}

/// A process that has a store open.
struct StoreHolder: Equatable {
    let processID: Int32
    let command: String
    let isThisProcess: Bool

    static var thisProcess: StoreHolder {
        StoreHolder(processID: getpid(), command: command(of: getpid()), isThisProcess: true)
    }

    func error(path: String, cause: String? = nil) -> StoreError {
        let fields = ["path": path, "holderProcessID": "\(processID)", "holderCommand": command]
        if isThisProcess {
            return StoreError(
                .held, "This process has the store open already: use that one, or close it first.", fields,
                cause: cause)
        }
        return StoreError(
            .held, "Another process has the store open: close it there first.", fields, cause: cause)
    }

    /// Who holds the lock of the store in `directory`, or nil when nobody does. It is asked for and not tried.
    static func find(in directory: String) throws(SystemError) -> StoreHolder? {
        let lock = "\(directory)/\(StoreFileName.lockName)"
        guard let status = try FileSystem.status(lock) else { return nil }
        if hasOpen(status.identity) { return thisProcess }
        let descriptor = unsafe open(lock, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(number: errno, call: "open", path: lock) }
        defer { close(descriptor) }
        var question = flock()
        question.l_type = Int16(F_WRLCK)
        question.l_whence = Int16(SEEK_SET)
        guard unsafe fcntl(descriptor, F_GETLK, &question) == 0 else {
            throw SystemError(number: errno, call: "fcntl", path: lock)
        }
        guard question.l_type != Int16(F_UNLCK) else { return nil }
        return StoreHolder(
            processID: question.l_pid, command: command(of: question.l_pid), isThisProcess: false)
    }

    /// Whether this process has the file open, through whatever library.
    private static func hasOpen(_ file: FileIdentity) -> Bool {
        let directory = "/proc/self/fd"
        guard let names = try? FileSystem.names(in: directory) else { return false }
        return names.contains { name in
            guard let status = try? FileSystem.status("\(directory)/\(name)") else { return false }
            return status.identity == file
        }
    }

    private static func command(of process: Int32) -> String {
        guard let name = try? FileSystem.readUnsized("/proc/\(process)/comm") else { return "unknown" }
        return String(decoding: name.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
