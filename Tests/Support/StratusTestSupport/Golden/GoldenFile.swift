// Golden files: text that a test produces, compared with the recorded and reviewed text.
//
// They are in the folder `Golden` next to the test's source file. STRATUS_RECORD=1 records them again instead of
// comparing; the change is then read in the version history like any other. Use:
//
//     #expect(GoldenFile("keys.txt").difference(from: text) == nil)

import FoundationEssentials

/// A recorded text of one test target.
package struct GoldenFile {
    private let path: String
    private let recordsAnew: Bool

    /// The file of this name in the folder `Golden` next to the calling source file.
    package init(_ name: String, nextTo sourcePath: String = #filePath) {
        self.init(
            path: URL(filePath: sourcePath).deletingLastPathComponent().appending(path: "Golden/\(name)").path,
            recordsAnew: ProcessInfo.processInfo.environment["STRATUS_RECORD"] == "1")
    }

    package init(path: String, recordsAnew: Bool) {
        self.path = path
        self.recordsAnew = recordsAnew
    }

    /// Nil if the text equals the recorded one, or has just been recorded; otherwise the first line that differs.
    package func difference(from text: String) -> String? {
        let text = text.hasSuffix("\n") ? text : text + "\n"
        if recordsAnew { return record(text) }
        guard let data = FileManager.default.contents(atPath: path) else {
            return "\(path) is missing: run the test once with STRATUS_RECORD=1 and review what it recorded."
        }
        return Self.firstDifference(recorded: String(decoding: data, as: UTF8.self), actual: text).map {
            "\(path): \($0)"
        }
    }

    private func record(_ text: String) -> String? {
        do {
            let folder = URL(filePath: path).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(filePath: path))
            print("recorded \(path)")
            return nil
        } catch {
            return "\(path) could not be recorded: \(error)"
        }
    }

    /// The first line in which two texts differ, as one readable line; nil if there is none.
    package static func firstDifference(recorded: String, actual: String) -> String? {
        // Compared as bytes: Swift's == would accept text that is only canonically equivalent.
        let recordedLines = recorded.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let actualLines = actual.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for index in 0..<max(recordedLines.count, actualLines.count) {
            let old = index < recordedLines.count ? recordedLines[index] : nil
            let new = index < actualLines.count ? actualLines[index] : nil
            if let old, let new, old.elementsEqual(new) { continue }
            return "line \(index + 1): recorded \(quoted(old)), now \(quoted(new))"
        }
        return nil
    }

    private static func quoted(_ line: Substring.UTF8View?) -> String {
        line.map { "\"\(Substring($0))\"" } ?? "nothing"
    }
}
