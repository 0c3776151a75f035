// When each name of a zone was visible while others write: from before the request that shows it until after the one
// that hides it. Times are counted, not measured: every change of visibility is the next time.

import StratusStore

/// When names were visible to those with the same rights.
final class SeenTimes: Sendable {
    private struct Span: Sendable {
        let begin: Int
        /// Nil while it lasts.
        var end: Int?
    }

    private struct State: Sendable {
        var time = 0
        var spans: [String: [Span]] = [:]
    }

    private let state = Locked(State())

    var now: Int { state.withLock { $0.time } }

    /// To be said before the request.
    func mayShow(_ names: Set<String>) {
        state.withLock { state in
            state.time += 1
            for name in names where state.spans[name]?.last.map({ $0.end != nil }) ?? true {
                state.spans[name, default: []].append(Span(begin: state.time, end: nil))
            }
        }
    }

    /// To be called after the request has ended.
    func haveHidden(_ names: Set<String>) {
        state.withLock { state in
            state.time += 1
            for name in names {
                guard var spans = state.spans[name], let last = spans.popLast(), last.end == nil else { continue }
                spans.append(Span(begin: last.begin, end: state.time))
                state.spans[name] = spans
            }
        }
    }

    /// Whether it was visible at any time after `begin` until `end`.
    func couldSee(_ name: String, after begin: Int, until end: Int) -> Bool {
        state.withLock { state in
            state.spans[name, default: []].contains { $0.begin <= end && ($0.end ?? .max) > begin }
        }
    }
}
