// Lines of files, and how much of them was read.

import Foundation
import Testing

@testable import stratus

@Suite("lines of a file")
struct LineReaderTests {
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    @Test("a reader knows its file's size, and after each line how much was read")
    func byteCounts() throws {
        let path = "\(directory.path)/lines"
        // More than is fetched at once; the last line has no end.
        let long = String(repeating: "x", count: 3 << 20)
        try Data("ab\n\n\(long)\nend".utf8).write(to: URL(fileURLWithPath: path))
        var reader = try LineReader(path: path)
        let total = 3 + 1 + long.utf8.count + 1 + 3
        #expect(reader.byteCount == total)
        #expect(reader.readByteCount == 0)
        var places: [Int] = []
        while try reader.next() != nil { places.append(reader.readByteCount) }
        #expect(places == [3, 4, total - 3, total])
        #expect(reader.lineNumber == 4)
    }

    @Test("a pipe is read without a known size")
    func pipe() async throws {
        #expect(try LineReader(path: "-").byteCount == nil)
        try await directory.importTree()
        let run = try await ToolRun.shell(
            """
            "$TOOL" export all --store store && "$TOOL" import <(cat all) --store two \
              && "$TOOL" export - --store two | cmp - all
            """, in: directory)
        #expect(run.status == 0, "\(run.output) \(run.errors)")
    }
}
