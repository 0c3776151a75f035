// The long-lived operations of a store whose contents are in the store itself (O-14), so that one backup has both.
// `OperationForms` reads and writes them; the bytes are those of the file beside a store in a directory.
//
// Invariants:
//   1. Where only this process writes, memory and store have the same operations, and the store is read once. Elsewhere
//      nothing is remembered, and the operation that is asked for is read.
//   2. An operation has a digest of its bytes. A damaged one fails alone, and stays until it is removed or saved again.
// A program uploads from paths, so a kept file is copied into a temporary directory when it is asked for.

import Foundation
import StratusCloud
import StratusStore

/// Stores long-lived operations in the store.
final class StoredOperations: LongLivedStore {
    /// An operation in memory.
    private struct Kept {
        var entry: LongLivedEntry?
        /// Why it cannot be read.
        var damage: String?
        /// The index after its last part.
        var end: UInt64
    }

    /// Lends the operations of a store that may be replaced by an empty one.
    typealias Lender = @Sendable (_ body: (OperationForms) throws -> Void) throws -> Void

    private let lend: Lender
    private let files: any AssetFiles
    private let keeper: FileKeeper
    private let takeDirectory: @Sendable () -> String
    private let giveBack: @Sendable (String) -> Void
    /// The directory with copies of kept files; taken with the first one.
    private let directory = Locked<String?>(nil)
    /// Nil until the store is read. Where other processes may write it stays empty, and nil while a crash has left
    /// something.
    private let kept = Locked<[String: Kept]?>(nil)
    private let hasLooked = Locked(false)
    /// How many files are being stored, whose operations are not there yet.
    private let incomingCount = Locked(0)

    /// `takeDirectory` returns the path of a directory that does not exist yet; `giveBack` removes it with its files.
    init(
        lend: @escaping Lender, files: any AssetFiles = SystemAssetFiles(),
        takeDirectory: @escaping @Sendable () -> String, giveBack: @escaping @Sendable (String) -> Void
    ) {
        self.lend = lend
        self.files = files
        keeper = FileKeeper(files: files)
        self.takeDirectory = takeDirectory
        self.giveBack = giveBack
    }

    deinit {
        if let directory = directory.value { giveBack(directory) }
    }

    func save(_ entry: LongLivedEntry) throws {
        try changing(.one(entry.id)) { kept, forms in
            let end = try forms.write(entry.fileContent(), of: entry.id, at: kept[entry.id]?.end ?? 1)
            kept[entry.id] = Kept(entry: entry, end: end)
        }
    }

    /// Throws `internalError` if the operation is damaged.
    func entry(_ id: String) throws -> LongLivedEntry? {
        try changing(.one(id)) { kept, _ in
            guard let found = kept[id] else { return nil }
            if let damage = found.damage {
                throw CloudError(
                    .internalError, "A long-lived operation in the store is damaged. Cancel it; it is lost.",
                    ["id": id], cause: damage)
            }
            return found.entry
        }
    }

    /// The operations that can be read.
    func entries() throws -> [LongLivedEntry] { try changing(.all) { kept, _ in kept.values.compactMap(\.entry) } }

    func remove(_ id: String) throws {
        try changing(.one(id)) { kept, forms in
            guard kept[id] != nil else { return }
            try forms.removeEntries(of: id)
            kept[id] = nil
            // If this fails, the next reading of the store removes them.
            try? forms.removeFiles(of: id)
        }
        if let directory = directory.value { keeper.removeDirectory(copies(of: id, in: directory)) }
    }

    /// Forgets everything, because the store was emptied.
    func forget() {
        kept.withLock { $0 = [:] }
        if let directory = directory.withLock({ $0.take() }) { giveBack(directory) }
    }

    func keepFile(_ path: String, as number: Int, of id: String) throws -> String? {
        // Reads the store before: reading removes files without an operation. A large file takes long, so others do not
        // wait for it.
        try changing(.one(id)) { _, _ in incomingCount.withLock { $0 += 1 } }
        defer { incomingCount.withLock { $0 -= 1 } }
        let isWhole = try lending { forms in try forms.keepFile(path, as: number, of: id, files: files) }
        if let directory = directory.value { try? files.removeFile("\(copies(of: id, in: directory))/\(number)") }
        return isWhole ? try copy(number, of: id) : nil
    }

    func keptFile(_ number: Int, of id: String) -> String? { try? copy(number, of: id) }

    /// A copy of a kept file, which is made once. Throws if the file is not there or cannot be copied.
    private func copy(_ number: Int, of id: String) throws -> String {
        let top = directory.made(takeDirectory)
        let folder = copies(of: id, in: top)
        let path = "\(folder)/\(number)"
        if let file = try? files.openRegularFile(path) {
            files.close(file)
            return path
        }
        try FileKeeper.explaining(top) {
            try keeper.makeDirectory(top)
            try keeper.makeDirectory(folder)
            let incoming = "\(path).incoming"
            try? files.removeFile(incoming)
            try keeper.create(incoming) { file in
                try lend { forms in
                    let isThere = try forms.readFile(number, of: id) { part in
                        try files.write(file, part, count: part.count)
                    }
                    if !isThere { throw FileFailure(number: FileFailure.notFound) }
                }
            }
            try files.rename(incoming, to: path)
        }
        return path
    }

    private func copies(of id: String, in directory: String) -> String { "\(directory)/\(FileKeeper.name(of: id))" }

    /// Whether other hosts may run the operations.
    var isShared: Bool {
        var isShared = false
        try? lend { isShared = $0.isShared }
        return isShared
    }

    /// Whether no other host runs an operation.
    func takeRun(of id: String) throws -> Bool {
        var isTaken = true
        do { try lend { isTaken = try $0.takeRun(of: id) } } catch let error as StoreError { throw CloudError(error) }
        return isTaken
    }

    /// If this fails, other hosts wait until this one has closed the store.
    func endRun(of id: String) { try? lend { try $0.endRun(of: id) } }

    /// What a change reads where other processes may write.
    private enum Needed: Equatable {
        case one(String)
        case all
    }

    private func changing<Result: Sendable>(
        _ needed: Needed, _ body: (inout [String: Kept], OperationForms) throws -> Result
    ) throws -> Result {
        try kept.withLock { kept in
            try lending { forms in
                guard !forms.isShared else {
                    // Removes what a crash has left: before anything else, and again when all are read.
                    if kept == nil, incomingCount.value == 0, !hasLooked.value || needed == .all {
                        if try forms.readAll().isTidy { kept = [:] }
                        hasLooked.withLock { $0 = true }
                    }
                    var read = try Self.decoded(needed, forms)
                    return try body(&read, forms)
                }
                var read = try kept ?? Self.decoded(forms.readAll().forms)
                // Also if the body has failed, so that the store is not read again.
                defer { kept = read }
                return try body(&read, forms)
            }
        }
    }

    /// Throws the store's errors as `CloudError`.
    private func lending<Result>(_ body: (OperationForms) throws -> Result) throws -> Result {
        do {
            var result: Result?
            try lend { result = try body($0) }
            guard let result else { throw StoreError(.closed, "The store was closed: open it again.") }
            return result
        } catch let error as StoreError { throw CloudError(error) }
    }

    private static func decoded(_ needed: Needed, _ forms: OperationForms) throws -> [String: Kept] {
        switch needed {
        case .one(let id): decoded(try forms.form(of: id).map { [$0] } ?? [])
        case .all: decoded(try forms.all())
        }
    }

    private static func decoded(_ forms: [OperationForm]) -> [String: Kept] {
        var kept: [String: Kept] = [:]
        for form in forms {
            var found = Kept(end: form.end)
            do {
                guard let bytes = form.bytes else { throw StoreError(.corruption, "Parts of it are missing.") }
                var entry = try ExactJSON.decode(LongLivedEntry.self, from: bytes)
                found.damage =
                    entry.id != form.id
                    ? "it is another operation's"
                    : try entry.hasRightDigest() ? nil : "the digest is of another content"
                entry.digest = nil
                if found.damage == nil { found.entry = entry }
            } catch { found.damage = "\(error)" }
            kept[form.id] = found
        }
        return kept
    }
}
