// Runs the built tool, or a shell, as a child process and waits for it without holding a thread of the cooperative
// pool.

import Foundation
import StratusTestSupport
import Testing

/// A child's exit status and output.
struct ToolRun {
    /// A child that takes longer hangs; it is killed and its test fails.
    private static let limitSeconds = 900.0

    private struct End {
        let status: Int32
        let wasKilled: Bool
    }

    let status: Int32
    let wasKilled: Bool
    let output: String
    let errors: String

    var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// The lines of standard error without progress lines, which appear if the run is slow.
    var told: [String] { errors.split(separator: "\n").map(String.init).filter { !Self.isProgress($0) } }

    /// Whether a line is such as "importing: 400 of 1,000, 80/s, 8 s left".
    private static func isProgress(_ line: String) -> Bool {
        guard !["{", "error:", "note:"].contains(where: { line.hasPrefix($0) }) else { return false }
        let amount = "(\\d[\\d,]*|\\d+(\\.\\d)? ([KMGT]i)?B)"
        let duration = "(\\d+ s|\\d+ min \\d+ s|\\d+ h \\d+ min)"
        let form =
            "^.+: \(amount)( of (at most )?\(amount))?(, \(amount)/s)?(, (at most )?\(duration) left)?$"
        return line.range(of: form, options: .regularExpression) != nil
    }

    /// The tool that was built together with these tests.
    static var executable: String {
        var url = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        // On other hosts the tests are in a bundle inside the products' directory.
        while url.path != "/", !FileManager.default.isExecutableFile(atPath: url.appendingPathComponent("stratus").path)
        {
            url.deleteLastPathComponent()
        }
        return url.appendingPathComponent("stratus").path
    }

    static func stratus(_ arguments: String..., in directory: TestDirectory) async throws -> ToolRun {
        try await run(executable, arguments, in: directory)
    }

    /// Runs a script with $TOOL standing for the tool.
    static func shell(_ script: String, in directory: TestDirectory) async throws -> ToolRun {
        try await run("/bin/bash", ["-c", script], in: directory)
    }

    private static func run(
        _ path: String, _ arguments: [String], in directory: TestDirectory
    ) async throws -> ToolRun {
        // Files take any amount of output, so the child never waits for a reader.
        let name = UUID().uuidString
        let files = ["out", "err"].map {
            FileManager.default.temporaryDirectory.appendingPathComponent("\(name).\($0)")
        }
        defer { for file in files { try? FileManager.default.removeItem(at: file) } }
        for file in files { try Data().write(to: file) }
        let end = try await TestThreads.offPool { try wait(for: path, arguments, in: directory, writingTo: files) }
        return ToolRun(
            status: end.status, wasKilled: end.wasKilled,
            output: String(decoding: try Data(contentsOf: files[0]), as: UTF8.self),
            errors: String(decoding: try Data(contentsOf: files[1]), as: UTF8.self))
    }

    /// Starts a child and returns when it has ended, or was killed because it took too long.
    private static func wait(
        for path: String, _ arguments: [String], in directory: TestDirectory, writingTo files: [URL]
    ) throws -> End {
        var environment = ProcessInfo.processInfo.environment
        environment["TOOL"] = executable
        environment["SWIFT_BACKTRACE"] = "enable=no"
        let child = try ChildProcess(
            path, arguments, environment: environment, in: directory.path,
            output: .file(try FileHandle(forWritingTo: files[0])),
            errors: .file(try FileHandle(forWritingTo: files[1])))
        let deadline = Task {
            try await Task.sleep(for: .seconds(limitSeconds))
            child.kill()
        }
        defer { deadline.cancel() }
        return switch child.wait() {
        case .exited(let status): End(status: status, wasKilled: false)
        case .killed(let signal): End(status: signal, wasKilled: true)
        case .lost: End(status: -1, wasKilled: true)
        }
    }

    /// The lines of output as JSON objects.
    func objects(_ location: SourceLocation = #_sourceLocation) throws -> [[String: Any]] {
        try lines.map { try Self.object($0, location) }
    }

    /// The only line of output as a JSON object.
    func object(_ location: SourceLocation = #_sourceLocation) throws -> [String: Any] {
        try #require(lines.count == 1, "not one line: \(output) \(errors)", sourceLocation: location)
        return try Self.object(lines[0], location)
    }

    /// The error that the tool wrote as JSON: after progress, and the only other output.
    func error(_ location: SourceLocation = #_sourceLocation) throws -> [String: Any] {
        try #require(told.count == 1, "not one line: \(errors)", sourceLocation: location)
        #expect(errors.split(separator: "\n").last.map(String.init) == told[0], sourceLocation: location)
        let object = try Self.object(told[0], location)
        return try #require(object["error"] as? [String: Any], sourceLocation: location)
    }

    private static func object(_ text: String, _ location: SourceLocation) throws -> [String: Any] {
        let parsed = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return try #require(parsed as? [String: Any], "not an object: \(text)", sourceLocation: location)
    }
}

/// A directory of its own for one test, removed afterwards.
final class TestDirectory: Sendable {
    let path: String

    init() throws {
        let base = FileManager.default.temporaryDirectory.appendingPathComponent("stratus-tool-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: base, withIntermediateDirectories: false)
        path = base.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func bytes(of name: String) -> [UInt8] { Array("\(path)/\(name)".utf8) }

    /// Makes a small tree "tree": folders a/b/c and d, files a/b/c/deep, a/one and d/two, a link d/link.
    func makeTree() async throws {
        let made = try await ToolRun.shell(
            "mkdir -p tree/a/b/c tree/d && echo deep > tree/a/b/c/deep && echo one > tree/a/one && echo two > tree/d/two "
                + "&& ln -s nowhere tree/d/link", in: self)
        try #require(made.status == 0)
    }

    /// Makes the small tree and imports it into "store".
    func importTree() async throws {
        try await makeTree()
        let run = try await ToolRun.stratus("import-tree", "tree", "--store", "store", in: self)
        try #require(run.status == 0, "\(run.errors)")
    }
}
