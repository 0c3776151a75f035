// Whether records, ledger and files of assets agree. Finds; mends nothing.

import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// Verifies the assets of a store.
package struct AssetVerifier: Sendable {
    private let engine: RecordEngine
    private let store: AssetStore

    /// About so many contents are compared at once where something is known to be wrong.
    private let comparedContentCount: Int
    /// Records of a deleted zone whose names are in memory at a time.
    private let releasedRecordsAtOnce: Int

    package init(
        engine: RecordEngine, store: AssetStore, comparedContentCount: Int = 50_000, releasedRecordsAtOnce: Int = 1_000
    ) {
        self.engine = engine
        self.store = store
        self.comparedContentCount = comparedContentCount
        self.releasedRecordsAtOnce = releasedRecordsAtOnce
    }

    /// Compares the ledger with the files, owner by owner, and reads every content when `readsContents` is set. `progress`
    /// is told how many bytes of the contents that the ledger knows were looked at.
    ///
    /// What others change meanwhile may be told as it was before or after. Throws what reading the store throws.
    package func verify(
        readsContents: Bool = true, progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> AssetReport {
        var report = AssetReport()
        let meter = WorkMeter(total: try ledgerByteCount(), progress)
        for name in try store.names(in: store.directory.content) {
            guard let owner = AssetDirectory.owner(ofDirectory: name) else {
                report.note(.foreign(path: store.directory.content + "/" + name))
                continue
            }
            try check(owner, readsContents, meter, &report)
        }
        var next = try ledgerOwner(in: GlobalKeys.assets)
        while let owner = next {
            // Whoever has a directory was looked at with it.
            if try store.namesIfThere(in: store.directory.owner(owner)) == nil {
                try check(owner, readsContents, meter, &report)
            }
            next = try ledgerOwner(behind: owner)
        }
        report.sort()
        return report
    }

    /// Folder by folder, so that no more of the ledger is in memory than one of 256 folders holds.
    private func check(
        _ owner: UserName, _ readsContents: Bool, _ meter: WorkMeter, _ report: inout AssetReport
    ) throws {
        let path = store.directory.owner(owner)
        var folders: Set<UInt8> = []
        for folder in try store.names(in: path) {
            var ledger: [AssetKey: AssetEntry] = [:]
            if let byte = AssetDirectory.firstByte(ofFolder: folder) {
                folders.insert(byte)
                ledger = try self.ledger(of: owner, in: byte)
            }
            for name in try store.names(in: path + "/" + folder) {
                guard let digest = AssetDirectory.digest(ofFile: name, in: folder) else {
                    report.note(.foreign(path: "\(path)/\(folder)/\(name)"))
                    continue
                }
                let key = AssetKey(owner: owner, digest: digest)
                guard let entry = ledger.removeValue(forKey: key) else {
                    report.note(.orphaned(key))
                    continue
                }
                if !isWhole(key, entry, readsContents) { report.note(.damaged(key)) }
                meter.add(Int(summable: entry.byteCount))
            }
            for key in ledger.keys.sorted(by: Self.precedes) { report.note(.missing(key)) }
            meter.add(ledger.values.reduce(0) { $0 + Int(summable: $1.byteCount) })
        }
        try engine.read { reader in
            try Self.visitLedger(GlobalKeys.assets(of: owner).keyRange, in: reader) { key, entry in
                guard key.digest.first.map({ !folders.contains($0) }) ?? true else { return }
                report.note(.missing(key))
                meter.add(Int(summable: entry.byteCount))
            }
        }
    }

    /// Compares the ledger with the records of every zone that is there, and of those deleted whose records still count.
    /// `owner` says whose assets a database's are; nil passes it over.
    ///
    /// Memory does not grow with the store: both sides are summed up, and where the sums differ they are compared a part
    /// of the contents at a time. `progress` is told how many records, tombstones of deleted zones, and contents of the ledger
    /// were looked at.
    /// Returns `report` with what was found.
    package func verifyCounts(
        addingTo report: AssetReport = AssetReport(), owner: (DatabaseID) -> UserName?,
        progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> AssetReport {
        var report = report
        try engine.read { reader in
            let total =
                try reader.placeAndRecordCount { owner($0) != nil }.records
                + reader.entryCount(in: GlobalKeys.assets)
                + reader.releases().reduce(0) { $0 + (try reader.recordCount(of: $1)) }
            let meter = WorkMeter(total: total, progress)
            var (counted, held) = (AssetTally(), AssetTally())
            try visitHeld(in: reader, owner, meter) {
                held.add($0, times: $1)
            } onZone: { zone, found in
                let key = DatabaseKeys(zone.database).zoneAssets(zone.id.name)
                let counted = try reader.store.withValue(forKey: key) { try ZoneAssetsEntry(decoding: $0).count } ?? 0
                if counted != found { report.note(.zoneMiscounted(zone.id, counted: counted, held: found)) }
            }
            try Self.visitLedger(GlobalKeys.assets.keyRange, in: reader) {
                counted.add($0, times: $1.count)
                meter.add()
            }
            if counted.sum != held.sum {
                let partCount = min(1 + max(counted.contentCount, held.contentCount) / comparedContentCount, 256)
                meter.expect(partCount * total)
                for part in 0..<partCount {
                    try compare(in: reader, owner, meter, &report) { key in
                        Int(key.digest.first ?? 0) % partCount == part
                    }
                }
            }
        }
        report.sort()
        return report
    }

    /// Compares the contents of a part of the store one by one.
    private func compare(
        in reader: RecordReader, _ owner: (DatabaseID) -> UserName?, _ meter: WorkMeter, _ report: inout AssetReport,
        where isIncluded: (AssetKey) -> Bool
    ) throws {
        var held: [AssetKey: UInt64] = [:]
        try visitHeld(in: reader, owner, meter) { key, times in
            if isIncluded(key) { held[key, default: 0] += times }
        }
        try Self.visitLedger(GlobalKeys.assets.keyRange, in: reader) { key, entry in
            meter.add()
            guard isIncluded(key) else { return }
            let found = held.removeValue(forKey: key) ?? 0
            if entry.count != found { report.note(.miscounted(key, counted: entry.count, held: found)) }
        }
        for (key, found) in held.sorted(by: { Self.precedes($0.key, $1.key) }) {
            report.note(.miscounted(key, counted: 0, held: found))
        }
    }

    /// So that each verification keeps the same findings.
    private static func precedes(_ left: AssetKey, _ right: AssetKey) -> Bool {
        left.owner == right.owner
            ? left.digest.lexicographicallyPrecedes(right.digest) : left.owner < right.owner
    }

    /// Visits the contents that records hold, with how often each of them does. `onZone` is told how many a zone holds in
    /// all.
    private func visitHeld(
        in reader: RecordReader, _ owner: (DatabaseID) -> UserName?, _ meter: WorkMeter,
        _ visit: (AssetKey, UInt64) -> Void,
        onZone: (_ zone: (id: ZoneID, database: DatabaseNumber), _ held: UInt64) throws -> Void = { _, _ in }
    ) throws {
        try reader.visitZones { id, listing in
            guard let owner = owner(id.database) else { return .next }
            let zone = try reader.existingZone(id)
            var sum: UInt64 = 0
            // Every live record has an entry among the parents.
            try zone.store.scan(zone.keys.parents.keyRange) { key, _ in
                guard let record = try zone.record(zone.keys.readParentKey(key)) else { return .next }
                sum += Self.count(record.record, owner, visit)
                meter.add()
                return .next
            }
            try onZone((id, listing.database), sum)
            return .next
        }
        try reader.store.scan(GlobalKeys.releases.keyRange) { _, value in
            var release = try ReleaseEntry(decoding: value)
            // Page by page: their names are kept meanwhile.
            repeat {
                let page = try reader.visitRecords(of: release, limit: releasedRecordsAtOnce) { record in
                    _ = Self.count(record, release.owner, visit)
                    return .next
                }
                meter.add(page.count)
                release.last = page.last
            } while release.last != nil
            return .next
        }
    }

    private static func count(_ record: Record, _ owner: UserName, _ visit: (AssetKey, UInt64) -> Void) -> UInt64 {
        var sum: UInt64 = 0
        for (asset, count) in record.assets {
            visit(AssetKey(owner: owner, digest: asset.digest), UInt64(count))
            sum += UInt64(count)
        }
        return sum
    }

    /// The first owner in a part of the ledger: one look.
    private func ledgerOwner(in range: LayoutRange) throws -> UserName? {
        try engine.read { reader in
            var owner: UserName?
            try reader.store.scan(range.keyRange, .forward, limit: 1) { key, _ in
                owner = try GlobalKeys.readAssetKey(key).owner
                return .stop
            }
            return owner
        }
    }

    private func ledgerOwner(behind owner: UserName) throws -> UserName? {
        try ledgerOwner(in: LayoutRange(lower: GlobalKeys.assets(of: owner).upper, upper: GlobalKeys.assets.upper))
    }

    /// How many bytes the contents of the ledger have.
    private func ledgerByteCount() throws -> Int {
        try engine.read { reader in
            var count = 0
            try Self.visitLedger(GlobalKeys.assets.keyRange, in: reader) { count += Int(summable: $1.byteCount) }
            return count
        }
    }

    /// What the ledger counts of the contents whose digests begin with a byte.
    private func ledger(of owner: UserName, in byte: UInt8) throws -> [AssetKey: AssetEntry] {
        var range = GlobalKeys.assets(of: owner).keyRange
        range.lower = GlobalKeys.asset(owner: owner, digest: [byte])
        var ledger: [AssetKey: AssetEntry] = [:]
        try engine.read { reader in
            try reader.store.scan(range) { key, value in
                let (owner, digest) = try GlobalKeys.readAssetKey(key)
                guard digest.first == byte else { return .stop }
                ledger[AssetKey(owner: owner, digest: digest)] = try AssetEntry(decoding: value)
                return .next
            }
        }
        return ledger
    }

    private static func visitLedger(
        _ range: KeyRange, in reader: RecordReader, _ visit: (AssetKey, AssetEntry) throws -> Void
    ) throws {
        try reader.store.scan(range) { key, value in
            let (owner, digest) = try GlobalKeys.readAssetKey(key)
            try visit(AssetKey(owner: owner, digest: digest), AssetEntry(decoding: value))
            return .next
        }
    }

    /// Whether a content's file is as long as the ledger says and holds what its name says.
    private func isWhole(_ key: AssetKey, _ entry: AssetEntry, _ readsContents: Bool) -> Bool {
        do throws(FileFailure) {
            let descriptor = try store.files.openFile(store.directory.file(of: key))
            defer { store.files.close(descriptor) }
            let facts = try store.files.facts(descriptor)
            guard facts.isRegular, facts.byteCount == entry.byteCount else { return false }
            guard readsContents else { return true }
            return (try? store.digest(of: descriptor, key)) == key.digest
        } catch { return false }
    }
}

/// How often contents are held, in one number that does not depend on their order. Equal sums of different counts are as
/// likely as two equal random numbers of 64 bits: the hashes are this process's own, so that nobody can make contents
/// whose sums agree.
private struct AssetTally {
    private(set) var contentCount = 0
    private(set) var sum: UInt64 = 0

    mutating func add(_ key: AssetKey, times count: UInt64) {
        contentCount += 1
        sum &+= UInt64(bitPattern: Int64(key.hashValue)) &* count
    }
}

// What a verification of assets found: numbers that are exact, and the first findings of each kind.

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
