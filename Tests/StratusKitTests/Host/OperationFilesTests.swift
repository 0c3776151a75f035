// Long-lived operations of a store in a directory.

import Foundation
import StratusCloud
import StratusTestSupport
import Testing

@testable import StratusKit

/// The disk's files, except that a directory with this suffix cannot be listed.
private struct UnlistableFiles: AssetFiles {
    let files = SystemAssetFiles()
    let suffix: String
    let failure: FileFailure

    func names(in path: String) throws(FileFailure) -> [String] {
        if path.hasSuffix(suffix) { throw failure }
        return try files.names(in: path)
    }
    func openFile(_ path: String) throws(FileFailure) -> Int32 { try files.openFile(path) }
    func createFile(_ path: String) throws(FileFailure) -> Int32 { try files.createFile(path) }
    func facts(_ descriptor: Int32) throws(FileFailure) -> AssetFileFacts { try files.facts(descriptor) }
    func read(_ descriptor: Int32, into buffer: inout [UInt8]) throws(FileFailure) -> Int {
        try files.read(descriptor, into: &buffer)
    }
    func write(_ descriptor: Int32, _ buffer: [UInt8], count: Int) throws(FileFailure) {
        try files.write(descriptor, buffer, count: count)
    }
    func beginSync(_ descriptor: Int32) { files.beginSync(descriptor) }
    func sync(_ descriptor: Int32) throws(FileFailure) { try files.sync(descriptor) }
    func close(_ descriptor: Int32) { files.close(descriptor) }
    func rename(_ path: String, to newPath: String) throws(FileFailure) { try files.rename(path, to: newPath) }
    func removeFile(_ path: String) throws(FileFailure) { try files.removeFile(path) }
    func createDirectory(_ path: String) throws(FileFailure) { try files.createDirectory(path) }
    func removeDirectory(_ path: String) throws(FileFailure) { try files.removeDirectory(path) }
    func syncDirectory(_ path: String) throws(FileFailure) { try files.syncDirectory(path) }
}

@Suite("Operation files")
struct OperationFilesTests {
    private func entry(_ id: String, answer: String? = nil) -> LongLivedEntry {
        LongLivedEntry(
            id: id, container: "iCloud.test", account: "alice", kind: "CKModifyRecordsOperation",
            request: Data("request".utf8), answer: answer.map { Data($0.utf8) },
            answered: answer.map { _ in Date(timeIntervalSince1970: 1_800_000_000) })
    }

    @Test("[O-14] the next process finds the stored operation, in its newest form, until it is removed")
    func keeping() throws {
        let directory = try HostDirectory()
        let path = directory.url.appendingPathComponent("operations").path
        let files = OperationFiles(directory: path)
        #expect(try files.entries() == [])
        try files.save(entry("a"))
        try files.save(entry("../b / ü"))
        try files.save(entry("a", answer: "done"))
        try files.save(entry("c"))
        try files.remove("c")
        try files.remove("never there")
        let next = OperationFiles(directory: path)
        #expect(try next.entry("a") == entry("a", answer: "done"))
        #expect(try next.entry("../b / ü") == entry("../b / ü"))
        #expect(try next.entries().count == 2)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).count == 2)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path) == ["operations"])
    }

    @Test("[O-14] a stored file belongs to its operation, and is removed with it")
    func keptFiles() throws {
        let directory = try HostDirectory()
        let path = directory.url.appendingPathComponent("operations").path
        let source = directory.url.appendingPathComponent("source")
        try Data("sunset".utf8).write(to: source)
        let files = OperationFiles(directory: path)
        let kept = try #require(try files.keepFile(source.path, as: 0, of: "a"))
        #expect(try files.keepFile(directory.url.appendingPathComponent("none").path, as: 1, of: "a") == nil)
        #expect(try files.keepFile(directory.url.path, as: 1, of: "a") == nil)
        try files.save(entry("a"))
        try FileManager.default.removeItem(at: source)
        let next = OperationFiles(directory: path)
        #expect(try next.entries().count == 1)
        #expect(next.keptFile(0, of: "a") == kept)
        #expect(try Data(contentsOf: URL(fileURLWithPath: kept)) == Data("sunset".utf8))
        try next.remove("a")
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == [])
    }

    @Test("[O-14] files that a crash left of an operation that was never stored are removed")
    func leftovers() throws {
        let directory = try HostDirectory()
        let path = directory.url.appendingPathComponent("operations").path
        let source = directory.url.appendingPathComponent("source")
        try Data("sunset".utf8).write(to: source)
        let files = OperationFiles(directory: path)
        #expect(try files.keepFile(source.path, as: 0, of: "a") != nil)
        #expect(try files.keepFile(source.path, as: 0, of: "b") != nil)
        try files.save(entry("b"))
        try Data().write(to: URL(fileURLWithPath: path + "/x.incoming"))
        let next = OperationFiles(directory: path)
        #expect(try next.entries().map(\.id) == ["b"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).sorted() == ["62.files", "62.operation"])
    }

    @Test(
        "a backup without an operation's files is not valid, unless the operation has no files",
        arguments: [FileFailure.notFound, FileFailure.inputOutput])
    func copying(failureNumber: Int32) throws {
        let directory = try HostDirectory()
        let path = directory.url.appendingPathComponent("operations").path
        let target = directory.url.appendingPathComponent("copy").path
        try OperationFiles(directory: path).save(entry("a"))
        let files = UnlistableFiles(suffix: ".files", failure: FileFailure(number: failureNumber))
        if failureNumber == FileFailure.notFound {
            #expect(try OperationFiles.copy(path, to: target, files: files) == 1)
        } else {
            let error = #expect(throws: CloudError.self) { try OperationFiles.copy(path, to: target, files: files) }
            #expect(error?.code == .serviceUnavailable)
        }
    }

    @Test("a pipe in place of an operation's file fails only that operation, without blocking")
    func pipe() async throws {
        let directory = try HostDirectory()
        let path = directory.url.appendingPathComponent("operations").path
        let files = OperationFiles(directory: path)
        for id in ["a", "b"] { try files.save(entry(id)) }
        let file = "\(path)/\(FileKeeper.name(of: "a")).operation"
        try #require(try await TestThreads.offPool { try SpecialFile.pipe.replace(file) })
        let next = OperationFiles(directory: path)
        #expect(try next.entries() == [entry("b")])
        let error = try #require(throws: CloudError.self) { try next.entry("a") }
        #expect(error.code == .internalError)
        #expect(error.fields["file"] == file)
    }

    @Test("a damaged file fails its own operation, is not changed, and is replaced by a save or a removal")
    func damage() throws {
        let directory = try HostDirectory()
        let path = directory.url.appendingPathComponent("operations").path
        let whole = OperationFiles(directory: path)
        for id in ["a", "b", "c"] { try whole.save(entry(id)) }
        let files = ["a", "b"].map { URL(fileURLWithPath: "\(path)/\(FileKeeper.name(of: $0)).operation") }
        try Data("{".utf8).write(to: files[0])
        // A file that can be decoded, and says something else than was written.
        let text = try String(contentsOf: files[1], encoding: .utf8)
        let forged = text.replacingOccurrences(of: "alice", with: "mallory")
        try #require(forged != text)
        try Data(forged.utf8).write(to: files[1])

        let next = OperationFiles(directory: path)
        #expect(try next.entries() == [entry("c")])
        for (id, file) in zip(["a", "b"], files) {
            let error = try #require(throws: CloudError.self) { try next.entry(id) }
            #expect(error.code == .internalError)
            #expect(error.fields["file"] == file.path)
        }
        #expect(try Data(contentsOf: files[0]) == Data("{".utf8))

        try next.save(entry("a"))
        try next.remove("b")
        let last = OperationFiles(directory: path)
        #expect(try last.entry("a") == entry("a"))
        #expect(try last.entry("b") == nil)
    }

    @Test("a file under another operation's name is damaged, and one without a digest is from an older version")
    func names() throws {
        let directory = try HostDirectory()
        let path = directory.url.appendingPathComponent("operations").path
        try OperationFiles(directory: path).save(entry("a"))
        let file = { (id: String) in URL(fileURLWithPath: "\(path)/\(FileKeeper.name(of: id)).operation") }
        try FileManager.default.copyItem(at: file("a"), to: file("b"))
        #expect(throws: CloudError.self) { try OperationFiles(directory: path).entry("b") }

        var object = try #require(
            JSONSerialization.jsonObject(with: Data(contentsOf: file("a"))) as? [String: Any])
        #expect(object.removeValue(forKey: "digest") != nil)
        try JSONSerialization.data(withJSONObject: object).write(to: file("a"))
        #expect(try OperationFiles(directory: path).entry("a") == entry("a"))
    }

    @Test("an operation that cannot be written is refused, and not remembered")
    func refusal() throws {
        let directory = try HostDirectory()
        let files = OperationFiles(directory: directory.url.appendingPathComponent("missing/operations").path)
        #expect(throws: (any Error).self) { try files.save(entry("a")) }
        #expect(try files.entries() == [])
    }
}
