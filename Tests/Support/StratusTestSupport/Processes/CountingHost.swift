// A process of the test program that is the host of a store on a server and counts: it prints each number after its
// commit.

internal import Foundation

/// The process of a host that counts.
package final class CountingHost: Sendable {
    private let process: ChildProcess
    private let output = Pipe()

    /// `verb` is one of stratus-test-program.
    package init(_ verb: String, _ url: String) throws {
        process = try ChildProcess(
            ChildProcess.testProgram, [verb, url], output: .file(output.fileHandleForWriting))
        try output.fileHandleForWriting.close()
    }

    package var processID: Int32 { process.processID }

    package func send(_ signal: Int32) { _ = kill(process.processID, signal) }

    /// Waits until the host has printed this number or a later one; returns the last one.
    package func waitForNumber(_ number: Int) -> Int {
        var text = ""
        while true {
            let data = output.fileHandleForReading.availableData
            text += String(decoding: data, as: UTF8.self)
            let last = text.split(separator: "\n").dropLast(text.hasSuffix("\n") ? 0 : 1).last.flatMap { Int($0) } ?? 0
            if last >= number || data.isEmpty { return last }
        }
    }

    /// Waits for the end of the host, and returns the rest of its lines.
    package func finish() -> [String] {
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.wait()
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
