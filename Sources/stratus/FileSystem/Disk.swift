// Calls on files and directories, whose paths are bytes: facts, link targets, contents, digests, listings.

import CStratusSystem
import Foundation
import StratusCloud

/// What kind of thing a path names.
enum FileKind: Hashable, Sendable {
    case folder
    case file
    case symbolicLink
    /// A device, a pipe or a socket.
    case special

    /// Reads the kind from the operating system's mode.
    init(mode: UInt32) {
        switch mode & 0o170000 {
        case 0o040000: self = .folder
        case 0o100000: self = .file
        case 0o120000: self = .symbolicLink
        default: self = .special
        }
    }
}

/// What the operating system reports about a file without opening it.
struct FileFacts: Hashable, Sendable {
    let kind: FileKind
    let byteCount: Int64
    let permissions: Int64
    let modifiedSeconds: Int64
    let modifiedNanoseconds: Int64
    /// The file system of the file.
    let device: UInt64

    fileprivate init(_ facts: cfiletree_facts) throws(FileError) {
        guard facts.error == 0 else { throw FileError(number: facts.error) }
        kind = FileKind(mode: facts.mode)
        byteCount = facts.byte_count
        permissions = Int64(facts.mode & 0o7777)
        modifiedSeconds = facts.modified_seconds
        modifiedNanoseconds = facts.modified_nanoseconds
        device = facts.device
    }
}

/// Calls on files and directories.
enum Disk {
    /// The facts of a path, without following a symbolic link.
    static func facts(of path: [UInt8]) throws(FileError) -> FileFacts {
        try FileFacts(cfiletree_facts_of_path(path.span))
    }

    static func facts(of path: String) throws(FileError) -> FileFacts { try facts(of: Array(path.utf8)) }

    /// The facts of a path, following symbolic links.
    static func factsOfTarget(of path: [UInt8]) throws(FileError) -> FileFacts {
        try FileFacts(cfiletree_facts_of_target(path.span))
    }

    static func factsOfTarget(of path: String) throws(FileError) -> FileFacts {
        try factsOfTarget(of: Array(path.utf8))
    }

    /// The target of a symbolic link.
    static func target(ofLink path: [UInt8]) throws(FileError) -> [UInt8] {
        var target = [UInt8](repeating: 0, count: 4_096)
        let count = try fill(&target) { cfiletree_read_link(path.span, &$0) }
        return Array(target[..<count])
    }

    /// The SHA-256 of a file's content, 32 bytes, or nil if the content is longer than `limit` bytes.
    ///
    /// `buffer` is reused from file to file; its size is the size of one read.
    static func digest(
        of path: [UInt8], atMost limit: Int64, buffer: inout [UInt8]
    ) throws(FileError) -> [UInt8]? {
        var digest = ContentDigest()
        var total: Int64 = 0
        try read(path, &buffer) { piece in
            total += Int64(piece.count)
            digest.add(piece)
            return total <= limit
        }
        return total <= limit ? digest.finish() : nil
    }

    /// The content of a file, also of one without a size, such as those in /proc.
    static func contents(of path: [UInt8]) throws(FileError) -> [UInt8] {
        var contents: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        try read(path, &buffer) {
            contents += $0
            return true
        }
        return contents
    }

    /// Reads a file piece by piece, as long as `take` returns true.
    private static func read(
        _ path: [UInt8], _ buffer: inout [UInt8], _ take: (ArraySlice<UInt8>) -> Bool
    ) throws(FileError) {
        let descriptor = try FileError.check(cfiletree_open_file(path.span))
        defer { cfiletree_close(descriptor) }
        while true {
            let count = try fill(&buffer) { cfiletree_read(descriptor, &$0) }
            guard count > 0, take(buffer[..<count]) else { return }
        }
    }

    /// Runs a call that fills an array, and returns how many bytes it filled.
    static func fill(
        _ bytes: inout [UInt8], _ call: (inout MutableSpan<UInt8>) -> Int64
    ) throws(FileError) -> Int {
        var span = bytes.mutableSpan
        return Int(try FileError.check(call(&span)))
    }

    /// Writes all bytes to an open file.
    static func write(_ bytes: [UInt8], to descriptor: Int32) throws(FileError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            rest = rest.dropFirst(Int(try FileError.check(cfiletree_write(descriptor, rest.span))))
        }
    }
}

/// A call on a file or directory that the operating system refused.
struct FileError: Error, Hashable {
    let number: Int32

    /// The errors of a file system without hard links.
    static let lacksLinks: Set<Int32> = [EPERM, EMLINK, ENOSYS, EOPNOTSUPP]

    /// The result of a call that returns the negative number of an error.
    @discardableResult
    static func check<Result: BinaryInteger>(_ result: Result) throws(FileError) -> Result {
        guard result >= 0 else { throw FileError(number: -Int32(truncatingIfNeeded: result)) }
        return result
    }

    /// Whether the disk, or the user's share of it, is full.
    var isLackOfSpace: Bool { number == ENOSPC || number == EDQUOT }

    /// Whether the file does not exist.
    var isAbsence: Bool { number == ENOENT || number == ENOTDIR }

    var reason: String {
        switch number {
        case EPERM: "not permitted"
        case ENOENT: "no such file or directory"
        case EIO: "the device failed"
        case EBADF: "it is not open"
        case EACCES: "permission denied"
        case EEXIST: "it already exists"
        case ENOTDIR: "not a directory"
        case EISDIR: "is a directory"
        case EMFILE: "too many open files"
        case ENOSPC: "no space left on the disk"
        case ENAMETOOLONG: "the path is too long"
        case ELOOP: "unexpected symbolic link"
        default: "operating system error \(number)"
        }
    }
}

/// The names in a directory at one moment, in byte order, without "." and "..". They are in one piece of memory: a
/// million names take some tens of megabytes.
struct DirectoryListing {
    private var arena: [UInt8] = []
    private var entries: [(start: UInt32, count: UInt16)] = []

    var count: Int { entries.count }

    func name(at index: Int) -> ArraySlice<UInt8> { Self.name(entries[index], in: arena) }

    private static func name(_ entry: (start: UInt32, count: UInt16), in arena: [UInt8]) -> ArraySlice<UInt8> {
        arena[Int(entry.start)..<Int(entry.start) + Int(entry.count)]
    }

    /// Reads the directory at `path`.
    init(of path: [UInt8], buffer: inout [UInt8]) throws(FileError) {
        let descriptor = try FileError.check(cfiletree_open_directory(path.span))
        defer { cfiletree_close(descriptor) }
        while true {
            let count = try Disk.fill(&buffer) { cfiletree_read_entries(descriptor, &$0) }
            if count == 0 { break }
            try append(buffer[..<count])
        }
        entries.sort { [arena] in
            Self.name($0, in: arena).lexicographicallyPrecedes(Self.name($1, in: arena))
        }
    }

    /// Reads entries in the kernel's layout: inode 8 bytes, offset 8, entry length 2, kind 1, name, NUL, padding.
    private mutating func append(_ bytes: ArraySlice<UInt8>) throws(FileError) {
        let nameOffset = 19
        var position = bytes.startIndex
        while position + nameOffset < bytes.endIndex {
            let length = Int(bytes[position + 16]) | Int(bytes[position + 17]) << 8
            let end = position + length
            guard length > nameOffset, end <= bytes.endIndex else { throw FileError(number: EIO) }
            let name = bytes[(position + nameOffset)..<end].prefix { $0 != 0 }
            position = end
            if name.elementsEqual([UInt8(ascii: ".")]) || name.elementsEqual("..".utf8) { continue }
            guard let start = UInt32(exactly: arena.count) else { throw FileError(number: ENOMEM) }
            entries.append((start, UInt16(name.count)))
            arena.append(contentsOf: name)
        }
    }
}
