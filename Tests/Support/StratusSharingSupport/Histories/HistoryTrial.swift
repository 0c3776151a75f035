// Runs histories until one fails, and reports for a failing one what a reader of the test's output needs: its seed, the
// fault, and the shortest history that shows it, as text that can be run again.

package import Foundation
import StratusTestSupport

/// How histories of one kind are run, and written.
package struct HistoryTrial<Step: Equatable & Sendable>: Sendable {
    private let settings: HistorySettings
    private let text: @Sendable ([Step]) -> String
    private let failure: @Sendable ([Step], URL?) async throws -> String?

    /// `text` writes a history. `failure` runs one, in memory or in a directory, and returns the fault; nil if
    /// everything equals the oracle.
    package init(
        _ settings: HistorySettings, text: @escaping @Sendable ([Step]) -> String,
        failure: @escaping @Sendable ([Step], URL?) async throws -> String?
    ) {
        self.settings = settings
        self.text = text
        self.failure = failure
    }

    /// Runs every history of one part until one fails, in memory and one of `seedsPerLevelDB` on LevelDB too.
    package func report(
        ofSeeds seeds: ClosedRange<UInt64>, part: UInt64, seedsPerLevelDB: UInt64,
        history: @Sendable (_ seed: UInt64) -> [Step]
    ) async throws -> String? {
        for seed in seeds where seed % HistorySettings.partCount == part {
            let steps = history(seed)
            if let report = try await report(of: steps, seed: seed) { return report }
            let isForLevelDB = TestStores.chosen == nil && seed / HistorySettings.partCount % seedsPerLevelDB == 0
            guard isForLevelDB else { continue }
            if let report = try await report(of: steps, seed: seed, onLevelDB: true) { return report }
        }
        return nil
    }

    /// Runs a history; nil when everything is as the oracle says.
    package func report(of steps: [Step], seed: UInt64?, onLevelDB: Bool = false) async throws -> String? {
        func run(_ steps: [Step]) async throws -> String? {
            let directory = onLevelDB ? ScratchDirectory() : nil
            let found = try await failure(steps, directory?.url)
            return withExtendedLifetime(directory) { found }
        }
        guard let found = try await run(steps) else { return nil }
        let shortest = try await StepShrinker.shortest(steps) { try await run($0) != nil }
        let last = try await run(shortest)
        return """
            \(seed.map { "STRATUS_SEED=\($0): " } ?? "")\(found)
            Shortest history found, to be run again from a file with \(settings.fileVariable)=FILE:
            # \(last ?? "fails now and then only")
            \(text(shortest))
            """
    }
}
