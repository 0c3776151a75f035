// Copies of files: those of a client's that long-lived operations need after the client may have deleted them, and
// those that the server made for the assets of one record.
//
// Invariant: a copy and its name are complete and durable, or the copy does not exist.

import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// Copies files, and creates directories for them. Blocks its thread.
struct FileKeeper: Sendable {
    private static let bufferByteCount = 256 << 10

    var files: any AssetFiles = SystemAssetFiles()

    /// Copies a file into a directory. Creates the directory and its parent if they do not exist.
    /// - Returns: The path of the copy; nil, and no copy, if the file is not a regular file, cannot be read completely,
    ///   or changes.
    /// - Throws: `FileFailure` if the copy cannot be written.
    func keep(_ path: String, as name: String, in directory: String) throws -> String? {
        guard let source = try? files.openFile(path) else { return nil }
        defer { files.close(source) }
        try makeDirectory(Self.parent(of: directory))
        try makeDirectory(directory)
        let target = "\(directory)/\(name)"
        guard try copy(source, to: target) else { return nil }
        try files.syncDirectory(directory)
        return target
    }

    /// The SHA-256 of a file; nil if it cannot be read.
    static func digest(ofFile path: String, files: any AssetFiles = SystemAssetFiles()) -> [UInt8]? {
        guard let file = try? files.openRegularFile(path) else { return nil }
        defer { files.close(file) }
        var digest = ContentDigest()
        var buffer = [UInt8](repeating: 0, count: bufferByteCount)
        while true {
            guard let count = try? files.read(file, into: &buffer) else { return nil }
            if count == 0 { return digest.finish() }
            digest.add(buffer[..<count])
        }
    }

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

    /// Creates a file, durable except for its name. If that fails, no file is left.
    func create(_ path: String, _ fill: (Int32) throws -> Void) throws {
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

    /// Creates a directory, durable with its name, unless it exists. Its parent must exist.
    func makeDirectory(_ path: String) throws {
        guard !FileManager.default.fileExists(atPath: path) else { return }
        do throws(FileFailure) { try files.createDirectory(path) } catch {
            // Another thread may create it at the same time.
            guard error.number == FileFailure.exists else { throw error }
        }
        try files.syncDirectory(Self.parent(of: path))
    }

    /// Removes a directory of files, as far as possible.
    func removeDirectory(_ path: String) {
        for name in (try? files.names(in: path)) ?? [] { try? files.removeFile("\(path)/\(name)") }
        try? files.removeDirectory(path)
    }

    /// Runs `body`, and translates a disk error for clients.
    static func explaining<Result>(_ directory: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as FileFailure {
            let message: StaticString =
                error.isFull
                ? """
                A long-lived operation, or a file that it uploads, cannot be stored: the disk is full. Free space, \
                then add the operation again.
                """ : "A long-lived operation cannot be stored: see the disk error in the cause."
            throw CloudError(.serviceUnavailable, message, ["directory": directory], cause: error.reason)
        }
    }

    /// A file name for any text.
    static func name(of id: String) -> String { Data(id.utf8).map { String(format: "%02x", $0) }.joined() }

    /// The text with this file name; nil if no text has it.
    static func id(ofName name: some StringProtocol) -> String? {
        let digits = Array(name.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
        let id = String(validating: bytes, as: UTF8.self)
        return id.flatMap { Self.name(of: $0) == name ? $0 : nil }
    }

    private static func parent(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }
}

// The copies for the assets of one record. The server removes them some time after the last of these assets is
// released, and at once if no client has seen them.

/// Requests copies for the assets of one record, stores their paths while an asset can use them, and then has the
/// server remove them.
///
/// The release must not block: assets are released anywhere, under any lock.
final class HandedOutCopies: AssetDownload {
    private let server: any CloudServer
    private let caller: Caller
    private let database: DatabaseSelector
    /// The paths of the copies, and whether a client has seen them.
    private let copies = Locked<[String: Bool]>([:])

    init(_ server: any CloudServer, as caller: Caller, in database: DatabaseSelector) {
        self.server = server
        self.caller = caller
        self.database = database
    }

    deinit {
        let copies = copies.value
        guard !copies.isEmpty else { return }
        server.releaseCopies(copies.filter(\.value).map(\.key), unseen: copies.filter { !$0.value }.map(\.key))
    }

    func makeCopy(of content: AssetDescriptor, at place: CKAsset.Place) throws -> URL {
        let path = try server.copyAsset(
            HeldAsset(content, in: place.key, of: place.record), as: caller, in: database)
        return URL(fileURLWithPath: path)
    }

    func take(_ copy: URL) { copies.withLock { $0[copy.path] = false } }

    func show(_ copy: URL) { copies.withLock { $0[copy.path]? = true } }
}
