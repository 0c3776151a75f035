// Runs the process that counts.

import Foundation
import StratusTestSupport
import StratusWorkloads

enum CostChild {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// All passes of all workloads, counted once for all tests.
    static func plain() async throws -> [CountedCost] { try await plainRun.value }

    private static let plainRun = Task { try await run() }

    /// All passes of all workloads, in a process and a directory of their own.
    static func run(planting plant: String? = nil) async throws -> [CountedCost] {
        try await TestThreads.offPool {
            let folder = FileManager.default.temporaryDirectory.appending(path: "stratus-costs-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let process = Process()
            process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
                .appendingPathComponent("stratus-cost-child")
            process.arguments = [folder.path] + (plant.map { [$0] } ?? [])
            process.environment = ProcessInfo.processInfo.environment.merging([
                "SWIFT_DETERMINISTIC_HASHING": "1"
            ]) { $1 }
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else {
                throw Failure(description: "stratus-cost-child ended with \(process.terminationStatus)")
            }
            return try JSONDecoder().decode([CountedCost].self, from: data)
        }
    }
}
