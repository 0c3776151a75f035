// The files that a request's assets name: taken in before any transaction, let go when the request has ended.

import StratusModel

struct AssetIntake: Sendable {
    let owner: UserName
    let store: AssetStore?
    /// What became of each file, by the bytes of its path, for that is how the file system tells files apart. A file that
    /// is named twice is taken in once.
    private(set) var results: [[UInt8]: Result<AssetDescriptor, CloudError>] = [:]

    init(owner: UserName, store: AssetStore?) {
        self.owner = owner
        self.store = store
    }

    /// Takes in the files of all items that have not failed yet.
    mutating func takeIn(_ zones: [ZoneRequest], _ policy: SavePolicy) {
        var paths: [[UInt8]: String] = [:]
        for zone in zones where zone.error == nil {
            for item in zone.saves where item.error == nil {
                for path in item.save.filePaths(policy) { paths[Array(path.utf8)] = path }
            }
        }
        guard !paths.isEmpty else { return }
        let sorted = paths.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        guard let store else {
            let error = CloudError(.assetNotAvailable, "This store takes no assets: open it with a directory for them.")
            for path in paths.keys { results[path] = .failure(error) }
            return
        }
        let taken = store.takeIn(paths: sorted.map(\.value), owner: owner)
        for (path, result) in zip(sorted, taken) { results[path.key] = result }
    }

    /// Lets go of what was taken in, unless a commit's outcome is unknown: then the leases end by themselves.
    func release(_ outcomes: [Result<ZoneAnswer, CloudError>]) {
        for case .failure(let error) in outcomes where error.code == .serverResponseLost { return }
        let descriptors = results.values.compactMap { try? $0.get() }
        store?.release(descriptors, owner: owner)
    }
}
