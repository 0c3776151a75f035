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
            let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
                .appendingPathComponent("stratus-test-program")
            let child = try ChildProcess.run(
                program.path, ["costs", folder.path] + (plant.map { [$0] } ?? []),
                environment: ProcessInfo.processInfo.environment.merging(["SWIFT_DETERMINISTIC_HASHING": "1"]) { $1 })
            guard child.end.isSuccess else {
                throw Failure(description: "stratus-test-program has ended: \(child.end)")
            }
            return try JSONDecoder().decode([CountedCost].self, from: child.output)
        }
    }
}
