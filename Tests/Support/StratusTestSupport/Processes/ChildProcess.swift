// Children of the test process.
//
// Foundation's `Process` reads past the end of a directory listing when a process with more than a thousand open files
// starts a child, and ends it with a segmentation fault. The tests, all in one process, have as many. `posix_spawn` has
// the C library close what a child must not inherit.
//
// Unsafe: C gets pointers to copies of the strings that live until the child has been started.

internal import CTestProcess
package import Foundation

/// A program that runs in a process of its own.
package final class ChildProcess: @unchecked Sendable {  // because the lock guards the one variable
    /// The exit status of a child.
    package enum End: Hashable, Sendable {
        case exited(status: Int32)
        case killed(signal: Int32)
        /// Another caller has waited for it, or the system does not keep ended children.
        case lost

        package var isSuccess: Bool { self == .exited(status: 0) }
    }

    /// Where a child reads from or writes to.
    package enum Stream {
        case inherited
        case nothing
        case file(FileHandle)
    }

    package let processID: Int32
    private let lock = NSLock()
    private var end: End?

    /// Starts a program. Wait for its end, or the system keeps its process.
    ///
    /// Throws `POSIXError`.
    package init(
        _ executable: String, _ arguments: [String], environment: [String: String]? = nil, in directory: String? = nil,
        input: Stream = .nothing, output: Stream = .inherited, errors: Stream = .inherited
    ) throws {
        let nothing = try FileHandle(forUpdating: URL(fileURLWithPath: "/dev/null"))
        func descriptor(_ stream: Stream, _ own: Int32) -> Int32 {
            switch stream {
            case .inherited: own
            case .nothing: nothing.fileDescriptor
            case .file(let file): file.fileDescriptor
            }
        }
        let variables = (environment ?? ProcessInfo.processInfo.environment).map { "\($0)=\($1)" }
        let words = unsafe CStrings([executable] + arguments)
        let settings = unsafe CStrings(variables)
        let result = withExtendedLifetime((nothing, input, output, errors)) {
            unsafe cchildprocess_start(
                executable, words.pointers, settings.pointers, directory, descriptor(input, STDIN_FILENO),
                descriptor(output, STDOUT_FILENO), descriptor(errors, STDERR_FILENO))
        }
        unsafe words.free()
        unsafe settings.free()
        guard result > 0 else { throw POSIXError(POSIXError.Code(rawValue: -result) ?? .EINVAL) }
        processID = result
    }

    /// Waits for the end of the child. It blocks its thread.
    @discardableResult
    package func wait() -> End {
        while true {
            // Leaves the process in place, so that its number is not reused before `end` is set.
            var information = unsafe siginfo_t()
            _ = unsafe waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT)
            if let end = lock.withLock({ findEnd() }) { return end }
        }
    }

    package var isRunning: Bool { lock.withLock { findEnd() == nil } }

    /// Kills the child, if it runs.
    package func kill() { lock.withLock { if findEnd() == nil { _ = Foundation.kill(processID, SIGKILL) } } }

    /// Its exit status; nil while it runs. The caller holds the lock.
    private func findEnd() -> End? {
        if let end { return end }
        var status: Int32 = 0
        let found = unsafe waitpid(processID, &status, WNOHANG)
        if found < 0, errno == ECHILD { end = .lost }
        guard found == processID else { return end }
        let signal = status & 0x7F
        end = signal == 0 ? .exited(status: status >> 8 & 0xFF) : .killed(signal: signal)
        return end
    }

    /// The path of the test program, which is beside the tests.
    package static var testProgram: String {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("stratus-test-program").path
    }

    /// Runs a program to its end, and also returns its output.
    package static func run(
        _ executable: String, _ arguments: [String], environment: [String: String]? = nil,
        errors: Stream = .inherited
    ) throws -> (end: End, output: Data) {
        let output = Pipe()
        let child = try ChildProcess(
            executable, arguments, environment: environment, output: .file(output.fileHandleForWriting), errors: errors)
        defer { child.wait() }
        try output.fileHandleForWriting.close()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        return (child.wait(), data)
    }
}

/// Copies of strings, as a list that ends with a null pointer.
@unsafe private struct CStrings {
    let pointers: [UnsafeMutablePointer<CChar>?]

    init(_ strings: [String]) { unsafe pointers = unsafe strings.map { unsafe strdup($0) } + [nil] }

    func free() { unsafe pointers.forEach { unsafe Foundation.free($0) } }
}
