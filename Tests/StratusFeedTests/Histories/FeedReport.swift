// A failing history as a test prints it: shortened, and as text that can be run again.

import Foundation
import StratusSharingSupport

enum FeedReport {
    /// Runs a history; nil when everything is as the oracle says, else the seed, what is wrong, and the shortest
    /// history that shows it, to be saved to a file and run again.
    static func failure(of history: FeedHistory, seed: UInt64?, onLevelDB: Bool = false) async throws -> String? {
        func run(_ steps: [FeedStep]) async throws -> FeedFailure? {
            let directory = onLevelDB ? ScratchDirectory() : nil
            let failure = try await FeedRunner.failure(of: FeedHistory(steps: steps), in: directory?.url)
            return withExtendedLifetime(directory) { failure }
        }
        guard let failure = try await run(history.steps) else { return nil }
        let shortest = try await StepShrinker.shortest(history.steps) { try await run($0) != nil }
        let last = try await run(shortest)
        return """
            \(seed.map { "STRATUS_SEED=\($0): " } ?? "")\(failure)
            Shortest history found, to be run again from a file with STRATUS_FEED_HISTORY=FILE:
            # \(last.map { "\($0)" } ?? "fails now and then only")
            \(FeedHistory(steps: shortest))
            """
    }
}
