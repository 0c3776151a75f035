// The contents of a name never become markup.

import Testing

@testable import stratus

@Suite("names in pages and pictures")
struct MarkupTests {
    private static let syntax = "<a href=\"x\">&amp; 'y' ]]> --> \\ \\N {$}"

    @Test("text is escaped in HTML, and other HTML is not")
    func html() {
        let bold: Markup = "<b>\(Self.syntax)</b>"
        #expect(
            bold.markup == "<b>&lt;a href=&quot;x&quot;&gt;&amp;amp; &#39;y&#39; ]]&gt; --&gt; \\ \\N {$}</b>")
        let page: Markup = "<p title=\"\(Self.syntax)\">\(bold)\(12)</p>"
        #expect(page.markup.hasSuffix(">\(bold.markup)12</p>"))
        #expect(page.markup.contains("title=\"&lt;a href=&quot;x&quot;&gt;"))
    }

    @Test("text is escaped in SVG, without anything that XML forbids")
    func svg() {
        let text: Markup = "<text a=\"\(Self.syntax)\">\("a\u{0}\u{B}\u{FFFE}\u{9F}]]>")</text>"
        #expect(text.markup.hasSuffix(">a\\u{0}\\u{b}\\u{fffe}\\u{9f}]]&gt;</text>"))
        #expect(text.markup.hasPrefix("<text a=\"&lt;a href=&quot;x&quot;&gt;&amp;amp; &#39;y&#39; ]]&gt; --&gt;"))
    }

    @Test("text in DOT is a string without active escapes")
    func dot() throws {
        let node: DOT = "n\(1) [label=\(Self.syntax), tooltip=\(lines: ["a", "\\"])];"
        #expect(node.source.hasPrefix("n1 [label=\"<a href=\\\"x\\\">&amp;amp; 'y' ]]> --> \\\\ \\\\N {$}\", "))
        #expect(node.source.hasSuffix("tooltip=\"a\\l\\\\\\l\"];"))
        #expect(try DOTScanner(node.source).strings == [Self.syntax, "a\n\\\n"])
    }

    @Test("every scalar up to U+FFFF, and some beyond, is read back or spelled out, in every language")
    func everyScalar() throws {
        let numbers = Array(UInt32(0)...0xFFFF) + [0x10000, 0x1F600, 0x1FFFE, 0xE0041, 0x10FFFF]
        for start in stride(from: 0, to: numbers.count, by: 4_096) {
            let scalars = numbers[start..<min(start + 4_096, numbers.count)].compactMap { Unicode.Scalar($0) }
            var raw = ""
            var spelled = ""
            for scalar in scalars {
                raw.unicodeScalars.append(scalar)
                let isForbidden = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
                if isForbidden || DisplayText.isNoncharacter(scalar) {
                    spelled += "\\u{" + String(scalar.value, radix: 16) + "}"
                } else {
                    spelled.unicodeScalars.append(scalar)
                }
            }
            let html: Markup = "<p>\(raw)</p>"
            let svg: Markup = "<g>\(raw)</g>"
            let dot: DOT = "\(raw)"
            #expect(try MarkupScanner(html.markup).text.utf8.elementsEqual(spelled.utf8))
            #expect(try MarkupScanner(svg.markup).text.utf8.elementsEqual(spelled.utf8))
            #expect(try DOTScanner(dot.source).strings[0].utf8.elementsEqual(spelled.utf8))
        }
    }

    @Test("names are shown on one line, with invisible and bidirectional characters spelled out")
    func display() {
        for name in PictureStore.hostileNames {
            #expect(DisplayText.of(name.label).utf8.starts(with: name.shown.utf8), "\(name.shown)")
        }
        #expect(DisplayText.of(String(repeating: "x", count: 5_000)).unicodeScalars.count == 201)
        #expect(DisplayText.of("abc", limit: 2) == "ab…")
        #expect(DisplayText.of("a\u{2028}b") == "a\\u{2028}b")
    }

    @Test("labels are truncated to the available cells: wide letters take two, marks none")
    func columns() {
        #expect(DisplayText.columnCount(of: "abc") == 3)
        #expect(DisplayText.columnCount(of: "日本") == 4)
        #expect(DisplayText.columnCount(of: "a\u{301}\u{301}") == 1)
        #expect(DisplayText.fitting("abcdef", columns: 6) == "abcdef")
        #expect(DisplayText.fitting("abcdefg", columns: 6) == "abcde…")
        #expect(DisplayText.columnCount(of: DisplayText.fitting("日本日本日本", columns: 6)) <= 6)
    }

    @Test("the scanners of these tests detect unescaped markup")
    func scanners() {
        for markup in ["<p>a & b</p>", "<p>a > b</p>", "<p><b></p>", "<p a='x'></p>", "<p>\u{1}</p>", "<p>&nbsp;</p>"] {
            #expect(throws: MarkupScanner.Fault.self) { try MarkupScanner(markup) }
        }
        for source in ["\"a", "\"\\N\""] {
            #expect(throws: MarkupScanner.Fault.self) { try DOTScanner(source) }
        }
    }
}
