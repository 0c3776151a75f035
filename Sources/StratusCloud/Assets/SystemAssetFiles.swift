// The operating system's files, through C functions that Swift sees with spans.

import CSystem
import FoundationEssentials
import StratusStore

/// A directory that is called by its path and reached by one that leads to it wherever it is moved.
package final class HeldDirectory: Sendable {
    private let path: String
    private let held = Locked<String?>(nil)

    package init(_ path: String) {
        self.path = path
    }

    /// By what the directory is reached from now on; nil where it is by its own path.
    package func hold(by path: String?) { held.withLock { $0 = path } }

    package var isHeld: Bool { held.value != nil && held.value != Self.nowhere }

    /// Nothing lies in the directory until it is held again: what lies at its path may be another.
    package func lose() { held.withLock { $0 = Self.nowhere } }

    /// No directory, and none can be made in it.
    private static let nowhere = "/dev/null"

    /// How a path that may lie in the directory is reached.
    package func reached(_ other: String) -> String {
        guard let held = held.value else { return other }
        // Where links are not followed, what is reached by one is named as a directory of it.
        if other == path { return held + "/." }
        return other.hasPrefix(path + "/") ? held + other.dropFirst(path.count) : other
    }
}

/// The operating system's files.
package struct SystemAssetFiles: AssetFiles {
    private let held: HeldDirectory?

    /// What lies in `held` is created, renamed and removed there, whatever has taken its place.
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
        // Asked first for the errno: what Foundation throws hides it.
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
