// A process of the test program that does a kind of background work, and stops in the middle of it until it may go on.

internal import Foundation
package import StratusLayout

/// The process of a host that works and stops. It ends with this object at the latest.
package final class HaltingHost: Sendable {
    private let process: ChildProcess
    private let input = Pipe()
    private let output = Pipe()

    package init(_ url: String, on work: BackgroundWork) throws {
        process = try ChildProcess(
            ChildProcess.testProgram, ["work", url, "\(work)"], input: .file(input.fileHandleForReading),
            output: .file(output.fileHandleForWriting))
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
    }

    deinit {
        process.kill()
        process.wait()
    }

    package func send(_ signal: Int32) { _ = kill(process.processID, signal) }

    /// Waits for a line of the process. It is empty at the end of the output.
    package func nextLine() throws -> String {
        var line: [UInt8] = []
        while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// Lets the process go on from where it has stopped by itself.
    package func goOn() throws { try input.fileHandleForWriting.close() }

    /// Waits for the end of the process, and returns the rest of its lines.
    package func finish() -> [String] {
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.wait()
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
