// The files that a request's assets name: looked at before anything is copied, taken in before any transaction, let go
// when the request has ended.

import StratusModel

struct AssetIntake: Sendable {
    let owner: UserName
    let store: AssetStore?
    /// What became of each file, by the bytes of its path, for that is how the file system tells files apart. A file that
    /// is named twice is taken in once.
    private var results: Contents = [:]
    /// What is known of each file before it is copied: its size, under a digest that no content has.
    private var sizes: Contents = [:]

    typealias Contents = [[UInt8]: Result<AssetDescriptor, CloudError>]

    /// Stands for the digest of a content that was not read.
    static let unknownDigest = [UInt8](repeating: 0, count: 32)

    init(owner: UserName, store: AssetStore?) {
        self.owner = owner
        self.store = store
    }

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
        let paths = Self.paths(of: zones.filter { !$0.isRefused }, policy)
        guard let store, !paths.isEmpty else { return }
        let taken = store.takeIn(paths: paths.map(\.path), owner: owner)
        for (path, result) in zip(paths, taken) { results[path.bytes] = result }
    }

    /// What an item's files are to those who judge it. Of an item that will not be written only the sizes are known.
    func contents(for item: ItemSave, of zone: ZoneRequest) -> Contents {
        zone.isRefused || item.quotaError != nil || results.isEmpty ? sizes : results
    }

    /// Lets go of what was taken in, unless a commit's outcome is unknown: then the leases end by themselves.
    func release(_ outcomes: [Result<ZoneAnswer, CloudError>]) {
        for case .failure(let error) in outcomes where error.code == .serverResponseLost { return }
        let descriptors = results.values.compactMap { try? $0.get() }
        store?.release(descriptors, owner: owner)
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
