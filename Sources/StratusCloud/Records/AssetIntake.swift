// The files that a request's assets name: looked at before anything is copied, taken in before any transaction, let go
// when the request has ended.

import StratusModel
import StratusRecords

struct AssetIntake: Sendable {
    let store: AssetStore?
    /// What became of each file for each owner of zones, by the bytes of its path, for that is how the file system tells
    /// files apart. A file that is named twice for one owner is taken in once.
    private var results: [UserName: Contents] = [:]
    /// What is known of each file before it is copied: its size, under a digest that no content has.
    private var sizes: Contents = [:]

    typealias Contents = [[UInt8]: Result<AssetDescriptor, CloudError>]

    /// Stands for the digest of a content that was not read.
    static let unknownDigest = [UInt8](repeating: 0, count: 32)

    init(store: AssetStore?) { self.store = store }

    /// Whether there is a file to take in.
    var isNeeded: Bool { !sizes.isEmpty }

    /// Looks at the files of all items that have not failed yet.
    mutating func measure(_ zones: [ZoneRequest], _ policy: SavePolicy) {
        for (bytes, path) in Self.paths(of: zones, policy) {
            guard let store else {
                let error = CloudError(
                    .assetNotAvailable, "This store takes no assets: open it with a directory for them.")
                sizes[bytes] = .failure(error)
                continue
            }
            do throws(CloudError) {
                let byteCount = try store.byteCount(ofFile: path)
                sizes[bytes] = .success(AssetDescriptor(digest: Self.unknownDigest, byteCount: byteCount))
            } catch { sizes[bytes] = .failure(error) }
        }
    }

    /// Takes in the files of all items that may still be written.
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

    /// What an item's files are to those who judge it. Of an item that will not be written only the sizes are known.
    func contents(for item: ItemSave, of zone: ZoneRequest) -> Contents {
        guard !zone.isRefused, item.quotaError == nil, let results = results[zone.zone.assetOwner] else { return sizes }
        return results
    }

    /// Lets go of what was taken in, unless a commit's outcome is unknown: then the leases end by themselves.
    func release(_ outcomes: [Result<ZoneAnswer, CloudError>]) {
        for case .failure(let error) in outcomes where error.code == .serverResponseLost { return }
        for (owner, results) in results {
            store?.release(results.values.compactMap { try? $0.get() }, owner: owner)
        }
    }

    /// The files that are named by items that have not failed yet, each once.
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

// What is refused whatever its files hold is refused before they are copied: each item is judged in a snapshot as its
// transaction would, with the sizes of its files in place of their contents, and the owner's quota is looked at.
//
// A refusal is the answer, although the transaction might see something else: it was right while the request was under
// way. Only what no order of the request's items could make room for is refused for its quota; hierarchy, schema and the
// rest are left to the transaction, which has the last word on everything that is let through.

struct AssetPreflight {
    let service: CloudService
    let caller: Caller
    let intake: AssetIntake

    /// The zones with the errors of those and of the items that are refused.
    func judged(_ zones: [ZoneRequest]) throws -> [ZoneRequest] {
        try service.engine.read { reader in
            let account = try service.accountDirectory.requireAccount(of: caller, in: reader)
            var zones = zones
            var changes: [[Int64?]] = []
            for index in zones.indices {
                changes.append(try refuse(&zones[index], account, reader))
            }
            try refuseForQuota(&zones, changes, account, reader)
            return zones
        }
    }

    /// Sets the errors of one zone's items. Returns by how much each save would change what the zone holds, nil for those
    /// that are refused.
    private func refuse(
        _ request: inout ZoneRequest, _ account: Account, _ reader: RecordReader
    ) throws -> [Int64?] {
        guard request.error == nil else { return request.saves.map { _ in nil } }
        let zone = try reader.zone(request.zone.id)
        guard zone != nil || request.zone.isDefault else {
            request.error = try ZoneFacts.missing(request.zone, in: reader)
            return request.saves.map { _ in nil }
        }
        let judge = try ZoneJudge(service, request, account, reader, zone: zone, intake: intake)
        guard try judge.access.isZoneVisible() else {
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

    /// Marks the saves that no order of the request's items leaves room for, for each owner of zones by themself. A
    /// request that deletes makes room that is known only when its cascades are.
    private func refuseForQuota(
        _ zones: inout [ZoneRequest], _ changes: [[Int64?]], _ account: Account, _ reader: RecordReader
    ) throws {
        let indexesByOwner = Dictionary(grouping: zones.indices) { zones[$0].zone.assetOwner }
        for (_, indexes) in indexesByOwner {
            let charged = try service.charged(for: zones[indexes[0]].zone, account, in: reader)
            guard let limit = charged.limit, indexes.allSatisfy({ zones[$0].deletes.isEmpty }) else { continue }
            let freed = indexes.lazy.flatMap { changes[$0] }.reduce(Int64(0)) { $0.addingCapped(min(0, $1 ?? 0)) }
            let least = try QuotaLedger.usage(of: charged.owner, in: reader).addingCapped(freed)
            for index in indexes {
                let added = changes[index].map { max(0, $0 ?? 0) }
                // An atomic zone is written whole; elsewhere each save may find the room alone.
                let needs = zones[index].isAtomic ? added.map { _ in added.reduce(0) { $0.addingCapped($1) } } : added
                for (place, need) in needs.enumerated() where need > 0 && least.addingCapped(need) > limit {
                    let error = QuotaLedger.exceeded(limit: limit, needed: least.addingCapped(need))
                    zones[index].saves[place].quotaError = zones[index].zone.isShared ? error.withoutFields : error
                }
            }
        }
    }
}
