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
