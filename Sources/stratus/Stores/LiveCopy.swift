// A temporary copy of a store that another process holds, for a verb that reads it.
//
// The copy is created like a backup: without the help of the other process, without its lock, and without a file in its
// directory. It links tables and asset contents, so it is cheap for large stores too. It is in a private directory,
// which is removed when the verb ends, also by a signal; after a kill, the next verb removes it.

import Foundation
import StratusCloud
import StratusKit
import StratusStore

struct LiveCopy: Sendable {
    /// An attempt fails only if an asset appears and disappears within milliseconds.
    private static let attemptLimit = 20
    /// How many attempts in a row must miss an asset that the store lacks. Fewer may miss one that is replaced and used
    /// again all the time.
    private static let missLimit = 5
    /// How much longer each attempt waits than the one before: up to half a second before the last.
    private static let pauseSeconds = 0.025
    /// The environment variable that names the folder for copies.
    static let folderVariable = "STRATUS_SCRATCH"

    /// When the copy was begun. It contains everything that was saved before.
    let date: Date
    private let scratch: StoreFiles.Scratch
    /// The number of tables that had to be copied instead of linked.
    let copiedTableCount: Int

    var path: String { scratch.path }

    /// Copies the store at `source`, and opens the copy with `open`.
    ///
    /// Throws the errors of a backup.
    static func make(
        of source: String, withAssets: Bool, _ open: (_ path: String) throws -> OpenedStore
    ) throws -> (copy: LiveCopy, opened: OpenedStore) {
        // Links take no time, but many assets do, and tables that must be copied.
        let progress = ProgressLine("copying", on: Console(usesJSON: false))
        var missed: [AssetKey: Int] = [:]
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
                if try takeNamed(&contents, opened, progress, &missed) {
                    return (LiveCopy(date: date, scratch: scratch, copiedTableCount: copiedCount), opened)
                }
                opened.close()
            } catch {
                scratch.remove()
                let named = Self.namingFolder(of: scratch, error)
                // Folders on the store's file system come first, and are full together.
                guard let folder = (named as? ToolError)?.fields["folder"], full.insert(folder).inserted,
                    folders.contains(where: { !full.contains($0) && !lies($0, in: source) })
                else { throw named }
                continue
            }
            scratch.remove()
        }
        throw ToolError(
            .refused, "The store changed faster than it could be copied: try again when there are fewer writes.",
            ["path": source, "attempts": "\(attemptLimit)"])
    }

    /// The same error; if there was no room for the copy, an error that names its folder.
    private static func namingFolder(of scratch: StoreFiles.Scratch, _ error: any Error) -> any Error {
        guard StoreError.Code(of: error) == .diskFull else { return error }
        let folder = URL(fileURLWithPath: scratch.path).deletingLastPathComponent().path
        return ToolError(
            .refused,
            "There is no room for a copy of the store: make room in the folder, or name another with the variable.",
            ["folder": folder, "variable": folderVariable])
    }

    /// Copies assets that the copied records name and that were saved after the first pass. Returns false if one has
    /// already gone: then the copy must be repeated. An asset that several attempts in a row have not found is missing
    /// from the store; the verb reports it.
    private static func takeNamed(
        _ contents: inout AssetBackup?, _ opened: OpenedStore, _ progress: ProgressLine, _ missed: inout [AssetKey: Int]
    ) throws -> Bool {
        func update(_ done: Int, _ total: Int) { progress.update("and comparing assets", done, of: total) }
        do {
            let found = try contents?.takeNamed(in: opened.engine, progress: update) ?? []
            missed = missed.filter { found.contains($0.key) }
            for asset in found { missed[asset, default: 0] += 1 }
            guard missed.values.allSatisfy({ $0 >= missLimit }) else { return false }
            // An asset without a record is being saved or was just deleted: the host takes care of it.
            try contents?.finish(with: opened.engine, progress: update)
            return true
        } catch {
            opened.close()
            throw error
        }
    }

    /// Removes the copy. Close it first.
    func remove() { scratch.remove() }

    /// The assets in a store's directory, where hosts keep them.
    static func assets(in directory: String) -> AssetStore {
        AssetStore(
            directory: URL(fileURLWithPath: directory).appendingPathComponent("assets").path, session: UUID.drawn(),
            clock: SystemClock())
    }

    // MARK: Folders for copies

    /// Removes the copies and working directories of killed verbs.
    static func sweep() {
        for folder in Set(folders + [FileManager.default.temporaryDirectory.path]) { StoreFiles.Scratch.sweep(folder) }
        MemoryDirectories.sweep()
    }

    private static func makeScratch(for source: String, besides full: Set<String>) throws -> StoreFiles.Scratch {
        let device = device(of: source)
        let outside = folders.filter { !full.contains($0) && !lies($0, in: source) }
        // Only folders on the store's file system can link its tables: they come first.
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
                .refused, "There is no folder outside the store for a copy of it: name one with the variable.",
                ["variable": folderVariable])
    }

    /// The folders for copies, in order of preference.
    private static var folders: [String] {
        let environment = ProcessInfo.processInfo.environment
        if let folder = environment[folderVariable], !folder.isEmpty { return [AbsolutePath.of(folder)] }
        let home = environment["HOME"].map { $0 + "/.cache" }
        let candidates = [environment["TMPDIR"], "/tmp", "/var/tmp", environment["XDG_CACHE_HOME"] ?? home]
        return candidates.compactMap { $0 }.filter { $0.hasPrefix("/") }.map { AbsolutePath.of($0) }
    }

    /// Whether the folder is inside the store's directory, where nothing is ever written.
    private static func lies(_ folder: String, in store: String) -> Bool {
        let paths = [folder, store].map { URL(fileURLWithPath: $0).standardizedFileURL.resolvingSymlinksInPath().path }
        return (paths[0] + "/").hasPrefix(paths[1] + "/")
    }

    private static func device(of path: String) -> UInt64? {
        try? Disk.factsOfTarget(of: path).device
    }
}
