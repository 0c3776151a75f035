// The files that a request's assets name.
//
//   1. `measure` reads their sizes, before anything is copied.
//   2. `AssetPreflight` refuses items that fail regardless of their files, so that no file is copied for them.
//   3. `takeIn` stores the files of the other items, before any transaction.
//   4. `release` ends their leases after the request.

import StratusModel
import StratusRecords

struct AssetIntake: Sendable {
    let store: AssetStore?
    /// The result for each file, by owner of zones and by the bytes of its path, which is how the file system compares
    /// paths. A file that is named twice for one owner is stored once.
    private var results: [UserName: Contents] = [:]
    /// The size of each file before it is copied, with a digest that no content has.
    private var sizes: Contents = [:]

    typealias Contents = [[UInt8]: Result<AssetDescriptor, CloudError>]

    /// The placeholder for the digest of a content that was not read.
    static let unknownDigest = [UInt8](repeating: 0, count: 32)

    init(store: AssetStore?) { self.store = store }

    /// Whether there is a file to store.
    var isNeeded: Bool { !sizes.isEmpty }

    /// Reads the sizes of the files of all items that have not failed yet.
    mutating func measure(_ zones: [ZoneRequest], _ policy: SavePolicy) {
        for (bytes, path) in Self.paths(of: zones, policy) {
            guard let store else {
                let error = CloudError(
                    .assetNotAvailable, "The store has no directory for assets. Open it with one.")
                sizes[bytes] = .failure(error)
                continue
            }
            do throws(CloudError) {
                let byteCount = try store.byteCount(ofFile: path)
                sizes[bytes] = .success(AssetDescriptor(digest: Self.unknownDigest, byteCount: byteCount))
            } catch { sizes[bytes] = .failure(error) }
        }
    }

    /// Stores the files of all items that may still be written.
    mutating func takeIn(_ zones: [ZoneRequest], _ policy: SavePolicy) {
        guard let store else { return }
        let zonesByOwner = Dictionary(grouping: zones.filter { !$0.isRefused }) { $0.zone.assetOwner }
        for (owner, zones) in zonesByOwner.sorted(by: { $0.key < $1.key }) {
            let paths = Self.paths(of: zones, policy)
            guard !paths.isEmpty else { continue }
            let taken = store.takeIn(paths: paths.map(\.path), owner: owner)
            for (path, result) in zip(paths, taken) { results[owner, default: [:]][path.bytes] = result }
        }
    }

    /// The contents of an item's files, for judging it. For an item that will not be written only the sizes are known.
    func contents(for item: ItemSave, of zone: ZoneRequest) -> Contents {
        guard !zone.isRefused, item.quotaError == nil, let results = results[zone.zone.assetOwner] else { return sizes }
        return results
    }

    /// The digests of the contents that were stored for a zone.
    func digests(for zone: ZoneRequest) -> [[UInt8]] {
        results[zone.zone.assetOwner]?.values.compactMap { try? $0.get().digest } ?? []
    }

    /// Ends the leases of the stored files, unless a commit's outcome is unknown: then the leases expire.
    func release(_ outcomes: [Result<ZoneAnswer, CloudError>]) {
        for case .failure(let error) in outcomes where error.code == .serverResponseLost { return }
        for (owner, results) in results {
            store?.release(results.values.compactMap { try? $0.get() }, owner: owner)
        }
    }

    /// The files of all items that have not failed yet, each once.
    private static func paths(of zones: [ZoneRequest], _ policy: SavePolicy) -> [(bytes: [UInt8], path: String)] {
        var paths: [[UInt8]: String] = [:]
        for zone in zones where zone.error == nil {
            for item in zone.saves where item.error == nil && item.quotaError == nil {
                for path in item.save.filePaths(policy) { paths[Array(path.utf8)] = path }
            }
        }
        return paths.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ($0.key, $0.value) }
    }
}

/// Judges each item in a snapshot as its transaction would, with the sizes of its files instead of their contents, and
/// checks the owner's quota.
///
/// A refusal is final, even if the transaction might decide differently: it was correct at some time during the
/// request. An item is refused for its quota only if no order of the request's items could make room for it. The
/// transaction checks hierarchy, schema and the rest, and decides again on everything that passes.
struct AssetPreflight {
    let service: CloudService
    let caller: Caller
    let user: UserName
    let intake: AssetIntake

    /// The zones, with the errors of refused zones and items.
    func judged(_ zones: [ZoneRequest]) throws -> [ZoneRequest] {
        try service.engine.read { reader in
            for zone in zones where zone.error == nil {
                _ = BatchReads(service, zone, caller, user: user, intake: intake, in: reader)
            }
            let account = try service.accountDirectory.requireAccount(of: caller, in: reader)
            var zones = zones
            let changes = try zones.indices.map { try refuse(&zones[$0], account, reader) }
            try refuseForQuota(&zones, changes, account, reader)
            return zones
        }
    }

    /// Sets the errors of one zone's items. Returns by how many bytes each save would change the zone's size; nil for
    /// refused ones.
    private func refuse(
        _ request: inout ZoneRequest, _ account: StoredAccount, _ reader: RecordReader
    ) throws -> [Int64?] {
        guard request.error == nil else { return request.saves.map { _ in nil } }
        let zone = try reader.zone(request.zone.id)
        guard zone != nil || request.zone.isDefault else {
            request.error = try ZoneFacts.missing(request.zone, in: reader)
            return request.saves.map { _ in nil }
        }
        let judge = try ZoneJudge(service, request, account, reader, zone: zone, intake: intake)
        guard try judge.maySeeZone() else {
            request.error = ScopeVerdict.zoneNotFound(request.zone.address)
            return request.saves.map { _ in nil }
        }
        var changes: [Int64?] = []
        for (index, item) in request.saves.enumerated() {
            do {
                changes.append(try judge.judged(item).byteCountChange)
            } catch let error as CloudError {
                request.saves[index].error = error
                changes.append(nil)
            }
        }
        for (index, item) in request.deletes.enumerated() {
            do { _ = try judge.judged(item) } catch let error as CloudError { request.deletes[index].error = error }
        }
        return changes
    }

    /// Marks the saves for which no order of the request's items leaves room, separately for each owner of zones. Skips
    /// requests with deletions, because the room that these make is known only after their cascades.
    private func refuseForQuota(
        _ zones: inout [ZoneRequest], _ changes: [[Int64?]], _ account: StoredAccount, _ reader: RecordReader
    ) throws {
        let indexesByOwner = Dictionary(grouping: zones.indices) { zones[$0].zone.assetOwner }
        for (_, indexes) in indexesByOwner {
            let charged = try service.charged(for: zones[indexes[0]].zone, account, in: reader)
            guard let limit = charged.limit, indexes.allSatisfy({ zones[$0].deletes.isEmpty }) else { continue }
            let freed = indexes.lazy.flatMap { changes[$0] }.reduce(Int64(0)) { $0.addingCapped(min(0, $1 ?? 0)) }
            let least = try QuotaLedger.usage(of: charged.owner, in: reader).addingCapped(freed)
            for index in indexes {
                let added = changes[index].map { max(0, $0 ?? 0) }
                // An atomic zone needs room for all saves; in other zones each save needs room only for itself.
                let needs = zones[index].isAtomic ? added.map { _ in added.reduce(0) { $0.addingCapped($1) } } : added
                for (place, need) in needs.enumerated() where need > 0 && least.addingCapped(need) > limit {
                    let error = QuotaLedger.exceeded(limit: limit, needed: least.addingCapped(need))
                    zones[index].saves[place].quotaError = zones[index].zone.isShared ? error.withoutFields : error
                }
            }
        }
    }
}
