// Runs the helper executable that is built beside the test bundle.

import Foundation

/// A child process with its input and output.
final class TestChild {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    var processID: Int32 { process.processIdentifier }

    private static let executable = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("stratus-test-child")

    static func start(_ arguments: String...) throws -> TestChild { try start(executable, arguments) }

    private static func start(_ executable: URL, _ arguments: [String]) throws -> TestChild {
        let child = TestChild()
        child.process.executableURL = executable
        child.process.arguments = arguments
        child.process.standardInput = child.input
        child.process.standardOutput = child.output
        try child.process.run()
        return child
    }

    /// Runs a child to its end and returns what it printed.
    static func run(_ verb: String, _ path: String) throws -> String {
        let child = try start(verb, path)
        return child.finish()
    }

    /// The same in a process that may have 128 descriptors.
    static func runWithFewDescriptors(_ verb: String, _ path: String) throws -> String {
        let shell = URL(fileURLWithPath: "/bin/sh")
        return try start(shell, ["-c", "\(fewDescriptors) && exec \"$0\" \"$@\"", executable.path, verb, path]).finish()
    }

    private static let fewDescriptors = "ulimit -n 128"

    /// The same with an empty /dev besides; nil where this process may not make one.
    static func runWithEmptyDev(_ verb: String, _ path: String) throws -> String? {
        let unshare = URL(fileURLWithPath: "/usr/bin/unshare")
        guard FileManager.default.isExecutableFile(atPath: unshare.path) else { return nil }
        let script = "mount -t tmpfs none /dev && \(fewDescriptors) && echo ready && exec \"$0\" \"$@\""
        let child = try start(unshare, ["--mount", "sh", "-c", script, executable.path, verb, path])
        let output = child.finish()
        guard output.hasPrefix("ready\n") else { return nil }
        return String(output.dropFirst("ready\n".count))
    }

    /// The first line of what the child has printed so far, once there is any.
    func readLine() -> String {
        String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            .split(separator: "\n").first.map(String.init) ?? ""
    }

    /// The last line of what the child has printed since it was asked; waits for one.
    func readLastLine() -> String {
        var text = ""
        repeat {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { return "" }
            text += String(decoding: data, as: UTF8.self)
        } while !text.hasSuffix("\n")
        return text.split(separator: "\n").last.map(String.init) ?? ""
    }

    /// Ends the child's input, waits for it, and returns the rest of what it printed.
    @discardableResult
    func finish() -> String {
        try? input.fileHandleForWriting.close()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }
}
