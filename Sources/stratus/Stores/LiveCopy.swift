// A copy of a store that another process holds, for as long as a verb reads it.
//
// The copy is made as a backup is: without the other process's help, without its lock, and without a file in its directory.
// Tables and contents are linked, so that it costs little however large the store is. It lies in a private directory that
// is removed when the verb ends, also by a signal; where the verb was killed, by the next one.

import Foundation
import StratusCloud
import StratusKit
import StratusStore

final class LiveCopy: Sendable {
    /// A content must come and go within milliseconds for one attempt to fail.
    private static let attemptLimit = 20
    /// By how much longer each attempt waits than the one before, up to half a second before the last: what hinders one may
    /// pass.
    private static let pauseSeconds = 0.025
    /// The variable of the environment that names the folder for copies.
    static let folderVariable = "STRATUS_SCRATCH"

    /// When the copy was begun: what was saved before is in it.
    let date: Date
    private let scratch: StoreFiles.Scratch
    /// How many tables could not be shared with the store.
    let copiedTableCount: Int

    var path: String { scratch.path }

    private init(_ scratch: StoreFiles.Scratch, _ date: Date, copiedTableCount: Int) {
        self.scratch = scratch
        self.date = date
        self.copiedTableCount = copiedTableCount
    }

    /// Copies the store at `source`, and opens the copy by `open`, which is given its path.
    ///
    /// Throws the errors of a backup.
    static func make(
        of source: String, withAssets: Bool, _ open: (_ path: String) throws -> OpenedStore
    ) throws -> (copy: LiveCopy, opened: OpenedStore) {
        // Links take no time; many contents do, and tables for which only copies will do.
        let progress = ProgressLine("copying", total: nil, on: Console(usesJSON: false))
        defer { progress.finish() }
        var lost: Set<AssetKey> = []
        // Folders without room for the copy.
        var full: Set<String> = []
        for number in 0..<attemptLimit {
            Blocking.sleep(seconds: Double(number) * pauseSeconds)
            let scratch = try makeScratch(for: source, besides: full)
            do {
                let date = Date()
                var contents = withAssets ? AssetBackup(from: assets(in: source), to: assets(in: scratch.path)) : nil
                try contents?.takeAll { progress.update("assets", $0, of: $1) }
                let copiedCount = try StoreFiles.copyToRead(source, into: scratch.path) {
                    progress.update("tables", $0, of: $1)
                }
                let opened = try open(scratch.path)
                if try takeNamed(&contents, opened, progress, &lost) {
                    return (LiveCopy(scratch, date, copiedTableCount: copiedCount), opened)
                }
                opened.close()
            } catch {
                scratch.remove()
                let named = Self.namingFolder(of: scratch, error)
                // The folders on the store's own file system go first, and are as full as the store's.
                guard let folder = (named as? ToolError)?.fields["folder"], full.insert(folder).inserted,
                    folders.contains(where: { !full.contains($0) && !lies($0, in: source) })
                else { throw named }
                continue
            }
            scratch.remove()
        }
        throw ToolError(
            .refused, "The store changed faster than it could be copied: try again when it is calmer.",
            ["path": source, "attempts": "\(attemptLimit)"])
    }

    /// The same error; where it was the copy that had no room, one that says so.
    private static func namingFolder(of scratch: StoreFiles.Scratch, _ error: any Error) -> any Error {
        guard StoreFailure(error) == .diskFull else { return error }
        let folder = URL(fileURLWithPath: scratch.path).deletingLastPathComponent().path
        return ToolError(
            .refused,
            "There is no room for the copy of the store that would be read: make room in the folder, or name another by "
                + "the variable.", ["folder": folder, "variable": folderVariable])
    }

    /// Takes the contents that the copied records name and that came after the others. Returns false where one has gone
    /// again: then all is to be done again. One that an attempt before has not found either is missing from the store, which
    /// is for the verb to report.
    private static func takeNamed(
        _ contents: inout AssetBackup?, _ opened: OpenedStore, _ progress: ProgressLine, _ lost: inout Set<AssetKey>
    ) throws -> Bool {
        func tell(_ done: Int, _ total: Int) { progress.update("and comparing assets", done, of: total) }
        do {
            let found = try contents?.takeNamed(in: opened.engine, progress: tell) ?? []
            defer { lost = found }
            guard found.isSubset(of: lost) else { return false }
            // What nobody names is being saved or has just gone; it is the host's business.
            try contents?.finish(with: opened.engine, progress: tell)
            return true
        } catch {
            opened.close()
            throw error
        }
    }

    /// Removes the copy, which must have been closed.
    func remove() { scratch.remove() }

    /// The contents of assets in a store's directory.
    static func assets(in directory: String) -> AssetStore {
        // Where a host keeps them, beside the engine's files.
        AssetStore(
            directory: URL(fileURLWithPath: directory).appendingPathComponent("assets").path, session: UUID.drawn(),
            clock: SystemClock())
    }

    // MARK: Where copies lie

    /// Removes what verbs that were killed have left: copies, and what they worked in.
    static func sweep() {
        for folder in Set(folders + [FileManager.default.temporaryDirectory.path]) { StoreFiles.Scratch.sweep(folder) }
        MemoryDirectories.sweep()
    }

    private static func makeScratch(for source: String, besides full: Set<String>) throws -> StoreFiles.Scratch {
        let device = device(of: source)
        let outside = folders.filter { !full.contains($0) && !lies($0, in: source) }
        // Only one file system can share tables with the store: its folders go first.
        let near = outside.filter { self.device(of: $0) == device }
        let far = outside.filter { self.device(of: $0) != device }
        var failure: (any Error)?
        for folder in near + far {
            do {
                let made = try StoreFiles.Scratch.make(in: folder, for: .reading)
                ErrorReport.show(source, insteadOf: made.path)
                return made
            } catch { failure = failure ?? error }
        }
        throw failure
            ?? ToolError(
                .refused, "There is no folder outside the store for a copy of it: name one by the variable.",
                ["variable": folderVariable])
    }

    /// The folders in which copies are made, the preferred one first.
    private static var folders: [String] {
        let environment = ProcessInfo.processInfo.environment
        if let folder = environment[folderVariable], !folder.isEmpty { return [AbsolutePath.of(folder)] }
        let home = environment["HOME"].map { $0 + "/.cache" }
        let candidates = [environment["TMPDIR"], "/tmp", "/var/tmp", environment["XDG_CACHE_HOME"] ?? home]
        return candidates.compactMap { $0 }.filter { $0.hasPrefix("/") }.map { AbsolutePath.of($0) }
    }

    /// Nothing is ever written into the directory of a store.
    private static func lies(_ folder: String, in store: String) -> Bool {
        let paths = [folder, store].map { URL(fileURLWithPath: $0).standardizedFileURL.resolvingSymlinksInPath().path }
        return (paths[0] + "/").hasPrefix(paths[1] + "/")
    }

    private static func device(of path: String) -> UInt64? {
        try? Disk.factsOfTarget(of: Array(path.utf8)).device
    }
}
