// Whether records, ledger and files of assets agree. Finds; mends nothing.

import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// Something about the assets that is not as it should be.
package enum AssetFinding: Hashable, Sendable, CustomStringConvertible {
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

    package var description: String {
        switch self {
        case .missing(let key): "missing content \(Hex.text(key.digest)) of \(key.owner)"
        case .damaged(let key): "damaged content \(Hex.text(key.digest)) of \(key.owner)"
        case .orphaned(let key): "orphaned content \(Hex.text(key.digest)) of \(key.owner)"
        case .miscounted(let key, let counted, let held):
            "content \(Hex.text(key.digest)) of \(key.owner) is counted \(counted) times and held \(held) times"
        case .zoneMiscounted(let zone, let counted, let held):
            "zone \(zone.name) of \(zone.database.owner?.text ?? "the app") counts \(counted) assets and holds \(held)"
        case .foreign(let path): "foreign file \(path)"
        }
    }
}

/// Verifies the assets of a store.
package struct AssetVerifier: Sendable {
    private let engine: RecordEngine
    private let store: AssetStore

    package init(engine: RecordEngine, store: AssetStore) {
        self.engine = engine
        self.store = store
    }

    /// Compares the ledger with the files, owner by owner, and reads every content when `readsContents` is set.
    ///
    /// What others change meanwhile may be told as it was before or after. Throws what reading the store throws.
    package func findings(readsContents: Bool = true) throws -> [AssetFinding] {
        var findings: [AssetFinding] = []
        var owners = try ledgerOwners()
        for name in try store.names(in: store.directory.content) {
            if let owner = AssetDirectory.owner(ofDirectory: name) {
                owners.insert(owner)
            } else {
                findings.append(.foreign(path: store.directory.content + "/" + name))
            }
        }
        for owner in owners.sorted() { try check(owner, readsContents, &findings) }
        return findings.sorted { "\($0)" < "\($1)" }
    }

    private func check(_ owner: UserName, _ readsContents: Bool, _ findings: inout [AssetFinding]) throws {
        let ledger = try engine.read { try Self.ledger(of: owner, in: $0) }
        let path = store.directory.owner(owner)
        var seen: Set<AssetKey> = []
        for folder in try store.names(in: path) {
            for name in try store.names(in: path + "/" + folder) {
                guard let digest = AssetDirectory.digest(ofFile: name, in: folder) else {
                    findings.append(.foreign(path: "\(path)/\(folder)/\(name)"))
                    continue
                }
                let key = AssetKey(owner: owner, digest: digest)
                seen.insert(key)
                guard let entry = ledger[key] else {
                    findings.append(.orphaned(key))
                    continue
                }
                if !isWhole(key, entry, readsContents) { findings.append(.damaged(key)) }
            }
        }
        for key in ledger.keys where !seen.contains(key) { findings.append(.missing(key)) }
    }

    /// Compares the ledger with the records of every zone that is there, and of those deleted whose records still count.
    /// `owner` says whose assets a database's are; nil passes it over.
    package func miscounts(owner: (DatabaseID) -> UserName?) throws -> [AssetFinding] {
        try engine.read { reader in
            var held: [AssetKey: UInt64] = [:]
            var findings: [AssetFinding] = []
            for database in try reader.databases() {
                guard let owner = owner(database.id) else { continue }
                for zone in try reader.zones(in: database.id) {
                    let id = ZoneID(database: database.id, name: zone.name)
                    let found = try count(try reader.existingZone(id), owner, &held)
                    let key = DatabaseKeys(zone.database).zoneAssets(zone.name)
                    let counted =
                        try reader.store.withValue(forKey: key) { try ZoneAssetsEntry(decoding: $0).count } ?? 0
                    if counted != found { findings.append(.zoneMiscounted(id, counted: counted, held: found)) }
                }
            }
            for release in try reader.releases() {
                _ = try reader.visitRecords(of: release) { record in
                    Self.count(record, release.owner, &held)
                    return .next
                }
            }
            let ledger = try Self.ledger(GlobalKeys.assets.keyRange, in: reader).mapValues(\.count)
            for key in Set(held.keys).union(ledger.keys) {
                let (counted, held) = (ledger[key] ?? 0, held[key] ?? 0)
                if counted != held { findings.append(.miscounted(key, counted: counted, held: held)) }
            }
            return findings.sorted { "\($0)" < "\($1)" }
        }
    }

    /// Returns how many assets the zone's records hold.
    private func count(_ zone: ZoneReader, _ owner: UserName, _ held: inout [AssetKey: UInt64]) throws -> UInt64 {
        var sum: UInt64 = 0
        for change in try zone.changes(after: 0) where change.kind == .saved {
            guard let record = try zone.record(change.name) else { continue }
            sum += Self.count(record.record, owner, &held)
        }
        return sum
    }

    @discardableResult
    private static func count(_ record: Record, _ owner: UserName, _ held: inout [AssetKey: UInt64]) -> UInt64 {
        var sum: UInt64 = 0
        for (asset, count) in record.assets {
            held[AssetKey(owner: owner, digest: asset.digest), default: 0] += UInt64(count)
            sum += UInt64(count)
        }
        return sum
    }

    /// Every owner of whom the ledger counts something: one look each.
    private func ledgerOwners() throws -> Set<UserName> {
        try engine.read { reader in
            var owners: Set<UserName> = []
            var range = GlobalKeys.assets.keyRange
            var isAtEnd = false
            while !isAtEnd {
                isAtEnd = true
                try reader.store.scan(range, .forward, limit: 1) { key, _ in
                    let owner = try GlobalKeys.readAssetKey(key).owner
                    owners.insert(owner)
                    range.lower = GlobalKeys.assets(of: owner).upper
                    isAtEnd = false
                    return .stop
                }
            }
            return owners
        }
    }

    private static func ledger(of owner: UserName, in reader: RecordReader) throws -> [AssetKey: AssetEntry] {
        try ledger(GlobalKeys.assets(of: owner).keyRange, in: reader)
    }

    private static func ledger(_ range: KeyRange, in reader: RecordReader) throws -> [AssetKey: AssetEntry] {
        var ledger: [AssetKey: AssetEntry] = [:]
        try reader.store.scan(range) { key, value in
            let (owner, digest) = try GlobalKeys.readAssetKey(key)
            ledger[AssetKey(owner: owner, digest: digest)] = try AssetEntry(decoding: value)
            return .next
        }
        return ledger
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
