// What verifiers report: exact counts, and the first findings of each kind.

import StratusStore

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
package struct VerifierReport<Kind: FindingKind>: Hashable, Sendable, ConfirmableReport {
    /// How many findings of a kind are kept by default.
    package static var maximumCount: Int { 100 }
    /// How many are kept while they wait to be confirmed by another run: most of them may turn out to be none.
    private static var unconfirmedCount: Int { 100_000 }

    private var counts: [Kind: Int] = [:]
    /// The first of each kind.
    package private(set) var findings: [VerifierFinding<Kind>] = []
    private var isToBeConfirmed = false

    package init() {}

    /// A report whose findings are confirmed before they are shown, if they have to be.
    init(toBeConfirmed: Bool) { isToBeConfirmed = toBeConfirmed }

    package var hasFindings: Bool { !counts.isEmpty }

    package mutating func keepOnly(whatFound earlier: Self) {
        let found = Set(earlier.findings)
        let kept = findings.filter { found.contains($0) }
        for kind in counts.keys {
            // Beyond what is kept, nothing can be compared.
            let unkept = min(unkeptCount(of: kind), earlier.unkeptCount(of: kind))
            let count = unkept + kept.count { $0.kind == kind }
            counts[kind] = count > 0 ? count : nil
        }
        findings = kept
    }

    private func unkeptCount(of kind: Kind) -> Int { counts[kind, default: 0] - findings.count { $0.kind == kind } }

    package mutating func finishConfirming() {
        isToBeConfirmed = false
        var seen: [Kind: Int] = [:]
        findings.removeAll { finding in
            seen[finding.kind, default: 0] += 1
            return seen[finding.kind, default: 0] > finding.kind.maximumCount
        }
    }

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
        if count <= keptCount(of: finding.kind) { findings.append(finding) }
    }

    private func keptCount(of kind: Kind) -> Int {
        isToBeConfirmed ? max(kind.maximumCount, Self.unconfirmedCount) : kind.maximumCount
    }

    /// Adds the findings of a report about other kinds.
    mutating func add(_ other: Self) {
        counts.merge(other.counts, uniquingKeysWith: +)
        findings += other.findings
    }

    /// Sorts the kept findings by their lines.
    mutating func sort() { findings.sort { $0.description < $1.description } }
}
