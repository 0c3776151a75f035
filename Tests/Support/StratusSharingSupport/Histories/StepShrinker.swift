// Shortens a failing history by removing steps as long as it still fails.

/// Shortens steps that fail.
package struct StepShrinker<Step: Equatable> {
    /// Runs spent on one history at most.
    private let maximumRunCount: Int
    private let isFailing: ([Step]) async throws -> Bool
    private var best: [Step]
    private var runCount = 0

    /// The shortest steps found for which `isFailing` still holds.
    package static func shortest(
        _ steps: [Step], maximumRunCount: Int = 600, isFailing: @escaping ([Step]) async throws -> Bool
    ) async throws -> [Step] {
        var shrinker = StepShrinker(maximumRunCount, isFailing, best: steps)
        try await shrinker.shrink()
        return shrinker.best
    }

    private init(_ maximumRunCount: Int, _ isFailing: @escaping ([Step]) async throws -> Bool, best: [Step]) {
        self.maximumRunCount = maximumRunCount
        self.isFailing = isFailing
        self.best = best
    }

    /// Large pieces first, then smaller ones, from the end to the beginning; repeated while anything can be removed.
    private mutating func shrink() async throws {
        var previous: [Step]?
        while previous != best, runCount < maximumRunCount {
            previous = best
            var length = max(1, best.count / 2)
            while length >= 1 {
                var end = best.count
                while end > 0 {
                    let begin = max(0, end - length)
                    var candidate = best
                    candidate.removeSubrange(begin..<end)
                    try await accept(candidate)
                    end = min(begin, best.count)
                }
                length /= 2
            }
        }
    }

    private mutating func accept(_ candidate: [Step]) async throws {
        guard runCount < maximumRunCount else { return }
        runCount += 1
        if try await isFailing(candidate) { best = candidate }
    }
}
