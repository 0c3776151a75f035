// Runs the helper executable that is built beside the test bundle.

import Foundation

/// A child process with its input and output.
final class TestChild {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    var processID: Int32 { process.processIdentifier }

    static func start(_ arguments: String...) throws -> TestChild {
        let child = TestChild()
        child.process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("stratus-test-child")
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
