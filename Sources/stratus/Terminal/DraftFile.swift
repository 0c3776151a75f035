// A file that a verb was asked to make: it appears whole and durable, or not at all.
//
// Invariants:
//   1. It is written under another name beside its place, ".stratus-draft-<process>-<number>", for its owner alone to read,
//      and takes its name when it is on the disk. The name is on the disk, too, when `finish` returns.
//   2. The draft is locked as long as its process lives. So the next verb that makes a file in the folder, or opens a store
//      in it, can tell the draft of a killed verb and removes it.

import ArgumentParser
import CSystem
import Foundation
import FoundationEssentials
import StratusKit
import Synchronization

final class DraftFile: Sendable {
    private static let prefix = ".stratus-draft-"
    /// So many names are tried.
    private static let maximumNumber = 1_000

    private final class Standing: Sendable {
        /// Whether the file has its name, or nobody will ask for it again.
        let isOver = Mutex(false)
    }

    private let standing: Standing
    private let path: [UInt8]
    private let folder: [UInt8]
    private let draft: [UInt8]
    private let descriptor: Int32

    /// Makes the draft. A signal that ends the process removes it; `name` is how the note about that calls the file, if there
    /// is to be one.
    ///
    /// Throws `FileError` where there can be none.
    init(for path: String, toldAs name: String? = nil) throws {
        let path = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
        for left in Self.sweep(folder.isEmpty ? "/" : folder) { Console.noteOfLeftover(left) }
        self.path = Array(path.utf8)
        self.folder = Array((folder.isEmpty ? "/" : folder).utf8)
        let standing = Standing()
        self.standing = standing
        (draft, descriptor) = try StopSignal.making {
            let made = try Self.make(in: folder)
            StopSignal.beforeEnd {
                guard Self.discard(made.draft, standing), let name else { return }
                UnfinishedWork.tell(name)
            }
            return made
        }
    }

    deinit { cfiletree_close(descriptor) }

    /// Throws `FileError`.
    func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = cfiletree_write(descriptor, rest.span)
            guard count >= 0 else { throw FileError(number: Int32(truncatingIfNeeded: -count)) }
            rest = rest.dropFirst(Int(count))
        }
    }

    /// Gives the file its name, in place of what has it where it is `replacing`. Everything is on the disk when this returns,
    /// and stays. Never returns where a signal has taken the draft away.
    ///
    /// Throws `FileError`, with nothing left: `alreadyThere` where something has the name. Only a file that has replaced
    /// another stays where the folder cannot be synced.
    func finish(replacing: Bool) throws {
        do {
            try Self.check(cfiletree_sync(descriptor))
            try StopSignal.making {
                try takeName(replacing)
                standing.isOver.withLock { $0 = true }
            }
        } catch {
            discard()
            throw error
        }
    }

    /// Removes the draft, unless the file has its name.
    func discard() { _ = Self.discard(draft, standing) }

    /// Returns whether it was there.
    private static func discard(_ draft: [UInt8], _ standing: Standing) -> Bool {
        standing.isOver.withLock { isOver in
            guard !isOver else { return false }
            isOver = true
            return cfiletree_remove_file(draft.span) == 0
        }
    }

    private func takeName(_ replacing: Bool) throws {
        let (draft, path) = (draft, path)
        // A link is made only where nothing is.
        var named = replacing ? cfiletree_rename(draft.span, path.span) : cfiletree_link(draft.span, path.span)
        var isLinked = !replacing
        if !replacing, FileError.lacksLinks.contains(-named), (try? Disk.facts(of: path)) == nil {
            // A file system without links: nothing is in the way just now.
            named = cfiletree_rename(draft.span, path.span)
            isLinked = false
        }
        try Self.check(named)
        do {
            let removed = isLinked ? cfiletree_remove_file(draft.span) : 0
            try Self.check(removed)
            try syncFolder()
        } catch {
            if !replacing { _ = cfiletree_remove_file(path.span) }
            throw error
        }
    }

    private func syncFolder() throws {
        let folder = folder
        let descriptor = cfiletree_open_directory(folder.span)
        try Self.check(descriptor)
        defer { cfiletree_close(descriptor) }
        try Self.check(cfiletree_sync(descriptor))
    }

    // MARK: Drafts in a folder

    private static func make(in folder: String) throws -> (draft: [UInt8], descriptor: Int32) {
        for number in 1...maximumNumber {
            let draft = Array("\(folder)/\(prefix)\(ProcessInfo.processInfo.processIdentifier)-\(number)".utf8)
            let descriptor = cfiletree_create_file(draft.span)
            if descriptor == -FileError.alreadyThere { continue }
            try check(descriptor)
            // Where there are no locks nobody takes it for a dead process's. Another verb may be about to remove it, or have
            // done so, before it was locked.
            let locked = cfiletree_lock(descriptor)
            if locked != -FileError.wouldBlock, isOpen(descriptor, at: draft) { return (draft, descriptor) }
            cfiletree_close(descriptor)
        }
        throw FileError(number: FileError.alreadyThere)
    }

    /// Removes the drafts in a folder whose processes have ended without them. Returns their paths.
    static func sweep(_ folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter(isDraft).map { folder == "/" ? "/\($0)" : "\(folder)/\($0)" }.filter {
            sweepOne(Array($0.utf8))
        }
    }

    private static func sweepOne(_ draft: [UInt8]) -> Bool {
        guard (try? Disk.facts(of: draft))?.kind == .file else { return false }
        let descriptor = cfiletree_open_file(draft.span)
        guard descriptor >= 0 else { return false }
        defer { cfiletree_close(descriptor) }
        guard cfiletree_lock(descriptor) == 0, isOpen(descriptor, at: draft) else { return false }
        return cfiletree_remove_file(draft.span) == 0
    }

    private static func isOpen(_ descriptor: Int32, at path: [UInt8]) -> Bool {
        let (held, named) = (cfiletree_facts_of_descriptor(descriptor), cfiletree_facts_of_path(path.span))
        return held.error == 0 && named.error == 0 && held.inode == named.inode && held.device == named.device
    }

    private static func isDraft(_ name: String) -> Bool {
        let numbers = name.dropFirst(prefix.count).split(separator: "-", omittingEmptySubsequences: false)
        return name.hasPrefix(prefix) && numbers.count == 2 && numbers.allSatisfy { UInt64($0) != nil }
    }

    private static func check(_ result: Int32) throws(FileError) {
        guard result >= 0 else { throw FileError(number: -result) }
    }
}

// Where a picture or a page goes: to standard output, or whole into a file of its own.

/// The arguments of a verb that makes a file for people to look at.
struct OutputArguments: ParsableArguments {
    @Option(help: ArgumentHelp("The file to make; else standard output.", valueName: "file"), completion: .file())
    var output: String?

    @Flag(help: "Replace the file where there is one.")
    var force = false

    /// Looks before the work is done whether there is room for the file.
    ///
    /// Throws `refused` where a file is there and is not to be replaced, or where a directory is, `notFound` where there is
    /// no directory for it, `refused` too for a place in a store.
    func check() throws {
        guard let output else { return }
        guard !output.isEmpty else { throw ToolError(.usage, "--output names no file.") }
        let folder = URL(fileURLWithPath: AbsolutePath.of(output)).deletingLastPathComponent().path
        guard (try? Disk.factsOfTarget(of: Array(folder.utf8)))?.kind == .folder else {
            throw ToolError(.notFound, "There is no directory for the file: make it first.", ["file": output])
        }
        try StorePath.requireOutside(output)
        guard let facts = try? Disk.facts(of: Array(output.utf8)) else { return }
        if facts.kind == .folder {
            throw ToolError(.refused, "A directory is there: name a file in it.", ["file": output])
        }
        guard force else { throw PageFile.taken(output) }
    }
}

/// A file that appears whole or not at all.
enum PageFile {
    static func taken(_ path: String) -> ToolError {
        ToolError(.refused, "A file is there already: say --force to replace it, or name another.", ["file": path])
    }

    /// Writes the file as a draft, which gets its name once it is on the disk. What is drawn of a store is for its owner alone
    /// to read.
    ///
    /// Throws `refused` where a file is there and is not to be replaced, `outputFailed` where it cannot be written.
    static func write(_ text: String, to path: String, replacing: Bool) throws {
        do {
            let draft = try DraftFile(for: path)
            defer { draft.discard() }
            try draft.write(Array(text.utf8))
            try draft.finish(replacing: replacing)
        } catch let error as FileError {
            if error.number == FileError.alreadyThere, !replacing { throw taken(path) }
            throw failed(path, error.reason)
        }
    }

    private static func failed(_ path: String, _ reason: String) -> ToolError {
        ToolError(
            .outputFailed, "The file cannot be written: name one where there is room and where you may write.",
            ["file": path, "reason": reason])
    }
}
