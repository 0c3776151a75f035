// What becomes of what has failed: the decision alone.

import Foundation

enum SyncRetry {
    /// How often in a row an engine sends again at once what a delegate has mended, such as a conflict. Behind that it
    /// pauses, so that a delegate that never mends it does not keep a host busy.
    static let hastyCount = 8

    /// What to do next.
    enum Plan: Equatable, Sendable {
        /// Nothing, until there is an occasion.
        case wait
        /// Go on at once.
        case goOn
        case pause(seconds: Double)
    }

    /// Whether an engine tries again by itself, and keeps the change pending (E-06, E-07). A cancelled request has not
    /// been refused.
    static func keepsPending(_ error: CKError) -> Bool { isTransient(error) || error.code == .operationCancelled }

    /// Whether the error goes away with time (E-07).
    static func isTransient(_ error: CKError) -> Bool {
        switch error.code {
        case .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
            .requestRateLimited, .serviceUnavailable, .zoneBusy:
            true
        default: false
        }
    }

    /// What to do after a round that has failed.
    /// - Parameters:
    ///   - errors: All that went wrong in it.
    ///   - failureCount: How many rounds in a row have failed, this one included, without anything being sent.
    ///   - hasMore: Whether there is something left to do.
    /// - Returns: What to do.
    static func plan(after errors: [CKError], failureCount: Int, hasMore: Bool) -> Plan {
        if errors.contains(where: { $0.code == .operationCancelled }) { return .wait }
        let transient = errors.filter(isTransient)
        guard transient.isEmpty else {
            let told = transient.compactMap(\.retryAfterSeconds).max()
            return .pause(seconds: told ?? backOffSeconds(failureCount))
        }
        guard hasMore else { return .wait }
        return failureCount <= hastyCount ? .goOn : .pause(seconds: backOffSeconds(failureCount - hastyCount))
    }

    /// One second, then twice as long each time, a minute at most: as operations do.
    private static func backOffSeconds(_ count: Int) -> Double { min(pow(2, Double(max(count, 1) - 1)), 60) }
}
