// The contents of assets: files next to the store, named by their digests, once per owner and never shared between
// owners. A content and its name are durable before anything refers to it.
//
// Trust: a path comes from a program in this process, never from decoded data. The file at the path is not trusted:
// only a regular file is stored, it is read once, and it must be unchanged after reading (C-10).
//
// Several files are stored at a time, because syncing costs most: the disk starts to write all of them before the first
// wait.
//
//   1. Read and check each file, and copy it to a new file; the disk starts to write it (`receive`).
//   2. Take a lease on each copy, sync it and move it to its place (`place`).
//   3. Sync each directory that got a file (`syncFolders`).
//
// Each client gets a new copy of a content, which it may change, keep or delete.

package import FoundationEssentials
package import StratusModel
import StratusStore
import Synchronization

/// Stores files by their content, and returns private copies.
///
/// Only one instance may use a directory at a time. Create it after opening the record store next to it, which excludes
/// other processes. Calls block their thread.
package final class AssetStore: Sendable {
    /// Bytes read and written at once.
    static let bufferByteCount = 256 << 10
    let files: any AssetFiles
    let directory: AssetDirectory
    let leases: AssetLeases
    let byteCountLimit: Int64?
    let releasedCopies: ReleasedCopies
    /// The state of this session's sweep of all files.
    let sweep = Locked(AssetSessionSweep.isDue(from: nil))
    private let fileNumber = Atomic<UInt64>(0)
    /// Existing directories whose names are synced.
    private let knownDirectories = Locked(Set<String>())

    /// Creates nothing on the disk before the first asset.
    ///
    /// `directory` is an absolute path. It need not exist yet, but its parent directory must. Copies for clients are in
    /// `copiesDirectory`, or in `copies` inside the directory. `session` is new for every opening. An asset has at most
    /// `byteCountLimit` bytes (L-04), unless that is nil. A content that no record holds is kept for `leaseSeconds` for
    /// a request that never ends. At most `orphanCount` contents wait in memory to be collected; a sweep of all files
    /// finds the rest. A copy is removed `copySeconds` after its release; with nil it stays until the next session
    /// begins.
    package init(
        directory: String, copiesDirectory: String? = nil, session: UUID, clock: any CloudClock,
        byteCountLimit: Int64? = nil, leaseSeconds: Double = 3_600, orphanCount: Int = 100_000,
        copySeconds: Double? = 3_600, files: any AssetFiles = SystemAssetFiles()
    ) {
        self.directory = AssetDirectory(top: directory, copies: copiesDirectory, session: session)
        self.byteCountLimit = byteCountLimit
        self.files = files
        releasedCopies = ReleasedCopies(clock: clock, waitSeconds: copySeconds)
        leases = AssetLeases(clock: clock, leaseSeconds: leaseSeconds, maximumOrphanCount: orphanCount)
    }

    /// Stores a file for an owner. When this returns, the content is durable and leased, and a commit may refer to it.
    /// End the lease with `release` when the request has ended in any way.
    ///
    /// Throws `assetFileNotFound`; `assetFileModified`; `assetNotAvailable` if it is not a readable regular file
    /// (C-10); `limitExceeded` if it is too large; `serviceUnavailable` if the content cannot be stored.
    package func takeIn(path: String, owner: UserName) throws(CloudError) -> AssetDescriptor {
        try takeIn(paths: [path], owner: owner)[0].get()
    }

    /// Ends the leases of contents that `takeIn` returned, one for each, after their commit or its failure.
    ///
    /// Do not call it if the outcome of the commit is unknown; the leases then expire.
    package func release(_ descriptors: some Sequence<AssetDescriptor>, owner: UserName) {
        for descriptor in descriptors { leases.release(AssetKey(owner: owner, digest: descriptor.digest)) }
    }

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

    func nextFileNumber() -> UInt64 { fileNumber.add(1, ordering: .relaxed).newValue }

    static func unavailable(_ failure: FileFailure) -> CloudError {
        CloudError(
            .serviceUnavailable,
            failure.isFull
                ? "The asset cannot be stored: the server's disk is full. Free space, then save again."
                : "The asset cannot be stored: the server's disk refuses it.",
            ["errno": "\(failure.number)"], cause: failure.reason)
    }
}

// MARK: Storing files

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

    /// Stores several files at once, with fewer waits. Each succeeds or fails in its place, as with one path.
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
        let descriptor = try explaining(Self.unavailable) { () throws(FileFailure) in
            try inDirectories([directory.top, directory.incoming]) { () throws(FileFailure) in
                try files.createFile(name)
            }
        }
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

extension AssetStore {
    /// A file that is being stored.
    private typealias Source = (descriptor: Int32, facts: AssetFileFacts)

    /// Runs `body` and turns its failure into the error that `explain` makes of it.
    private func explaining<Result>(
        _ explain: (FileFailure) -> CloudError, _ body: () throws(FileFailure) -> Result
    ) throws(CloudError) -> Result {
        do throws(FileFailure) { return try body() } catch { throw explain(error) }
    }

    /// The size of a file that could be stored now. Does not read or copy it.
    ///
    /// Throws like `takeIn` for a file that cannot be stored.
    func byteCount(ofFile path: String) throws(CloudError) -> Int64 {
        let source = try openSource(path)
        files.close(source.descriptor)
        return source.facts.byteCount
    }

    private func openSource(_ path: String) throws(CloudError) -> Source {
        guard path.hasPrefix("/") else {
            throw CloudError(.assetNotAvailable, "The asset's file has no absolute path.", ["path": path])
        }
        let descriptor = try explaining({ Self.unreadable($0, path) }) { () throws(FileFailure) in
            try files.openFile(path)
        }
        do throws(CloudError) {
            let facts = try facts(descriptor, path)
            guard facts.isRegular else {
                throw CloudError(
                    .assetNotAvailable,
                    "The asset is not a regular file. Folders, pipes and devices cannot be assets.", ["path": path])
            }
            if let limit = byteCountLimit, facts.byteCount > limit {
                throw CloudError(
                    .limitExceeded, "The asset's file is too large for the server. Make it smaller.",
                    ["byteCount": "\(facts.byteCount)", "limit": "\(limit)", "path": path])
            }
            return (descriptor, facts)
        } catch {
            files.close(descriptor)
            throw error
        }
    }

    private func facts(_ descriptor: Int32, _ path: String) throws(CloudError) -> AssetFileFacts {
        try explaining({ Self.unreadable($0, path) }) { () throws(FileFailure) in try files.facts(descriptor) }
    }

    /// Copies a file and returns the digest of its content, which is the same before and after.
    private func copy(_ source: Source, path: String, to target: Int32) throws(CloudError) -> [UInt8] {
        var total: Int64 = 0
        let unreadable = { (failure: FileFailure) in Self.unreadable(failure, path) }
        let digest = try digest(of: source.descriptor, unreadable) { buffer, count throws(CloudError) in
            total += Int64(count)
            guard total <= source.facts.byteCount else { throw Self.modified(path) }
            try explaining(Self.unavailable) { () throws(FileFailure) in
                try files.write(target, buffer, count: count)
            }
        }
        let facts = try facts(source.descriptor, path)
        guard total == source.facts.byteCount, facts == source.facts else { throw Self.modified(path) }
        return digest
    }

    private static func modified(_ path: String) -> CloudError {
        CloudError(
            .assetFileModified, "The asset's file was changed while it was read. Save again when it is complete.",
            ["path": path])
    }

    private static func unreadable(_ failure: FileFailure, _ path: String) -> CloudError {
        if failure.isAbsence {
            return CloudError(
                .assetFileNotFound, "The asset's file does not exist.", ["path": path], cause: failure.reason)
        }
        return CloudError(
            .assetNotAvailable, "The asset's file cannot be read.", ["path": path], cause: failure.reason)
    }
}

// MARK: Copies for clients

extension AssetStore {
    /// A copy of a content in a new file. The file stays until its receiver removes it, until some time after its
    /// release, and at most until the next session begins.
    ///
    /// The digest is checked during copying, so the copy equals the stored content.
    ///
    /// Throws `assetNotAvailable` if the content is missing or damaged, which a verification of the assets also finds,
    /// and `serviceUnavailable` if the copy cannot be written.
    package func privateCopy(of asset: AssetDescriptor, owner: UserName) throws(CloudError) -> String {
        let key = AssetKey(owner: owner, digest: asset.digest)
        let source = try explaining({ Self.lost(key, $0) }) { () throws(FileFailure) in
            try files.openRegularFile(directory.file(of: key))
        }
        defer { files.close(source) }
        let name = "\(nextFileNumber())-\(AssetDirectory.name(of: key).prefix(16))"
        let path = directory.sessionCopies + "/" + name
        let directories = [directory.top, directory.copies, directory.sessionCopies]
        let target = try explaining({ Self.unwritable(path, asset, $0) }) { () throws(FileFailure) in
            try inDirectories(directories) { () throws(FileFailure) in try files.createFile(path) }
        }
        var isWhole = false
        defer {
            files.close(target)
            if !isWhole { try? files.removeFile(path) }
        }
        let copied = try digest(of: source, { Self.lost(key, $0) }) { buffer, count throws(CloudError) in
            try explaining({ Self.unwritable(path, asset, $0) }) { () throws(FileFailure) in
                try files.write(target, buffer, count: count)
            }
        }
        guard copied == asset.digest else {
            throw CloudError(
                .assetNotAvailable, "The asset's content is damaged. Restore it from a backup, or save it again.",
                Self.fields(key))
        }
        isWhole = true
        return path
    }

    /// Keeps every content until the hold is released. A hold from before a snapshot keeps all contents of the
    /// snapshot.
    package func hold() -> AssetHold { AssetHold(leases) }

    /// The digest of an open content; nil if it cannot be read.
    func digest(of source: Int32, _ key: AssetKey) -> [UInt8]? {
        try? digest(of: source, { Self.lost(key, $0) }) { _, _ throws(CloudError) in }
    }

    /// The digest of an open file. `visit` gets the bytes that were read, as the first bytes of a buffer.
    private func digest(
        of source: Int32, _ unreadable: (FileFailure) -> CloudError,
        _ visit: (_ buffer: [UInt8], _ count: Int) throws(CloudError) -> Void
    ) throws(CloudError) -> [UInt8] {
        var digest = ContentDigest()
        var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
        while true {
            let count = try explaining(unreadable) { () throws(FileFailure) in try files.read(source, into: &buffer) }
            if count == 0 { return digest.finish() }
            digest.add(buffer[..<count])
            try visit(buffer, count)
        }
    }

    /// The error for a copy that cannot be written.
    private static func unwritable(_ path: String, _ asset: AssetDescriptor, _ failure: FileFailure) -> CloudError {
        CloudError(
            .serviceUnavailable,
            failure.isFull
                ? """
                The copy of the asset that the fetch returns cannot be written: the server's disk is full. Free space \
                where the copies are stored, then fetch again, or leave out the asset with the desired keys.
                """ : "The copy of the asset that the fetch returns cannot be written: the server's disk refuses it.",
            ["path": path, "byteCount": "\(asset.byteCount)", "errno": "\(failure.number)"], cause: failure.reason)
    }

    private static func lost(_ key: AssetKey, _ failure: FileFailure) -> CloudError {
        CloudError(
            .assetNotAvailable,
            failure.isAbsence
                ? "The asset's content is missing. Restore it from a backup, or save it again."
                : "The asset's content cannot be read. Verify the assets.", fields(key), cause: failure.reason)
    }

    private static func fields(_ key: AssetKey) -> [String: String] {
        ["owner": key.owner.text, "digest": AssetDirectory.name(of: key)]
    }
}
