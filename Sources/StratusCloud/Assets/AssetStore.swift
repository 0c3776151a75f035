// The contents of assets: files beside the store, named by what they hold, once per owner and never across owners
// . A content is on the disk, name and all, before anything refers to it.
//
// Who may trust what: a path comes from a program in this process, never from decoded data. What lies under it is not
// trusted: only a regular file is taken in, it is read once, and it must be the same file, unchanged, when it has been.

import Crypto
package import FoundationEssentials
package import StratusModel
import StratusStore
import Synchronization

/// Takes files in, keeps them by content, and hands out private copies.
///
/// One instance serves a directory at a time: make it after the record store beside it has been opened, which keeps
/// other processes away. Calls block their thread.
package final class AssetStore: Sendable {
    /// Bytes read and written at once.
    static let bufferByteCount = 256 << 10
    let files: any AssetFiles
    let directory: AssetDirectory
    let leases: AssetLeases
    let byteCountLimit: Int64?
    let releasedCopies: ReleasedCopies
    /// Where this session's own sweep of all files goes on.
    let sweep = Locked(AssetSessionSweep.notBegun)
    private let fileNumber = Atomic<UInt64>(0)
    /// Directories known to be there, names synced.
    private let knownDirectories = Locked(Set<String>())

    /// Nothing is made on the disk before the first asset.
    ///
    /// `directory` is an absolute path; it need not be there yet, the directory above it must. Copies are handed out in
    /// `copiesDirectory`, or in `copies` inside the directory. `session` is drawn anew for every opening. An asset has
    /// at most `byteCountLimit` bytes (L-04), where that is not nil. Content that no record holds is kept for
    /// `leaseSeconds` for a request that never ends. At most `orphanCount` contents wait in memory to be collected; what is
    /// more is found by a sweep of all files. A copy is removed `copySeconds` after it was released; with nil it stays
    /// until the next session begins.
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

    /// Who owns the data of a container's public database: the app, and no account.
    package static func publicOwner(of container: ContainerName) -> UserName {
        UserName(publicOwnerPrefix + container.text)
    }

    /// Whether the owner is an app. People's names begin with an underscore.
    package static func isPublicOwner(_ owner: UserName) -> Bool {
        owner.text.utf8.starts(with: publicOwnerPrefix.utf8)
    }

    /// What the name of such an owner begins with, before the name of the container.
    static let publicOwnerPrefix = "public:"

    /// Takes a file in for an owner. When this returns, the content is durable and leased: a commit may refer to it.
    /// Give the lease back with `release` when the request has ended, however it ended.
    ///
    /// Throws `assetFileNotFound`, `assetFileModified`, `assetNotAvailable` for what is no readable regular file (C-10),
    /// `limitExceeded` for one that is too large, and `serviceUnavailable` when the content cannot be stored.
    package func takeIn(path: String, owner: UserName) throws(CloudError) -> AssetDescriptor {
        try takeIn(paths: [path], owner: owner)[0].get()
    }

    /// Ends the leases of contents that `takeIn` returned, one for each: their commit is made, or never will be.
    ///
    /// Not called when it is unknown whether the commit was made; the leases then end by themselves.
    package func release(_ descriptors: some Sequence<AssetDescriptor>, owner: UserName) {
        for descriptor in descriptors { leases.release(AssetKey(owner: owner, digest: descriptor.digest)) }
    }

    /// Does something in directories, which are made first, each in the one before or in one that is there.
    func inDirectories<Result>(
        _ paths: [String], _ body: () throws(FileFailure) -> Result
    ) throws(FileFailure) -> Result {
        try makeDirectories(paths)
        do throws(FileFailure) { return try body() } catch {
            guard error.number == FileFailure.notFound else { throw error }
            // A host that empties its temporary directories takes ours with them.
            forgetDirectories(below: directory.top)
            forgetDirectories(below: directory.copies)
            try makeDirectories(paths)
            return try body()
        }
    }

    /// Makes directories, names and all on the disk.
    private func makeDirectories(_ paths: [String]) throws(FileFailure) {
        for path in paths where !knownDirectories.value.contains(path) {
            do throws(FileFailure) { try files.createDirectory(path) } catch {
                guard error.number == FileFailure.exists else { throw error }
            }
            // Also when it was there: whoever made it may not have synced its name yet.
            let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
            try files.syncDirectory(parent.isEmpty ? "/" : parent)
            knownDirectories.withLock { _ = $0.insert(path) }
        }
    }

    /// Forgets that directories are there, because they may have been removed.
    func forgetDirectories(below path: String) {
        knownDirectories.withLock { known in known = known.filter { $0 != path && !$0.hasPrefix(path + "/") } }
    }

    /// The names in a directory; none when it is not there.
    func names(in path: String) throws -> [String] { try namesIfThere(in: path) ?? [] }

    /// The names in a directory; nil when it is not there.
    func namesIfThere(in path: String) throws -> [String]? {
        do throws(FileFailure) { return try files.names(in: path) } catch {
            if error.number == FileFailure.notFound { return nil }
            throw CloudError(
                .serviceUnavailable, "A directory of assets cannot be read.", ["path": path], cause: error.reason)
        }
    }

    func nextFileNumber() -> UInt64 { fileNumber.add(1, ordering: .relaxed).newValue }

    static func unavailable(_ failure: FileFailure) -> CloudError {
        guard failure.isFull else {
            return CloudError(
                .serviceUnavailable, "The asset cannot be stored: the server's disk refuses it.",
                ["errno": "\(failure.number)"], cause: failure.reason)
        }
        return CloudError(
            .serviceUnavailable, "The asset cannot be stored: the server's disk is full. Make room, then save again.",
            ["errno": "\(failure.number)"], cause: failure.reason)
    }
}

// Taking files in, several at a time, because syncing is what it costs: the disk gets to work on all of them before the
// first one is waited for.
//
//   1. Each file is read, checked and copied to a file of its own; the disk begins to write it.
//   2. Each copy is leased, synced and given its place.
//   3. Each directory in which something got its place is synced.

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

// Reading a file that is taken in: what it must be before, while and after it is read (C-10).

/// A file that is being taken in.
struct AssetSource: Sendable {
    let descriptor: Int32
    let facts: AssetFileFacts
}

extension AssetStore {
    /// The size of a file that could be taken in now. Nothing is read or copied.
    ///
    /// Throws as `takeIn` for a file that could not.
    func byteCount(ofFile path: String) throws(CloudError) -> Int64 {
        let source = try openSource(path)
        files.close(source.descriptor)
        return source.facts.byteCount
    }

    func openSource(_ path: String) throws(CloudError) -> AssetSource {
        guard path.hasPrefix("/") else {
            throw CloudError(.assetNotAvailable, "The asset's file has no absolute path.", ["path": path])
        }
        let descriptor: Int32
        do throws(FileFailure) { descriptor = try files.openFile(path) } catch {
            throw Self.unreadable(error, path)
        }
        do throws(CloudError) {
            return AssetSource(descriptor: descriptor, facts: try checkedFacts(descriptor, path))
        } catch {
            files.close(descriptor)
            throw error
        }
    }

    private func checkedFacts(_ descriptor: Int32, _ path: String) throws(CloudError) -> AssetFileFacts {
        let facts: AssetFileFacts
        do throws(FileFailure) { facts = try files.facts(descriptor) } catch {
            throw Self.unreadable(error, path)
        }
        guard facts.isRegular else {
            throw CloudError(
                .assetNotAvailable, "The asset is no regular file: folders, pipes and devices are not taken in.",
                ["path": path])
        }
        if let limit = byteCountLimit, facts.byteCount > limit {
            throw CloudError(
                .limitExceeded, "The asset's file is larger than the server takes: make it smaller.",
                ["byteCount": "\(facts.byteCount)", "limit": "\(limit)", "path": path])
        }
        return facts
    }

    /// Copies a file and returns the digest of what was read, which is what the file holds before and after.
    func copy(_ source: AssetSource, path: String, to target: Int32) throws(CloudError) -> [UInt8] {
        var hash = SHA256()
        var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
        var total: Int64 = 0
        while true {
            let count: Int
            do throws(FileFailure) { count = try files.read(source.descriptor, into: &buffer) } catch {
                throw Self.unreadable(error, path)
            }
            if count == 0 { break }
            total += Int64(count)
            guard total <= source.facts.byteCount else { throw Self.modified(path) }
            hash.update(data: buffer[..<count])
            do throws(FileFailure) { try files.write(target, buffer, count: count) } catch {
                throw Self.unavailable(error)
            }
        }
        let facts: AssetFileFacts
        do throws(FileFailure) { facts = try files.facts(source.descriptor) } catch {
            throw Self.unreadable(error, path)
        }
        guard total == source.facts.byteCount, facts == source.facts else { throw Self.modified(path) }
        return Array(hash.finalize())
    }

    private static func modified(_ path: String) -> CloudError {
        CloudError(
            .assetFileModified, "The asset's file was changed while it was read: save again when it is complete.",
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

// Handing contents out: each time a fresh copy, which its receiver may change, keep or delete.

extension AssetStore {
    /// A copy of a content in a file of its own. It lies there until the receiver removes it, some time after it was
    /// released, and at most until the next session begins.
    ///
    /// The copy is checked as it is made: what is handed out is what was taken in.
    ///
    /// Throws `assetNotAvailable` when the content is missing or damaged, which verifying the assets shows too, and
    /// `serviceUnavailable` when the copy cannot be written.
    package func privateCopy(of asset: AssetDescriptor, owner: UserName) throws(CloudError) -> String {
        let key = AssetKey(owner: owner, digest: asset.digest)
        let source: Int32
        do throws(FileFailure) { source = try files.openRegularFile(directory.file(of: key)) } catch {
            throw Self.lost(key, error)
        }
        defer { files.close(source) }
        let name = "\(nextFileNumber())-\(AssetDirectory.name(of: key).prefix(16))"
        let path = directory.sessionCopies + "/" + name
        let target: Int32
        do throws(FileFailure) {
            let directories = [directory.top, directory.copies, directory.sessionCopies]
            target = try inDirectories(directories) { () throws(FileFailure) in try files.createFile(path) }
        } catch { throw Self.unwritable(path, asset, error) }
        var isWhole = false
        defer {
            files.close(target)
            if !isWhole { try? files.removeFile(path) }
        }
        let copied = try digest(of: source, key) { buffer, count throws(CloudError) in
            do throws(FileFailure) { try files.write(target, buffer, count: count) } catch {
                throw Self.unwritable(path, asset, error)
            }
        }
        guard copied == asset.digest else {
            throw CloudError(
                .assetNotAvailable, "The asset's content is damaged: restore it from a backup, or save it again.",
                Self.fields(key))
        }
        isWhole = true
        return path
    }

    /// Notes that nothing stands for some copies any more. The collector removes those that are still there then, when
    /// they have waited, and `unseen`, whose paths nobody was told, without a wait. Returns at once.
    package func releaseCopies(_ paths: [String], unseen: [String] = []) { releasedCopies.add(paths, unseen: unseen) }

    /// Keeps every content until the hold is let go of: made before a snapshot, it keeps what that shows.
    package func hold() -> AssetHold { AssetHold(leases) }

    /// The digest of an open content. `visit` is given what is read, which is the first bytes of a buffer.
    func digest(
        of source: Int32, _ key: AssetKey,
        _ visit: (_ buffer: [UInt8], _ count: Int) throws(CloudError) -> Void = { _, _ in }
    ) throws(CloudError) -> [UInt8] {
        var hash = SHA256()
        var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
        while true {
            let count: Int
            do throws(FileFailure) { count = try files.read(source, into: &buffer) } catch {
                throw Self.lost(key, error)
            }
            if count == 0 { return Array(hash.finalize()) }
            hash.update(data: buffer[..<count])
            try visit(buffer, count)
        }
    }

    /// The error for a copy that a fetch was to return.
    private static func unwritable(_ path: String, _ asset: AssetDescriptor, _ failure: FileFailure) -> CloudError {
        let fields = ["path": path, "byteCount": "\(asset.byteCount)", "errno": "\(failure.number)"]
        guard failure.isFull else {
            return CloudError(
                .serviceUnavailable,
                "The copy of the asset that the fetch returns cannot be written: the server's disk refuses it.", fields,
                cause: failure.reason)
        }
        return CloudError(
            .serviceUnavailable,
            """
            The copy of the asset that the fetch returns cannot be written: the server's disk is full. Make room where the \
            copies lie, then fetch again, or leave the asset out by the desired keys.
            """, fields,
            cause: failure.reason)
    }

    private static func lost(_ key: AssetKey, _ failure: FileFailure) -> CloudError {
        guard failure.isAbsence else {
            return CloudError(
                .assetNotAvailable, "The asset's content cannot be read: verify the assets.", fields(key),
                cause: failure.reason)
        }
        return CloudError(
            .assetNotAvailable, "The asset's content is missing: restore it from a backup, or save it again.",
            fields(key), cause: failure.reason)
    }

    private static func fields(_ key: AssetKey) -> [String: String] {
        ["owner": key.owner.text, "digest": AssetDirectory.name(of: key)]
    }
}
