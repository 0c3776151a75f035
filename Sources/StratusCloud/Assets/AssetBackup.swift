// Copies the contents of assets to a backup, while other threads save, delete and collect.
//
//   1. `takeAll` copies every existing content.
//   2. The caller copies the records.
//   3. `takeNamed` copies the contents that the copied ledger names and that did not exist at step 1.
//   4. `finish` removes the contents that the copied ledger does not name.
//
// A content that the copied records name is missed only if it was created after 1 and collected before 3, because its
// record was created and deleted meanwhile. Then `takeNamed` returns it, and the caller starts over. A content never
// changes once it has its name, so the copy can share its bytes.
//
// The directories of the copy say what it has; it is not kept in memory, because there may be many contents.

import StratusLayout
import StratusModel
package import StratusRecords
import StratusStore

/// A backup of the contents of assets. Calls block their thread.
package struct AssetBackup {
    private let source: AssetStore
    private let target: AssetStore
    private var madeDirectories: Set<String> = []
    /// The number of contents that were copied because the file system could not share them.
    package private(set) var copiedCount = 0

    /// The number of contents in the copy.
    package private(set) var contentCount = 0

    /// A backup from one directory of assets to another, which no other instance uses yet.
    package init(from source: AssetStore, to target: AssetStore) {
        self.source = source
        self.target = target
    }

    /// Copies every content that exists now. `progress` gets how many were copied, and the total.
    ///
    /// Throws `serviceUnavailable` if files cannot be read or written.
    package mutating func takeAll(progress: @escaping WorkMeter.Listener = { _, _ in }) throws {
        var count = 0
        try Self.visit(source) { _ in count += 1 }
        let meter = WorkMeter(total: count, progress)
        try Self.visit(source) {
            try take($0)
            meter.add()
        }
    }

    /// Copies the contents that the copied ledger names and the copy does not have. Returns those that the source no
    /// longer has. `progress` gets how many contents were checked, and the total.
    package mutating func takeNamed(
        in copy: RecordEngine, progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws -> Set<AssetKey> {
        var lost: Set<AssetKey> = []
        try copy.read { reader in
            let meter = WorkMeter(total: try reader.entryCount(in: GlobalKeys.keyspace(.assets)), progress)
            try reader.store.forEach(in: GlobalKeys.keyspace(.assets)) { key, value in
                let (owner, digest) = try GlobalKeys.readAssetKey(key)
                let key = AssetKey(owner: owner, digest: digest)
                let byteCount = try AssetEntry(decoding: value).byteCount
                if try !has(key, byteCount), try !take(key) { lost.insert(key) }
                meter.add()
            }
        }
        return lost
    }

    /// Removes the contents that the copied ledger does not name, and makes the rest durable. `progress` gets how many
    /// contents were checked and folders made durable, and the total.
    package mutating func finish(
        with copy: RecordEngine, progress: @escaping WorkMeter.Listener = { _, _ in }
    ) throws {
        let meter = WorkMeter(total: contentCount + madeDirectories.count, progress)
        try copy.read { reader in
            try Self.visit(target) { key in
                meter.add()
                let name = GlobalKeys.asset(owner: key.owner, digest: key.digest)
                guard try reader.store.value(forKey: name) == nil else { return }
                try explaining { () throws(FileFailure) in
                    try target.files.removeFile(target.directory.file(of: key))
                }
                contentCount -= 1
            }
        }
        try explaining { () throws(FileFailure) in
            for directory in madeDirectories {
                try target.files.syncDirectory(directory)
                meter.add()
            }
        }
    }

    /// Copies a content that the copy does not have. Returns false if the collector has removed it meanwhile.
    @discardableResult
    private mutating func take(_ key: AssetKey) throws -> Bool {
        let directory = target.directory
        for path in directories(of: key) where !madeDirectories.contains(path) {
            try explaining { () throws(FileFailure) in
                do throws(FileFailure) { try target.files.createDirectory(path) } catch {
                    // In a copy that was interrupted.
                    guard error.number == FileFailure.exists else { throw error }
                }
            }
            madeDirectories.insert(path)
        }
        do throws(FileFailure) {
            if try target.files.linkOrCopy(source.directory.file(of: key), to: directory.file(of: key)) {
                copiedCount += 1
            }
            contentCount += 1
            return true
        } catch {
            guard error.number == FileFailure.notFound else { throw Self.uncopied(error) }
            return false
        }
    }

    private func directories(of key: AssetKey) -> [String] {
        let directory = target.directory
        return [directory.top, directory.content, directory.owner(key.owner), directory.folder(of: key)]
    }

    /// Whether the copy has the content. Removes a part of it, which a killed process may have left.
    private mutating func has(_ key: AssetKey, _ byteCount: Int64) throws -> Bool {
        let path = target.directory.file(of: key)
        guard let descriptor = try? target.files.openFile(path) else { return false }
        defer { target.files.close(descriptor) }
        guard let facts = try? target.files.facts(descriptor), facts.byteCount != byteCount else {
            // A process that was killed may not have made its directories durable.
            for path in directories(of: key) { madeDirectories.insert(path) }
            return true
        }
        try explaining { () throws(FileFailure) in try target.files.removeFile(path) }
        contentCount -= 1
        return false
    }

    /// Visits the contents that have files, one folder at a time.
    private static func visit(_ store: AssetStore, _ body: (AssetKey) throws -> Void) throws {
        for ownerDirectory in try store.names(in: store.directory.content) {
            guard let owner = AssetDirectory.owner(ofDirectory: ownerDirectory) else { continue }
            for folder in try store.names(in: store.directory.owner(owner)) {
                for key in try store.contents(of: owner, in: folder).keys { try body(key) }
            }
        }
    }

    private func explaining(_ body: () throws(FileFailure) -> Void) throws {
        do throws(FileFailure) { try body() } catch { throw Self.uncopied(error) }
    }

    private static func uncopied(_ failure: FileFailure) -> CloudError {
        CloudError(
            .serviceUnavailable,
            failure.isFull
                ? "An asset cannot be copied into the copy of the store: its disk is full. Free space or choose another place."
                : "An asset cannot be copied into the copy of the store: the disk refuses it.",
            ["errno": "\(failure.number)"], cause: failure.reason)
    }
}
