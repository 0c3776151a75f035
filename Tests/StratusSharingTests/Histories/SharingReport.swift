// A failing history as a test prints it: shortened, and as text that can be run again.

import Foundation
import StratusSharingSupport

/// A failing history as a reader of a test's output needs it.
enum SharingReport {
    /// Runs a history; nil when everything is as the oracle says, else the seed, what is wrong, and the shortest history
    /// that shows it, to be saved to a file and run again.
    static func failure(of history: SharingHistory, seed: UInt64?, onLevelDB: Bool = false) async throws -> String? {
        func run(_ history: SharingHistory) async throws -> SharingFailure? {
            let directory = onLevelDB ? ScratchDirectory() : nil
            let failure = try await SharingRunner.failure(of: history, in: directory?.url)
            return withExtendedLifetime(directory) { failure }
        }
        guard let failure = try await run(history) else { return nil }
        let shortest = try await StepShrinker.shortest(history.steps) {
            try await run(SharingHistory(steps: $0)) != nil
        }
        let last = try await run(SharingHistory(steps: shortest))
        return """
            \(seed.map { "STRATUS_SEED=\($0): " } ?? "")\(failure)
            Shortest history found, to be run again from a file with STRATUS_SHARING_HISTORY=FILE:
            # \(last.map { "\($0)" } ?? "fails now and then only")
            \(SharingHistory(steps: shortest))
            """
    }
}
