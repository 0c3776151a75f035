// The long-lived operations of a store in a directory, each in its own file (O-14). They are next to the store, not in
// it: they belong to the client's side. Backups and copies of the store have them.
//   <operation>.operation        the operation; its name is its identifier in hexadecimal
//   <operation>.files/<number>   the files that it uploads
//
// Invariants:
//   1. A file is written under another name, synced, and then renamed: it exists completely or not at all.
//   2. Memory and directory have the same content; the directory is read once.
//   3. The files that an operation uploads exist, with their names, before the operation does. Files without an
//      operation are left from a crash; reading the directory removes them.
//   4. A file has a digest of its content. A damaged file fails only its own operation, and stays until that operation
//      is removed or saved again.

import Foundation
import StratusCloud
package import StratusRecords
import StratusStore

/// Stores long-lived operations in a directory.
final class OperationFiles: LongLivedStore {
    private static let suffix = ".operation"
    private static let filesSuffix = ".files"
    private static let incomingSuffix = ".incoming"

    private let directory: String
    private let files: any AssetFiles
    private let keeper: FileKeeper
    /// Nil until the directory is read.
    private let kept = Locked<[String: Kept]?>(nil)

    /// A file, found by its name.
    private enum Kept {
        case entry(LongLivedEntry)
        /// The problem of a file that cannot be read.
        case damage(String)
    }

    /// The first operation creates the directory. Its parent must exist then.
    init(directory: String, files: any AssetFiles = SystemAssetFiles()) {
        self.directory = directory
        self.files = files
        keeper = FileKeeper(files: files)
    }

    func save(_ entry: LongLivedEntry) throws {
        try changing { kept in
            try write(entry)
            kept[Self.fileName(of: entry.id)] = .entry(entry)
        }
    }

    /// Throws `internalError` if the operation's file is damaged.
    func entry(_ id: String) throws -> LongLivedEntry? {
        let name = Self.fileName(of: id)
        return try changing { kept in
            switch kept[name] {
            case .entry(let entry)?: return entry
            case .damage(let cause)?:
                throw CloudError(
                    .internalError, "The file of a long-lived operation is damaged. Remove it; its operation is lost.",
                    ["file": "\(directory)/\(name)"], cause: cause)
            case nil: return nil
            }
        }
    }

    /// The operations whose files can be read.
    func entries() throws -> [LongLivedEntry] {
        try changing { $0.values.compactMap { if case .entry(let entry) = $0 { entry } else { nil } } }
    }

    func remove(_ id: String) throws {
        let name = Self.fileName(of: id)
        try changing { kept in
            guard kept[name] != nil else { return }
            do throws(FileFailure) { try files.removeFile(path(of: id)) } catch {
                guard error.isAbsence else { throw error }
            }
            // Not earlier: if the disk refuses to remove the file, the operation still exists.
            kept[name] = nil
            try files.syncDirectory(directory)
        }
        // If this fails, the next reading of the directory removes it.
        keeper.removeDirectory(filesDirectory(of: id))
    }

    func keepFile(_ path: String, as number: Int, of id: String) throws -> String? {
        // Read the directory now: reading removes files without an operation, and these have none yet.
        try changing { _ in }
        return try FileKeeper.explaining(directory) {
            try keeper.keep(path, as: "\(number)", in: filesDirectory(of: id))
        }
    }

    func keptFile(_ number: Int, of id: String) -> String? { "\(filesDirectory(of: id))/\(number)" }

    /// Forgets everything, because the directory was removed.
    func forget() { kept.withLock { $0 = [:] } }

    // MARK: Helpers

    private func changing<Result: Sendable>(_ body: (inout [String: Kept]) throws -> Result) throws -> Result {
        try kept.withLock { kept in
            var read = try kept ?? FileKeeper.explaining(directory) { try self.read() }
            // Also if the body has failed, so that the directory is not read again.
            defer { kept = read }
            return try FileKeeper.explaining(directory) { try body(&read) }
        }
    }

    private func read() throws -> [String: Kept] {
        guard let names = try Self.existingNames(in: directory, files) else { return [:] }
        var kept: [String: Kept] = [:]
        defer { removeLeftovers(Set(names)) }
        for name in names where name.hasSuffix(Self.suffix) {
            let data: Data
            do throws(FileFailure) { data = try contents(of: "\(directory)/\(name)") } catch {
                guard error.number == FileFailure.irregular else { throw error }
                kept[name] = .damage(error.reason)
                continue
            }
            do {
                var entry = try ExactJSON.decode(LongLivedEntry.self, from: data)
                let damage = try entry.damage(under: name)
                entry.digest = nil
                kept[name] = damage.map { .damage($0) } ?? .entry(entry)
            } catch { kept[name] = .damage("\(error)") }
        }
        return kept
    }

    private func contents(of path: String) throws(FileFailure) -> Data {
        let file = try files.openRegularFile(path)
        defer { files.close(file) }
        var (data, buffer) = (Data(), [UInt8](repeating: 0, count: 64 << 10))
        while true {
            let count = try files.read(file, into: &buffer)
            if count == 0 { return data }
            data.append(contentsOf: buffer[..<count])
        }
    }

    private func write(_ entry: LongLivedEntry) throws {
        let bytes = try entry.fileContent()
        try keeper.makeDirectory(directory)
        let incoming = "\(directory)/\(UUID.drawn().uuidString)\(Self.incomingSuffix)"
        try keeper.create(incoming) { descriptor in try files.write(descriptor, bytes, count: bytes.count) }
        try files.rename(incoming, to: path(of: entry.id))
        try files.syncDirectory(directory)
    }

    /// Removes the files that a crash left of operations that were not saved yet, or already removed.
    private func removeLeftovers(_ names: Set<String>) {
        for name in names {
            if name.hasSuffix(Self.incomingSuffix) { try? files.removeFile("\(directory)/\(name)") }
            guard name.hasSuffix(Self.filesSuffix) else { continue }
            let operation = name.dropLast(Self.filesSuffix.count) + Self.suffix
            if !names.contains(String(operation)) { keeper.removeDirectory("\(directory)/\(name)") }
        }
    }

    private func filesDirectory(of id: String) -> String {
        "\(directory)/\(FileKeeper.name(of: id))\(Self.filesSuffix)"
    }

    private func path(of id: String) -> String { "\(directory)/\(Self.fileName(of: id))" }

    fileprivate static func fileName(of id: String) -> String { "\(FileKeeper.name(of: id))\(suffix)" }

    // MARK: - Backup

    /// Copies the operations of a store that may be open. Returns their number.
    ///
    /// An operation's files exist before and after the operation itself, so they are copied first. `progress` gets how
    /// many operations were processed, and the total.
    static func copy(
        _ source: String, to target: String, files: any AssetFiles = SystemAssetFiles(),
        progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> Int {
        try explainingCopy(of: source) {
            guard let all = try existingNames(in: source, files) else { return 0 }
            let names = all.filter { $0.hasSuffix(suffix) }
            try files.createDirectory(target)
            var count = 0
            for (index, name) in names.enumerated() {
                let kept = "\(name.dropLast(suffix.count))\(filesSuffix)"
                try copyFiles("\(source)/\(kept)", to: "\(target)/\(kept)", files)
                if try take("\(source)/\(name)", to: "\(target)/\(name)", files) { count += 1 }
                progress(index + 1, names.count)
            }
            try files.syncDirectory(target)
            return count
        }
    }

    /// Runs `body`, and translates a disk error for the caller of a copy.
    private static func explainingCopy<Result>(of directory: String, _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as FileFailure {
            throw CloudError(
                .serviceUnavailable, "Long-lived operations cannot be copied. Fix the cause and try again.",
                ["directory": directory], cause: error.reason)
        }
    }

    /// The names in a directory, or nil if it does not exist.
    private static func existingNames(in directory: String, _ files: any AssetFiles) throws(FileFailure) -> [String]? {
        do throws(FileFailure) { return try files.names(in: directory) } catch {
            guard error.number == FileFailure.notFound else { throw error }
            return nil
        }
    }

    private static func copyFiles(_ source: String, to target: String, _ files: any AssetFiles) throws {
        guard let names = try existingNames(in: source, files) else { return }
        try files.createDirectory(target)
        for name in names { _ = try take("\(source)/\(name)", to: "\(target)/\(name)", files) }
        try files.syncDirectory(target)
    }

    /// Returns false if the file no longer exists.
    private static func take(_ source: String, to target: String, _ files: any AssetFiles) throws -> Bool {
        do throws(FileFailure) {
            _ = try files.linkOrCopy(source, to: target)
            return true
        } catch {
            if error.isAbsence { return false }
            throw error
        }
    }
}

// MARK: - Stores of another engine

extension OperationFiles {
    /// Writes the operations that a store has in itself into this directory, which has none, and returns their number.
    /// Damaged ones stay damaged. Only reads the store, which may be open.
    func takeAll(from forms: OperationForms) throws -> Int {
        try Self.explainingCopy(of: directory) {
            var count = 0
            for id in try forms.ids() {
                // The files first, because they exist before and after the operation itself.
                let folder = filesDirectory(of: id)
                for number in try forms.fileNumbers(of: id) {
                    try keeper.makeDirectory(directory)
                    try keeper.makeDirectory(folder)
                    try keeper.create("\(folder)/\(number)") { file in
                        _ = try forms.readFile(number, of: id) { try files.write(file, $0, count: $0.count) }
                    }
                }
                guard let form = try forms.form(of: id) else {
                    keeper.removeDirectory(folder)
                    continue
                }
                let bytes = form.bytes.map { [UInt8]($0) } ?? []
                try keeper.makeDirectory(directory)
                try keeper.create(path(of: id)) { try files.write($0, bytes, count: bytes.count) }
                count += 1
            }
            return count
        }
    }

    /// Writes the operations in this directory into a store that has them in itself, in place of those there, and
    /// returns their number. Damaged ones stay damaged.
    func putAll(
        into forms: OperationForms, progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> Int {
        try Self.explainingCopy(of: directory) {
            try forms.removeAll()
            let all = try Self.existingNames(in: directory, files) ?? []
            let names = all.filter { $0.hasSuffix(Self.suffix) }
            var count = 0
            for (index, name) in names.enumerated() {
                // A file whose name is not one of ours is no operation: no identifier leads to it.
                if let id = FileKeeper.id(ofName: name.dropLast(Self.suffix.count)) {
                    try put(id, into: forms)
                    count += 1
                }
                progress(index + 1, names.count)
            }
            return count
        }
    }

    private func put(_ id: String, into forms: OperationForms) throws {
        let folder = filesDirectory(of: id)
        for name in try Self.existingNames(in: folder, files) ?? [] {
            guard let number = Int(name), number >= 0 else { continue }
            guard try forms.keepFile("\(folder)/\(number)", as: number, of: id, files: files) else {
                throw FileFailure(number: FileFailure.inputOutput)
            }
        }
        var bytes: [UInt8] = []
        do throws(FileFailure) { bytes = [UInt8](try contents(of: path(of: id))) } catch {
            // It is damaged, as it is in the directory.
            guard error.number == FileFailure.irregular else { throw error }
        }
        _ = try forms.write(bytes, of: id)
    }

}

extension Stratus {
    /// Writes the long-lived operations of a store that has them in itself into a directory, as files. Returns their
    /// number; 0, and no directory, if the store keeps them elsewhere.
    package static func copyOperations(of engine: RecordEngine, to directory: String) throws -> Int {
        try OperationForms(engine).map { try OperationFiles(directory: directory).takeAll(from: $0) } ?? 0
    }

    /// Writes the long-lived operations in a directory into a store that has them in itself, in place of those there.
    /// Returns their number.
    package static func copyOperations(
        _ directory: String, into engine: RecordEngine, progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> Int {
        guard let forms = OperationForms(engine) else { return 0 }
        return try OperationFiles(directory: directory).putAll(into: forms, progress: progress)
    }
}

extension LongLivedEntry {
    /// The content of its file, with the digest of the same content without a digest.
    func fileContent() throws -> [UInt8] { try encoded(digest: currentDigest()) }

    /// Whether a digest that was read with the entry is that of its content.
    func hasRightDigest() throws -> Bool { try digest == nil || currentDigest() == digest }

    private func encoded(digest: Data?) throws -> [UInt8] {
        var file = self
        file.digest = digest
        return try ExactJSON.encode(file)
    }

    private func currentDigest() throws -> Data { Data(ContentDigest.sha256(try encoded(digest: nil))) }

    /// The problem of an entry that was decoded from a file with this name, or nil.
    fileprivate func damage(under name: String) throws -> String? {
        if OperationFiles.fileName(of: id) != name { return "the file is another operation's" }
        return try hasRightDigest() ? nil : "the digest is of another content"
    }
}
