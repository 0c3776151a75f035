// The operating system's files, through C functions that Swift sees with spans.

import CFileTree
import FoundationEssentials

/// The operating system's files.
package struct SystemAssetFiles: AssetFiles {
    package init() {}

    package func openFile(_ path: String) throws(FileFailure) -> Int32 {
        try Self.checked(cfiletree_open_file([UInt8](path.utf8).span))
    }

    package func createFile(_ path: String) throws(FileFailure) -> Int32 {
        try Self.checked(cfiletree_create_file([UInt8](path.utf8).span))
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
        _ = try Self.checked(cfiletree_rename([UInt8](path.utf8).span, [UInt8](newPath.utf8).span))
    }

    package func link(_ path: String, to newPath: String) throws(FileFailure) {
        _ = try Self.checked(cfiletree_link([UInt8](path.utf8).span, [UInt8](newPath.utf8).span))
    }

    package func removeFile(_ path: String) throws(FileFailure) {
        _ = try Self.checked(cfiletree_remove_file([UInt8](path.utf8).span))
    }

    package func createDirectory(_ path: String) throws(FileFailure) {
        _ = try Self.checked(cfiletree_create_directory([UInt8](path.utf8).span))
    }

    package func removeDirectory(_ path: String) throws(FileFailure) {
        _ = try Self.checked(cfiletree_remove_directory([UInt8](path.utf8).span))
    }

    package func syncDirectory(_ path: String) throws(FileFailure) {
        let descriptor = try Self.checked(cfiletree_open_directory([UInt8](path.utf8).span))
        defer { cfiletree_close(descriptor) }
        _ = try Self.checked(cfiletree_sync(descriptor))
    }

    package func names(in path: String) throws(FileFailure) -> [String] {
        // Asked first for the errno: what Foundation throws hides it.
        cfiletree_close(try Self.checked(cfiletree_open_directory([UInt8](path.utf8).span)))
        do {
            let names = try FileManager.default.contentsOfDirectory(atPath: path)
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
