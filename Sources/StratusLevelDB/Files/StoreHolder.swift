// Who has a store open: a registry for this process, and the locks of the store's files for others.
//
// Asking takes no lock. STRATUS.lock names its holder; LOCK, which `StoreLock` explains, is asked for hosts of versions that
// know no STRATUS.lock, and only where this process does not hold it itself: closing it would drop the lock. So the registry,
// and this process's open files, are looked at first.
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

    static func contains(_ directory: FileIdentity) -> Bool {
        monitor.withLock { unsafe directories.contains(directory) }
    }

    static func remove(_ directory: FileIdentity) {
        monitor.withLock { _ = unsafe directories.remove(directory) }
    }
}

/// The requests of fcntl for open-file-description locks, as Linux numbers them: Glibc's header hides them from Swift.
enum DescriptionLock {
    static let ask: Int32 = 36
    static let set: Int32 = 37
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

    /// A process that cannot be named.
    static var unknown: StoreHolder { StoreHolder(processID: 0, command: "unknown", isThisProcess: false) }

    /// The lock on a whole file, which nobody else may have.
    static var wholeFileLock: flock {
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        return lock
    }

    /// Who holds the store in `directory`, or nil when nobody does. The locks are asked for and not tried.
    static func find(in directory: String) throws(SystemError) -> StoreHolder? {
        if let own = try FileSystem.status(directory), OpenStores.contains(own.identity) { return thisProcess }
        return try findByLocks(in: directory)
    }

    /// The same for a directory that is in this process's registry because it is just being opened.
    static func findByLocks(in directory: String) throws(SystemError) -> StoreHolder? {
        if let holder = try holder(of: "\(directory)/\(StoreLock.fileName)", DescriptionLock.ask) { return holder }
        return try holder(of: "\(directory)/\(StoreFileName.lockName)", F_GETLK)
    }

    private static func holder(of lock: String, _ request: Int32) throws(SystemError) -> StoreHolder? {
        guard let status = try FileSystem.status(lock) else { return nil }
        guard status.kind == .file else {
            throw SystemError(number: SystemError.irregularNumber, call: "stat", path: lock)
        }
        if request == F_GETLK, hasOpen(status.identity) { return thisProcess }
        // Open without blocking: a pipe may have replaced the file.
        let descriptor = unsafe open(lock, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw SystemError(number: errno, call: "open", path: lock) }
        defer { close(descriptor) }
        var question = wholeFileLock
        guard unsafe fcntl(descriptor, request, &question) == 0 else {
            throw SystemError(number: errno, call: "fcntl", path: lock)
        }
        guard question.l_type != Int16(F_UNLCK) else { return nil }
        // The kernel names the process of a POSIX lock, and none for a lock of ours.
        if question.l_pid > 0 {
            return StoreHolder(
                processID: question.l_pid, command: command(of: question.l_pid), isThisProcess: false)
        }
        return StoreHolder(description: (try? FileSystem.readUnsized(lock)) ?? []) ?? unknown
    }

    /// Whether this process has the file open, through whatever library.
    static func hasOpen(_ file: FileIdentity) -> Bool {
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

// What STRATUS.lock holds.
extension StoreHolder {
    private static let firstLine = "stratus lock"

    var description: String { "\(Self.firstLine)\nprocess \(processID)\ncommand \(command)\n" }

    /// Nil for anything else, as a holder that has not written it yet leaves.
    init?(description: [UInt8]) {
        let lines = String(decoding: description, as: UTF8.self).split(separator: "\n")
        guard lines.count == 3, lines[0] == Self.firstLine, lines[1].hasPrefix("process "),
            lines[2].hasPrefix("command "),
            let process = Int32(lines[1].dropFirst("process ".count))
        else { return nil }
        self.init(
            processID: process, command: String(lines[2].dropFirst("command ".count)),
            // Processes in different containers may have one number: the registry says which stores are this one's.
            isThisProcess: false)
    }
}
