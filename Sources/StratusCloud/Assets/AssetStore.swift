// The contents of assets: stored by their digests, once per owner and never shared between owners. They are
// files next to the store (`AssetStore+Files.swift`), or parts in the store where it has a place for them
// (`AssetStore+Contents.swift`). A content is durable before anything refers to it.
//
// Trust: a path comes from a program in this process, never from decoded data. The file at the path is not trusted:
// only a regular file is stored, and it must be unchanged after reading (C-10).
//
// Each client gets a new copy of a content, which it may change, keep or delete.

package import FoundationEssentials
package import StratusModel
package import StratusRecords
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
    let clock: any CloudClock
    let byteCountLimit: Int64?
    let releasedCopies: ReleasedCopies
    /// The state of this session's sweep of all files.
    let sweep = Locked(AssetSessionSweep.isDue(from: nil))
    private let fileNumber = Atomic<UInt64>(0)
    /// Existing directories whose names are synced.
    let knownDirectories = Locked(Set<String>())
    /// The contents in the store; nil where they are files.
    let stored: StoredContents?

    /// Creates nothing on the disk before the first asset.
    ///
    /// `directory` is an absolute path. It need not exist yet, but its parent directory must. Copies for clients are in
    /// `copiesDirectory`, or in `copies` inside the directory. `session` is new for every opening. An asset has at most
    /// `byteCountLimit` bytes (L-04), unless that is nil. A content that no record holds is kept for `leaseSeconds` for
    /// a request that never ends. At most `orphanCount` contents wait in memory to be collected; a sweep of all files
    /// finds the rest. A copy is removed `copySeconds` after its release; with nil it stays until the next session
    /// begins.
    ///
    /// If the store of `engine` has a place for contents, they are there, and the directory has only the copies for
    /// clients.
    package init(
        directory: String, copiesDirectory: String? = nil, session: UUID, clock: any CloudClock,
        byteCountLimit: Int64? = nil, leaseSeconds: Double = 3_600, orphanCount: Int = 100_000,
        copySeconds: Double? = 3_600, files: any AssetFiles = SystemAssetFiles(), engine: RecordEngine? = nil
    ) {
        self.directory = AssetDirectory(top: directory, copies: copiesDirectory, session: session)
        self.byteCountLimit = byteCountLimit
        self.files = files
        releasedCopies = ReleasedCopies(clock: clock, waitSeconds: copySeconds)
        self.clock = clock
        let leases = AssetLeases(clock: clock, leaseSeconds: leaseSeconds, maximumOrphanCount: orphanCount)
        self.leases = leases
        stored = engine.flatMap { engine in
            engine.store.contents.map {
                StoredContents($0, engine: engine, holds: leases, session: session, leaseSeconds: leaseSeconds)
            }
        }
    }

    /// Stores a file for an owner. When this returns, the content is durable and leased, and a commit may refer to it.
    /// End the lease with `release` when the request has ended in any way.
    ///
    /// Throws `assetFileNotFound`; `assetFileModified`; `assetNotAvailable` if it is not a readable regular file
    /// (C-10); `limitExceeded` if it is too large; `serviceUnavailable` if the content cannot be stored.
    package func takeIn(path: String, owner: UserName) throws(CloudError) -> AssetDescriptor {
        try takeIn(paths: [path], owner: owner)[0].get()
    }

    /// Stores several files at once, with fewer waits. Each succeeds or fails in its place, as with one path.
    package func takeIn(paths: [String], owner: UserName) -> [Result<AssetDescriptor, CloudError>] {
        if let stored { return upload(paths, owner, to: stored) }
        return takeInFiles(paths, owner)
    }

    /// Ends the leases of contents that `takeIn` returned, one for each, after their commit or its failure.
    ///
    /// Do not call it if the outcome of the commit is unknown; the leases then expire.
    package func release(_ descriptors: some Sequence<AssetDescriptor>, owner: UserName) {
        for descriptor in descriptors {
            let key = AssetKey(owner: owner, digest: descriptor.digest)
            if let stored { stored.release(key) } else { leases.release(key) }
        }
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

extension AssetStore {
    /// A file that is being stored.
    typealias Source = (descriptor: Int32, facts: AssetFileFacts)

    /// Runs `body` and turns its failure into the error that `explain` makes of it.
    func explaining<Result>(
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

    func openSource(_ path: String) throws(CloudError) -> Source {
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

    /// Reads a file and returns the digest of its content, which is the same before and after. `visit` gets the bytes
    /// that were read, as the first bytes of a buffer.
    func read(
        _ source: Source, path: String, _ visit: (_ buffer: [UInt8], _ count: Int) throws(CloudError) -> Void
    ) throws(CloudError) -> [UInt8] {
        var total: Int64 = 0
        let unreadable = { (failure: FileFailure) in Self.unreadable(failure, path) }
        let digest = try digest(of: source.descriptor, unreadable) { buffer, count throws(CloudError) in
            total += Int64(count)
            guard total <= source.facts.byteCount else { throw Self.modified(path) }
            try visit(buffer, count)
        }
        let facts = try facts(source.descriptor, path)
        guard total == source.facts.byteCount, facts == source.facts else { throw Self.modified(path) }
        return digest
    }

    static func modified(_ path: String) -> CloudError {
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
        if let stored { return try privateCopy(of: asset, key, from: stored) }
        let source = try explaining({ Self.lost(key, $0) }) { () throws(FileFailure) in
            try files.openRegularFile(directory.file(of: key))
        }
        defer { files.close(source) }
        return try makeCopy(of: asset, key) { write throws(CloudError) in
            try digest(of: source, { Self.lost(key, $0) }, write)
        }
    }

    /// Writes a copy, whose bytes `fill` passes on. It returns their digest.
    func makeCopy(
        of asset: AssetDescriptor, _ key: AssetKey,
        fill: (_ write: (_ buffer: [UInt8], _ count: Int) throws(CloudError) -> Void) throws(CloudError) -> [UInt8]
    ) throws(CloudError) -> String {
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
        let copied = try fill { buffer, count throws(CloudError) in
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

    /// Passes on the bytes of a content, piece by piece, and returns their digest, which the caller compares; nil, and
    /// no bytes, if the content is missing.
    ///
    /// Where contents are in the store, `upload` is the one to read; if it is nil or not there, any other one is.
    package func readContent(
        _ key: AssetKey, upload: UUID? = nil, _ visit: (_ buffer: [UInt8], _ count: Int) throws -> Void
    ) throws -> [UInt8]? {
        if let stored { return try stored.read(key, upload) { part in try visit(part, part.count) } }
        let source: Int32
        do throws(FileFailure) { source = try files.openRegularFile(directory.file(of: key)) } catch {
            let isMissing = error.isAbsence || [FileFailure.irregular, FileFailure.tooManyLinks].contains(error.number)
            guard isMissing else { throw Self.lost(key, error) }
            return nil
        }
        defer { files.close(source) }
        var digest = ContentDigest()
        var buffer = [UInt8](repeating: 0, count: Self.bufferByteCount)
        while true {
            let count = try explaining({ Self.lost(key, $0) }) { () throws(FileFailure) in
                try files.read(source, into: &buffer)
            }
            if count == 0 { return digest.finish() }
            digest.add(buffer[..<count])
            try visit(buffer, count)
        }
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

    static func fields(_ key: AssetKey) -> [String: String] {
        ["owner": key.owner.text, "digest": AssetDirectory.name(of: key)]
    }
}
