// The service in tests: in this process, where a test can read its store and its log, and as a separate process, which
// can be stopped and killed.

import Foundation
import Logging
import SharedLists
import StratusKit
import Synchronization
import Testing

/// The address of a service, and its data directory.
struct ServerAddress: Sendable {
    private static let host = "127.0.0.1"

    let port: Int
    let data: URL

    func url(_ path: String) -> String { "http://\(Self.host):\(port)\(path)" }

    /// What was sent to an address, the oldest first.
    func mail(to email: String) throws -> [JSON] {
        let text = try String(contentsOf: data.appendingPathComponent("outbox.jsonl"), encoding: .utf8)
        return try text.split(separator: "\n").map { try JSONDecoder().decode(JSON.self, from: Data($0.utf8)) }
            .filter { $0["to"].text == email }
    }
}

/// Runs a test with a temporary directory.
func withDirectory(_ body: (URL) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("shared-lists-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(directory)
}

/// Runs blocking code on its own thread: tasks share a few threads that must not block.
func offPool<Answer: Sendable>(_ body: @escaping @Sendable () throws -> Answer) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
}

// MARK: In this process

/// What was logged.
final class LogLines: Sendable {
    private let lines: Mutex<[String]> = Mutex([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }

    var all: [String] { lines.withLock { $0 } }
}

/// Logs into `LogLines`, at every level.
private struct LineHandler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.add("\(event.message) \(metadata.merging(event.metadata ?? [:]) { $1 })")
    }
}

/// Runs a test with a service in this process; the test gets its address, its store, and its log.
func withServer(
    _ configure: (inout ServiceConfiguration) -> Void = { _ in },
    _ body: (_ server: ServerAddress, _ cloud: Stratus, _ log: LogLines) async throws -> Void
) async throws {
    try await withDirectory { directory in
        let data = directory.appendingPathComponent("data")
        guard let publicURL = URL(string: "https://lists.example.com/") else { return }
        var configuration = ServiceConfiguration(dataDirectory: data, publicURL: publicURL)
        configuration.port = 0
        // Every test runs on a server where there is one, in a schema of its own: scripts/postgres run make service
        if let server = ProcessInfo.processInfo.environment["STRATUS_POSTGRES_URL"] {
            configuration.store = "\(server)?stratus_schema=lists_\(UInt64.random(in: 0 ... .max))"
        }
        configure(&configuration)
        let log = LogLines()
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let service = ListService(
            configuration: configuration, logger: Logger(label: "test", factory: { _ in LineHandler(lines: log) }),
            stopsOnSignals: false,
            onListening: { listening.yield($0) })
        let running = Task {
            defer { listening.finish() }
            try await service.run()
        }
        guard let port = await ports.first(where: { _ in true }) else { return try await running.value }
        // A place that is open in this process is one store: this is the service's.
        let cloud = try await Stratus.open(at: configuration.storeAddress)
        do {
            try await body(ServerAddress(port: port, data: data), cloud, log)
        } catch {
            running.cancel()
            _ = await running.result
            throw error
        }
        running.cancel()
        _ = await running.result
    }
}

// MARK: As a process

/// The service as a process of its own.
final class ServerProcess: Sendable {
    /// What it said instead of listening.
    struct DidNotStart: Error {
        var log: [String]
    }

    let address: ServerAddress
    let processID: Int32
    private let process: Process
    private let ends: AsyncStream<Int32>

    private init(_ process: Process, port: Int, data: URL, ends: AsyncStream<Int32>) {
        self.process = process
        self.ends = ends
        processID = process.processIdentifier
        address = ServerAddress(port: port, data: data)
    }

    static func command(_ arguments: [String], environment: [String: String] = [:]) -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("shared-lists")
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        return process
    }

    /// Starts it, and returns when it accepts requests.
    static func start(data: URL) async throws -> ServerProcess {
        let process = command(["--data", data.path], environment: ["LISTS_PORT": "0"])
        let output = Pipe()
        process.standardError = output
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        let rest = Mutex("")
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            guard !data.isEmpty else {
                handle.readabilityHandler = nil
                return line.finish()
            }
            rest.withLock { rest in
                rest += String(decoding: data, as: UTF8.self)
                while let end = rest.firstIndex(of: "\n") {
                    line.yield(String(rest[..<end]))
                    rest.removeSubrange(...end)
                }
            }
        }
        let (ends, end) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { end.yield($0.terminationReason == .exit ? $0.terminationStatus : -1) }
        try process.run()
        var log: [String] = []
        for await text in lines {
            log.append(text)
            if let match = text.firstMatch(of: #/port=(\d+).* listening$/#), let port = Int(match.1) {
                return ServerProcess(process, port: port, data: data, ends: ends)
            }
        }
        throw DidNotStart(log: log)
    }

    /// Sends a signal, and returns the exit code; -1 if a signal ended it.
    func end(by signal: Int32) async -> Int32 {
        kill(processID, signal)
        return await ends.first { _ in true } ?? -1
    }
}
