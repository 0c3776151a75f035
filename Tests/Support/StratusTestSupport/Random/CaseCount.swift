// The sizes of tests that could try any number of cases.

import Foundation

/// A number of cases: some for `make test`, all for `make sweeps`.
package enum CaseCount {
    /// Whether tests try all of their cases: what `make sweeps` sets.
    package static let isFull = ProcessInfo.processInfo.environment["STRATUS_SWEEPS"] == "1"

    /// The number for this run.
    package static func of(_ short: Int, full: Int) -> Int { isFull ? full : short }
}
