// Whether shares, their roots, and all that exists because of them agree. Finds; mends nothing.
//
// In one snapshot, every share of every zone is read and asked, by the rule that wrote them (`ShareEntries`), what exists
// because of it: its root's mark, its secret, acceptances and URLs. What is there and was not named by any share is
// dangling, but for what a deleted zone still has to let go of.

import FoundationEssentials
import StratusLayout
import StratusModel
package import StratusRecords
import StratusStore

/// Something about shares that is not as it should be.
package struct ShareFinding: VerifierFinding {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Something cannot be read.
        case damaged = "damagedShare"
        /// A share lies where nothing is shared.
        case misplaced = "misplacedShare"
        /// What a share holds breaks a rule.
        case invalid = "invalidShare"
        /// A share and its root do not name each other.
        case wrongRoot = "wrongShareRoot"
        /// A share's secret is not its root's, or a secret is of no root.
        case wrongToken = "wrongShareToken"
        /// An acceptance or a URL is not there.
        case missing = "missingShareEntry"
        /// An acceptance or a URL says something else than the share.
        case wrong = "wrongShareEntry"
        /// An acceptance or a URL that exists because of no share.
        case dangling = "danglingShareEntry"
        /// Somebody has accepted who has no account.
        case stranger = "strangerInShare"
        /// A participant's identifier is the one that everybody can guess (`UUID.withoutRandomness`).
        case predictable = "predictableIdentity"
    }

    package var kind: Kind
    /// The share, or the entry's key.
    package var place: String
    package var detail: String

    package init(kind: Kind, place: String, detail: String) {
        self.kind = kind
        self.place = place
        self.detail = detail
    }

    package var description: String { "\(place): \(detail)" }
}

/// Verifies the shares of a store.
package struct ShareVerifier: Sendable {
    private let engine: RecordEngine

    package init(engine: RecordEngine) { self.engine = engine }

    /// The first findings of each kind of `verify`.
    package func findings() throws -> [ShareFinding] { try verify().kept }

    /// Compares all shares with what exists because of them, in one snapshot. Memory holds one share at a time.
    /// `progress` is told how many zones, shares, marks of roots, secrets and entries were looked at.
    ///
    /// Throws what reading the store throws; damage of single shares and entries is among the findings.
    package func verify(
        progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> VerifierFindings<ShareFinding> {
        try engine.read { reader in
            let meter = WorkMeter(total: try Self.lookCount(in: reader), progress)
            var check = try ShareCheck(reader, meter)
            try reader.visitZones { id, listing in
                try check.verify(reader.existingZone(id), identity: listing.entry.identity)
                meter.add()
                return .next
            }
            try check.verifyDangling()
            check.findings.sort()
            return check.findings
        }
    }

    private static func lookCount(in reader: RecordReader) throws -> Int {
        var count = try reader.entryCount(in: GlobalKeys.acceptances) + reader.entryCount(in: GlobalKeys.shareURLs)
        try reader.visitZones { _, listing in
            // One for the zone: four looks, though it shares nothing.
            count += 1
            count += try reader.entryCount(in: listing.keys.types(of: ShareContent.recordType))
            for range in [listing.keys.shareRoots, listing.keys.shareTokens, listing.keys.endedAcceptances] {
                count += try reader.entryCount(in: range)
            }
            return .next
        }
        return count
    }
}

extension CloudService {
    /// What is not as it should be with the shares.
    package func verifyShares() throws -> [ShareFinding] {
        try ShareVerifier(engine: engine).findings()
    }
}
