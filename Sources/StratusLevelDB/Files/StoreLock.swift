// What a process holds of a store that it has open: the directory itself, and the locks on it.
//
//   STRATUS.lock   Ours: an open-file-description lock. It ends when the store is closed, or with its process, so that no other
//                  use of the file, or of LOCK, can lose it. The file names the process and its command.
//   LOCK           LevelDB's: a POSIX record lock, which a process loses as soon as it closes any descriptor of the file. It
//                  is taken here as well until LevelDB takes it, because versions of this software that know no
//                  STRATUS.lock respect it.
//
// Invariants:
//   1. Before both locks are held, only that the directory is a store, or empty, is looked at: nothing is created in a directory of
//      somebody else's. Everything that decides how the store is opened is read, cut and written under them.
//   2. STRATUS.lock is never removed, and only processes that open the store lock it. Others ask who holds it.
//   3. Files of the store are reached through the directory's descriptor. What takes the directory's place is never touched.
//   4. This process never opens and closes a LOCK file that it holds itself.
//
// Unsafe: C functions get paths and structures that live for the length of the call; descriptors are closed in `release`.

internal import Glibc
internal import StratusStore

/// The directory and the locks of a store that this process has open.
final class StoreLock: @unchecked Sendable {  // because a monitor guards the variables, and the rest is constant
    static let fileName = "STRATUS.lock"
    /// A lock file that others keep replacing is given up after so many attempts.
    private static let maximumAttemptCount = 100

    /// How the directory is called, and how it is reached.
    let place: EnginePlace
    private let absolutePath: String
    private let lockPath: String
    private let identity: FileIdentity
    private let lockIdentity: FileIdentity
    private let didSyncDirectory: (@Sendable () -> Void)?
    private let monitor = Monitor()
    /// The directory, our lock file, and LOCK; none once they are closed.
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
            let engine = try lockEngineFile(in: directory, path: path)
            do { try describeHolder(in: own, path: path) } catch {
                close(engine)
                throw error
            }
            return StoreLock(path, identity, descriptors: opened, engine: engine, ownIdentity, hooks)
        } catch {
            for descriptor in opened { close(descriptor) }
            throw error
        }
    }

    private init(
        _ path: String, _ identity: FileIdentity, descriptors: [Int32], engine: Int32, _ lockIdentity: FileIdentity,
        _ hooks: LevelDBTestHooks
    ) {
        didSyncDirectory = hooks.didSyncDirectory
        self.identity = identity
        self.lockIdentity = lockIdentity
        self.descriptors = descriptors
        engineLock = engine
        absolutePath = SystemFiles.absolute(path)
        let held = "/proc/self/fd/\(descriptors[0])"
        let reaches = !hooks.reachesDirectoryByPath && (try? SystemFiles.status(held))??.identity == identity
        place = EnginePlace(path: path, directory: reaches ? held : path)
        lockPath = "\(place.directory)/\(Self.fileName)"
    }

    deinit {
        release()
    }

    /// Leaves LOCK to LevelDB, which takes it next.
    func yieldEngineLock() {
        monitor.withLock {
            if let engineLock { close(engineLock) }
            engineLock = nil
        }
    }

    /// Gives everything back. Unlocks explicitly: a child process between fork and exec still holds the descriptor.
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

    /// Why others may take this store for free, or for another: its path no longer leads to the directory that is held, or its
    /// lock file is not the one that is locked. Nil while all is as it was.
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
            // A path that this process may not look along leads where it led.
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

    /// Locks STRATUS.lock, which is created where it is missing.
    private static func lockOwnFile(in directory: Int32, path: String) throws -> (Int32, FileIdentity) {
        let file = "\(path)/\(fileName)"
        for _ in 0..<maximumAttemptCount {
            let descriptor = try openLockFile(fileName, in: directory, path: file)
            do {
                var wish = StoreHolder.wholeFileLock
                guard unsafe fcntl(descriptor, DescriptionLock.set, &wish) == 0 else {
                    guard [EAGAIN, EACCES].contains(errno) else {
                        throw SystemError(number: errno, call: "fcntl", path: file)
                    }
                    let holder = try StoreHolder.findByLocks(in: path) ?? .unknown
                    throw holder.error(path: path)
                }
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
        var wish = StoreHolder.wholeFileLock
        guard unsafe fcntl(descriptor, F_SETLK, &wish) == 0 else {
            let number = errno
            close(descriptor)
            guard [EAGAIN, EACCES].contains(number) else {
                throw SystemError(number: number, call: "fcntl", path: file)
            }
            let holder = try StoreHolder.findByLocks(in: path) ?? .unknown
            throw holder.error(path: path)
        }
        return descriptor
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

// Who has a store open: a registry for this process, and the locks of the store's files for others.
//
// Asking takes no lock. STRATUS.lock names its holder; LOCK, which `StoreLock` explains, is asked for hosts of versions that
// know no STRATUS.lock, and only where this process does not hold it itself: closing it would drop the lock. So the registry,
// and this process's open files, are looked at first.
//
// Unsafe: C functions get paths and structures that live for the length of the call.

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
        if let own = try SystemFiles.status(directory), OpenStores.contains(own.identity) { return thisProcess }
        return try findByLocks(in: directory)
    }

    /// The same for a directory that is in this process's registry because it is just being opened.
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
        // The kernel names the process of a POSIX lock, and none for a lock of ours.
        if question.l_pid > 0 {
            return StoreHolder(
                processID: question.l_pid, command: command(of: question.l_pid), isThisProcess: false)
        }
        return StoreHolder(description: (try? SystemFiles.readUnsized(lock)) ?? []) ?? unknown
    }

    /// Whether this process has the file open, through whatever library.
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
