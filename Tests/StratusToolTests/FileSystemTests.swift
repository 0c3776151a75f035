// Names as bytes, and the walk over a tree that changes under it.

import StratusModel
import Testing

@testable import stratus

@Suite("names and directory walks")
struct FileSystemTests {
    @Test("every name of up to three bytes from a small alphabet is escaped uniquely and unescaped")
    func namesRoundTrip() {
        let alphabet: [UInt8] = [0x01, 0x25, 0x32, 0x35, 0x41, 0x7F, 0x80, 0xC3, 0xA9, 0xE2, 0x82, 0xAC, 0xF0, 0xFF]
        var seen: Set<[UInt8]> = []
        func check(_ name: [UInt8]) {
            let text = PercentText.escaping(name)
            #expect(PercentText.bytes(of: text) == name)
            #expect(seen.insert(Array(text.utf8)).inserted, "two names became \(text)")
        }
        for first in alphabet {
            check([first])
            for second in alphabet {
                check([first, second])
                for third in alphabet { check([first, second, third]) }
            }
        }
    }

    @Test("text that is not a valid escape is not decoded")
    func foreignEscapes() {
        for text in ["%", "%2", "%zz", "a%~b"] { #expect(PercentText.bytes(of: text) == nil) }
    }

    @Test("a valid name stays unchanged, an invalid one is escaped where it is invalid")
    func displayedNames() {
        #expect(FileName(Array("é %".utf8)).displayText == "é %")
        #expect(FileName([0x61, 0xFF, 0xC3, 0xA9]).displayText == "a%FFé")
    }

    @Test("a long path has a record name of 255 bytes that no other path has")
    func longNames() {
        let naming = TreeNaming(top: FileName(Array("top".utf8)))
        let long = [UInt8](repeating: 0x78, count: 400)
        let name = naming.name(of: long)
        #expect(name.text.utf8.count <= 255)
        #expect(naming.name(of: long + [0x79]) != name)
        // A file with the name of the long path's record has another record.
        let imitation = Array(name.text.dropFirst("top/".count).utf8)
        #expect(naming.name(of: imitation) != name)
    }

    @Test("a file that vanishes after it was listed is reported, and the walk continues")
    func vanishing() async throws {
        let directory = try TestDirectory()
        try await directory.makeTree()
        var walker = try TreeWalker(top: directory.bytes(of: "tree"), name: FileName(Array("tree".utf8)))
        // The top has been reported and listed: "a" and "d" are still to come.
        _ = walker.next()
        _ = try await ToolRun.shell("rm -r tree/a", in: directory)
        var problems: [FileProblem] = []
        var files: [String] = []
        while let item = walker.next() {
            switch item {
            case .problem(let problem, _, _): problems.append(problem)
            case .file(let file): files.append(PercentText.escaping(file.relativePath))
            }
        }
        #expect(problems == [.vanished])
        #expect(files == ["d", "d/link", "d/two"])
    }

    @Test("control and bidirectional characters never reach a terminal raw")
    func visibleText() {
        #expect(VisibleText.of("a\u{1B}[31m\u{202E}\u{9B}\n") == "a\\u{1b}[31m\\u{202e}\\u{9b}\\u{a}")
        #expect(VisibleText.of("Zürich 東京") == "Zürich 東京")
        #expect("\u{1B}\"\\\u{E0001}".jsonText == "\"\\u001b\\\"\\\\\\udb40\\udc01\"")
    }

    @Test("quantities are formatted for people")
    func quantities() {
        #expect(Quantities.count(1_234_567) == "1,234,567")
        #expect(Quantities.count(-1_000) == "-1,000")
        #expect(Quantities.bytes(1_023) == "1023 B")
        #expect(Quantities.bytes(1_024) == "1.0 KiB")
        #expect(Quantities.bytes(1_536) == "1.5 KiB")
        #expect(Quantities.duration(.milliseconds(12)) == "12.00 ms")
        #expect(Quantities.duration(.seconds(75)) == "1 min 15 s")
        #expect(Quantities.duration(.seconds(7_384)) == "2 h 3 min")
    }
}
