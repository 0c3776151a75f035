// What verifiers report: exact counts, and the first findings of each kind.

/// What can be wrong, as one verifier finds it.
package protocol FindingKind: Hashable, Sendable {
    /// Findings of a kind beyond this number are counted, not kept, so that many of one kind hide none of another.
    var maximumCount: Int { get }
}

extension FindingKind {
    package var maximumCount: Int { VerifierReport<Self>.maximumCount }
}

/// Something wrong in a store.
package struct VerifierFinding<FaultKind: FindingKind>: Hashable, Sendable, CustomStringConvertible {
    package typealias Kind = FaultKind

    package let kind: Kind
    /// What it concerns: an entry's key as a line, a share, an owner, a path.
    package let place: String
    package let detail: String
    /// The finding as a line.
    package let description: String

    /// A finding with a detail that names its place.
    init(_ kind: Kind, at place: String, _ detail: String) {
        (self.kind, self.place, self.detail, description) = (kind, place, detail, detail)
    }

    /// A finding whose line is its place and its detail.
    init(kind: Kind, place: String, detail: String) {
        (self.kind, self.place, self.detail, description) = (kind, place, detail, "\(place): \(detail)")
    }
}

/// The result of one verification. A damaged store may have a finding for each entry, so only the first of each kind
/// are kept.
package struct VerifierReport<Kind: FindingKind>: Hashable, Sendable {
    /// How many findings of a kind are kept by default.
    package static var maximumCount: Int { 100 }

    private var counts: [Kind: Int] = [:]
    /// The first of each kind.
    package private(set) var findings: [VerifierFinding<Kind>] = []

    package init() {}

    /// The number of all findings.
    package var count: Int { counts.values.reduce(0, +) }
    /// The number of findings that are counted and not kept.
    package var unkeptCount: Int { count - findings.count }

    func count(where isWanted: (Kind) -> Bool) -> Int {
        counts.reduce(0) { isWanted($1.key) ? $0 + $1.value : $0 }
    }

    mutating func note(_ finding: VerifierFinding<Kind>) {
        let count = counts[finding.kind, default: 0] + 1
        counts[finding.kind] = count
        if count <= finding.kind.maximumCount { findings.append(finding) }
    }

    /// Sorts the kept findings by their lines.
    mutating func sort() { findings.sort { $0.description < $1.description } }
}
