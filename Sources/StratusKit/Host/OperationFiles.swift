// Long-lived operations of a store in a directory, each in a file of its own (O-14). They are kept beside the store and
// not in it: they are the client's side, and a store that somebody moves need not bring them along.
//
// Invariants:
//   1. A file is written whole under another name, synced, and then given its name: it is there whole or not at all.
//   2. What is in memory is what lies in the directory; the directory is read once.

import Foundation
import StratusCloud
import StratusStore

/// Keeps long-lived operations in a directory.
final class OperationFiles: LongLivedStore {
    private static let suffix = ".operation"

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
    }

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
            do {
                return try body(&entries)
            } catch let error as FileFailure {
                throw CloudError(
                    .serviceUnavailable, "A long-lived operation cannot be kept: mend what the disk refuses.",
                    ["directory": directory], cause: error.reason)
            }
        }
    }

    private func read() throws -> [String: LongLivedEntry] {
        guard FileManager.default.fileExists(atPath: directory) else { return [:] }
        var entries: [String: LongLivedEntry] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) where name.hasSuffix(Self.suffix) {
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
        if !FileManager.default.fileExists(atPath: directory) {
            try files.createDirectory(directory)
            try files.syncDirectory(URL(fileURLWithPath: directory).deletingLastPathComponent().path)
        }
        let incoming = "\(directory)/\(UUID().uuidString).incoming"
        let descriptor = try files.createFile(incoming)
        do {
            defer { files.close(descriptor) }
            try files.write(descriptor, bytes, count: bytes.count)
            try files.sync(descriptor)
        } catch {
            try? files.removeFile(incoming)
            throw error
        }
        try files.rename(incoming, to: path(of: entry.id))
        try files.syncDirectory(directory)
    }

    /// Any text is one name of a file.
    private func path(of id: String) -> String {
        "\(directory)/\(Data(id.utf8).map { String(format: "%02x", $0) }.joined())\(Self.suffix)"
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
