// The result of a verification: exact numbers, and the first findings as text.

import StratusLayout
package import StratusModel
import StratusStore

/// One entry that does not agree with the records.
package struct IndexFinding: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// An entry that should exist does not.
        case missing
        /// An entry exists that no record accounts for.
        case dangling
        /// An entry exists with another value than the records say, or a count is not what it counts.
        case wrong
        /// An identity occurs twice, or is the one that anyone can predict (`UUID.withoutRandomness`).
        case identity
    }

    package var kind: Kind
    /// The zone or key, or the name of the count.
    package var place: String
    package var detail: String

    package var description: String { "\(kind): \(place): \(detail)" }
}

/// The result of verifying indexes.
package struct IndexReport: Hashable, Sendable, ConfirmableReport {
    /// Findings beyond this number are only counted.
    package static let maximumFindingCount = 100
    /// The same while findings wait to be confirmed by another run: most of them may turn out to be none.
    private static let unconfirmedFindingCount = 100_000

    package var missingCount = 0
    package var danglingCount = 0
    package var wrongCount = 0
    package var identityCount = 0
    package var recordsChecked = 0
    package var entriesChecked = 0
    package var zonesChecked = 0
    package private(set) var findings: [IndexFinding] = []
    private var keptCount = maximumFindingCount

    package init() {}

    /// A report whose findings are confirmed before they are shown, if they have to be.
    init(toBeConfirmed: Bool) { if toBeConfirmed { keptCount = Self.unconfirmedFindingCount } }

    package var hasFindings: Bool { !isClean }

    package mutating func keepOnly(whatFound earlier: IndexReport) {
        // Beyond what is kept, nothing can be compared.
        func unkept(_ report: IndexReport) -> Int { report.faultCount - report.findings.count }
        let unkeptCount = min(unkept(self), unkept(earlier))
        let found = Set(earlier.findings)
        findings.removeAll { !found.contains($0) }
        func count(_ kind: IndexFinding.Kind) -> Int { findings.count { $0.kind == kind } }
        (missingCount, danglingCount) = (count(.missing), count(.dangling))
        (wrongCount, identityCount) = (count(.wrong) + unkeptCount, count(.identity))
    }

    package mutating func finishConfirming() {
        keptCount = Self.maximumFindingCount
        findings.removeLast(max(0, findings.count - keptCount))
    }

    package var isClean: Bool { faultCount == 0 }
    var faultCount: Int { missingCount + danglingCount + wrongCount + identityCount }

    /// The last line of every verification.
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
        guard findings.count < keptCount else { return }
        findings.append(IndexFinding(kind: kind, place: place, detail: detail))
    }

    mutating func note(_ kind: IndexFinding.Kind, key: [UInt8], _ detail: String) {
        note(kind, KeyDescription.text(of: key), detail)
    }
}

// Sums over several moments. Every commit raises the header of its database, so if those are unchanged, so is the rest.

extension RecordReader {
    /// How many times a sum is computed at most.
    private static let sumAttemptCount = 3

    /// What `compute` returns if the databases have not changed meanwhile; nil if they change during every attempt, so
    /// that a sum over them means nothing. A reader that shows one moment needs no check.
    package func undisturbed<Result>(
        in databases: @autoclosure () throws -> [DatabaseID], _ compute: () throws -> Result
    ) throws -> Result? {
        guard !store.showsOneMoment else { return try compute() }
        let databases = try databases()
        for _ in 0..<Self.sumAttemptCount {
            let before = try headers(of: databases)
            let result = try compute()
            if try headers(of: databases) == before { return result }
        }
        return nil
    }

    private func headers(of databases: [DatabaseID]) throws -> [[UInt8]?] {
        try databases.map { id in
            try databaseEntry(id).flatMap { try store.value(forKey: DatabaseKeys($0.number).header()) }
        }
    }
}

// Summarises the entries of a keyspace in two numbers. With it, millions of entries are compared with what they should
// be in one scan, without looking up each.
//
// Invariant: the numbers do not depend on the order in which entries are added. Equal tallies of different entries are
// as likely as two equal random numbers of 64 bits.

/// The number of entries, and a fingerprint of them.
struct EntryTally: Hashable, Sendable {
    private(set) var count = 0
    private var fingerprint: UInt64 = 0

    mutating func add(_ key: Span<UInt8>, _ value: Span<UInt8>) {
        var hash = Self.hash(key, from: 0xCBF2_9CE4_8422_2325)
        // The length, so that no byte of a key can pass for one of its value.
        hash = (hash ^ UInt64(key.count)) &* Self.prime
        hash = Self.hash(value, from: hash)
        count += 1
        fingerprint &+= Self.mixed(hash)
    }

    /// Counts an entry without hashing it.
    mutating func addUnseen() { count += 1 }

    private static let prime: UInt64 = 0x100_0000_01B3

    /// FNV-1a.
    private static func hash(_ bytes: Span<UInt8>, from start: UInt64) -> UInt64 {
        var hash = start
        for index in bytes.indices { hash = (hash ^ UInt64(bytes[index])) &* prime }
        return hash
    }

    /// Makes every bit depend on all others, because hashes are added up.
    private static func mixed(_ hash: UInt64) -> UInt64 {
        var mixed = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
