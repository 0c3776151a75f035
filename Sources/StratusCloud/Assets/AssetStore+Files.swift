// The contents of assets as files next to the store. A content and its name are durable before anything refers to it.
//
// Several files are stored at a time, because syncing costs most: the disk starts to write all of them before the first
// wait.
//
//   1. Read and check each file, once, and copy it to a new file; the disk starts to write it (`receive`).
//   2. Take a lease on each copy, sync it and move it to its place (`place`).
//   3. Sync each directory that got a file (`syncFolders`).

import StratusModel
import StratusStore

/// A file that was read and is not in its place yet.
private struct Arrival {
    let index: Int
    let incomingPath: String
    let descriptor: Int32
    let asset: AssetDescriptor
}

extension AssetStore {
    /// Files that are open at once.
    private static let arrivalCount = 32

    /// Stores files, and syncs them together.
    func takeInFiles(_ paths: [String], _ owner: UserName) -> [Result<AssetDescriptor, CloudError>] {
        var results: [Result<AssetDescriptor, CloudError>] = []
        var arrivals: [Arrival] = []
        for (index, path) in paths.enumerated() {
            do throws(CloudError) {
                let arrival = try receive(path, index, owner)
                arrivals.append(arrival)
                results.append(.success(arrival.asset))
            } catch { results.append(.failure(error)) }
            if arrivals.count == Self.arrivalCount { place(&arrivals, owner, &results) }
        }
        place(&arrivals, owner, &results)
        syncFolders(owner, &results)
        return results
    }

    /// Step 1 for one file. The arrival's descriptor stays open.
    private func receive(_ path: String, _ index: Int, _ owner: UserName) throws(CloudError) -> Arrival {
        guard AssetDirectory.canHold(owner) else {
            throw CloudError(.internalError, "The name of an owner of assets is empty or too long.")
        }
        let source = try openSource(path)
        defer { files.close(source.descriptor) }
        let name = directory.incomingFile(nextFileNumber())
        let descriptor = try explaining(Self.unavailable) { () throws(FileFailure) in
            try inDirectories([directory.top, directory.incoming]) { () throws(FileFailure) in
                try files.createFile(name)
            }
        }
        do throws(CloudError) {
            let digest = try read(source, path: path) { buffer, count throws(CloudError) in
                try explaining(Self.unavailable) { () throws(FileFailure) in
                    try files.write(descriptor, buffer, count: count)
                }
            }
            files.beginSync(descriptor)
            let asset = AssetDescriptor(digest: digest, byteCount: source.facts.byteCount)
            return Arrival(index: index, incomingPath: name, descriptor: descriptor, asset: asset)
        } catch {
            files.close(descriptor)
            try? files.removeFile(name)
            throw error
        }
    }

    /// Step 2 for all that have arrived.
    private func place(
        _ arrivals: inout [Arrival], _ owner: UserName, _ results: inout [Result<AssetDescriptor, CloudError>]
    ) {
        for arrival in arrivals {
            let key = AssetKey(owner: owner, digest: arrival.asset.digest)
            leases.acquire(key)
            do throws(FileFailure) {
                try files.sync(arrival.descriptor)
                let folders = [directory.content, directory.owner(owner), directory.folder(of: key)]
                try inDirectories(folders) { () throws(FileFailure) in
                    try files.rename(arrival.incomingPath, to: directory.file(of: key))
                }
            } catch {
                try? files.removeFile(arrival.incomingPath)
                leases.release(key)
                results[arrival.index] = .failure(Self.unavailable(error))
            }
            files.close(arrival.descriptor)
        }
        arrivals.removeAll()
    }

    /// Step 3 for all that are in their places.
    private func syncFolders(_ owner: UserName, _ results: inout [Result<AssetDescriptor, CloudError>]) {
        var indexes: [String: [Int]] = [:]
        for (index, result) in results.enumerated() {
            guard case .success(let asset) = result else { continue }
            indexes[directory.folder(of: AssetKey(owner: owner, digest: asset.digest)), default: []].append(index)
        }
        for (folder, indexes) in indexes.sorted(by: { $0.key < $1.key }) {
            do throws(FileFailure) { try files.syncDirectory(folder) } catch {
                for index in indexes {
                    if case .success(let asset) = results[index] {
                        leases.release(AssetKey(owner: owner, digest: asset.digest))
                    }
                    results[index] = .failure(Self.unavailable(error))
                }
            }
        }
    }
}

// MARK: Directories

extension AssetStore {
    /// Creates directories, parents first, and calls `body`.
    func inDirectories<Result>(
        _ paths: [String], _ body: () throws(FileFailure) -> Result
    ) throws(FileFailure) -> Result {
        try makeDirectories(paths)
        do throws(FileFailure) { return try body() } catch {
            guard error.number == FileFailure.notFound else { throw error }
            // A host may have emptied its temporary directories, with ours.
            forgetDirectories(below: directory.top)
            forgetDirectories(below: directory.copies)
            try makeDirectories(paths)
            return try body()
        }
    }

    /// Creates directories durably.
    private func makeDirectories(_ paths: [String]) throws(FileFailure) {
        for path in paths where !knownDirectories.value.contains(path) {
            do throws(FileFailure) { try files.createDirectory(path) } catch {
                guard error.number == FileFailure.exists else { throw error }
            }
            // Also if it existed, because its name may not have been synced yet.
            let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
            try files.syncDirectory(parent.isEmpty ? "/" : parent)
            knownDirectories.withLock { _ = $0.insert(path) }
        }
    }

    /// Forgets that directories exist, because they may have been removed.
    func forgetDirectories(below path: String) {
        knownDirectories.withLock { known in known = known.filter { $0 != path && !$0.hasPrefix(path + "/") } }
    }

    /// The names in a directory; none if it does not exist.
    func names(in path: String) throws -> [String] { try namesIfThere(in: path) ?? [] }

    /// The names in a directory; nil if it does not exist.
    func namesIfThere(in path: String) throws -> [String]? {
        do throws(FileFailure) { return try files.names(in: path) } catch {
            if error.number == FileFailure.notFound { return nil }
            throw CloudError(
                .serviceUnavailable, "A directory of assets cannot be read.", ["path": path], cause: error.reason)
        }
    }

    /// The contents with files in one folder of an owner, and the names of other files there.
    func contents(of owner: UserName, in folder: String) throws -> (keys: [AssetKey], foreignNames: [String]) {
        var (keys, foreignNames): ([AssetKey], [String]) = ([], [])
        for name in try names(in: directory.owner(owner) + "/" + folder) {
            if let digest = AssetDirectory.digest(ofFile: name, in: folder) {
                keys.append(AssetKey(owner: owner, digest: digest))
            } else {
                foreignNames.append(name)
            }
        }
        return (keys, foreignNames)
    }
}
