// Files that verbs create: whole and durable, or not at all.
//
// Invariants:
//   1. A file is written under a temporary name in the same folder, ".stratus-draft-<process>-<number>", readable only
//      for its owner. It gets its name when its content is on the disk. When `finish` returns, the name is on the disk
//      too.
//   2. The draft is locked while its process lives. So the next verb that creates a file in the folder, or opens a
//      store in it, recognises the draft of a killed verb and removes it.

import ArgumentParser
import CStratusSystem
import Foundation
import Synchronization

final class DraftFile: Sendable {
    private static let prefix = ".stratus-draft-"
    /// How many names are tried.
    private static let maximumNumber = 1_000

    private final class Standing: Sendable {
        /// Whether the file has its name or was discarded.
        let isOver = Mutex(false)
    }

    private let standing: Standing
    private let path: [UInt8]
    private let folder: [UInt8]
    private let draft: [UInt8]
    private let descriptor: Int32

    /// Creates the draft. A signal that ends the process removes it, with a note about `name` if that is not nil.
    ///
    /// Throws `FileError` if the draft cannot be created.
    init(for path: String, notedAs name: String? = nil) throws {
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
                StopSignal.noteRemoval(of: name)
            }
            return made
        }
    }

    /// Writes a whole file.
    ///
    /// Throws `FileError`.
    static func write(_ text: String, to path: String, replacing: Bool) throws {
        let draft = try DraftFile(for: path)
        try draft.write(Array(text.utf8))
        try draft.finish(replacing: replacing)
    }

    /// Removes the draft, unless the file has its name.
    deinit {
        _ = Self.discard(draft, standing)
        cfiletree_close(descriptor)
    }

    /// Throws `FileError`.
    func write(_ bytes: [UInt8]) throws { try Disk.write(bytes, to: descriptor) }

    /// Gives the file its name, and with `replacing` replaces an existing file. Everything is on the disk when this
    /// returns. Never returns if a signal has removed the draft.
    ///
    /// Throws `FileError` and leaves nothing: `EEXIST` if the name is taken. A file that has replaced another
    /// stays if its folder cannot be synced.
    func finish(replacing: Bool) throws {
        try FileError.check(cfiletree_sync(descriptor))
        try StopSignal.making {
            try takeName(replacing)
            standing.isOver.withLock { $0 = true }
        }
    }

    /// Returns whether the draft existed.
    private static func discard(_ draft: [UInt8], _ standing: Standing) -> Bool {
        standing.isOver.withLock { isOver in
            guard !isOver else { return false }
            isOver = true
            return cfiletree_remove_file(draft.span) == 0
        }
    }

    private func takeName(_ replacing: Bool) throws {
        let (draft, path, folder) = (draft, path, folder)
        // Unlike a rename, a link never replaces a file.
        var named = replacing ? cfiletree_rename(draft.span, path.span) : cfiletree_link(draft.span, path.span)
        var isLinked = !replacing
        if !replacing, FileError.lacksLinks.contains(-named), (try? Disk.facts(of: path)) == nil {
            // The file system has no links: rename, because no file has the name now.
            named = cfiletree_rename(draft.span, path.span)
            isLinked = false
        }
        try FileError.check(named)
        do {
            if isLinked { try FileError.check(cfiletree_remove_file(draft.span)) }
            let descriptor = try FileError.check(cfiletree_open_directory(folder.span))
            defer { cfiletree_close(descriptor) }
            try FileError.check(cfiletree_sync(descriptor))
        } catch {
            if !replacing { _ = cfiletree_remove_file(path.span) }
            throw error
        }
    }

    // MARK: Drafts in a folder

    private static func make(in folder: String) throws -> (draft: [UInt8], descriptor: Int32) {
        for number in 1...maximumNumber {
            let draft = Array("\(folder)/\(prefix)\(ProcessInfo.processInfo.processIdentifier)-\(number)".utf8)
            let descriptor = cfiletree_create_file(draft.span)
            if descriptor == -EEXIST { continue }
            try FileError.check(descriptor)
            // Without locks, no verb takes the draft for that of a dead process. Another verb may have removed the
            // draft before it was locked: check that it is still there.
            let locked = cfiletree_lock(descriptor)
            if locked != -EWOULDBLOCK, isOpen(descriptor, at: draft) { return (draft, descriptor) }
            cfiletree_close(descriptor)
        }
        throw FileError(number: EEXIST)
    }

    /// Removes the drafts of dead processes in a folder. Returns their paths.
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
}

/// The arguments of a verb that writes a picture or a page.
struct OutputArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp("The file to create; without it, standard output.", valueName: "file"), completion: .file())
    var output: String?

    @Flag(help: "Replace an existing file.")
    var force = false

    /// Checks before the work begins that the file can be created.
    ///
    /// Throws `refused` if a file exists and --force is missing, if a directory has the name, and for a path inside a
    /// store; `notFound` if the file's directory does not exist.
    func check() throws {
        guard let output else { return }
        guard !output.isEmpty else { throw ToolError(.usage, "The path after --output is empty: name a file.") }
        let folder = URL(fileURLWithPath: AbsolutePath.of(output)).deletingLastPathComponent().path
        guard (try? Disk.factsOfTarget(of: folder))?.kind == .folder else {
            throw ToolError(.notFound, "The directory of the file does not exist: create it first.", ["file": output])
        }
        try StorePath.requireOutside(output)
        guard let facts = try? Disk.facts(of: output) else { return }
        if facts.kind == .folder {
            throw ToolError(.refused, "The path is a directory: name a file in it.", ["file": output])
        }
        guard force else { throw Self.taken(output) }
    }

    private static func taken(_ path: String) -> ToolError {
        ToolError(.refused, "The file exists: use --force to replace it, or name another.", ["file": path])
    }

    /// Writes a file that only its owner can read. Without a file, prints the text and returns nil.
    ///
    /// Throws `refused` if the file exists and --force is missing, `outputFailed` if it cannot be written.
    func write(_ text: String, _ console: Console) throws -> String? {
        guard let path = output else {
            for line in text.split(separator: "\n") { try console.line(String(line)) }
            return nil
        }
        do {
            try DraftFile.write(text, to: path, replacing: force)
            return path
        } catch let error as FileError {
            if error.number == EEXIST, !force { throw Self.taken(path) }
            throw ToolError(
                .outputFailed, "The file cannot be written: name a path with free space that you may write to.",
                ["file": path, "reason": error.reason])
        }
    }
}
