// Compares records, the ledger and the files of assets. Reports what disagrees; repairs nothing.

import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// Verifies the assets of a store.
package struct AssetVerifier: Sendable {
    let engine: RecordEngine
    private let store: AssetStore

    /// About how many contents are compared at once after the sums disagreed.
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

    /// Compares the ledger with the files, owner by owner, and reads every content if `readsContents` is set.
    /// `progress` gets how many bytes of the contents in the ledger were checked.
    ///
    /// Changes during the verification may or may not be included. Throws the errors of reading the store.
    package func verify(
        readsContents: Bool = true, progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> VerifierReport<AssetFault> {
        try engine.store.confirmed { try verifyOnce(readsContents, progress) }
    }

    private func verifyOnce(
        _ readsContents: Bool, _ progress: @escaping WorkMeter.Listener
    ) throws -> VerifierReport<AssetFault> {
        var report = VerifierReport<AssetFault>(toBeConfirmed: !engine.store.snapshotsLast)
        let meter = WorkMeter(total: try ledgerByteCount(), progress)
        if let stored = store.stored {
            try verify(stored, readsContents, meter, &report)
            report.sort()
            return report
        }
        for name in try store.names(in: store.directory.content) {
            guard let owner = AssetDirectory.owner(ofDirectory: name) else {
                report.note(.foreign(path: store.directory.content + "/" + name))
                continue
            }
            try check(owner, readsContents, meter, &report)
        }
        var range = GlobalKeys.keyspace(.assets)
        while let owner = try engine.read({ reader in
            try reader.store.first(in: range) { key, _ in try GlobalKeys.readAssetKey(key).owner }
        }) {
            // Owners with a directory were checked before.
            if try store.namesIfThere(in: store.directory.owner(owner)) == nil {
                try check(owner, readsContents, meter, &report)
            }
            range.lower = GlobalKeys.assets(of: owner).upper
        }
        report.sort()
        return report
    }

    /// Goes folder by folder, so that memory holds only the part of the ledger for one of 256 folders.
    private func check(
        _ owner: UserName, _ readsContents: Bool, _ meter: WorkMeter, _ report: inout VerifierReport<AssetFault>
    ) throws {
        let path = store.directory.owner(owner)
        var folders: Set<UInt8> = []
        for folder in try store.names(in: path) {
            var ledger: [AssetKey: AssetEntry] = [:]
            if let byte = AssetDirectory.firstByte(ofFolder: folder) {
                folders.insert(byte)
                ledger = try self.ledger(of: owner, in: byte)
            }
            let (keys, foreignNames) = try store.contents(of: owner, in: folder)
            for name in foreignNames { report.note(.foreign(path: "\(path)/\(folder)/\(name)")) }
            for key in keys {
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
        try engine.read(.wholeStore) { reader in
            try Self.visitLedger(GlobalKeys.assets(of: owner), in: reader) { key, entry in
                guard key.digest.first.map({ !folders.contains($0) }) ?? true else { return }
                report.note(.missing(key))
                meter.add(Int(summable: entry.byteCount))
            }
        }
    }

    /// Compares the ledger with the records of every existing zone, and of deleted zones whose records still count.
    /// `owner` returns the owner of a database's assets; nil skips it.
    ///
    /// Memory does not grow with the store: both sides are summed up, and if the sums differ they are compared one part
    /// of the contents at a time. `progress` gets how many records, tombstones of deleted zones, and contents of the
    /// ledger were checked. Returns `report` with the findings.
    package func verifyCounts(
        addingTo report: VerifierReport<AssetFault> = VerifierReport<AssetFault>(), owner: (DatabaseID) -> UserName?,
        progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> VerifierReport<AssetFault> {
        var report = report
        report.add(try engine.store.confirmed { try verifyCountsOnce(owner, progress) })
        report.sort()
        return report
    }

    private func verifyCountsOnce(
        _ owner: (DatabaseID) -> UserName?, _ progress: @escaping WorkMeter.Listener
    ) throws -> VerifierReport<AssetFault> {
        var report = VerifierReport<AssetFault>(toBeConfirmed: !engine.store.snapshotsLast)
        try engine.read(.wholeStore) { reader in
            let total =
                try reader.placeAndRecordCount { owner($0) != nil }.records
                + reader.entryCount(in: GlobalKeys.keyspace(.assets))
                + reader.releases().reduce(0) { $0 + (try reader.recordCount(of: $1)) }
            let meter = WorkMeter(total: total, progress)
            var (counted, held) = (AssetTally(), AssetTally())
            try visitHeld(in: reader, owner, meter) {
                held.add($0, times: $1)
            } onZone: { zone, found in
                let key = DatabaseKeys(zone.database).zoneAssets(zone.id.name)
                let counted = try reader.store.withValue(forKey: key) { try CountEntry(decoding: $0).count } ?? 0
                if counted != found { report.note(.zoneMiscounted(zone.id, counted: counted, held: found)) }
            }
            try Self.visitLedger(GlobalKeys.keyspace(.assets), in: reader) {
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
        in reader: RecordReader, _ owner: (DatabaseID) -> UserName?, _ meter: WorkMeter,
        _ report: inout VerifierReport<AssetFault>, where isIncluded: (AssetKey) -> Bool
    ) throws {
        var held: [AssetKey: UInt64] = [:]
        try visitHeld(in: reader, owner, meter) { key, times in
            if isIncluded(key) { held[key, default: 0] += times }
        }
        try Self.visitLedger(GlobalKeys.keyspace(.assets), in: reader) { key, entry in
            meter.add()
            guard isIncluded(key) else { return }
            let found = held.removeValue(forKey: key) ?? 0
            if entry.count != found { report.note(.miscounted(key, counted: entry.count, held: found)) }
        }
        for (key, found) in held.sorted(by: { Self.precedes($0.key, $1.key) }) {
            report.note(.miscounted(key, counted: 0, held: found))
        }
    }

    /// An order, so that each verification keeps the same findings.
    private static func precedes(_ left: AssetKey, _ right: AssetKey) -> Bool {
        left.owner == right.owner
            ? left.digest.lexicographicallyPrecedes(right.digest) : left.owner < right.owner
    }

    /// Visits the contents in each record, with counts. `onZone` gets the total of each zone.
    private func visitHeld(
        in reader: RecordReader, _ owner: (DatabaseID) -> UserName?, _ meter: WorkMeter,
        _ visit: (AssetKey, UInt64) -> Void,
        onZone: (_ zone: (id: ZoneID, database: DatabaseNumber), _ held: UInt64) throws -> Void = { _, _ in }
    ) throws {
        try reader.visitZones { id, listing in
            guard let owner = owner(id.database) else { return .next }
            guard let zone = try reader.zone(id) else { return .next }
            let before = try reader.store.showsOneMoment ? nil : zone.header()
            var sum: UInt64 = 0
            // Every live record has an entry among the parents.
            try zone.store.forEach(in: zone.keys.keyspace(.parents)) { key, _ in
                guard let record = try zone.record(zone.keys.readParentKey(key)) else { return }
                sum += Self.count(record.record, owner, visit)
                meter.add()
            }
            // Over several moments, a sum of a zone that has changed meanwhile says nothing.
            if try before == nil || zone.header() == before { try onZone((id, listing.database), sum) }
            return .next
        }
        try reader.store.scan(GlobalKeys.keyspace(.releases)) { _, value in
            var release = try ReleaseEntry(decoding: value)
            // Page by page, because their names are in memory.
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

    /// A record that holds a content; nil if none does, or only records of deleted zones. It reads the owner's zones.
    package func holder(
        of key: AssetKey, owner: (DatabaseID) -> UserName?
    ) throws -> (zone: ZoneID, record: RecordName)? {
        try engine.read(.wholeStore) { reader in
            var found: (zone: ZoneID, record: RecordName)?
            try reader.visitZones { id, _ in
                guard owner(id.database) == key.owner, let zone = try reader.zone(id) else { return .next }
                try zone.store.scan(zone.keys.keyspace(.parents)) { entry, _ in
                    let name = try zone.keys.readParentKey(entry)
                    let assets = try zone.record(name)?.record.assets ?? [:]
                    if assets.keys.contains(where: { $0.digest == key.digest }) { found = (id, name) }
                    return found == nil ? .next : .stop
                }
                return found == nil ? .next : .stop
            }
            return found
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

    /// The size of all contents in the ledger.
    private func ledgerByteCount() throws -> Int {
        try engine.read(.wholeStore) { reader in
            var count = 0
            try Self.visitLedger(GlobalKeys.keyspace(.assets), in: reader) { count += Int(summable: $1.byteCount) }
            return count
        }
    }

    /// The ledger's entries for the contents whose digests begin with a byte.
    private func ledger(of owner: UserName, in byte: UInt8) throws -> [AssetKey: AssetEntry] {
        var range = GlobalKeys.assets(of: owner)
        range.lower = GlobalKeys.asset(owner: owner, digest: [byte])
        var ledger: [AssetKey: AssetEntry] = [:]
        try engine.read(.wholeStore) { reader in
            try reader.store.scan(range) { key, value in
                let (owner, digest) = try GlobalKeys.readAssetKey(key)
                guard digest.first == byte else { return .stop }
                ledger[AssetKey(owner: owner, digest: digest)] = try AssetEntry(decoding: value)
                return .next
            }
        }
        return ledger
    }

    static func visitLedger(
        _ range: KeyRange, in reader: RecordReader, _ visit: (AssetKey, AssetEntry) throws -> Void
    ) throws {
        try reader.store.forEach(in: range) { key, value in
            let (owner, digest) = try GlobalKeys.readAssetKey(key)
            try visit(AssetKey(owner: owner, digest: digest), AssetEntry(decoding: value))
        }
    }

    /// Whether a content's file has the length in the ledger and the digest in its name.
    private func isWhole(_ key: AssetKey, _ entry: AssetEntry, _ readsContents: Bool) -> Bool {
        do throws(FileFailure) {
            let descriptor = try store.files.openFile(store.directory.file(of: key))
            defer { store.files.close(descriptor) }
            let facts = try store.files.facts(descriptor)
            guard facts.isRegular, facts.byteCount == entry.byteCount else { return false }
            guard readsContents else { return true }
            return store.digest(of: descriptor, key) == key.digest
        } catch { return false }
    }
}

/// The counts of contents as one number that does not depend on their order. Equal sums of different counts are as
/// likely as two equal random numbers of 64 bits. The hashes are seeded per process, so that contents with equal sums
/// cannot be constructed.
private struct AssetTally {
    private(set) var contentCount = 0
    private(set) var sum: UInt64 = 0

    mutating func add(_ key: AssetKey, times count: UInt64) {
        contentCount += 1
        sum &+= UInt64(bitPattern: Int64(key.hashValue)) &* count
    }
}

/// A fault of an asset.
package typealias AssetFinding = VerifierFinding<AssetFault>

/// What can be wrong with assets.
package enum AssetFault: String, FindingKind {
    /// Records hold a content that has no file.
    case missing = "missingContent"
    /// A file does not hold what its name and the ledger say.
    case damaged = "damagedContent"
    /// A file that is not in the ledger. The next sweep removes it, unless a request is about to use it.
    case orphaned = "orphanedContent"
    /// The ledger's count of a content differs from what the owner's records hold.
    case miscounted = "wrongContentCount"
    /// A zone's counter, which decides whether its deletion must release assets, differs from what its records hold.
    case zoneMiscounted = "wrongZoneAssetCount"
    /// A file or directory that is not a content's.
    case foreign = "foreignFile"

    /// Whether something is lost or counted wrongly, and not only left over.
    package var isFault: Bool { self != .orphaned && self != .foreign }

    /// Each damaged content is named, because each must be restored.
    package var maximumCount: Int {
        self == .damaged || self == .missing ? 1_000_000 : VerifierReport<Self>.maximumCount
    }
}

extension VerifierFinding<AssetFault> {
    package static func missing(_ key: AssetKey) -> Self {
        Self(.missing, at: key.owner.text, "missing content \(Hex.text(key.digest)) of \(key.owner)")
    }

    package static func damaged(_ key: AssetKey) -> Self {
        Self(.damaged, at: key.owner.text, "damaged content \(Hex.text(key.digest)) of \(key.owner)")
    }

    package static func orphaned(_ key: AssetKey) -> Self {
        Self(.orphaned, at: key.owner.text, "orphaned content \(Hex.text(key.digest)) of \(key.owner)")
    }

    package static func miscounted(_ key: AssetKey, counted: UInt64, held: UInt64) -> Self {
        let counts = "is counted \(counted.counting("time")) and held \(held.counting("time"))"
        return Self(.miscounted, at: key.owner.text, "content \(Hex.text(key.digest)) of \(key.owner) \(counts)")
    }

    package static func zoneMiscounted(_ zone: ZoneID, counted: UInt64, held: UInt64) -> Self {
        let owner = zone.database.owner?.text ?? "the app"
        return Self(
            .zoneMiscounted, at: zone.name.text,
            "zone \(zone.name) of \(owner) counts \(counted.counting("asset")) and holds \(held)")
    }

    package static func foreign(path: String) -> Self { Self(.foreign, at: path, "foreign file \(path)") }
}

extension VerifierReport<AssetFault> {
    /// How much is lost or counted wrongly.
    package var faultCount: Int { count { $0.isFault } }
    /// How many files are only left over.
    package var strayCount: Int { count { !$0.isFault } }
}
