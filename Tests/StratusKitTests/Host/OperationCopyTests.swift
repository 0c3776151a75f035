// Long-lived operations that go from a directory into a store, and back.

import Foundation
import StratusCloud
import StratusLayout
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite("copies of long-lived operations")
struct OperationCopyTests {
    private let directory: HostDirectory
    private let memory = MemoryContents { 1_000 }
    private let engine: RecordEngine

    init() throws {
        directory = try HostDirectory()
        engine = try RecordEngine(
            store: ContentsStore(TwiceRunningStore(MemoryStore()), memory), incarnation: UUID())
    }

    private func path(_ name: String) -> String { directory.url.appendingPathComponent(name).path }

    private func entry(_ id: String, answer: String? = nil, byteCount: Int = 7) -> LongLivedEntry {
        LongLivedEntry(
            id: id, container: "iCloud.test", account: "alice", kind: "CKModifyRecordsOperation",
            request: Data(repeating: 0x41, count: byteCount), answer: answer.map { Data($0.utf8) },
            answered: answer.map { _ in Date(timeIntervalSince1970: 1_800_000_000) })
    }

    /// Operations with and without answers and files, in a directory.
    private func fill() throws {
        let files = OperationFiles(directory: path("operations"))
        let large = Data((0..<20_500).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) })
        for (number, content) in [Data(), Data("sunset".utf8), large].enumerated() {
            let source = directory.url.appendingPathComponent("source")
            try content.write(to: source)
            #expect(try files.keepFile(source.path, as: 3 * number, of: "with files") != nil)
        }
        try files.save(entry("with files"))
        try files.save(entry("../b / ü", answer: "done"))
        try files.save(entry("large", byteCount: 1_200_000))
    }

    /// The names and contents of all files in a directory.
    private func tree(_ name: String) throws -> [String: Data] {
        var tree: [String: Data] = [:]
        for item in try FileManager.default.subpathsOfDirectory(atPath: path(name)) {
            tree[item] = FileManager.default.contents(atPath: "\(path(name))/\(item)")
        }
        return tree
    }

    private func stored() -> StoredOperations {
        let (engine, copies) = (engine, path("copies"))
        return StoredOperations(
            lend: { if let forms = OperationForms(engine) { try $0(forms) } }, takeDirectory: { copies },
            giveBack: { try? FileManager.default.removeItem(atPath: $0) })
    }

    @Test("[O-14] operations and their files go into a store and back unchanged, with their numbers")
    func both() throws {
        try fill()
        var told: [[Int]] = []
        #expect(try Stratus.copyOperations(path("operations"), into: engine) { told.append([$0, $1]) } == 3)
        #expect(told == [[1, 3], [2, 3], [3, 3]])
        #expect(memory.count == 3)
        let operations = stored()
        #expect(try operations.entries().count == 3)
        #expect(try operations.entry("../b / ü") == entry("../b / ü", answer: "done"))
        for number in [0, 3, 6] {
            let name = "\(FileKeeper.name(of: "with files")).files/\(number)"
            let kept = try #require(operations.keptFile(number, of: "with files"))
            #expect(FileManager.default.contents(atPath: kept) == (try tree("operations")[name]))
        }
        #expect(try Stratus.copyOperations(of: engine, to: path("back")) == 3)
        #expect(try tree("back") == tree("operations"))
    }

    @Test("[O-14] a second copy replaces what the first one has left")
    func again() throws {
        try fill()
        _ = try Stratus.copyOperations(path("operations"), into: engine)
        let files = OperationFiles(directory: path("operations"))
        try files.remove("with files")
        try files.save(entry("large", answer: "done"))
        #expect(try Stratus.copyOperations(path("operations"), into: engine) == 2)
        #expect(memory.count == 0)
        #expect(Set(try stored().entries().map(\.id)) == ["../b / ü", "large"])
        #expect(try stored().entry("large") == entry("large", answer: "done"))
        #expect(try Stratus.copyOperations(of: engine, to: path("back")) == 2)
        #expect(try tree("back") == tree("operations"))
        // And an interrupted one: parts without a head, and a file without an operation.
        try engine.transact { transaction in
            let part = OperationPart(first: 1, count: 2, bytes: [1])
            try transaction.set(GlobalKeys.operation("lost", 1), to: part.encoded())
        }
        try memory.append([[1]], from: 0, to: GlobalKeys.operation("lost", 0))
        #expect(try Stratus.copyOperations(of: engine, to: path("again")) == 2)
        #expect(try tree("again") == tree("operations"))
        #expect(try Stratus.copyOperations(path("operations"), into: engine) == 2)
        #expect(memory.count == 0)
        #expect(try engine.read { try $0.store.keys(in: GlobalKeys.operation("lost")) } == [])
    }

    @Test("[O-14] a damaged operation stays damaged and fails alone, and a foreign file is no operation")
    func damage() throws {
        try fill()
        for (name, text) in [("6f70", "{}"), ("6f71", "")] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path("operations/\(name).operation")))
        }
        try Data("{}".utf8).write(to: URL(fileURLWithPath: path("operations/foreign.operation")))
        #expect(try Stratus.copyOperations(path("operations"), into: engine) == 5)
        let operations = stored()
        #expect(try operations.entries().count == 3)
        for id in ["op", "oq"] {
            let error = #expect(throws: CloudError.self) { try operations.entry(id) }
            #expect(error?.code == .internalError)
        }
        #expect(try Stratus.copyOperations(of: engine, to: path("back")) == 5)
        try FileManager.default.removeItem(atPath: path("operations/foreign.operation"))
        #expect(try tree("back") == tree("operations"))
    }

    @Test("[O-14] without operations no directory is made, and what the store has is removed")
    func none() throws {
        #expect(try Stratus.copyOperations(of: engine, to: path("back")) == 0)
        #expect(!FileManager.default.fileExists(atPath: path("back")))
        try fill()
        _ = try Stratus.copyOperations(path("operations"), into: engine)
        #expect(try Stratus.copyOperations(path("nowhere"), into: engine) == 0)
        #expect(memory.count == 0)
        #expect(try stored().entries() == [])
    }

    @Test("[O-14] an operation that ends while it is copied is not copied without its files")
    func overtaken() throws {
        try fill()
        _ = try Stratus.copyOperations(path("operations"), into: engine)
        let forms = try #require(OperationForms(engine))
        // Between its files and itself.
        try forms.removeEntries(of: "with files")
        #expect(try OperationFiles(directory: path("back")).takeAll(from: forms) == 2)
        #expect(try tree("back").keys.filter { $0.contains(".files") } == [])
    }
}
