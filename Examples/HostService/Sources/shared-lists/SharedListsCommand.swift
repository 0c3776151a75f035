// The command line of the service. What is not said there is looked for in the environment.

import ArgumentParser
import Foundation
import Logging
import SharedLists

@main
struct SharedListsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shared-lists",
        abstract: "Serves shared lists for many users.",
        discussion: """
            Each option can be given in the environment instead: --data as LISTS_DATA, --public-url as LISTS_PUBLIC_URL, \
            and so on. It stops on SIGTERM and SIGINT, when the requests that it has begun are answered.

            Exit codes: 0 stopped as asked, 1 cannot serve, 64 wrong options.
            """)

    @Option(help: "Where the store and the outbox lie; made where it does not exist.")
    var data: String?

    @Option(
        help:
            "Where the store is: a directory, or a database as postgresql://… (default: the directory store in --data)"
    )
    var store: String?

    @Option(help: "The address to listen at. (default: 127.0.0.1)")
    var host: String?

    @Option(help: "The port to listen at; 0 for any that is free. (default: 8080)")
    var port: Int?

    @Option(help: "How the service is reached from outside; links begin with it. (default: where it listens)")
    var publicURL: String?

    @Option(help: "How many bytes the lists of one person may hold. (default: no limit)")
    var quotaBytes: Int64?

    @Option(help: "How many connections are served at a time. (default: 1000)")
    var connections: Int?

    @Option(help: "How many seconds requests have to end when the service is stopped. (default: 25)")
    var shutdownSeconds: Int?

    @Option(help: "The least urgent messages that are logged: trace, debug, info, notice, warning, error, critical.")
    var logLevel: String?

    func run() async throws {
        let level = try value(logLevel, "LISTS_LOG_LEVEL") { Logger.Level(rawValue: $0) } ?? .info
        let configuration = try serviceConfiguration()
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = level
            return handler
        }
        let logger = Logger(label: "shared-lists")
        do {
            try await ListService(configuration: configuration, logger: logger).run()
        } catch {
            logger.critical("cannot serve", metadata: ["error": "\(error)"])
            throw ExitCode.failure
        }
    }

    private func serviceConfiguration() throws -> ServiceConfiguration {
        guard let data = try value(self.data, "LISTS_DATA", { $0.isEmpty ? nil : $0 }) else {
            throw ValidationError("Say where the data lies: --data DIRECTORY, or LISTS_DATA in the environment.")
        }
        let host = try value(self.host, "LISTS_HOST") { $0.isEmpty ? nil : $0 } ?? "127.0.0.1"
        let port = try number(self.port, "LISTS_PORT", 0...65_535) ?? 8080
        let listening = URL(string: "http://\(host):\(port)")
        guard let publicURL = try value(self.publicURL, "LISTS_PUBLIC_URL", Self.webAddress) ?? listening else {
            throw ValidationError("Say how the service is reached: --public-url URL.")
        }
        var configuration = ServiceConfiguration(
            dataDirectory: URL(fileURLWithPath: data, isDirectory: true), publicURL: publicURL)
        configuration.store = try value(store, "LISTS_STORE") { $0.isEmpty ? nil : $0 }
        configuration.host = host
        configuration.port = port
        configuration.quotaByteCount = try number(quotaBytes, "LISTS_QUOTA_BYTES", 1...Int64.max)
        configuration.connectionCount =
            try number(connections, "LISTS_CONNECTIONS", 1...1_000_000) ?? configuration.connectionCount
        configuration.shutdownSeconds =
            try number(shutdownSeconds, "LISTS_SHUTDOWN_SECONDS", 1...86_400) ?? configuration.shutdownSeconds
        return configuration
    }

    private static func webAddress(_ text: String) -> URL? {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host != nil else { return nil }
        return url
    }

    private func number<Number: FixedWidthInteger>(
        _ argument: Number?, _ variable: String, _ range: ClosedRange<Number>
    ) throws -> Number? {
        try value(argument.map { "\($0)" }, variable) { text in
            Number(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// The value from the command line, or else from the environment; nil if it is in neither.
    private func value<Value>(_ argument: String?, _ variable: String, _ read: (String) -> Value?) throws -> Value? {
        guard let text = argument ?? ProcessInfo.processInfo.environment[variable] else { return nil }
        guard let value = read(text) else {
            throw ValidationError("\(variable), or its option, cannot be \(text.debugDescription).")
        }
        return value
    }
}
