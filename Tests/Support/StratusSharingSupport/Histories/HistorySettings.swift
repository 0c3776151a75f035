// The random histories of a test run, as its environment says. All kinds of histories use the same variables, except
// the one that names a file with a history to run again.

import Foundation

/// What the environment says of histories of one kind.
package struct HistorySettings: Sendable {
    private static let environment = ProcessInfo.processInfo.environment

    /// Histories run at the same time.
    package static let partCount: UInt64 = 4
    package static let isSoak = environment["STRATUS_SOAK"] == "1"
    package static let seed = environment["STRATUS_SEED"].flatMap { UInt64($0) }
    package static let soakSeeds: ClosedRange<UInt64> = {
        let first = environment["STRATUS_FIRST_HISTORY"].flatMap { UInt64($0) } ?? 1
        let count = environment["STRATUS_HISTORIES"].flatMap { UInt64($0) } ?? 20_000
        return first...max(first, first &+ count &- 1)
    }()
    package static let soakStepCount = environment["STRATUS_HISTORY_STEPS"].flatMap { Int($0) } ?? 200

    /// The variable that names a file with a history to run again.
    package let fileVariable: String

    package init(fileVariable: String) { self.fileVariable = fileVariable }

    /// Whether to run one history again, instead of those of every run.
    package var isReplay: Bool { Self.seed != nil || path != nil }

    /// The history to run again, as text; nil if no file is named.
    package func text() throws -> String? {
        try path.map { try String(contentsOfFile: $0, encoding: .utf8) }
    }

    private var path: String? { Self.environment[fileVariable] }
}
