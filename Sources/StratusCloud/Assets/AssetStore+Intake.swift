// Taking files in, several at a time, because syncing is what it costs: the disk gets to work on all of them before the
// first one is waited for.
//
//   1. Each file is read, checked and copied to a file of its own; the disk begins to write it.
//   2. Each copy is leased, synced and given its place.
//   3. Each directory in which something got its place is synced.

package import StratusModel

/// A file that has been read and is not in its place yet.
private struct Arrival {
    let index: Int
    let incomingPath: String
    let descriptor: Int32
    let asset: AssetDescriptor
}

extension AssetStore {
    /// Files that are open at once.
    private static let arrivalCount = 32

    /// Takes several files in at once, which costs fewer waits. Each succeeds or fails in its place, as with one path.
    package func takeIn(paths: [String], owner: UserName) -> [Result<AssetDescriptor, CloudError>] {
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
        let descriptor: Int32
        do throws(FileFailure) {
            descriptor = try inDirectories([directory.top, directory.incoming]) { () throws(FileFailure) in
                try files.createFile(name)
            }
        } catch { throw Self.unavailable(error) }
        do throws(CloudError) {
            let digest = try copy(source, path: path, to: descriptor)
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
