// Walks a directory tree: folders before their contents, siblings in byte order, links not followed.
//
// Invariants: memory holds only the listings on one path from the top down. Changes to the tree do not stop the walk:
// it returns files that have vanished or cannot be read as problems, and never throws.

import Foundation

/// A file that the walk has found.
struct WalkedFile {
    /// The path below the top; empty for the top itself.
    let relativePath: [UInt8]
    let name: FileName
    let facts: FileFacts
}

/// A kind of problem with files.
enum FileProblem: String, CaseIterable, Hashable, Sendable {
    /// The file was listed and no longer exists.
    case vanished
    /// A folder's names cannot be read.
    case unreadableFolder
    /// A file's content cannot be read.
    case unreadableFile
    /// The operating system does not report the file's facts.
    case unreadableFacts
    /// A device, a pipe or a socket.
    case specialFile
    /// The file has another type than its record, which must stay.
    case keptType
}

enum WalkedItem {
    case file(WalkedFile)
    /// A file that the walk could not read.
    case problem(FileProblem, relativePath: [UInt8], FileError)
}

struct TreeWalker {
    private struct Level {
        let listing: DirectoryListing
        var position = 0
        /// The length of the walker's path at this folder.
        let pathByteCount: Int
    }

    private var stack: [Level] = []
    /// The current path: the top as it was given, then names.
    private var path: [UInt8]
    private let topByteCount: Int
    /// What is returned next: the top, or why the last returned folder could not be opened.
    private var pending: [WalkedItem] = []
    private var buffer = [UInt8](repeating: 0, count: 128 << 10)

    /// Starts at a folder.
    ///
    /// Throws `FileError` if the folder does not exist.
    init(top: [UInt8], name: FileName) throws(FileError) {
        var trimmed = top
        while trimmed.count > 1, trimmed.last == UInt8(ascii: "/") { trimmed.removeLast() }
        let facts = try Disk.factsOfTarget(of: trimmed)
        guard facts.kind == .folder else { throw FileError(number: ENOTDIR) }
        path = trimmed == [UInt8(ascii: "/")] ? [] : trimmed
        topByteCount = path.count
        let item = file([], name, facts)
        pending.insert(item, at: 0)
    }

    /// The next file or problem, or nil at the end.
    mutating func next() -> WalkedItem? {
        if !pending.isEmpty { return pending.removeFirst() }
        while let level = stack.last {
            guard level.position < level.listing.count else {
                stack.removeLast()
                continue
            }
            stack[stack.count - 1].position += 1
            path.removeLast(path.count - level.pathByteCount)
            path.append(UInt8(ascii: "/"))
            let name = FileName(Array(level.listing.name(at: level.position)))
            path.append(contentsOf: name.bytes)
            do {
                return file(relativePath, name, try Disk.facts(of: path))
            } catch {
                let kind = error.isAbsence ? FileProblem.vanished : .unreadableFacts
                return .problem(kind, relativePath: relativePath, error)
            }
        }
        return nil
    }

    /// A file that was found. If it is a folder, opens it, so that the walk continues inside.
    private mutating func file(_ relativePath: [UInt8], _ name: FileName, _ facts: FileFacts) -> WalkedItem {
        if facts.kind == .folder { open() }
        return .file(WalkedFile(relativePath: relativePath, name: name, facts: facts))
    }

    private var relativePath: [UInt8] { Array(path[min(topByteCount + 1, path.count)...]) }

    private mutating func open() {
        do {
            // "/." allows the top to be a link to a folder; below it, a folder that became a link is refused.
            let opened = path.count == topByteCount ? path + "/.".utf8 : path
            let listing = try DirectoryListing(of: opened, buffer: &buffer)
            stack.append(Level(listing: listing, pathByteCount: path.count))
        } catch {
            let kind = error.number == ENOENT ? FileProblem.vanished : .unreadableFolder
            pending.append(.problem(kind, relativePath: relativePath, error))
        }
    }
}
