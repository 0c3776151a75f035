// The directory that a backup is made in until it gets its name: "<destination>.incomplete-<process>-<number>".
//
// Invariants:
//   1. `mkdir` made it, so it was nobody's before; other backups to the same destination have directories of their own.
//   2. Only files that a store consists of are ever removed, and only from the directory that this value made.
//   3. The copy takes its name by one rename, which fails when something else has taken it meanwhile.

internal import Glibc
internal import StratusStore

struct BackupDirectory {
    /// So many numbers are tried; each that is taken is the left-over of a process that had the same number.
    private static let maximumNumber = 1_000

    let path: String
    /// The directories that other backups to the same destination have not finished.
    let unfinishedPaths: [String]
    private let destination: String
    private let parent: String

    /// Makes the directory for a copy that shall become `destination`, with or without slashes at its end. `making` makes it.
    ///
    /// Throws `StoreError` with `.inputOutput` when `destination` exists or its folder does not.
    static func make(
        for destination: String, making: (_ make: () throws -> Void) throws -> Void = { try $0() }
    ) throws -> BackupDirectory {
        let destination = FileSystem.withoutTrailingSlashes(destination)
        let parent = FileSystem.parent(of: destination)
        guard try FileSystem.status(parent)?.kind == .directory else {
            throw StoreError(
                .inputOutput, "There is no folder to hold the copy: create it first.",
                ["path": destination, "missingFolder": parent])
        }
        if try FileSystem.status(destination) != nil { throw existenceError(destination) }
        let unfinished = try unfinishedPaths(for: destination, in: parent)
        for number in 1...maximumNumber {
            let path = "\(destination).incomplete-\(getpid())-\(number)"
            do {
                try making { try FileSystem.makeDirectory(path) }
                return BackupDirectory(
                    path: path, unfinishedPaths: unfinished, destination: destination, parent: parent)
            } catch let error as SystemError {
                if error.number != EEXIST { throw error }
            }
        }
        throw StoreError(
            .inputOutput, "Too many unfinished copies lie beside the destination: remove those no backup works on.",
            ["path": destination, "unfinishedCount": "\(unfinished.count)"])
    }

    /// Gives the copy its name. Call `syncName` to make that durable, and `remove` no more: `path` is free for others.
    func takeName() throws {
        try FileSystem.syncDirectory(path)
        do {
            try FileSystem.rename(path, to: destination)
        } catch {
            guard [EEXIST, ENOTEMPTY, ENOTDIR].contains(error.number) else { throw error }
            throw Self.existenceError(destination)
        }
    }

    func syncName() throws(SystemError) {
        try FileSystem.syncDirectory(parent)
    }

    /// Removes what there is of an unfinished copy. What cannot be removed is named by the next backup.
    func remove() {
        for name in (try? FileSystem.names(in: path)) ?? [] where StoreFileName.isOfStore(name) {
            try? FileSystem.remove("\(path)/\(name)")
        }
        try? FileSystem.removeDirectory(path)
    }

    private static func existenceError(_ destination: String) -> StoreError {
        StoreError(
            .inputOutput, "There is something at the destination already: choose another, or move it away.",
            ["path": destination], cause: EngineError.systemText(EEXIST))
    }

    private static func unfinishedPaths(for destination: String, in parent: String) throws(SystemError) -> [String] {
        let own = destination.utf8.lastIndex(of: UInt8(ascii: "/")).map { destination[$0...].dropFirst() }
        let prefix = "\(own ?? destination[...]).incomplete-"
        return try FileSystem.names(in: parent)
            .filter { name in
                let numbers = name.dropFirst(prefix.count).split(separator: "-", omittingEmptySubsequences: false)
                return name.hasPrefix(prefix) && numbers.count == 2 && numbers.allSatisfy { UInt64($0) != nil }
            }
            .map { parent == "/" ? "/\($0)" : "\(parent)/\($0)" }
    }
}
