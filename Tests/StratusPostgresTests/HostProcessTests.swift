// Hosts in processes of their own, which are killed or paused while they write.

import Foundation
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

@Suite(.serialized, .enabled(if: PostgresTestStore.isServerThere)) struct HostProcessTests {
    @Test("a host that was killed is replaced within seconds, and everything that it acknowledged is there")
    func killed() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let child = try CountingHost(place.url)
            let seen = child.waitForNumber(20)
            child.send(SIGKILL)
            let began = MonotonicTime.now
            let store = try place.open { $0.leaseWaitSeconds = 20 }
            defer { store.close() }
            #expect((began + 15).secondsLeft > 0)
            let last = child.finish().compactMap { Int($0) }.last ?? seen
            let number = try store.number([1])
            // One commit may have been done and not acknowledged.
            #expect(number == last || number == last + 1)
        }
    }

    @Test("a host that was paused and overtaken writes nothing when it goes on, and ends with the code for it")
    func paused() async throws {
        try await TestThreads.offPool {
            for _ in 0..<2 {
                let place = try PostgresTestStore()
                let child = try CountingHost(place.url)
                _ = child.waitForNumber(20)
                child.send(SIGSTOP)
                let store = try place.open { $0.leaseWaitSeconds = 20 }
                defer { store.close() }
                let number = try store.number([1])
                child.send(SIGCONT)
                let rest = child.finish()
                #expect(rest.last == "held")
                #expect((rest.compactMap { Int($0) }.max() ?? 0) <= number)
                #expect(try store.number([1]) == number)
            }
        }
    }
}

/// The process of a host that counts.
private final class CountingHost {
    private let process: ChildProcess
    private let output = Pipe()

    init(_ url: String) throws {
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("stratus-test-program")
        process = try ChildProcess(program.path, ["server", url], output: .file(output.fileHandleForWriting))
        try output.fileHandleForWriting.close()
    }

    func send(_ signal: Int32) { _ = kill(process.processID, signal) }

    /// Waits until the host has printed this number or a later one; returns the last one.
    func waitForNumber(_ number: Int) -> Int {
        var text = ""
        while true {
            let data = output.fileHandleForReading.availableData
            text += String(decoding: data, as: UTF8.self)
            let last = text.split(separator: "\n").dropLast(text.hasSuffix("\n") ? 0 : 1).last.flatMap { Int($0) } ?? 0
            if last >= number || data.isEmpty { return last }
        }
    }

    /// Waits for the end of the host, and returns the rest of its lines.
    func finish() -> [String] {
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.wait()
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
