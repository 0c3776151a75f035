// What a process holds of a store that it has open: the directory itself and its locks. And who has a store open: a
// registry for this process, and the locks for others.
//
//   STRATUS.lock   Ours: an open-file-description lock. It ends when the store is closed, or with its process. No other
//                  use of the file, or of LOCK, can lose it. The file names the process and its command.
//   LOCK           LevelDB's: a POSIX record lock, which a process loses as soon as it closes any descriptor of the
//                  file. It is taken here as well until LevelDB takes it, because versions of this software that know
//                  no STRATUS.lock respect it.
//
// Invariants:
//   1. Before both locks are held, the only check is that the directory is a store or empty: nothing is created in
//      another program's directory. Everything that decides how the store is opened is read, truncated and written
//      under both locks.
//   2. STRATUS.lock is never removed, and only processes that open the store lock it. Other processes query its holder
//      without locking.
//   3. Files of the store are reached through the directory's descriptor. A directory that replaces it is never
//      touched.
//   4. This process never opens and closes a LOCK file that it holds itself, because closing it would drop the lock. So
//      the registry and this process's open files are checked first.
//
// Unsafe: C functions get paths and structures that are valid during the call. Descriptors are closed in `release`.

internal import Glibc
internal import StratusStore

/// The directory and the locks of a store that this process has open.
final class StoreLock: @unchecked Sendable {  // because a monitor guards the variables, and the rest is constant
    static let fileName = "STRATUS.lock"
    /// The attempts to lock a file that other processes keep replacing.
    private static let maximumAttemptCount = 100

    /// The path of the directory as given, and the path that reaches it.
    let place: EnginePlace
    private let absolutePath: String
    private let lockPath: String
    private let identity: FileIdentity
    private let lockIdentity: FileIdentity
    private let didSyncDirectory: (@Sendable () -> Void)?
    private let monitor = Monitor()
    /// The directory and our lock file; empty once they are closed.
    private var descriptors: [Int32]
    private var engineLock: Int32?

    /// Takes both locks of the directory `path`, which is `identity`.
    ///
    /// Throws `StoreError` with `.held` naming the holder, and `SystemError`.
    static func take(_ path: String, _ identity: FileIdentity, _ hooks: LevelDBTestHooks) throws -> StoreLock {
        let directory = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw SystemError(number: errno, call: "open", path: path) }
        var opened: [Int32] = [directory]
        do {
            guard try SystemFiles.status(ofDescriptor: directory, path: path).identity == identity else {
                throw SystemError(number: ENOENT, call: "open", path: path)
            }
            let (own, ownIdentity) = try lockOwnFile(in: directory, path: path)
            opened.append(own)
            opened.append(try lockEngineFile(in: directory, path: path))
            try describeHolder(in: own, path: path)
            return StoreLock(path, identity, opened, ownIdentity, hooks)
        } catch {
            for descriptor in opened { close(descriptor) }
            throw error
        }
    }

    private init(
        _ path: String, _ identity: FileIdentity, _ opened: [Int32], _ lockIdentity: FileIdentity,
        _ hooks: LevelDBTestHooks
    ) {
        didSyncDirectory = hooks.didSyncDirectory
        self.identity = identity
        self.lockIdentity = lockIdentity
        descriptors = Array(opened[..<2])
        engineLock = opened[2]
        absolutePath = SystemFiles.absolute(path)
        let held = "/proc/self/fd/\(opened[0])"
        let reaches = !hooks.reachesDirectoryByPath && (try? SystemFiles.status(held))??.identity == identity
        place = EnginePlace(path: path, directory: reaches ? held : path)
        lockPath = "\(place.directory)/\(Self.fileName)"
    }

    deinit {
        release()
    }

    /// Releases LOCK for LevelDB, which takes it next.
    func yieldEngineLock() {
        monitor.withLock {
            if let engineLock { close(engineLock) }
            engineLock = nil
        }
    }

    /// Releases everything. Unlocks explicitly, because a child process between fork and exec still has the descriptor.
    func release() {
        yieldEngineLock()
        monitor.withLock {
            if descriptors.count > 1 {
                var end = StoreHolder.wholeFileLock
                end.l_type = Int16(F_UNLCK)
                _ = unsafe fcntl(descriptors[1], DescriptionLock.set, &end)
            }
            for descriptor in descriptors.reversed() { close(descriptor) }
            descriptors = []
        }
    }

    /// Makes the names in the directory durable.
    func syncDirectory() throws(SystemError) {
        guard let directory = monitor.withLock({ descriptors.first }), fsync(directory) == 0 else {
            throw SystemError(number: errno, call: "fsync", path: place.path)
        }
        didSyncDirectory?()
    }

    /// Why other processes may not see that this store is open: its path no longer leads to the open directory, or its
    /// lock file is not the locked one. Nil if nothing has changed.
    func displacement() -> StoreError? {
        do {
            guard let found = try SystemFiles.status(absolutePath) else { return displaced("nothing at its path") }
            guard found.identity == identity else { return displaced("another directory at its path") }
            let lock = try SystemFiles.status(lockPath)
            guard lock?.identity == lockIdentity else {
                return displaced(lock == nil ? "no lock file" : "another lock file")
            }
            return nil
        } catch {
            // A path without search permission is assumed to be unchanged.
            return error.number == EACCES ? nil : displaced("a path that cannot be read", cause: error)
        }
    }

    private func displaced(_ found: String, cause: SystemError? = nil) -> StoreError {
        StoreError(
            .unavailable,
            "The store's directory or its lock file was moved, removed or replaced: put the directory back, then recover or reopen the store.",
            ["path": place.path, "found": found], cause: cause.map { EngineError.systemText($0.number) })
    }

    // MARK: Locking

    /// Locks STRATUS.lock, and creates it if needed.
    private static func lockOwnFile(in directory: Int32, path: String) throws -> (Int32, FileIdentity) {
        let file = "\(path)/\(fileName)"
        for _ in 0..<maximumAttemptCount {
            let descriptor = try openLockFile(fileName, in: directory, path: file)
            try lock(descriptor, DescriptionLock.set, file, in: path)
            do {
                // A file that was replaced before it was locked protects nothing.
                let held = try SystemFiles.status(ofDescriptor: descriptor, path: file).identity
                if try SystemFiles.status(fileName, in: directory, path: file)?.identity == held {
                    return (descriptor, held)
                }
                close(descriptor)
            } catch {
                close(descriptor)
                throw error
            }
        }
        throw SystemError(number: EAGAIN, call: "fcntl", path: file)
    }

    /// Locks LevelDB's LOCK as LevelDB does.
    private static func lockEngineFile(in directory: Int32, path: String) throws -> Int32 {
        let file = "\(path)/\(StoreFileName.lockName)"
        // Closing a descriptor would drop a lock that this process holds through LevelDB itself.
        if let status = try SystemFiles.status(file), StoreHolder.hasOpen(status.identity) {
            throw StoreHolder.thisProcess.error(path: path)
        }
        let descriptor = try openLockFile(StoreFileName.lockName, in: directory, path: file)
        try lock(descriptor, F_SETLK, file, in: path)
        return descriptor
    }

    /// Locks a file of the store in `path` as a whole, or closes its descriptor. Throws `.held` if another process has
    /// it.
    private static func lock(_ descriptor: Int32, _ command: Int32, _ file: String, in path: String) throws {
        var wish = StoreHolder.wholeFileLock
        guard unsafe fcntl(descriptor, command, &wish) != 0 else { return }
        let number = errno
        // First, because the search for the holder would find it open in this process.
        close(descriptor)
        guard [EAGAIN, EACCES].contains(number) else { throw SystemError(number: number, call: "fcntl", path: file) }
        let holder = try StoreHolder.findByLocks(in: path) ?? .unknown
        throw holder.error(path: path)
    }

    /// A pipe or device in place of the file is refused, and not waited for.
    private static func openLockFile(_ name: String, in directory: Int32, path: String) throws(SystemError) -> Int32 {
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor = unsafe openat(directory, name, flags, 0o600)
        guard descriptor >= 0 else { throw SystemError(number: errno, call: "open", path: path) }
        if (try? SystemFiles.status(ofDescriptor: descriptor, path: path))?.kind != .file {
            close(descriptor)
            throw SystemError(number: SystemError.irregularNumber, call: "open", path: path)
        }
        return descriptor
    }

    private static func describeHolder(in descriptor: Int32, path: String) throws(SystemError) {
        let bytes = Array(StoreHolder.thisProcess.description.utf8)
        let count = unsafe bytes.withUnsafeBytes { buffer in
            unsafe ftruncate(descriptor, 0) == 0 ? pwrite(descriptor, buffer.baseAddress, buffer.count, 0) : -1
        }
        guard count == bytes.count else { throw SystemError(number: errno, call: "write", path: "\(path)/\(fileName)") }
    }
}

// Unsafe: C functions get paths and structures that live for the length of the call.

/// The stores that are open in this process.
enum OpenStores {
    private static let monitor = Monitor()
    /// `nonisolated(unsafe)` because the monitor guards it.
    nonisolated(unsafe) private static var directories: Set<FileIdentity> = []

    /// Registers a directory as open. Throws `.held` if it already is.
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

/// The fcntl commands for open-file-description locks, by their Linux numbers: Glibc's header hides them from Swift.
enum DescriptionLock {
    static let ask: Int32 = 36
    static let set: Int32 = 37
}

/// A process that has a store open.
package struct StoreHolder: Equatable, Sendable {
    /// The process ID, as this process sees it.
    package let processID: Int32
    /// The program's name, as the kernel keeps it, or "unknown".
    package let command: String
    let isThisProcess: Bool

    static var thisProcess: StoreHolder {
        StoreHolder(processID: getpid(), command: command(of: getpid()), isThisProcess: true)
    }

    func error(path: String, cause: String? = nil) -> StoreError {
        let fields = ["path": path, "holderProcessID": "\(processID)", "holderCommand": command]
        let message: StaticString =
            isThisProcess
            ? "This process has the store open already: use that one, or close it first."
            : "Another process has the store open: close it there first."
        return StoreError(.held, message, fields, cause: cause)
    }

    /// An unknown process.
    static var unknown: StoreHolder { StoreHolder(processID: 0, command: "unknown", isThisProcess: false) }

    /// An exclusive lock on a whole file.
    static var wholeFileLock: flock {
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        return lock
    }

    /// The process that has the store in `directory` open, or nil. Queries the locks without taking them.
    static func find(in directory: String) throws(SystemError) -> StoreHolder? {
        if let own = try SystemFiles.status(directory), OpenStores.contains(own.identity) { return thisProcess }
        return try findByLocks(in: directory)
    }

    /// The same for a directory that is registered because this process is opening it.
    static func findByLocks(in directory: String) throws(SystemError) -> StoreHolder? {
        if let holder = try holder(of: "\(directory)/\(StoreLock.fileName)", DescriptionLock.ask) { return holder }
        return try holder(of: "\(directory)/\(StoreFileName.lockName)", F_GETLK)
    }

    private static func holder(of lock: String, _ request: Int32) throws(SystemError) -> StoreHolder? {
        guard let status = try SystemFiles.status(lock) else { return nil }
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
        // The kernel names the process of a POSIX lock, but not of our lock.
        if question.l_pid > 0 {
            return StoreHolder(
                processID: question.l_pid, command: command(of: question.l_pid), isThisProcess: false)
        }
        return StoreHolder(description: (try? SystemFiles.readUnsized(lock)) ?? []) ?? unknown
    }

    /// Whether this process has the file open, through any library.
    static func hasOpen(_ file: FileIdentity) -> Bool {
        let directory = "/proc/self/fd"
        guard let names = try? SystemFiles.names(in: directory) else { return false }
        return names.contains { name in
            guard let status = try? SystemFiles.status("\(directory)/\(name)") else { return false }
            return status.identity == file
        }
    }

    private static func command(of process: Int32) -> String {
        guard let name = try? SystemFiles.readUnsized("/proc/\(process)/comm") else { return "unknown" }
        return String(decoding: name.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}

// The contents of STRATUS.lock.
extension StoreHolder {
    private static let firstLine = "stratus lock"

    var description: String { "\(Self.firstLine)\nprocess \(processID)\ncommand \(command)\n" }

    /// Nil for anything else, for example if the holder has not written it yet.
    init?(description: [UInt8]) {
        let lines = String(decoding: description, as: UTF8.self).split(separator: "\n")
        guard lines.count == 3, lines[0] == Self.firstLine, lines[1].hasPrefix("process "),
            lines[2].hasPrefix("command "),
            let process = Int32(lines[1].dropFirst("process ".count))
        else { return nil }
        self.init(
            processID: process, command: String(lines[2].dropFirst("command ".count)),
            // Processes in different containers may have the same ID. The registry knows the stores of this process.
            isThisProcess: false)
    }
}
