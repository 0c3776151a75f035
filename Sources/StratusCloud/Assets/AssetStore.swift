// The contents of assets: files beside the store, named by what they hold, once per owner and never across owners
// . A content is on the disk, name and all, before anything refers to it.
//
// Who may trust what: a path comes from a program in this process, never from decoded data. What lies under it is not
// trusted: only a regular file is taken in, it is read once, and it must be the same file, unchanged, when it has been.

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
