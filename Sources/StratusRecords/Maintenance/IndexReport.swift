// What a verification found: numbers that are exact, and the first findings in words.

import StratusLayout
import StratusModel

/// One entry that is not as the records say it should be.
package struct IndexFinding: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// An entry that should exist does not.
        case missing
        /// An entry exists that no record accounts for.
        case dangling
        /// An entry exists with another value than the records say, or a count is not what it counts.
        case wrong
        /// An identity is that of another too, or the one that everybody can guess (`UUID.withoutRandomness`).
        case identity
    }

    package var kind: Kind
    /// The zone, and what was looked at: a key as a readable line, or what was counted.
    package var place: String
    package var detail: String

    package var description: String { "\(kind): \(place): \(detail)" }
}

/// The result of verifying indexes.
package struct IndexReport: Hashable, Sendable {
    /// Findings beyond this number are counted, not kept.
    package static let maximumFindingCount = 100

    package var missingCount = 0
    package var danglingCount = 0
    package var wrongCount = 0
    package var identityCount = 0
    package var recordsChecked = 0
    package var entriesChecked = 0
    package var zonesChecked = 0
    package private(set) var findings: [IndexFinding] = []

    package init() {}

    package var isClean: Bool { faultCount == 0 }
    var faultCount: Int { missingCount + danglingCount + wrongCount + identityCount }

    /// The line every verification ends with.
    package var summary: String {
        let counts = "\(missingCount) missing, \(danglingCount) dangling, \(wrongCount.counting("wrong count"))"
        guard identityCount > 0 else { return counts }
        return counts + ", \(identityCount) repeated or predictable \(identityCount == 1 ? "identity" : "identities")"
    }

    mutating func note(_ kind: IndexFinding.Kind, _ place: String, _ detail: String) {
        switch kind {
        case .missing: missingCount += 1
        case .dangling: danglingCount += 1
        case .wrong: wrongCount += 1
        case .identity: identityCount += 1
        }
        guard findings.count < Self.maximumFindingCount else { return }
        findings.append(IndexFinding(kind: kind, place: place, detail: detail))
    }

    mutating func note(_ kind: IndexFinding.Kind, key: [UInt8], _ detail: String) {
        note(kind, "\(KeyDescription(key))", detail)
    }
}
