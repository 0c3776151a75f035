// Runs the helper executable that is built next to the test bundle.

import Foundation
import StratusTestSupport

/// A child process with its input and output.
final class TestChild {
    private let process: ChildProcess
    private let input = Pipe()
    private let output = Pipe()

    var processID: Int32 { process.processID }

    private static let executable = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("stratus-test-program")

    static func start(_ arguments: String...) throws -> TestChild { try TestChild(executable, arguments) }

    private init(_ executable: URL, _ arguments: [String]) throws {
        process = try ChildProcess(
            executable.path, arguments, input: .file(input.fileHandleForReading),
            output: .file(output.fileHandleForWriting))
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
    }

    /// Runs a child to its end and returns what it printed.
    static func run(_ verb: String, _ path: String) throws -> String {
        let child = try start(verb, path)
        return child.finish()
    }

    /// The same in a process that may have 128 descriptors.
    static func runWithFewDescriptors(_ verb: String, _ path: String) throws -> String {
        let shell = URL(fileURLWithPath: "/bin/sh")
        return try TestChild(shell, ["-c", "\(fewDescriptors) && exec \"$0\" \"$@\"", executable.path, verb, path])
            .finish()
    }

    private static let fewDescriptors = "ulimit -n 128"

    /// The same with an empty /dev as well; nil if this process cannot create one.
    static func runWithEmptyDev(_ verb: String, _ path: String) throws -> String? {
        let unshare = URL(fileURLWithPath: "/usr/bin/unshare")
        guard FileManager.default.isExecutableFile(atPath: unshare.path) else { return nil }
        let script = "mount -t tmpfs none /dev && \(fewDescriptors) && echo ready && exec \"$0\" \"$@\""
        let child = try TestChild(unshare, ["--mount", "sh", "-c", script, executable.path, verb, path])
        let output = child.finish()
        guard output.hasPrefix("ready\n") else { return nil }
        return String(output.dropFirst("ready\n".count))
    }

    /// The first line of the child's output so far, once there is any.
    func readLine() -> String {
        String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            .split(separator: "\n").first.map(String.init) ?? ""
    }

    /// The last line of the child's output since the request; waits for one.
    func readLastLine() -> String {
        var text = ""
        repeat {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { return "" }
            text += String(decoding: data, as: UTF8.self)
        } while !text.hasSuffix("\n")
        return text.split(separator: "\n").last.map(String.init) ?? ""
    }

    /// Ends the child's input, waits for it, and returns the rest of its output.
    @discardableResult
    func finish() -> String {
        try? input.fileHandleForWriting.close()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.wait()
        return String(decoding: data, as: UTF8.self)
    }
}
