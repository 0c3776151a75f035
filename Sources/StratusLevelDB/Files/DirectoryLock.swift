// A lock on a directory that a process works in, without a file for it. It ends with its process, however that ends, and
// goes with the directory when that is renamed. So what is left of a dead process can be told from the work of a living one.
//
// Unsafe: C functions get paths and structures that live for the length of the call.

internal import Glibc
internal import StratusStore

final class DirectoryLock: Sendable {
    private let descriptor: Int32

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Locks a directory. Nil where another has the lock, or where the directory is no longer what lies at the path.
    ///
    /// Throws where the directory cannot be opened, and where its file system has no such locks.
    static func take(_ path: String) throws(SystemError) -> DirectoryLock? {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            if [ENOENT, ENOTDIR, ELOOP].contains(errno) { return nil }
            throw SystemError(number: errno, call: "open", path: path)
        }
        let lock = DirectoryLock(descriptor: descriptor)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            if errno == EWOULDBLOCK { return nil }
            throw SystemError(number: errno, call: "flock", path: path)
        }
        return try lock.isOf(path) ? lock : nil
    }

    /// Whether the locked directory lies at the path.
    func isOf(_ path: String) throws(SystemError) -> Bool {
        var held = stat()
        guard unsafe fstat(descriptor, &held) == 0 else {
            throw SystemError(number: errno, call: "fstat", path: path)
        }
        return try FileSystem.status(path)?.identity == FileSystem.status(held).identity
    }
}
