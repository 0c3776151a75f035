// Makes a failing history short, by taking steps away as long as it goes on failing, and describes what is left.

import Foundation

/// Shortens a history that fails.
struct SharingShrinker {
    /// Runs spent on one history at most.
    private static let maximumRunCount = 600

    private let isFailing: (SharingHistory) async throws -> Bool
    private var best: SharingHistory
    private var runCount = 0

    /// The shortest history found for which `isFailing` still holds.
    static func shortest(
        _ history: SharingHistory, isFailing: @escaping (SharingHistory) async throws -> Bool
    ) async throws -> SharingHistory {
        var shrinker = SharingShrinker(isFailing: isFailing, best: history)
        try await shrinker.shrink()
        return shrinker.best
    }

    private init(isFailing: @escaping (SharingHistory) async throws -> Bool, best: SharingHistory) {
        self.isFailing = isFailing
        self.best = best
    }

    /// Large pieces first, then smaller ones, from the end to the beginning; again as long as anything can go.
    private mutating func shrink() async throws {
        var previous: SharingHistory?
        while previous != best, runCount < Self.maximumRunCount {
            previous = best
            var length = max(1, best.steps.count / 2)
            while length >= 1 {
                var end = best.steps.count
                while end > 0 {
                    let begin = max(0, end - length)
                    var candidate = best
                    candidate.steps.removeSubrange(begin..<end)
                    try await accept(candidate)
                    end = min(begin, best.steps.count)
                }
                length /= 2
            }
        }
    }

    private mutating func accept(_ candidate: SharingHistory) async throws {
        guard runCount < Self.maximumRunCount else { return }
        runCount += 1
        if try await isFailing(candidate) { best = candidate }
    }
}

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
        let shortest = try await SharingShrinker.shortest(history) { try await run($0) != nil }
        let last = try await run(shortest)
        return """
            \(seed.map { "STRATUS_SEED=\($0): " } ?? "")\(failure)
            Shortest history found, to be run again from a file with STRATUS_SHARING_HISTORY=FILE:
            # \(last.map { "\($0)" } ?? "fails now and then only")
            \(shortest)
            """
    }
}
