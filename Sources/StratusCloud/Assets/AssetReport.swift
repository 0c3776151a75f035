// What a verification of assets found: numbers that are exact, and the first findings of each kind.

import StratusLayout
package import StratusModel

/// Something about the assets that is not as it should be.
package enum AssetFinding: VerifierFinding {
    /// Records hold a content of which there is no file.
    case missing(AssetKey)
    /// A file does not hold what its name and the ledger say.
    case damaged(AssetKey)
    /// A file of which the ledger knows nothing: the next sweep removes it, unless a request is about to use it.
    case orphaned(AssetKey)
    /// The ledger counts a content otherwise than the owner's records hold it.
    case miscounted(AssetKey, counted: UInt64, held: UInt64)
    /// A zone's counter, by which its deletion knows whether there is anything to let go of, is not what its records hold.
    case zoneMiscounted(ZoneID, counted: UInt64, held: UInt64)
    /// A file or directory that is no content's.
    case foreign(path: String)

    /// What is wrong, without what it is wrong with.
    package enum Kind: Hashable, Sendable {
        case missing
        case damaged
        case orphaned
        case miscounted
        case zoneMiscounted
        case foreign

        /// Whether something is lost or counted wrongly, and not just left over.
        package var isFault: Bool {
            switch self {
            case .missing, .damaged, .miscounted, .zoneMiscounted: true
            case .orphaned, .foreign: false
            }
        }
    }

    /// Each damaged content is named, for each has to be restored.
    package static func maximumCount(of kind: Kind) -> Int {
        [.damaged, .missing].contains(kind) ? 1_000_000 : VerifierFindings<Self>.maximumCount
    }

    package var kind: Kind {
        switch self {
        case .missing: .missing
        case .damaged: .damaged
        case .orphaned: .orphaned
        case .miscounted: .miscounted
        case .zoneMiscounted: .zoneMiscounted
        case .foreign: .foreign
        }
    }

    package var description: String {
        switch self {
        case .missing(let key): "missing content \(Hex.text(key.digest)) of \(key.owner)"
        case .damaged(let key): "damaged content \(Hex.text(key.digest)) of \(key.owner)"
        case .orphaned(let key): "orphaned content \(Hex.text(key.digest)) of \(key.owner)"
        case .miscounted(let key, let counted, let held):
            "content \(Hex.text(key.digest)) of \(key.owner) is counted \(counted.counting("time")) and held \(held.counting("time"))"
        case .zoneMiscounted(let zone, let counted, let held):
            "zone \(zone.name) of \(zone.database.owner?.text ?? "the app") counts \(counted.counting("asset")) and holds \(held)"
        case .foreign(let path): "foreign file \(path)"
        }
    }
}

/// The result of verifying assets.
package struct AssetReport: Hashable, Sendable {
    private var noted = VerifierFindings<AssetFinding>()

    package init() {}

    /// The first of each kind, and each content that is damaged or missing.
    package var findings: [AssetFinding] { noted.kept }
    /// How much is lost or counted wrongly.
    package var faultCount: Int { noted.count { $0.isFault } }
    /// How many files are just left over.
    package var strayCount: Int { noted.count { !$0.isFault } }
    /// Findings that are counted and not kept.
    package var unkeptCount: Int { noted.unkeptCount }

    mutating func note(_ finding: AssetFinding) { noted.note(finding) }

    /// Puts what was kept in an order that depends on nothing else.
    mutating func sort() { noted.sort() }
}
