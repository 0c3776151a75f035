// From a predicate to the comparisons that the server takes: a flat list, all of which must hold. What CloudKit
// does not take is refused with a sentence that says what to write instead.

import Foundation
import StratusCloud

/// What a predicate comes to for the server.
struct LoweredPredicate: Hashable, Sendable {
    var filters: [QueryFilter] = []
    /// Whether no record can match, so that none is looked at.
    var matchesNothing = false
}

/// Turns predicates into filters.
struct PredicateLowering {
    /// What `now()` is.
    let now: Date

    /// The filters of a predicate.
    /// - Parameters:
    ///   - syntax: The predicate.
    ///   - now: What `now()` is in it.
    /// - Returns: All of which must hold.
    /// - Throws: What CloudKit does not take.
    static func lower(_ syntax: PredicateSyntax, now: Date) throws(PredicateProblem) -> LoweredPredicate {
        var lowered = LoweredPredicate()
        try PredicateLowering(now: now).add(syntax, isNegated: false, to: &lowered)
        return lowered
    }

    private func add(
        _ syntax: PredicateSyntax, isNegated: Bool, to lowered: inout LoweredPredicate
    ) throws(PredicateProblem) {
        switch syntax {
        case .always(let isTrue):
            if isTrue == isNegated { lowered.matchesNothing = true }
        case .not(let part):
            try add(part, isNegated: !isNegated, to: &lowered)
        case .and(let parts) where parts.count == 1:
            try add(parts[0], isNegated: isNegated, to: &lowered)
        case .or(let parts) where parts.count == 1:
            try add(parts[0], isNegated: isNegated, to: &lowered)
        case .and(let parts):
            guard !isNegated else {
                throw PredicateProblem(
                    "CloudKit takes no NOT before conditions joined by AND: write it before single comparisons.")
            }
            for part in parts { try add(part, isNegated: false, to: &lowered) }
        case .or(let parts):
            guard parts.isEmpty else {
                throw PredicateProblem(
                    "CloudKit takes no OR: write field IN {…} for several values of one field, or ask a query for each."
                )
            }
            if !isNegated { lowered.matchesNothing = true }
        case .comparison(let comparison):
            lowered.filters += try ComparisonLowering(comparison, isNegated: isNegated, now: now).filters()
        }
    }
}
