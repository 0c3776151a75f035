// Shortens a failing history: removes steps, then items, then parts of items, as long as it still fails. Afterwards
// another answer may fail: any failure is worth showing, the shortest one most.

import StratusModel

/// Shortens a history that fails.
package struct HistoryShrinker {
    /// Runs spent on one history at most.
    private static let maximumRunCount = 4_000

    private let isFailing: (History) -> Bool
    private var runCount = 0
    private var best: History

    /// The shortest history found for which `isFailing` still holds.
    package static func shortest(_ history: History, isFailing: @escaping (History) -> Bool) -> History {
        var shrinker = HistoryShrinker(history, isFailing)
        shrinker.shrink()
        return shrinker.best
    }

    private init(_ history: History, _ isFailing: @escaping (History) -> Bool) {
        self.isFailing = isFailing
        best = history
    }

    private mutating func shrink() {
        var previous: History?
        while previous != best, runCount < Self.maximumRunCount {
            previous = best
            removeSteps()
            removeItems()
            simplifyItems()
        }
    }

    /// Takes the candidate over if it fails too.
    private mutating func accept(_ candidate: History) -> Bool {
        guard candidate != best, runCount < Self.maximumRunCount else { return false }
        runCount += 1
        guard isFailing(candidate) else { return false }
        best = candidate
        return true
    }

    /// Large pieces first, then smaller ones, from the end to the beginning.
    private mutating func removeSteps() {
        var length = best.steps.count / 2
        while length >= 1 {
            var end = best.steps.count
            while end > 0 {
                let begin = max(0, end - length)
                var candidate = best
                candidate.steps.removeSubrange(begin..<end)
                _ = accept(candidate)
                end = min(begin, best.steps.count)
            }
            length /= 2
        }
    }

    private mutating func removeItems() {
        for stepIndex in best.steps.indices.reversed() {
            for (requestIndex, request) in (best.commit(at: stepIndex)?.requests ?? []).enumerated().reversed() {
                for itemIndex in request.items.indices.reversed() {
                    _ = accept(
                        best.changingCommit(at: stepIndex) { $0.requests[requestIndex].items.remove(at: itemIndex) })
                }
                _ = accept(best.changingCommit(at: stepIndex) { $0.requests.remove(at: requestIndex) })
            }
        }
    }

    private mutating func simplifyItems() {
        for stepIndex in best.steps.indices {
            if case .pin(let steps) = best.steps[stepIndex], steps > 1 {
                var candidate = best
                candidate.steps[stepIndex] = .pin(steps: steps - 1)
                _ = accept(candidate)
            }
            for (requestIndex, request) in (best.commit(at: stepIndex)?.requests ?? []).enumerated() {
                for itemIndex in request.items.indices {
                    for simpler in best.commit(at: stepIndex)?.requests[requestIndex].items[itemIndex].simpler ?? [] {
                        _ = accept(
                            best.changingCommit(at: stepIndex) {
                                $0.requests[requestIndex].items[itemIndex] = simpler
                            })
                    }
                }
            }
        }
    }
}

extension History {
    fileprivate func commit(at index: Int) -> HistoryCommit? {
        if case .commit(let commit) = steps[index] { commit } else { nil }
    }

    fileprivate func changingCommit(at index: Int, _ change: (inout HistoryCommit) -> Void) -> History {
        guard var commit = commit(at: index) else { return self }
        change(&commit)
        var changed = self
        changed.steps[index] = .commit(commit)
        return changed
    }
}

extension HistoryItem {
    /// The same item saying less.
    fileprivate var simpler: [HistoryItem] {
        guard case .save(let name, let parent, let share, let content) = self else { return [] }
        return [
            .save(name: name, parent: parent, share: share, content: 1),
            .save(name: name, parent: parent, share: nil, content: content),
            .save(name: name, parent: nil, share: share, content: content),
        ]
    }
}
