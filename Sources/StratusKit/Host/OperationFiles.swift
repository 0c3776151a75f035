// Long-lived operations of a store in a directory, each in a file of its own (O-14). They are kept beside the store and
// not in it: they are the client's side, and a store that somebody moves need not bring them along.
//   <operation>.operation        the operation; its name is its identity in hexadecimal
//   <operation>.files/<number>   the files that it uploads
//
// Invariants:
//   1. A file is written whole under another name, synced, and then given its name: it is there whole or not at all.
//   2. What is in memory is what lies in the directory; the directory is read once.
//   3. What an operation uploads is there, name and all, before the operation is. Files without an operation are what a
//      crash has left: reading the directory removes them.

import Foundation
import StratusCloud
import StratusStore

/// Keeps long-lived operations in a directory.
final class OperationFiles: LongLivedStore {
    private static let suffix = ".operation"
    private static let filesSuffix = ".files"
    private static let incomingSuffix = ".incoming"
    private static let bufferByteCount = 256 << 10

    private let directory: String
    private let files: any AssetFiles
    /// Nil until the directory was read.
    private let kept = Locked<[String: LongLivedEntry]?>(nil)

    /// The directory is made with the first operation; the one above it must be there then.
    init(directory: String, files: any AssetFiles = SystemAssetFiles()) {
        self.directory = directory
        self.files = files
    }

    func save(_ entry: LongLivedEntry) throws {
        try changing { kept in
            try write(entry)
            kept[entry.id] = entry
        }
    }

    func entry(_ id: String) throws -> LongLivedEntry? { try changing { $0[id] } }

    func entries() throws -> [LongLivedEntry] { try changing { Array($0.values) } }

    func remove(_ id: String) throws {
        try changing { kept in
            guard kept.removeValue(forKey: id) != nil else { return }
            try files.removeFile(path(of: id))
            try files.syncDirectory(directory)
        }
        // What cannot be removed now is removed when the directory is read again.
        removeFiles(filesDirectory(of: id))
    }

    func keepFile(_ path: String, as number: Int, of id: String) throws -> String? {
        let source: Int32
        do throws(FileFailure) { source = try files.openFile(path) } catch { return nil }
        defer { files.close(source) }
        // Reading the directory removes files without an operation, and these have none yet.
        try changing { _ in }
        return try explaining {
            try makeDirectory(directory)
            try makeDirectory(filesDirectory(of: id))
            let target = "\(filesDirectory(of: id))/\(number)"
            guard try copy(source, to: target) else { return nil }
            try files.syncDirectory(filesDirectory(of: id))
            return target
        }
    }

    func keptFile(_ number: Int, of id: String) -> String? { "\(filesDirectory(of: id))/\(number)" }

    /// Forgets everything, because the directory was removed.
    func forget() { kept.withLock { $0 = [:] } }

    // MARK: Helpers

    private func changing<Result: Sendable>(
        _ body: (inout [String: LongLivedEntry]) throws -> Result
    ) throws -> Result {
        try kept.withLock { kept in
            var entries = try kept ?? read()
            // Also where the body has failed: what is read need not be read again.
            defer { kept = entries }
            return try explaining { try body(&entries) }
        }
    }

    private func explaining<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as FileFailure {
            throw CloudError(
                .serviceUnavailable, "A long-lived operation cannot be kept: mend what the disk refuses.",
                ["directory": directory], cause: error.reason)
        }
    }

    private func read() throws -> [String: LongLivedEntry] {
        guard FileManager.default.fileExists(atPath: directory) else { return [:] }
        var entries: [String: LongLivedEntry] = [:]
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        defer { removeLeftovers(Set(names)) }
        for name in names where name.hasSuffix(Self.suffix) {
            let data = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
            do {
                let entry = try JSONDecoder().decode(OperationFile.self, from: data).entry
                entries[entry.id] = entry
            } catch {
                throw CloudError(
                    .internalError, "The file of a long-lived operation is damaged: remove it, its operation is lost.",
                    ["file": "\(directory)/\(name)"], cause: "\(error)")
            }
        }
        return entries
    }

    private func write(_ entry: LongLivedEntry) throws {
        let bytes = [UInt8](try JSONEncoder().encode(OperationFile(entry)))
        try makeDirectory(directory)
        let incoming = "\(directory)/\(UUID().uuidString)\(Self.incomingSuffix)"
        try create(incoming) { descriptor in try files.write(descriptor, bytes, count: bytes.count) }
        try files.rename(incoming, to: path(of: entry.id))
        try files.syncDirectory(directory)
    }

    /// Copies an open file; false, with nothing left, where it is no regular file, cannot be read or changes meanwhile.
    private func copy(_ source: Int32, to path: String) throws -> Bool {
        let before = try? files.facts(source)
        guard let before, before.isRegular else { return false }
        var isWhole = true
        try? files.removeFile(path)
        try create(path) { target in
            var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
            var total: Int64 = 0
            while true {
                guard let count = try? files.read(source, into: &buffer) else { return isWhole = false }
                if count == 0 { break }
                try files.write(target, buffer, count: count)
                total += Int64(count)
            }
            isWhole = total == before.byteCount && (try? files.facts(source)) == before
        }
        if !isWhole { try files.removeFile(path) }
        return isWhole
    }

    /// Makes a file, durable but for its name; where that fails, there is none.
    private func create(_ path: String, _ fill: (Int32) throws -> Void) throws {
        let descriptor = try files.createFile(path)
        do {
            defer { files.close(descriptor) }
            try fill(descriptor)
            try files.sync(descriptor)
        } catch {
            try? files.removeFile(path)
            throw error
        }
    }

    /// Makes a directory that is not there yet; its name is on the disk then.
    private func makeDirectory(_ path: String) throws {
        guard !FileManager.default.fileExists(atPath: path) else { return }
        try files.createDirectory(path)
        try files.syncDirectory(URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }

    /// Removes what a crash has left of operations that were not kept yet, or were gone already.
    private func removeLeftovers(_ names: Set<String>) {
        for name in names {
            if name.hasSuffix(Self.incomingSuffix) { try? files.removeFile("\(directory)/\(name)") }
            guard name.hasSuffix(Self.filesSuffix) else { continue }
            let operation = name.dropLast(Self.filesSuffix.count) + Self.suffix
            if !names.contains(String(operation)) { removeFiles("\(directory)/\(name)") }
        }
    }

    private func removeFiles(_ path: String) {
        for name in (try? files.names(in: path)) ?? [] { try? files.removeFile("\(path)/\(name)") }
        try? files.removeDirectory(path)
    }

    private func filesDirectory(of id: String) -> String { "\(directory)/\(Self.name(of: id))\(Self.filesSuffix)" }

    /// Any text is one name of a file.
    private static func name(of id: String) -> String {
        Data(id.utf8).map { String(format: "%02x", $0) }.joined()
    }

    private func path(of id: String) -> String { "\(directory)/\(Self.name(of: id))\(Self.suffix)" }
}

// MARK: - Backup

extension OperationFiles {
    /// Copies the operations of a store that may be open. Returns how many there are.
    ///
    /// An operation's files are there before it is, and go after it: so they are taken before it.
    static func copy(_ source: String, to target: String, files: any AssetFiles = SystemAssetFiles()) throws -> Int {
        do {
            let names: [String]
            do throws(FileFailure) { names = try files.names(in: source) } catch {
                if error.number == FileFailure.notFound { return 0 }
                throw error
            }
            try files.createDirectory(target)
            var count = 0
            for name in names where name.hasSuffix(suffix) {
                let kept = "\(name.dropLast(suffix.count))\(filesSuffix)"
                try copyFiles("\(source)/\(kept)", to: "\(target)/\(kept)", files)
                if try take("\(source)/\(name)", to: "\(target)/\(name)", files) { count += 1 }
            }
            try files.syncDirectory(target)
            return count
        } catch let error as FileFailure {
            throw CloudError(
                .serviceUnavailable, "Long-lived operations cannot be copied: mend what the disk refuses.",
                ["directory": source], cause: error.reason)
        }
    }

    private static func copyFiles(_ source: String, to target: String, _ files: any AssetFiles) throws {
        guard let names = try? files.names(in: source) else { return }
        try files.createDirectory(target)
        for name in names { _ = try take("\(source)/\(name)", to: "\(target)/\(name)", files) }
        try files.syncDirectory(target)
    }

    /// False where the file has gone meanwhile.
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

/// What a file holds.
private struct OperationFile: Codable {
    var id: String
    var container: String
    var account: String?
    var kind: String
    var request: Data
    var answer: Data?
    var answered: Date?

    init(_ entry: LongLivedEntry) {
        id = entry.id
        container = entry.container
        account = entry.account
        kind = entry.kind
        request = entry.request
        answer = entry.answer
        answered = entry.answered
    }

    var entry: LongLivedEntry {
        LongLivedEntry(
            id: id, container: container, account: account, kind: kind, request: request, answer: answer,
            answered: answered)
    }
}
