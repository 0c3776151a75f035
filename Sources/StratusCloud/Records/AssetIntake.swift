// The files that a request's assets name: looked at before anything is copied, taken in before any transaction, let go
// when the request has ended.

import StratusModel

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
