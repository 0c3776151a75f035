// Pages and pictures in a real browser: 'make pages' runs them, and leaves screenshots to check.

import Foundation
import StratusTestSupport
import Testing

/// The folder for screenshots; nil if no browser is to be started.
private let screenshotFolder = ProcessInfo.processInfo.environment["STRATUS_PAGES"]

@Suite("pages in a browser", .enabled(if: screenshotFolder != nil), .serialized)
struct PageTests {
    private struct Page: Sendable {
        var name: String
        var line: String
        var path = ""
        /// What it must contain.
        var words: [String] = []
        var hasKeys = false
    }

    private static let tallestScreenshot = 6_000

    @Test("pages and pictures are complete, static and readable: in light and dark mode, on narrow and wide windows")
    func pages() async throws {
        let directory = try TestDirectory()
        try await PictureStore.makeHousehold(at: "\(directory.path)/household")
        try await PictureStore.makeHostile(at: "\(directory.path)/hostile")
        let names = PictureStore.hostileNames.map(\.shown)
        let place = "/ --owner anna --zone home"
        var pages = [
            Page(name: "household-tree.html", line: "tree \(place) --format html", words: ["Groceries"], hasKeys: true),
            Page(name: "household-tree.svg", line: "tree \(place) --format svg --nodes 40", words: ["Groceries"]),
            Page(name: "household-report.html", line: "report --verify", words: ["✓ Verified", "ben"]),
            Page(name: "hostile-tree.html", line: "tree \(place) --format html", words: names, hasKeys: true),
            Page(name: "hostile-tree.svg", line: "tree \(place) --format svg --nodes 400", words: names),
            Page(name: "hostile-report.html", line: "report", words: ["<i>eve</i> \"quoted\"", "Not verified"]),
        ]
        for index in pages.indices {
            let page = pages[index]
            let store = page.name.prefix { $0 != "-" }
            let run = try await ToolRun.shell(
                "\"$TOOL\" \(page.line) --store \(store) --output \(page.name)", in: directory)
            try #require(run.status == 0, "\(run.errors)")
            pages[index].path = "\(directory.path)/\(page.name)"
        }
        let found = try await TestThreads.offPool { [pages] in try Self.visit(pages, in: directory.path) }
        #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
    }

    private static func visit(_ pages: [Page], in directory: String) throws -> [String] {
        let folder = URL(fileURLWithPath: screenshotFolder ?? directory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let browser = try Browser(in: directory)
        defer { browser.close() }
        var faults: [String] = []
        for page in pages {
            for isDark in [false, true] {
                for width in [390, 1_280] {
                    let view = "\(page.name) \(isDark ? "dark" : "light") \(width)"
                    try browser.open(page.path, isDark: isDark, width: width)
                    faults += try check(page, browser).map { "\(view): \($0)" }
                    let height = min(try browser.value(of: PageAudit.height) as? Int ?? 900, tallestScreenshot)
                    let whole = page.name.hasSuffix(".svg") ? try browser.value(of: PageAudit.width) as? Int : nil
                    let picture = try browser.screenshot(height: height, width: whole ?? width)
                    let name = "\(view.replacingOccurrences(of: " ", with: "-")).png"
                    try picture.write(to: folder.appendingPathComponent(name))
                }
            }
        }
        return faults
    }

    private static func check(_ page: Page, _ browser: Browser) throws -> [String] {
        var faults = try browser.value(of: PageAudit.faults) as? [String] ?? ["no answer"]
        let text = try browser.value(of: PageAudit.text) as? String ?? ""
        for words in page.words where !text.contains(words) { faults.append("does not say '\(words)'") }
        if page.hasKeys { faults += try checkKeys(browser) }
        return faults + browser.complaints
    }

    /// Goes through the page with the Tab key to the first record, which opens and closes by the Enter key.
    private static func checkKeys(_ browser: Browser) throws -> [String] {
        let state = "[document.activeElement.tagName, document.activeElement.parentElement?.open === true].join()"
        for _ in 0..<6 {
            try browser.press("Tab", code: 9)
            guard try browser.value(of: state) as? String != "SUMMARY,true" else {
                try browser.press("Enter", code: 13, text: "\r")
                let closed = try browser.value(of: state) as? String
                try browser.press("Enter", code: 13, text: "\r")
                let opened = try browser.value(of: state) as? String
                _ = try browser.value(of: "document.activeElement.blur()")
                return closed == "SUMMARY,false" && opened == "SUMMARY,true" ? [] : ["Enter does nothing"]
            }
        }
        return ["the Tab key does not lead to the records"]
    }

    @Test("a faulty page is detected: each fault is planted once")
    func plantedFaults() async throws {
        let directory = try TestDirectory()
        let sound = "<!DOCTYPE html><html lang=\"en\"><body style=\"background:#fff;color:#000\"><h1>a</h1>"
        let faulty: [(fault: String, body: String)] = [
            ("console:", "<script>console.error('x')</script>"),
            ("an element script", "<script></script>"),
            ("exception:", "<script>null.x</script>"),
            ("request: http://stratus.invalid/x.png", "<p>a</p><img src=\"http://stratus.invalid/x.png\">"),
            ("pale (", "<p style=\"color:#999\">pale</p>"),
            ("small (", "<p style=\"font-size:9px\">small</p>"),
            ("wider than its window", "<div style=\"width:3000px\">wide</div>"),
            (
                "boxes over each other",
                "<svg aria-label=\"x\"><rect class=\"box\" width=\"9\" height=\"9\"/>"
                    + "<rect class=\"box\" x=\"3\" width=\"9\" height=\"9\"/></svg>"
            ),
            ("cut off", "<svg aria-label=\"x\"><svg width=\"5\"><text y=\"15\">long</text></svg></svg>"),
            ("a picture without words", "<svg></svg>"),
            ("a table without caption", "<table><tr><td>x</td></tr></table>"),
            ("does not say 'needed'", "<p>other</p>"),
        ]
        for (index, one) in faulty.enumerated() {
            let url = URL(fileURLWithPath: "\(directory.path)/\(index).html")
            try Data((sound + one.body + "</body></html>").utf8).write(to: url)
        }
        let bodies = faulty.map(\.fault)
        let found = try await TestThreads.offPool {
            let browser = try Browser(in: directory.path)
            defer { browser.close() }
            return try bodies.indices.map { index in
                let path = "\(directory.path)/\(index).html"
                try browser.open(path, isDark: false, width: 800)
                return try Self.check(Page(name: "x", line: "", path: path, words: ["needed"]), browser)
            }
        }
        for (one, faults) in zip(faulty, found) {
            #expect(faults.contains { $0.contains(one.fault) }, "\(one.fault): \(faults)")
        }
    }
}
