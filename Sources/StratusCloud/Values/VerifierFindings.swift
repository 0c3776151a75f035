// What verifiers tell: exact numbers, and the first findings of each kind.

/// Something that is not as it should be.
package protocol VerifierFinding: Hashable, Sendable, CustomStringConvertible {
    associatedtype Kind: Hashable, Sendable

    /// What is wrong, without what it is wrong with.
    var kind: Kind { get }

    /// Findings of a kind beyond this number are counted, not kept: many of one hide none of another.
    static func maximumCount(of kind: Kind) -> Int
}

extension VerifierFinding {
    package static func maximumCount(of kind: Kind) -> Int { VerifierFindings<Self>.maximumCount }
}

/// What was found. A damaged store gives a finding for each of its entries: memory holds the first of each kind.
package struct VerifierFindings<Finding: VerifierFinding>: Hashable, Sendable {
    /// How many findings of a kind are kept that does not say otherwise.
    package static var maximumCount: Int { 100 }

    private var counts: [Finding.Kind: Int] = [:]
    /// The first of each kind.
    package private(set) var kept: [Finding] = []

    package init() {}

    /// How much was found.
    package var count: Int { counts.values.reduce(0, +) }
    /// Findings that are counted and not kept.
    package var unkeptCount: Int { count - kept.count }

    func count(where isWanted: (Finding.Kind) -> Bool) -> Int {
        counts.reduce(0) { isWanted($1.key) ? $0 + $1.value : $0 }
    }

    mutating func note(_ finding: Finding) {
        let count = counts[finding.kind, default: 0] + 1
        counts[finding.kind] = count
        if count <= Finding.maximumCount(of: finding.kind) { kept.append(finding) }
    }

    /// Puts what was kept in an order that depends on nothing else.
    mutating func sort() {
        kept = kept.map { (text: "\($0)", finding: $0) }.sorted { $0.text < $1.text }.map { $0.finding }
    }
}
