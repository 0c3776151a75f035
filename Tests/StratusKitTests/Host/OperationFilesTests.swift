// Long-lived operations of a store in a directory.

import Foundation
import Testing

@testable import StratusKit

@Suite("Operation files")
struct OperationFilesTests {
    private func entry(_ id: String, answer: String? = nil) -> LongLivedEntry {
        LongLivedEntry(
            id: id, container: "iCloud.test", account: "alice", kind: "CKModifyRecordsOperation",
            request: Data("request".utf8), answer: answer.map { Data($0.utf8) },
            answered: answer.map { _ in Date(timeIntervalSince1970: 1_800_000_000) })
    }

    @Test("[O-14] what was saved is there for the next process, in its newest form, until it is removed")
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

    @Test("[O-14] a file that is kept is the operation's own, and goes with it")
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

    @Test("[O-14] what a crash has left of an operation that was never kept is removed")
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

    @Test("a damaged file is said to be damaged, and is left alone")
    func damage() throws {
        let directory = try HostDirectory()
        let path = directory.url.appendingPathComponent("operations").path
        try OperationFiles(directory: path).save(entry("a"))
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: path).first)
        let file = URL(fileURLWithPath: path + "/" + name)
        try Data("{".utf8).write(to: file)
        #expect(throws: (any Error).self) { try OperationFiles(directory: path).entries() }
        #expect(try Data(contentsOf: file) == Data("{".utf8))
    }

    @Test("what cannot be written is refused, and not remembered")
    func refusal() throws {
        let directory = try HostDirectory()
        let files = OperationFiles(directory: directory.url.appendingPathComponent("missing/operations").path)
        #expect(throws: (any Error).self) { try files.save(entry("a")) }
        #expect(try files.entries() == [])
    }
}
