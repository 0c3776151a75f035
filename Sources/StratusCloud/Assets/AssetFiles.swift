// The file system calls that assets need, as a protocol: the operating system implements it, and in tests a file system
// that fails at any call and loses unsynced data at a crash.

import CStratusSystem
import FoundationEssentials
import StratusStore

/// A failure of the operating system: an errno.
package struct FileFailure: Error, Hashable, Sendable {
    package let number: Int32
    package init(number: Int32) { self.number = number }

    package static let notPermitted: Int32 = 1
    package static let notFound: Int32 = 2
    package static let inputOutput: Int32 = 5
    package static let exists: Int32 = 17
    package static let notADirectory: Int32 = 20
    package static let isADirectory: Int32 = 21
    package static let invalid: Int32 = 22
    package static let noSpace: Int32 = 28
    package static let irregular: Int32 = 29
    package static let nameTooLong: Int32 = 36
    package static let tooManyLinks: Int32 = 40
    package static let overQuota: Int32 = 122

    /// Whether no file exists at the path.
    package var isAbsence: Bool {
        [Self.notFound, Self.notADirectory, Self.nameTooLong, Self.invalid].contains(number)
    }
    /// Whether the disk is full.
    package var isFull: Bool { number == Self.noSpace || number == Self.overQuota }

    package var reason: String {
        switch number {
        case Self.notPermitted: "not permitted"
        case Self.notFound: "no such file or directory"
        case Self.inputOutput: "the device failed"
        case 13: "permission denied"
        case Self.exists: "it exists already"
        case Self.notADirectory: "not a directory"
        case Self.isADirectory: "is a directory"
        case 24: "too many open files"
        case Self.noSpace: "no space left on the disk"
        case Self.irregular: "it is a pipe, a device or a directory, and no file"
        case Self.nameTooLong: "the path is too long"
        case Self.tooManyLinks: "it is a symbolic link"
        default: "error \(number) of the operating system"
        }
    }
}

/// The attributes of an open file. They differ if the file was changed meanwhile by any means.
package struct AssetFileFacts: Hashable, Sendable {
    package var isRegular: Bool
    package var byteCount: Int64
    package var modifiedNanoseconds: Int64 = 0
    /// When content or attributes last changed, which no call can set back.
    package var changedNanoseconds: Int64 = 0
}

/// Files by path. Every call may block its thread.
package protocol AssetFiles: Sendable {
    /// Opens a file for reading. Refuses a symbolic link, and does not wait for a pipe.
    func openFile(_ path: String) throws(FileFailure) -> Int32
    /// Creates a file that does not exist yet, and opens it for writing.
    func createFile(_ path: String) throws(FileFailure) -> Int32
    func facts(_ descriptor: Int32) throws(FileFailure) -> AssetFileFacts
    /// Fills the beginning of `buffer` with the next bytes. Returns how many; 0 at the end.
    func read(_ descriptor: Int32, into buffer: inout [UInt8]) throws(FileFailure) -> Int
    /// Writes the first `count` bytes of `buffer`, all of them.
    func write(_ descriptor: Int32, _ buffer: [UInt8], count: Int) throws(FileFailure)
    /// A hint that the disk may begin to write the data.
    func beginSync(_ descriptor: Int32)
    /// Returns when the file's content is on the disk. Its name is durable after its directory was synced.
    func sync(_ descriptor: Int32) throws(FileFailure)
    func close(_ descriptor: Int32)
    /// Renames a file, replacing a file of the new name.
    func rename(_ path: String, to newPath: String) throws(FileFailure)
    /// Gives a file a second name. Fails if the file system does not support it.
    func link(_ path: String, to newPath: String) throws(FileFailure)
    func removeFile(_ path: String) throws(FileFailure)
    /// Creates a directory. Throws `exists` for an existing one.
    func createDirectory(_ path: String) throws(FileFailure)
    /// Removes an empty directory.
    func removeDirectory(_ path: String) throws(FileFailure)
    /// Returns when the names in a directory are on the disk.
    func syncDirectory(_ path: String) throws(FileFailure)
    /// The names in a directory, in byte order.
    func names(in path: String) throws(FileFailure) -> [String]
}

extension AssetFiles {
    /// By default, files have one name.
    package func link(_ path: String, to newPath: String) throws(FileFailure) {
        throw FileFailure(number: FileFailure.notPermitted)
    }

    /// Opens one of the store's own files for reading. Refuses a pipe or device in its place, which might never end.
    package func openRegularFile(_ path: String) throws(FileFailure) -> Int32 {
        let descriptor = try openFile(path)
        do throws(FileFailure) {
            guard try facts(descriptor).isRegular else { throw FileFailure(number: FileFailure.irregular) }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Gives the file a second name, or copies it if that is not supported. The name is durable after its directory was
    /// synced. Returns whether it was copied.
    ///
    /// Throws `FileFailure` with nothing created: `exists` if the new name is taken.
    package func linkOrCopy(_ path: String, to newPath: String) throws(FileFailure) -> Bool {
        do throws(FileFailure) {
            try link(path, to: newPath)
            return false
        } catch {
            if error.isAbsence || error.number == FileFailure.exists { throw error }
        }
        let source = try openRegularFile(path)
        defer { close(source) }
        let target = try createFile(newPath)
        do throws(FileFailure) {
            defer { close(target) }
            var buffer = [UInt8](repeating: 0, count: AssetStore.bufferByteCount)
            while true {
                let count = try read(source, into: &buffer)
                if count == 0 { break }
                try write(target, buffer, count: count)
            }
            try sync(target)
            return true
        } catch {
            try? removeFile(newPath)
            throw error
        }
    }
}

/// A directory that is named by its path, and reached by another path that leads to it even after it was moved.
package final class HeldDirectory: Sendable {
    private let path: String
    private let held = Locked<String?>(nil)

    package init(_ path: String) {
        self.path = path
    }

    /// Sets the path by which the directory is reached; nil for its own.
    package func hold(by path: String?) { held.withLock { $0 = path } }

    package var isHeld: Bool { held.value != nil && held.value != Self.nowhere }

    /// Makes the directory unreachable until it is held again: another may be at its path.
    package func lose() { held.withLock { $0 = Self.nowhere } }

    /// Not a directory, and none can be created in it.
    private static let nowhere = "/dev/null"

    /// The path by which a path, possibly in the directory, is reached.
    package func reached(_ other: String) -> String {
        guard let held = held.value else { return other }
        // Some calls do not follow links, so a link's target needs "/." to be opened as a directory.
        if other == path { return held + "/." }
        return other.hasPrefix(path + "/") ? held + other.dropFirst(path.count) : other
    }
}

/// The operating system's files, through C functions with span parameters.
package struct SystemAssetFiles: AssetFiles {
    private let held: HeldDirectory?

    /// Files in `held` are created, renamed and removed there, even if something else is at its path.
    package init(in held: HeldDirectory? = nil) { self.held = held }

    private func bytes(_ path: String) -> [UInt8] { [UInt8]((held?.reached(path) ?? path).utf8) }

    package func openFile(_ path: String) throws(FileFailure) -> Int32 {
        try Self.checked(cfiletree_open_file(bytes(path).span))
    }

    package func createFile(_ path: String) throws(FileFailure) -> Int32 {
        try Self.checked(cfiletree_create_file(bytes(path).span))
    }

    package func facts(_ descriptor: Int32) throws(FileFailure) -> AssetFileFacts {
        let facts = cfiletree_facts_of_descriptor(descriptor)
        guard facts.error == 0 else { throw FileFailure(number: facts.error) }
        return AssetFileFacts(
            isRegular: facts.mode & 0o170000 == 0o100000, byteCount: facts.byte_count,
            modifiedNanoseconds: facts.modified_seconds &* 1_000_000_000 &+ facts.modified_nanoseconds,
            changedNanoseconds: facts.changed_seconds &* 1_000_000_000 &+ facts.changed_nanoseconds)
    }

    package func read(_ descriptor: Int32, into buffer: inout [UInt8]) throws(FileFailure) -> Int {
        var span = buffer.mutableSpan
        let count = cfiletree_read(descriptor, &span)
        guard count >= 0 else { throw FileFailure(number: Int32(truncatingIfNeeded: -count)) }
        return Int(count)
    }

    package func write(_ descriptor: Int32, _ buffer: [UInt8], count: Int) throws(FileFailure) {
        var position = 0
        while position < count {
            let written = cfiletree_write(descriptor, buffer.span.extracting(position..<count))
            guard written > 0 else { throw FileFailure(number: Int32(truncatingIfNeeded: -written)) }
            position += Int(written)
        }
    }

    package func beginSync(_ descriptor: Int32) { cfiletree_begin_sync(descriptor) }

    package func sync(_ descriptor: Int32) throws(FileFailure) { _ = try Self.checked(cfiletree_sync(descriptor)) }

    package func close(_ descriptor: Int32) { cfiletree_close(descriptor) }

    package func rename(_ path: String, to newPath: String) throws(FileFailure) {
        _ = try Self.checked(cfiletree_rename(bytes(path).span, bytes(newPath).span))
    }

    package func link(_ path: String, to newPath: String) throws(FileFailure) {
        _ = try Self.checked(cfiletree_link(bytes(path).span, bytes(newPath).span))
    }

    package func removeFile(_ path: String) throws(FileFailure) {
        _ = try Self.checked(cfiletree_remove_file(bytes(path).span))
    }

    package func createDirectory(_ path: String) throws(FileFailure) {
        _ = try Self.checked(cfiletree_create_directory(bytes(path).span))
    }

    package func removeDirectory(_ path: String) throws(FileFailure) {
        _ = try Self.checked(cfiletree_remove_directory(bytes(path).span))
    }

    package func syncDirectory(_ path: String) throws(FileFailure) {
        let descriptor = try Self.checked(cfiletree_open_directory(bytes(path).span))
        defer { cfiletree_close(descriptor) }
        _ = try Self.checked(cfiletree_sync(descriptor))
    }

    package func names(in path: String) throws(FileFailure) -> [String] {
        // First, for the errno, which Foundation's error hides.
        cfiletree_close(try Self.checked(cfiletree_open_directory(bytes(path).span)))
        do {
            let names = try FileManager.default.contentsOfDirectory(atPath: held?.reached(path) ?? path)
            return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        } catch {
            throw FileFailure(number: FileFailure.inputOutput)
        }
    }

    private static func checked(_ result: Int32) throws(FileFailure) -> Int32 {
        guard result >= 0 else { throw FileFailure(number: -result) }
        return result
    }
}
