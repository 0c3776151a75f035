// The project's own files, read once for all rules.

import Foundation
import StratusTestSupport

/// The text files of the checkout these tests were built from.
struct ProjectTree: Sendable {
    static let folders = ["Sources", "Tests", "Benchmarks", "Examples", "Docs", "scripts", ".ci", ".github"]
    static let shared = ProjectTree(root: root)

    /// Relative path → text.
    let texts: [String: String]
    /// Every file and folder, by relative path.
    let paths: Set<String>

    private static var root: URL {
        // Tests/TidyTests/Reading/ProjectTree.swift → the package's folder.
        var url = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { url.deleteLastPathComponent() }
        return url
    }

    init(root: URL) {
        let manager = FileManager.default
        var texts: [String: String] = [:]
        var paths: Set<String> = []
        let top = (try? manager.contentsOfDirectory(atPath: root.path)) ?? []
        // Logs and stores left at the top are ignored.
        let known: Set = ["Makefile", "LICENSE", "NOTICE", ".swift-format", ".gitignore"]
        var candidates = top.filter { known.contains($0) || $0.hasSuffix(".md") || $0 == "Package.swift" }
        candidates += Self.folders.filter(top.contains)
        for folder in Self.folders {
            let inside = manager.enumerator(atPath: root.appendingPathComponent(folder).path)?.compactMap {
                $0 as? String
            }
            candidates += (inside ?? []).filter { !$0.contains(".build/") }.map { "\(folder)/\($0)" }
        }
        for path in candidates {
            paths.insert(path)
            let url = root.appendingPathComponent(path)
            // Binary files (frozen stores) are no text and are skipped; so are folders.
            if let text = try? String(contentsOf: url, encoding: .utf8), !text.contains("\0") { texts[path] = text }
        }
        self.texts = texts
        self.paths = paths
    }

    /// Swift files, in path order. The code of tutorials is compiled elsewhere, from its snippets.
    var sources: [SwiftSource] {
        texts.filter { $0.key.hasSuffix(".swift") && !PageCodeRule.isTutorialCode($0.key) }.sorted { $0.key < $1.key }
            .map { SwiftSource(path: $0.key, text: $0.value) }
    }

    var architecture: Architecture { Architecture(markdown: texts[Architecture.path] ?? "") }

    /// What git tracks, or nil when this is no checkout (an unpacked archive) or there is no git.
    static func trackedPaths() throws -> [String]? {
        guard FileManager.default.fileExists(atPath: root.appendingPathComponent(".git").path) else { return nil }
        let git = try ChildProcess.run(
            "/usr/bin/env", ["git", "-c", "safe.directory=*", "-C", root.path, "ls-files", "-z"], errors: .nothing)
        guard git.end.isSuccess else { return nil }
        return String(decoding: git.output, as: UTF8.self).split(separator: "\0").map(String.init)
    }
}
